// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/overflow.hpp"
#include <mutex>
#include <system_error>

namespace tessera::simt {
namespace {

constexpr std::size_t handler_stack_bytes = 64 << 10;

constinit thread_local OverflowWatch* watch __attribute__((tls_model("initial-exec"))) = nullptr;
struct sigaction handled_before;

void on_fault(int signal, siginfo_t* info, void* context) {
  if (watch != nullptr && watch->caused_by(info->si_addr)) siglongjmp(watch->way_back(), 1);
  if ((handled_before.sa_flags & SA_SIGINFO) != 0) return handled_before.sa_sigaction(signal, info, context);
  if (handled_before.sa_handler != SIG_DFL && handled_before.sa_handler != SIG_IGN)
    return handled_before.sa_handler(signal);
  // The instruction runs again and faults again, now unhandled.
  std::signal(signal, SIG_DFL);
}

void handle_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGSEGV, &action, &handled_before) != 0)
    throw std::system_error(errno, std::generic_category(), "sigaction");
}

}  // namespace

OverflowWatch::OverflowWatch(const Stacks& stacks)
    : stacks_(stacks), handler_stack_(std::make_unique<char[]>(handler_stack_bytes)) {
  static std::once_flag once;
  std::call_once(once, handle_faults);
  stack_t own = {};
  own.ss_sp = handler_stack_.get();
  own.ss_size = handler_stack_bytes;
  if (sigaltstack(&own, &before_) != 0)
    throw std::system_error(errno, std::generic_category(), "sigaltstack");
  watch = this;
}

OverflowWatch::~OverflowWatch() {
  watch = nullptr;
  sigaltstack(&before_, nullptr);
}

}  // namespace tessera::simt
