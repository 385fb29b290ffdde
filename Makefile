# SPDX-License-Identifier: Apache-2.0
# `make` builds build/tessera and its library; `make help` names the rest.
.DEFAULT_GOAL := build
.PHONY: help configure build demo python test baselines bench tables deb format clean
# 1: compile the CUDA kernels. 0: leave them out. Unset: compile them where there is a GPU.
CUDA ?=
cuda = $(if $(CUDA),-DTESSERA_CUDA=$(if $(filter 0 OFF no,$(CUDA)),OFF,ON),-DTESSERA_CUDA=AUTO)
export NINJA_STATUS = [%p, %f of %t, %e s] 

help:
	@echo "make             the program build/tessera and its library; CUDA=1 compiles the GPU kernels where no GPU is"
	@echo "make demo        build the program, multiply two matrices, show the ladder"
	@echo "make python      the Python package in build/python, and a wheel of it"
	@echo "make test        build everything and run every test"
	@echo "make baselines   install and build what the ladders are compared with (OpenBLAS, oneDNN, GSL, OpenCV, liblqr)"
	@echo "make bench       measure the ladders on this machine"
	@echo "make tables      write the tables of README and docs from results/"
	@echo "make deb         Debian packages: tessera, tessera-mpi and libtessera-dev"
	@echo "make format      format the sources"
	@echo "make clean       remove build/"

configure:
	@tools/setup program
	@cmake --preset default -DTESSERA_TESTS=OFF $(cuda) > /dev/null

build: configure
	@cmake --build build

demo: configure
	@echo "Building the program (share done, files, seconds):"
	@cmake --build build --target tessera_program
	@tools/demo

python:
	@tools/setup program python
	@cmake --preset default -DTESSERA_TESTS=OFF $(cuda) > /dev/null
	@cmake --build build --target python
	@echo "PYTHONPATH=build/python python3 -c 'import tessera', or pip install build/python/tessera-*.whl"

test:
	@tools/setup program tests format
	@cmake --preset ci $(cuda)
	@cmake --build build
	@ctest --test-dir build --output-on-failure --parallel $$(nproc)

baselines:
	@tools/setup program baselines
	@cmake --preset default -DTESSERA_BASELINES=ON $(cuda) > /dev/null
	@cmake --build build --target baselines

bench: build
	@tools/bench

tables: build
	@tools/readme_tables
	@tools/learn_tables

deb: build
	@tools/setup package
	@cd build && cpack -G DEB

format:
	@tools/setup format
	@git ls-files include tessera ops bindings baselines tests examples | grep -E '\.(cpp|hpp|cu|cuh|h)$$' | xargs clang-format -i

clean:
	@rm -rf build
