// SPDX-License-Identifier: Apache-2.0
// For the main() that `tessera run --call` makes.
#pragma once
#include "cuda_runtime.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera_main {

// The bytes of an array, read from and written to a file.
class File {
 public:
  File(const char* folder, const char* name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat about = {};
    if (file >= 0 && fstat(file, &about) == 0) {
      bytes_ = static_cast<size_t>(about.st_size);
      data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) close(file);
    if (data_ != MAP_FAILED) return;
    perror(path);
    exit(1);
  }
  ~File() { munmap(data_, bytes_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = MAP_FAILED;
  size_t bytes_ = 0;
};

inline int ended(cudaError_t error) {
  if (error == cudaSuccess) return 0;
  fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
  return 1;
}

}  // namespace tessera_main
