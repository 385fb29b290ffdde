// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies that happen as late as they may, or at once: a kernel that waits too little finds what
// was there before, one that copies too early destroys what is still to be read.
#pragma once
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>
#include "cuda.hpp"

namespace tessera::cuda::ptx {

struct Copy {
  void* to;
  const void* from;
  int bytes, valid;

  void happen() const {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
    if (valid > 0) std::memcpy(to, from, static_cast<std::size_t>(valid));
  }
};
struct Copies {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

inline bool copies_are_late = true;
inline Copies& copies() {
  static Copies of[1024];
  return of[Thread{}.rank()];
}

template <int bytes>
void cp_async(void* to, const void* from, int valid) {
  const auto misplaced = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes != 0;
  };
  if (valid < 0 || valid > bytes || misplaced(to) || misplaced(from))
    throw std::logic_error("no copy that a GPU makes");
  // A copy may touch all of its bytes, whatever it leaves out.
  if (valid > 0) emulated::check_readable(from, bytes);
  const Copy copy{to, from, bytes, valid};
  if (copies_are_late) copies().open.push_back(copy);
  else copy.happen();
}
template <int bytes, bool cache_in_l1 = false>
void cp_async(void* to, const void* from) {
  cp_async<bytes>(to, from, bytes);
}
inline void cp_async_if(bool pred, void* to, const void* from) {
  if (pred) cp_async<16>(to, from);
}

inline void cp_async_commit_group() {
  copies().groups.push_back(std::move(copies().open));
  copies().open.clear();
}

template <int groups>
void cp_async_wait_group() {
  for (Copies& mine = copies(); mine.groups.size() > groups; mine.groups.pop_front())
    for (const Copy& copy : mine.groups.front()) copy.happen();
}

}  // namespace tessera::cuda::ptx
