// SPDX-License-Identifier: Apache-2.0
// Shared by typed calls: messages that name members of Options instead of the command line's flags, and the
// Call that a thread remembers for Options.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "tessera/call.hpp"

namespace tessera {

// Turns "--output-element f32" into "output_element f32".
std::string without_flags(std::string_view message);

// Returns the result of `call`. The message of an Error names members of Options instead of flags.
template <class F>
decltype(auto) typed_call(const F& call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(error.kind(), without_flags(error.what()));
  }
}

// Returns the calling thread's Call for these options: one of its last sixteen, or a new one that make()
// makes. Options have operator== and texts(), pointers to their string_views.
template <class Options, class Make>
const Call& remembered_call(const Options& options, const Make& make) {
  struct CachedCall {
    Options options;
    std::vector<std::string> texts;  // the targets of the options' views
    std::unique_ptr<const Call> call;
  };
  constexpr std::size_t most = 16;
  thread_local std::vector<std::unique_ptr<CachedCall>> known;
  thread_local std::size_t oldest = 0;
  for (const auto& one : known)
    if (one->options == options) return *one->call;
  auto made = std::make_unique<CachedCall>(CachedCall{options, {}, make()});
  const auto views = made->options.texts();
  made->texts.reserve(views.size());
  for (std::string_view* const view : views) *view = made->texts.emplace_back(*view);
  if (known.size() < most) return *known.emplace_back(std::move(made))->call;
  auto& place = known[std::exchange(oldest, (oldest + 1) % most)];
  place = std::move(made);
  return *place->call;
}

}  // namespace tessera
