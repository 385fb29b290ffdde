// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/executor/signals.hpp"
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::simt {
namespace {

constexpr std::size_t handler_stack_bytes = 64 << 10;
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE};
// Timer ticks within the time that a GPU thread may run without progress.
constexpr int ticks = 10;

// Returns a real-time signal, because another library's timers may use SIGALRM or SIGPROF.
int tick_signal() { return SIGRTMIN + 5; }

struct sigaction handled_before[NSIG];

// True while a kernel runs on this OS thread; other faults are not the kernel's.
bool in_kernel() { return current_watch != nullptr && current_thread != nullptr; }

void on_fault(int signal, siginfo_t* info, void* context) {
  if (in_kernel() && current_watch->stops(signal, *info)) siglongjmp(current_watch->way_back(), 1);
  const struct sigaction& before = handled_before[signal];
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  // The instruction runs again and faults again, now with the default action.
  std::signal(signal, SIG_DFL);
}

void on_tick(int signal, siginfo_t* info, void* context) {
  if (current_watch == nullptr || !current_watch->stops(signal, *info) || !in_kernel()) return;
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  current_watch->set_innermost(machine.gregs[REG_RIP]);
#else
  current_watch->set_innermost(machine.pc);
#endif
  siglongjmp(current_watch->way_back(), 1);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, &handled_before[signal]) != 0)
    throw std::system_error(errno, std::generic_category(), "sigaction");
}

void handle_signals() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // the first call loads a library, which a handler must not do
  for (const int signal : faults) handle(signal, on_fault);
  handle(tick_signal(), on_tick);
}

}  // namespace

double max_seconds_without_progress() {
  constexpr double usual = 10;
  const char* const text = std::getenv("TESSERA_SIMT_TIMEOUT");
  if (text == nullptr || *text == '\0') return usual;
  const std::string word = text;
  double seconds = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (failed != std::errc() || end != word.data() + word.size() || !(seconds >= 0 && seconds <= 1e6))
    throw Error("TESSERA_SIMT_TIMEOUT needs seconds, 0 for any time, not '" + word + "'");
  return seconds;
}

namespace {
thread_local double seconds_allowed = 0;
}

TimeLimit::TimeLimit(double seconds) : before_(std::exchange(seconds_allowed, seconds)) {}
TimeLimit::~TimeLimit() { seconds_allowed = before_; }
double TimeLimit::seconds() { return seconds_allowed; }

Deadline::Deadline(double seconds)
    : seconds_(seconds),
      end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(std::fmin(seconds, 1e9)))) {}

Watch::Watch(const Stacks& stacks, const std::atomic<std::uint64_t>& progress, const Deadline& deadline)
    : stacks_(stacks),
      progress_(progress),
      deadline_(deadline),
      handler_stack_(std::make_unique<char[]>(handler_stack_bytes)) {
  static std::once_flag once;
  std::call_once(once, handle_signals);
  stack_t own = {};
  own.ss_sp = handler_stack_.get();
  own.ss_size = handler_stack_bytes;
  if (sigaltstack(&own, &before_) != 0)
    throw std::system_error(errno, std::generic_category(), "sigaltstack");
  current_watch = this;
  start_clock();
}

Watch::~Watch() {
  if (has_clock_) timer_delete(clock_);
  current_watch = nullptr;
  sigaltstack(&before_, nullptr);
}

// Starts a clock of this OS thread's CPU time, so that a slow or busy machine is not mistaken for a spinning
// kernel. Without a clock, a spinning kernel never ends.
void Watch::start_clock() {
  constexpr double shortest = 0.005;
  const double seconds = max_seconds_without_progress() / ticks;
  if (deadline_.seconds() == 0) {
    ticks_allowed_ = seconds > 0 ? ticks : 0;
    return tick_every(seconds);
  }
  double often = std::fmax(shortest, deadline_.seconds() / 16);
  if (seconds > 0) often = std::fmin(often, seconds);
  ticks_allowed_ = seconds > 0 ? static_cast<int>(std::ceil(ticks * seconds / often)) : 0;
  tick_every(often);
}

void Watch::tick_every(double seconds) {
  if (seconds == 0) seconds = 1;  // looks for interrupts
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = tick_signal();
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &clock_) != 0) return;
  has_clock_ = true;
  itimerspec every = {};
  every.it_interval.tv_sec = static_cast<time_t>(seconds);
  every.it_interval.tv_nsec = std::max(1L, static_cast<long>((seconds - std::floor(seconds)) * 1e9));
  every.it_value = every.it_interval;
  timer_settime(clock_, 0, &every, nullptr);
}

bool Watch::stops(int signal, const siginfo_t& info) noexcept {
  if (signal == tick_signal()) {
    const std::uint64_t now = progress_.load(std::memory_order_relaxed);
    ticks_without_progress_ = now == seen_ ? ticks_without_progress_ + 1 : 0;
    seen_ = now;
    return must_stop();
  }
  stop_ = {.why = Stop::Why::division};
  if (signal == SIGFPE) set_innermost(reinterpret_cast<std::uint64_t>(info.si_addr));
  else
    stop_ = {.why = stacks_.in_gap(info.si_addr) ? Stop::Why::overflow : Stop::Why::no_memory,
             .address = info.si_addr};
  // A positive si_code: an instruction caused the signal; no process sent it.
  return info.si_code > 0;
}

bool Watch::must_stop() noexcept {
  stop_ = {.why = interrupted() != 0 ? Stop::Why::interrupted
                  : deadline_.over() ? Stop::Why::late
                                     : Stop::Why::spinning};
  if (stop_.why != Stop::Why::spinning) return true;
  if (ticks_allowed_ == 0 || ticks_without_progress_ <= ticks_allowed_ || progress_ != seen_) return false;
  if (in_kernel()) backtrace(stop_.frames.data(), static_cast<int>(stop_.frames.size()));
  return true;
}

void stop_if_late() {
  if (in_kernel() && current_watch->must_stop()) siglongjmp(current_watch->way_back(), 1);
}

namespace {
std::atomic<int> interruption{0};
}

void interrupt(int signal) noexcept { interruption = signal; }
int interrupted() noexcept { return interruption; }

void unblock_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : faults) sigaddset(&set, signal);
  sigaddset(&set, tick_signal());
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace tessera::simt
