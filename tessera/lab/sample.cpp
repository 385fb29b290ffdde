// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/sample.hpp"
#include "tessera/lab/clock.hpp"

namespace tessera::lab {
namespace {

struct Track {
  std::vector<double> samples;
  double spent = 0, longest = 0;  // wall time, with what a sample needs around it

  bool wants_another(const Effort& effort) const {
    if (samples.empty()) return true;
    if (spent + longest > effort.seconds) return false;
    if (effort.samples != 0) return samples.size() < effort.samples;
    return samples.size() < effort.fewest || (samples.size() < effort.most && spent < effort.enough_seconds);
  }

  void take(const std::function<double()>& sample) {
    const Stopwatch watch;
    samples.push_back(sample());
    const double took = watch.seconds();
    spent += took;
    if (took > longest) longest = took;
  }
};

}  // namespace

std::vector<std::vector<double>> interleave(const std::vector<Contestant>& contestants, const Effort& effort,
                                            const std::function<bool()>& interrupted) {
  std::vector<Track> tracks(contestants.size());
  const auto finished = [&] {
    std::vector<std::vector<double>> out;
    for (Track& track : tracks) out.push_back(std::move(track.samples));
    return out;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (!tracks[i].wants_another(effort)) continue;
      if (interrupted && interrupted()) return finished();
      tracks[i].take(contestants[i].sample);
      again = true;
      if (contestants[i].finished && !tracks[i].wants_another(effort)) contestants[i].finished();
    }
  }
  return finished();
}

}  // namespace tessera::lab
