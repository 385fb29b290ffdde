// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/engine.hpp"
#include <chrono>
#include <system_error>
#include <thread>
#include "tessera/core/parallel.hpp"

namespace tessera {

using Clock = std::chrono::steady_clock;

Engine::Engine(const EngineCall& call, const std::vector<Lanes*>& lanes) {
  for (std::size_t d = 0; d < lanes.size(); ++d)
    seats_.push_back(std::make_unique<EngineSeat>(call, d, *lanes[d]));
  on_each([](EngineSeat& seat) {
    seat.prepare();
    seat.load();
  });
}

// What is wrong with the call is the caller's to know; what fails otherwise is the device's failure.
void Engine::on_each(const std::function<void(EngineSeat&)>& work) {
  for (std::size_t d = 0; d < seats_.size(); ++d) try {
      work(*seats_[d]);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::user) throw;
      throw LostDevice{d, std::current_exception()};
    }
}

void Engine::fail(std::size_t device, std::exception_ptr cause) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_) lost_ = {device, cause};
  }
  for (const auto& seat : seats_) seat->stop();
}

void Engine::work() {
  std::vector<std::jthread> threads;
  const auto spawn = [&](std::size_t d, auto part) {
    threads.emplace_back([this, d, part] {
      try {
        part(*seats_[d]);
      } catch (const MarkBoard::Stopped&) {  // somebody else has failed
      } catch (...) {
        fail(d, std::current_exception());
      }
    });
  };
  for (std::size_t d = 0; d < seats_.size(); ++d) try {
      spawn(d, [](EngineSeat& seat) { seat.bring_in(); });
      spawn(d, [this](EngineSeat& seat) { seat.compute(seats_); });
      spawn(d, [](EngineSeat& seat) { seat.take_out(); });
    } catch (const std::system_error&) {
      fail(d, std::make_exception_ptr(no_more_threads(3 * static_cast<std::int64_t>(seats_.size()))));
      return;
    }
}

Engine::Run Engine::run() {
  lost_.reset();
  std::vector<Clock::time_point> starts;
  on_each([&](EngineSeat& seat) {
    seat.begin();
    seat.lanes().start_clock();
    starts.push_back(Clock::now());
  });
  const auto start = Clock::now();
  work();
  Run out{.started = start, .timeline = {}};
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (lost_) {
    for (const auto& seat : seats_) seat->settle();
    throw LostDevice(*lost_);
  }
  for (std::size_t d = 0; d < seats_.size(); ++d) {
    const double late = std::chrono::duration<double>(starts[d] - start).count();
    for (dist::Span& span : seats_[d]->spans()) {
      span.first += late;
      span.last += late;
      out.timeline.spans.push_back(span);
    }
  }
  return out;
}

}  // namespace tessera
