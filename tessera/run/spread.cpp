// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/spread.hpp"
#include <algorithm>
#include <charconv>
#include <cstring>
#include "tessera/core/suggest.hpp"
#include "tessera/core/poison.hpp"
#include "tessera/core/shared_array.hpp"
#include "tessera/run/attempts.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

// Workers write into it without a copy.
void give_memory_to_outputs(Arguments& host, Together& together, bool shared) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    if (view.data != nullptr) continue;
    const auto& array = together.outputs[p->name] =
        shared ? shared_array(view.element, view.extents) : Array(view.element, view.extents);
    host.set_array(p->name, array.view());
  }
}

void poison_outputs(const Arguments& host) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    const std::vector<unsigned char> poison(view.row_major() ? 0 : view.bytes(), 0xff);
    if (!view.row_major()) unpack(poison.data(), view);
    else if (view.bytes() != 0) std::memset(view.data, 0xff, view.bytes());
  }
}

bool changes_results(const Fault& fault) {
  using Kind = Fault::Kind;
  return fault.kind == Kind::flip || fault.kind == Kind::strew || fault.kind == Kind::swap;
}

Together in_partial_results(const Operation& computed, const Reduction& reduction, const Arguments& host,
                            const Spread& spread) {
  Arguments partial = reduction.divide(host);
  Together partials;
  give_memory_to_outputs(partial, partials, spread.in_workers());
  Together out = Attempts(computed, partial, spread).work();
  if (out.complete) reduction.combine(partial, host, out.values);
  return out;
}

// The median's; of an even number of runs the mean of the middle two, and the rest from the faster of these.
Together repeated(const Spread& spread, const std::function<Together()>& once) {
  std::vector<Together> runs;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, spread.repeat); ++i) {
    runs.push_back(once());
    if (!runs.back().complete) return std::move(runs.back());
  }
  std::vector<double> times;
  for (const Together& run : runs) times.push_back(run.seconds);
  std::vector<std::size_t> most(runs.front().shares.size(), 0);
  for (const Together& run : runs)
    for (std::size_t d = 0; d < std::min(most.size(), run.shares.size()); ++d)
      most[d] = std::max(most[d], run.shares[d].begun);
  std::ranges::sort(runs, {}, &Together::seconds);
  const std::size_t upper = runs.size() / 2, lower = (runs.size() - 1) / 2;
  const double median = (runs[lower].seconds + runs[upper].seconds) / 2;
  Together out = std::move(runs[lower]);
  out.seconds = median;
  for (std::size_t d = 0; d < std::min(most.size(), out.shares.size()); ++d)
    out.shares[d].most_begun = most[d];
  out.times = std::move(times);
  return out;
}

}  // namespace

void check_faults(const Spread& spread) {
  for (const Fault& fault : spread.faults) {
    const std::string word =
        std::string("--fault ") + name_of(fault.kind) + ":" + std::to_string(fault.device);
    if (fault.device >= spread.devices.size())
      throw Error(word + ": the devices are numbered from 0 to " + std::to_string(spread.devices.size() - 1));
    const Device& device = spread.devices[fault.device];
    if (fault.kind == Fault::Kind::poison && find_poison(device.where) == nullptr)
      throw Error(word + ": nothing can poison " + device.label() + "; it takes a GPU");
  }
}

std::vector<std::string> faults_left(const Spread& spread, const Together& together) {
  std::vector<std::string> out;
  for (const Fault& fault : spread.faults) {
    const Share& share = together.shares.at(fault.device);
    const std::size_t begun = std::max(share.begun, share.most_begun);
    const bool repeated = together.times.size() > 1;
    if (fault.tile <= begun) continue;
    const std::string device = std::to_string(fault.device);
    out.push_back(std::string("fault ") + name_of(fault.kind) + ":" + device + "@" +
                  std::to_string(fault.tile) + " did not happen" + (repeated ? " in any run" : "") +
                  ": device " + device + " had " + (repeated ? "at most " : "") + std::to_string(begun) +
                  (begun == 1 ? " part" : " parts") + (repeated ? " in one" : ""));
  }
  return out;
}

Split parse_split(const std::string& word) {
  if (word.empty() || word == "plan") return {};
  if (word == "dynamic") return {.how = Split::How::dynamic};
  if (word == "auto") return {.how = Split::How::measured};
  Split out{.how = Split::How::shares};
  for (std::size_t first = 0; first <= word.size();) {
    const std::size_t last = std::min(word.find(':', first), word.size());
    double share = 0;
    const auto [end, failed] = std::from_chars(word.data() + first, word.data() + last, share);
    if (failed != std::errc() || end != word.data() + last || !(share >= 0))
      throw Error("--split cannot be '" + word + "'" +
                  suggestion(word, {"plan", "dynamic", "auto", "shares as in 2:1"}));
    out.shares.push_back(share);
    first = last + 1;
  }
  return out;
}

const Operation& computed_in_parts(const Operation& operation) {
  if (find_division(operation.name) != nullptr) return operation;
  const Reduction* const reduction = find_reduction(operation.name);
  if (reduction == nullptr)
    throw Error(operation.name + " runs on one device: its result is not computed in parts");
  return *find_operation(reduction->partial);
}

Together run_together(const Operation& operation, Arguments& host, const Spread& spread, bool check) {
  const Operation& computed = spread.whole ? operation : computed_in_parts(operation);
  if (spread.devices.empty()) throw Error("no device is named");
  if (spread.repeat > 1 && !spread.checkpoint.empty())
    throw Error(
        "--repeat with --checkpoint: from the second run on parts would only be read from the file, which is "
        "no time of the call");
  refuse_overlaps(host);
  check_faults(spread, host);
  Together memory;
  give_memory_to_outputs(host, memory, spread.in_workers());
  const Reduction* const reduction = &computed == &operation ? nullptr : find_reduction(operation.name);
  std::optional<Attempts> attempts;
  Together out = repeated(spread, [&] {
    if (check) poison_outputs(host);
    if (reduction != nullptr)
      return in_partial_results(*find_operation(reduction->partial_of(host)), *reduction, host, spread);
    if (!attempts) attempts.emplace(operation, host, spread);
    return attempts->work();
  });
  out.outputs = std::move(memory.outputs);
  if (!out.complete) return out;
  // Checksums do not see every change that was asked for.
  if (std::ranges::any_of(spread.faults, changes_results)) out.same_bits = false;
  if (operation.tell) operation.tell(host, out.values);
  if (check) out.verdict = verify(operation, host);
  if (out.verdict && !out.verdict->passed) out.same_bits = false;
  return out;
}

}  // namespace tessera
