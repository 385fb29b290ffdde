// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/machine.hpp"
#include <dlfcn.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <fstream>
#include "tessera/core/device/device.hpp"
#include "tessera_build.h"   // written by the build
#include "tessera_commit.h"  // written by the build

#ifndef TESSERA_CUDA_COMPILER
#define TESSERA_CUDA_COMPILER ""
#define TESSERA_CUDA_TARGETS ""
#define TESSERA_CUDA_FLAGS ""
#endif

namespace tessera::bench {

std::optional<OtherLoad::Ticks> OtherLoad::now() {
  // cpu user nice system idle iowait irq softirq steal; `user` includes guests.
  std::ifstream file("/proc/stat");
  std::string word;
  double ticks[8];
  if (!(file >> word) || word != "cpu") return std::nullopt;
  for (double& one : ticks)
    if (!(file >> one)) return std::nullopt;
  const double second = static_cast<double>(sysconf(_SC_CLK_TCK));
  Ticks out;
  for (const double one : ticks) out.all += one / second;
  out.idle = (ticks[3] + ticks[4]) / second;
  tms own{};
  times(&own);
  out.own = static_cast<double>(own.tms_utime + own.tms_stime + own.tms_cutime + own.tms_cstime) / second;
  return out;
}

OtherLoad::OtherLoad() : start_(now()) {}

std::optional<double> OtherLoad::share() const {
  constexpr double min_seconds = 0.1;
  const auto end = watch_.seconds() < min_seconds ? std::nullopt : now();
  if (!start_ || !end || !(end->all > start_->all)) return std::nullopt;
  const double all = end->all - start_->all, busy = all - (end->idle - start_->idle);
  return std::clamp((busy - (end->own - start_->own)) / all, 0.0, 1.0);
}

Machine this_machine() {
  const Device host = host_device(Where::cpu);
  Machine out{host.name, {}, host.threads, host.memory_bytes};
  if (utsname names{}; uname(&names) == 0)
    out.system = std::string(names.sysname) + " " + names.release + " " + names.machine;
  return out;
}

Build this_build() {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
#if defined(__OPTIMIZE__)
  constexpr bool optimised = true;
#else
  constexpr bool optimised = false;
#endif
  return {.version = TESSERA_VERSION,
          .git = TESSERA_GIT,
          .compiler = compiler,
          .flags = TESSERA_FLAGS,
          .cuda_compiler = TESSERA_CUDA_COMPILER,
          .cuda_architectures = TESSERA_CUDA_TARGETS,
          .cuda_flags = TESSERA_CUDA_FLAGS,
          .optimised = optimised};
}

std::string library_file() {
  Dl_info about{};
  const bool known =
      dladdr(reinterpret_cast<const void*>(&library_file), &about) != 0 && about.dli_fname != nullptr;
  const std::string file = known ? about.dli_fname : "";
  return file.find(".so") != std::string::npos ? file
                                               : "/proc/self/exe";  // dli_fname of a program is argv[0]
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

}  // namespace tessera::bench
