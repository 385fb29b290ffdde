// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/probe.hpp"
#include <vector>
#include "tessera/core/part.hpp"
#include "tessera/cuda/device.hpp"
#include "tessera/cuda/ptx/special.cuh"

namespace tessera::cuda {
namespace {

// Longer than any launch takes, short enough for a person to wait once.
constexpr std::uint64_t patience_ns = 2'000'000'000;

struct Gate {  // in host memory, where both sides see it
  int open, expired;
};

// What a multiprocessor's two clocks showed.
struct Note {
  unsigned taken, unused;
  std::uint64_t nanoseconds;
  std::int64_t cycles;
};

__global__ void hold(volatile Gate* gate) {
  const std::uint64_t start = ptx::nanoseconds();
  while (gate->open == 0)
    if (ptx::nanoseconds() - start > patience_ns) {
      gate->expired = 1;
      __threadfence_system();
      return;
    }
}

// The common clock may advance in steps of a microsecond: two notes this far apart tell a frequency.
constexpr std::uint64_t shortest_ns = 200'000;

// More blocks than multiprocessors, so that most of these have one; the first on each takes the note.
// `earlier`: the notes to keep the distance from, or null.
__global__ void note(Note* notes, const Note* earlier, unsigned processors) {
  const unsigned here = ptx::processor();
  if (here >= processors || atomicExch(&notes[here].taken, 1u) != 0) return;
  if (earlier != nullptr && earlier[here].taken != 0)
    while (ptx::nanoseconds() - earlier[here].nanoseconds < shortest_ns) continue;
  notes[here].nanoseconds = ptx::nanoseconds();
  notes[here].cycles = clock64();
}

constexpr int blocks_per_processor = 4;

void take_notes(cudaStream_t stream, Note* notes, const Note* earlier, int processors) {
  note<<<static_cast<unsigned>(blocks_per_processor * processors), 1, 0, stream>>>(
      notes, earlier, static_cast<unsigned>(processors));
  check(cudaGetLastError());
}

// Opens the gate when it goes, too, so that no exception leaves the device waiting.
class Hold {
 public:
  Hold(cudaStream_t stream, volatile Gate* gate, bool wanted) : gate_(gate) {
    gate_->open = 0;
    gate_->expired = 0;
    if (!wanted) return;
    hold<<<1, 1, 0, stream>>>(gate_);
    check(cudaGetLastError());
  }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void release() { gate_->open = 1; }

 private:
  volatile Gate* gate_;
};

}  // namespace

Probe::Probe(const Device& device)
    : processors_(part_of(device) ? part_of(device)->all : device.processors),
      notes_(2 * static_cast<std::size_t>(processors_) * sizeof(Note)),
      gate_(sizeof(Gate)),
      nvml_(pci_bus_of(device.index)) {}

Reading Probe::read(cudaStream_t stream, const std::function<void()>& work, bool hide_launches) {
  auto* const notes = static_cast<Note*>(notes_.get());
  auto* const gate = static_cast<volatile Gate*>(gate_.get());
  Reading out;
  check(cudaMemsetAsync(notes, 0, notes_.bytes(), stream));
  {
    Hold held(stream, gate, hide_launches);
    take_notes(stream, notes, nullptr, processors_);
    begin_.record(stream);
    work();
    end_.record(stream);
    take_notes(stream, notes + processors_, notes, processors_);
    held.release();
    check(cudaStreamSynchronize(stream));
    out.power_w = nvml_.power_w();  // the window that it tells of may reach back before the work
  }
  out.gave_up = gate->expired != 0;
  out.seconds = end_.seconds_since(begin_);
  out.clock_mhz = clock_between_notes(stream);
  return out;
}

// The mean over the multiprocessors that both kernels met.
std::optional<double> Probe::clock_between_notes(cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(processors_);
  std::vector<Note> notes(2 * count);
  check(cudaMemcpyAsync(notes.data(), notes_.get(), notes_.bytes(), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  double sum = 0;
  int seen = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Note &before = notes[i], &behind = notes[count + i];
    if (before.taken == 0 || behind.taken == 0) continue;
    const std::uint64_t nanoseconds = behind.nanoseconds - before.nanoseconds;
    if (nanoseconds < shortest_ns) continue;
    sum += static_cast<double>(behind.cycles - before.cycles) / static_cast<double>(nanoseconds) * 1e3;
    ++seen;
  }
  return seen == 0 ? std::nullopt : std::optional(sum / seen);
}

}  // namespace tessera::cuda
