# SPDX-License-Identifier: Apache-2.0
# The front door. `make` builds the program, build/tessera; `make help` names the rest.
.DEFAULT_GOAL := build
.PHONY: help build demo test baselines bench tables format clean

help:
	@echo "make             the program, build/tessera"
	@echo "make demo        multiply two matrices, check the product, print the ladder's table"
	@echo "make test        build and run every test"
	@echo "make baselines  install the libraries that the ladders are measured against"
	@echo "make bench       measure the ladders on this machine"
	@echo "make tables      write README's tables from results/, and those of docs/learn"
	@echo "make format      format the sources"
	@echo "make clean       remove build/"

build:
	@tools/setup program
	@cmake --preset default -DTESSERA_TESTS=OFF
	@cmake --build build

demo: build
	@tools/demo

test:
	@tools/setup program tests
	@cmake --preset ci
	@cmake --build build
	@ctest --test-dir build --output-on-failure --parallel $$(nproc)

baselines:
	@tools/setup baselines

bench: build
	@tools/bench

tables: build
	@tools/readme_tables
	@tools/learn_tables

format:
	@tools/setup format
	@git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.h' | xargs clang-format -i

clean:
	@rm -rf build
