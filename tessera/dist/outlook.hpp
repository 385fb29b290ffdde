// SPDX-License-Identifier: Apache-2.0
// What a division would take on many like devices, from rates and a model: the result cut into a grid of
// equal blocks, each device holding an equal part of every input and receiving the rest of what its block
// reads, panel by panel, while it computes. docs/hosts.md states the model and what it was held against.
#pragma once
#include <cstdint>
#include "tessera/core/division.hpp"

namespace tessera::dist {

struct Machines {
  std::int64_t devices = 1, per_host = 8;
  double flops_per_second = 0;
  double link_bytes_per_second = 0;     // of one device alone, from its host's memory, and as much back
  double peer_bytes_per_second = 0;     // of each device, from those of its host
  double network_bytes_per_second = 0;  // of each device, from other hosts
};

struct Outlook {
  std::int64_t grid_rows = 1,
               grid_cols = 1;  // may leave devices over; 0: nothing is wanted, nobody does anything
  double received_bytes = 0;   // by each device, from others
  double network_bytes = 0;    // of these, from other hosts
  double compute_seconds = 0;
  // Inputs and result spread over the devices: the largest of computing, of what peers send and of what the
  // network carries, and one panel's way in before.
  double seconds = 0;
  // Inputs and result in the hosts' memory, each element of an input crossing one link: the largest of all
  // these and of both directions of the link (of both together where sums are not cut, for then results leave
  // when the inputs are there), a panel's way in, and a tile's way out.
  double host_seconds = 0;

  std::int64_t used() const { return grid_rows * grid_cols; }
};

// Of a link that has beside_computing of its speed while kernels run, and beside_others of that where other
// devices of the host copy, too: both as measured on H200s.
constexpr double beside_computing = 0.7, beside_others = 0.8;

// With the grid that takes least time; of equals, the one of fewer bytes. A grid has no more rows and columns
// than the division has granules.
Outlook outlook(const Division& division, const Arguments& arguments, const Machines& machines);

}  // namespace tessera::dist
