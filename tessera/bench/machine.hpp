// SPDX-License-Identifier: Apache-2.0
// Provenance of a result: the machine, and the build of the program.
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

// Load of this machine by other programs since the object was constructed.
class OtherLoad {
 public:
  OtherLoad();
  // Returns the share of CPU time that went to other programs, or that the hypervisor gave to other virtual
  // machines. Nothing: the system does not report it, or the time was too short for its ticks of a hundredth
  // of a second.
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
std::string library_file();  // the shared library or program that contains this code and its GPU kernels
std::string now_utc();       // "2030-01-31T12:00:00Z"

}  // namespace tessera::bench
