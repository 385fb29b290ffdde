// SPDX-License-Identifier: Apache-2.0
// Copies by all threads of a group. They are complete when the call returns, so only the group has to
// synchronize.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class T>
TESSERA_DEVICE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  for (size_t i = group.thread_rank(); i < bytes / sizeof(T); i += group.size()) to[i] = from[i];
}
template <class Group, class T>
TESSERA_DEVICE void memcpy_async(const Group& group, T* to, size_t to_count, const T* from,
                                 size_t from_count) {
  const size_t count = to_count < from_count ? to_count : from_count;
  for (size_t i = group.thread_rank(); i < count; i += group.size()) to[i] = from[i];
}
template <class Group>
TESSERA_DEVICE void wait(const Group& group, CallSite at = CallSite::current()) {
  group.sync(at);
}
template <unsigned Stages, class Group>
TESSERA_DEVICE void wait_prior(const Group& group, CallSite at = CallSite::current()) {
  group.sync(at);
}

}  // namespace cooperative_groups
