// SPDX-License-Identifier: Apache-2.0
// Where a result comes from: the machine, and the build of the program.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include "tessera/bench/sample.hpp"

namespace tessera::bench {

struct Machine {
  std::string processor, system;  // "Linux 6.1 x86_64"
  int threads = 0;
  std::int64_t memory_bytes = 0;
};

struct Build {
  std::string version, git, compiler, flags;                  // empty: not known
  std::string cuda_compiler, cuda_architectures, cuda_flags;  // empty: a build without CUDA
  bool optimised = false;
};

// How busy others kept this machine since the object was made.
class OtherLoad {
 public:
  OtherLoad();
  // The share of all processors' time that went to other programs, or that a host of this virtual machine
  // gave to others. Nothing: the system does not tell, or it was too short for its ticks of a hundredth of a
  // second.
  std::optional<double> share() const;

 private:
  struct Ticks {
    double all = 0, idle = 0, own = 0;  // seconds of processor time
  };
  static std::optional<Ticks> now();
  std::optional<Ticks> start_;
  Stopwatch watch_;
};

Machine this_machine();
Build this_build();
std::string library_file();  // the shared library or program that holds this code, and its GPU kernels
std::string now_utc();       // "2030-01-31T12:00:00Z"

}  // namespace tessera::bench
