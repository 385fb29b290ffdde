// SPDX-License-Identifier: Apache-2.0
// A block of more than 1024 threads, and nobody asks for the error.
__global__ void nothing() {}

int main() {
  nothing<<<1, 2048>>>();  // finds: launch error
}
