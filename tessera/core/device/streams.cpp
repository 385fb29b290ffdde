// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/device/streams.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<StreamFactory>>& factories() {
  static std::map<Where, std::unique_ptr<StreamFactory>> all;
  return all;
}

}  // namespace

std::unique_ptr<StreamFactory> register_streams(Where where, std::unique_ptr<StreamFactory> factory) {
  return std::exchange(factories()[where], std::move(factory));
}

StreamFactory* find_streams(Where where) {
  const auto found = factories().find(where);
  return found == factories().end() ? nullptr : found->second.get();
}

namespace {

std::map<Where, std::unique_ptr<StreamOrderedMemory>>& all_stream_ordered_memory() {
  static std::map<Where, std::unique_ptr<StreamOrderedMemory>> all;
  return all;
}

}  // namespace

void register_stream_ordered_memory(Where where, std::unique_ptr<StreamOrderedMemory> devices) {
  all_stream_ordered_memory()[where] = std::move(devices);
}

StreamOrderedMemory* find_stream_ordered_memory(Where where) {
  const auto found = all_stream_ordered_memory().find(where);
  return found == all_stream_ordered_memory().end() ? nullptr : found->second.get();
}

}  // namespace tessera
