# SPDX-License-Identifier: Apache-2.0
# The program on Debian 12, without CUDA.
#   docker build -t tessera .                   builds it
#   docker run --rm tessera list matmul         runs it; -v "$PWD:/data" gives it the files of this folder
#   docker build --target test .                builds and runs the tests
FROM debian:12 AS packages
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /tessera
COPY tools/setup tools/setup
RUN tools/setup program

FROM packages AS test
RUN tools/setup program tests format
COPY . .
RUN make test CUDA=0

FROM packages
COPY . .
RUN make CUDA=0
WORKDIR /data
ENTRYPOINT ["/tessera/build/tessera"]
