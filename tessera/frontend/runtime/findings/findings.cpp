// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/runtime/findings/findings.hpp"
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <cstring>
#include <fstream>
#include <set>
#include <tuple>
#include "tessera/core/device/thread.hpp"
#include "tessera/frontend/runtime/memory/heap.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/simt/tracer/symbols.hpp"

namespace tessera_cuda {

FindingRecord finding_at(std::string what, std::string file, int line) {
  FindingRecord out;
  out.what = std::move(what);
  out.file = std::move(file);
  out.line = line;
  return out;
}

std::string text_of_line(CallSite at) {
  std::ifstream file(at.file);
  std::string out;
  for (int i = 0; i < at.line; ++i) std::getline(file, out);
  return out;
}

FindingRecord finding_of(std::string what, const LaunchRecord& launch) {
  FindingRecord out = finding_at(std::move(what), launch.at.file, launch.at.line);
  out.kernel = launch.kernel;
  out.launch = launch.number;
  return out;
}

void find(FindingRecord finding) {
  // Each error is recorded once, because loops repeat it. Never destroyed, because findings also occur at the
  // program's end.
  static auto& known = *new std::set<std::tuple<std::string, std::string, int, std::string>>;
  // The use of a freed array is recorded once, wherever it is.
  const bool freed = finding.remedy.find(" was freed at line ") != std::string::npos;
  if (freed ? known.emplace("", "", 0, finding.remedy).second
            : known.emplace(finding.what, finding.file, finding.line, finding.text).second)
    record(finding);
}

std::string place_in(const Array& array, std::size_t first_byte, std::size_t last_byte) {
  const std::size_t size = array.element_bytes == 0 ? 1 : array.element_bytes;
  const auto element = [&](std::size_t byte) {
    std::size_t index = byte / size;
    if (array.extents.size() < 2) return array.name + "[" + std::to_string(index) + "]";
    std::string text;
    for (std::size_t d = array.extents.size(); d-- > 0; index /= array.extents[d])
      text.insert(0, "[" + std::to_string(d == 0 ? index : index % array.extents[d]) + "]");
    return array.name + text;
  };
  if (array.element_bytes == 0) {
    const std::string first = "byte " + std::to_string(first_byte);
    return (first_byte == last_byte
                ? first
                : "bytes " + std::to_string(first_byte) + " to " + std::to_string(last_byte)) +
           " of " + array.name;
  }
  const std::string first = element(first_byte), last = element(last_byte);
  return first == last ? first : first + " to " + last;
}

cudaError_t find_copy(cudaError_t error, const std::string& text, const Array* array, CallSite at,
                      std::string remedy, const char* what) {
  FindingRecord finding = finding_at(what, at.file, at.line);
  finding.text = text;
  finding.remedy = std::move(remedy);
  if (array != nullptr) finding.array = array->name;
  find(finding);
  return error;
}

bool find_failed_allocation() {
  auto& failed = Runtime::get().failed_allocation;
  if (!failed) return false;
  FindingRecord finding = finding_at("call error", failed->at.file, failed->at.line);
  finding.array = failed->name;
  finding.text = failed->name + " is null: its allocation of " + std::to_string(failed->bytes) +
                 " bytes failed (out of memory), and the program goes on";
  finding.remedy = failed->bytes > PTRDIFF_MAX
                       ? "the size overflowed int: compute it in size_t, as (size_t)n * sizeof(…)"
                       : "ask for fewer bytes, and stop where the call does not return cudaSuccess";
  find(std::move(finding));
  return true;
}

void find_never_written(const Array& array, const void* from, std::size_t bytes, CallSite at) {
  if (array.written == nullptr || array.is_variable()) return;
  const std::size_t offset = static_cast<std::size_t>(static_cast<const char*>(from) - array.data);
  const std::uint8_t* const first = array.written + offset;
  const auto* const hole = static_cast<const std::uint8_t*>(std::memchr(first, 0, bytes));
  if (hole == nullptr) return;
  const auto missing = static_cast<std::size_t>(std::count(hole, first + bytes, std::uint8_t{0}));
  const std::uint8_t* const end =
      std::find_if(hole, first + bytes, [](std::uint8_t mark) { return mark != 0; });
  FindingRecord finding = finding_at("never written", at.file, at.line);
  finding.serious = false;
  finding.array = array.name;
  finding.text = missing == bytes && bytes == array.bytes
                     ? array.name + " is copied to the host, but nothing wrote it"
                     : place_in(array, static_cast<std::size_t>(hole - array.written),
                                static_cast<std::size_t>(end - array.written) - 1) +
                           " is copied to the host, but nothing wrote it (" + std::to_string(missing) +
                           " of " + std::to_string(bytes) + " bytes)";
  if (missing != bytes)
    finding.remedy = "something wrote the rest: let the grid, the guard and the indices reach these elements";
  find(finding);
}

void find_never_read(const Array& array) {
  // After an error, a program may well leave results unread.
  if (!array.unread_since || !array.is_protected() || Runtime::get().sticky != cudaSuccess) return;
  FindingRecord finding = finding_at("never read", array.unread_since->at.file, array.unread_since->at.line);
  finding.serious = false;
  finding.kernel = array.unread_since->kernel;
  finding.launch = array.unread_since->launch;
  finding.array = array.name;
  finding.text = "nothing reads " + array.name + " after " + finding.kernel +
                 " wrote it, neither a kernel nor a copy to the host";
  if (const auto& writer = *array.unread_since; writer.copied != 0) {
    const std::string copied = std::to_string(writer.copied), all = std::to_string(array.bytes);
    finding.file = writer.copied_at.file;
    finding.line = writer.copied_at.line;
    finding.text = "bytes " + copied + " to " + std::to_string(array.bytes - 1) + " of " + array.name +
                   " were written by " + finding.kernel + " (line " + std::to_string(writer.at.line) +
                   "), and nothing reads them; this copies " + copied + " of " + all + " bytes";
    finding.remedy = "a copy counts bytes, not elements: copy n * sizeof(…), here " + all + " bytes";
  } else if (writer.overwritten_at.line != 0) {
    finding.file = writer.overwritten_at.file;
    finding.line = writer.overwritten_at.line;
    finding.text = "this overwrites what " + finding.kernel + " (line " + std::to_string(writer.at.line) +
                   ") wrote to " + array.name + ", and nothing has read it";
    finding.remedy = "copy the result to the host: cudaMemcpy(…, " + array.name + ", " +
                     std::to_string(array.bytes) + ", cudaMemcpyDeviceToHost)";
  }
  Runtime::get().results_used = true;  // one finding tells it
  find(finding);
}

void find_at_exit(bool came_to_end) {
  Runtime& r = Runtime::get();
  for (const auto& failed : r.failed) {
    FindingRecord finding = finding_at("launch error", failed.at.file, failed.at.line);
    finding.serious = false;
    finding.kernel = failed.kernel;
    finding.launch = failed.number;
    finding.queried = false;
    finding.text = failed.text + "; the program never calls cudaGetLastError";
    find(finding);
  }
  if (!came_to_end) return;
  for (const auto& [first, array] : r.arrays) {
    if (!array.reader || !array.never_set || array.host_write.bytes != 0 || array.address_taken) continue;
    FindingRecord finding = finding_at("uninitialised", array.reader->at.file, array.reader->at.line);
    finding.serious = false;
    finding.kernel = array.reader->kernel;
    finding.array = array.name;
    finding.text = finding.kernel + " reads " + array.name + ", which nothing sets: it is 0";
    finding.remedy = "copy the values to it with cudaMemcpyToSymbol(" + array.name + ", …, " +
                     std::to_string(array.bytes) + ") before line " + std::to_string(finding.line);
    find(std::move(finding));
  }
  for (const auto& [first, array] : r.arrays) {
    if (array.mapping == nullptr || array.kind == Array::Kind::heap || r.call_failed) continue;
    find_never_read(array);
    FindingRecord finding = finding_at("leak", array.at.file, array.at.line);
    finding.serious = false;
    finding.array = array.name;
    finding.text = array.name + " (" + std::to_string(array.bytes) + " bytes) is never freed";
    find(finding);
  }
  find_heap_leaks();
  // Kernels may read what they write; the host reads nothing of it.
  if (!r.results_used && r.last_result && !r.call_failed) find_never_read(*r.last_result);
}

namespace {

struct sigaction handled_before[NSIG];
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
volatile std::sig_atomic_t ending = 0;

SourceLine line_of_stack(std::uint64_t fault) {
  void* frames[64];
  const int count = backtrace(frames, 64);
  std::vector<std::uint64_t> addresses = {fault + 1};
  for (int i = 0; i < count; ++i) addresses.push_back(reinterpret_cast<std::uint64_t>(frames[i]));
  for (const std::uint64_t address : addresses)
    if (const SourceLine line = line_of(address); line.line != 0 && is_users(line.file)) return line;
  return {};
}

// Reports where the host's code ended the program.
void find_end(int signal, std::uint64_t at) {
  const SourceLine line = line_of_stack(at);
  FindingRecord finding = finding_at("stopped", line.file, line.line);
  finding.serious = false;
  finding.text =
      signal == SIGFPE ? "the host divides an integer by 0" : "the host's code ends the program here (abort)";
  if (line.line != 0) find(std::move(finding));
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (ending == 0) {
    ending = 1;
    if (info->si_addr < reinterpret_cast<void*>(4096) && signal == SIGSEGV) find_failed_allocation();
    const auto* const machine = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    const auto at = static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REG_RIP]);
#else
    const std::uint64_t at = machine->uc_mcontext.pc;
#endif
    if (signal == SIGABRT || signal == SIGFPE) find_end(signal, at);
    if (signal == SIGSEGV || signal == SIGBUS) {
      Runtime& r = Runtime::get();
      if (const Array* const array = r.array_near(info->si_addr)) {
        const auto& hooked = tessera::simt::last_host_access;
        const bool is_hooked = hooked.address == reinterpret_cast<std::uint64_t>(info->si_addr);
        const SourceLine line = line_of_stack(is_hooked ? hooked.site - 1 : at);
        FindingRecord finding = finding_at("device pointer", line.file, line.line);
        finding.array = array->name;
        const auto offset = static_cast<const char*>(info->si_addr) - array->data;
        const bool inside = offset >= 0 && static_cast<std::size_t>(offset) < array->bytes;
        finding.text =
            "the host touches " +
            (inside ? place_in(*array, static_cast<std::size_t>(offset), static_cast<std::size_t>(offset))
                    : "memory beside " + array->name) +
            (r.array_at(array->data) == array ? ", which is device memory: copy it with cudaMemcpy"
                                              : ", which was freed");
        finding.remedy = remedy_of_freed(info->si_addr);
        find(finding);
        say_once(finding.text +
                 (line.line == 0 ? "" : " (" + line.file + ":" + std::to_string(line.line) + ")"));
      }
    }
    Runtime::get().at_exit(signal);
  }
  const struct sigaction& before = handled_before[signal];
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  std::signal(signal, SIG_DFL);
  if (info->si_code <= 0) raise(signal);  // sent, and not by an instruction that will run again
}

// Lets a traced launch hand over its findings first. A second interrupt ends the program at once.
void on_interrupt(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  static std::atomic<time_t> first = 0;  // a terminal and the parent process may both send one
  if (first == 0) first = now.tv_sec;
  if (Runtime::get().launch_runs && now.tv_sec <= first + 1) return tessera::simt::interrupt(signal);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void handle_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

void end_if_interrupted() {
  const int signal = tessera::simt::interrupted();
  if (signal == 0) return;
  std::fflush(nullptr);
  Runtime::get().at_exit(signal);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void handle_faults() {
  // The first call of backtrace() loads a library, which a handler must not do.
  void* frame = nullptr;
  backtrace(&frame, 1);
  static char stack[256 << 10];
  stack_t own = {};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  sigaltstack(&own, nullptr);
  for (const int signal : faults) {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, &handled_before[signal]);
  }
}

}  // namespace tessera_cuda
