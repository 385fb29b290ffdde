// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/distributed.hpp"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include "tessera/dist/communicator_devices.hpp"
#include "tessera/dist/distributed.hpp"
#include "tessera/dist/distributed_file.hpp"
#include "tessera/run/distributed_report.hpp"
#include "tessera/run/distributed_spread.hpp"
#include "tessera/run/distributed_sum.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double timed(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A variant and where it runs, as one process would choose them. GPUs are dealt out later.
Plan settle(const Operation& operation, const Contraction& contraction, const Arguments& whole,
            Request request, const std::optional<Spread>& spread) {
  if (spread) return choose_on(spread->devices.at(0), operation, whole, request);
  if (request.device == "auto") request.device = "cpu";
  if (request.device.starts_with("cuda:"))
    throw Error("--device " + request.device +
                ": each rank takes the GPU of its place on the host, --device cuda");
  request.cached = false;
  const Device device = find_device(request.device);
  if (device.where != Where::cpu) {
    if (const Reason reason = contraction.no_panels(whole))
      throw Error("--device " + request.device + ": " + *reason);
    return choose_on(device, operation, whole, request);
  }
  const std::string variant = contraction.variant(whole);
  if (request.variant && *request.variant != variant)
    throw Error("--variant " + *request.variant + ": several ranks compute this as " + variant + " does");
  if (request.tuning) throw Error("--tuning: what several ranks compute by has none");
  request.variant = variant;
  return choose_on(device, operation, whole, request);
}

// One number for what was asked, by which ranks see that it was the same: sizes, words, elements, how inputs
// lie.
std::int64_t fingerprint_of(const Arguments& whole, std::int64_t depth, Where where,
                            const DistributedRequest& request) {
  std::string all = std::string(name_of(whole.element())) + request.output + (request.check ? "check" : "");
  for (const auto& [name, extent] : whole.dims()) all += name + "=" + std::to_string(extent) + ";";
  for (const auto& [name, word] : whole.words()) all += name + "=" + word + ";";
  for (const Parameter* p : whole.signature().of(Parameter::Kind::input))
    if (whole.has(p->name)) all += p->name + (whole.array(p->name).row_major() ? ",rows;" : ",columns;");
  // Caches of unlike processors ask for panels unlike in depth.
  all += std::to_string(depth) + std::string(name_of(where)) + (request.spread ? " and others" : "");
  return static_cast<std::int64_t>(std::hash<std::string>{}(all) >> 1);
}

void demand_same(dist::Communicator& ranks, std::int64_t fingerprint) {
  if (ranks.largest(fingerprint) == -ranks.largest(-fingerprint)) return;
  throw dist::SharedError(
      Error::Kind::user,
      "ranks were asked for unlike things: words, sizes and kind of processor must be the same for all");
}

// A device of this rank's own, and what joins it to those of its row and its column of the grid. Where it
// shares the host's memory nothing is needed.
class DeviceSide {
 public:
  DeviceSide(const Device& device, dist::Communicator& grid, dist::Communicator& row, dist::Communicator& col)
      : device_(device),
        backend_(backend_of(device)),
        run_{&device_},
        stream_(backend_.make_stream(device), Release{this}) {
    run_.stream = stream_.get();
    joined_ = dist::join_devices(grid, {&row, &col}, run_);
  }
  DeviceSide(const DeviceSide&) = delete;
  DeviceSide& operator=(const DeviceSide&) = delete;

  dist::Communicator* row() { return joined_[0].get(); }  // null: that of the hosts
  dist::Communicator* col() { return joined_[1].get(); }
  dist::Storage storage() {
    return {&backend_.memory(device_), [this](void* to, const void* from, std::size_t bytes) {
              backend_.copy(run_, to, from, bytes);
              backend_.synchronize(run_);
            }};
  }

 private:
  struct Release {
    DeviceSide* side;
    void operator()(void* stream) const { side->backend_.release_stream(side->device_, stream); }
  };

  Device device_;
  Backend& backend_;
  Run run_;
  std::unique_ptr<void, Release> stream_;
  std::vector<std::unique_ptr<dist::Communicator>> joined_;
};

// One rank's work, step by step; all ranks call each step.
class Rank {
 public:
  Rank(const Operation& operation, const Contraction& contraction, const Arguments& whole,
       dist::Communicator& ranks, const DistributedRequest& request)
      : operation_(operation), contraction_(contraction), whole_(whole), ranks_(ranks), request_(request) {}

  DistributedOutcome run() {
    dist::agree(ranks_, [&] {
      outcome_.plan = settle(operation_, contraction_, whole_, request_.request, request_.spread);
      outcome_.depth =
          request_.spread ? spread_depth(contraction_, whole_) : contraction_.depth(whole_, where());
    });
    demand_same(ranks_, fingerprint_of(whole_, outcome_.depth, where(), request_));
    const dist::HostPlace here = ranks_.on_host();
    dist::agree(ranks_, [&] { deal_device(here); });
    place();
    outcome_.join_seconds = timed([&] { join(); });
    outcome_.seconds = timed([&] {
      read();
      outcome_.product_seconds = timed([&] { add(); });
    });
    if (request_.check) check();
    if (outcome_.passed && !request_.output.empty()) outcome_.seconds += timed([&] { write(); });
    for (const std::string& bytes : ranks_.gather(to_bytes(report_, verdict_))) add_report(bytes, outcome_);
    return std::move(outcome_);
  }

 private:
  bool idle() const { return grid_ == nullptr; }
  // Where panels lie: of several devices in the host's memory.
  Where where() const { return request_.spread ? Where::cpu : outcome_.plan.device.where; }

  // The GPU of this rank's place on the host; processors are shared by all ranks there.
  void deal_device(const dist::HostPlace& here) {
    Device& device = outcome_.plan.device;
    if (request_.spread) {
      spread_ = *request_.spread;
      spread_.devices = devices_of_rank(spread_.devices, request_.request.device, here);
      report_.threads = 0;
      for (const Device& one : spread_.devices) report_.threads += one.where == Where::cuda ? 1 : one.threads;
      return;
    }
    const auto& devices = backend_of(device).devices();
    if (where() == Where::cuda) device = devices[static_cast<std::size_t>(here.rank) % devices.size()];
    else device.threads = threads_of_rank(device, request_.request.device, here.ranks);
    report_.threads = device.threads;
    report_.device = device.label();
  }

  void place() {
    const ArrayView a = whole_.array(contraction_.left), b = whole_.array(contraction_.right);
    const std::int64_t m = whole_.dim(contraction_.rows), n = whole_.dim(contraction_.cols),
                       extent = contraction_.extent(whole_);
    const dist::ProductSize size{m, n, extent, static_cast<std::int64_t>(size_of(a.element)),
                                 static_cast<std::int64_t>(size_of(b.element))};
    const dist::Grid grid = dist::best_grid(size, ranks_.size());
    outcome_.grid = grid;
    outcome_.predicted_bytes = dist::received_bytes(size, grid);
    outcome_.panels = dist::Panels(extent, outcome_.depth, 1).count();
    report_.host = ranks_.host();
    const int rank = ranks_.rank();
    grid_ = ranks_.split(grid.has(rank) ? 0 : -1);
    if (idle()) return;
    row_ = grid_->split(grid.row_of(rank));
    col_ = grid_->split(grid.col_of(rank));
    report_.rows = dist::nth_part(m, grid.rows, grid.row_of(rank));
    report_.cols = dist::nth_part(n, grid.cols, grid.col_of(rank));
  }

  // What joins devices waits for all of them: what it throws on one rank ends all at once.
  void join() {
    outcome_.connected_by = ranks_.name();
    if (idle() || where() == Where::cpu) return;
    device_ = std::make_unique<DeviceSide>(outcome_.plan.device, *grid_, *row_, *col_);
    if (device_->row() != nullptr) outcome_.connected_by += " and " + device_->row()->name();
  }
  dist::Communicator& panels_along(bool row) const {
    dist::Communicator* const joined = device_ == nullptr ? nullptr : row ? device_->row() : device_->col();
    return joined != nullptr ? *joined : row ? *row_ : *col_;
  }

  // An input as [outer, summed], whole or a rank's part of it.
  dist::Operand operand(const std::string& name, bool right, dist::Communicator& ranks) const {
    const auto seen = [&](const Arguments& arguments) {
      const ArrayView view = arguments.oriented(name, arguments.array(name).element, 2);
      return right ? view.transposed() : view;
    };
    const ArrayView all = seen(whole_);
    return {seen(*part_), all.strides[1] > all.strides[0],
            dist::Panels(contraction_.extent(whole_), outcome_.depth, ranks.size()), ranks.rank(),
            device_ == nullptr ? dist::Storage{} : device_->storage()};
  }

  void read() {
    dist::agree(ranks_, [&] {
      if (idle()) return;
      report_.read_seconds = timed([&] {
        const Division division = (*find_division(operation_.name))(whole_);
        part_ = division.part({report_.rows, report_.cols, {0, division.depth}});
        const ArrayView& out = part_->array(contraction_.result);
        result_ = Array(out.element, out.extents);
        std::memset(result_.as<void>(), 0xFF, out.bytes());
        part_->set_array(contraction_.result, result_.view());
        left_ = operand(contraction_.left, false, *row_);
        right_ = operand(contraction_.right, true, *col_);
        left_->read();
        right_->read();
        if (request_.spread) {
          auto sum = std::make_unique<SpreadSum>(operation_, contraction_, *part_, spread_);
          shared_ = sum.get();
          sum_ = std::move(sum);
          return;
        }
        if (device_ == nullptr) {
          sum_ = contraction_.start(*part_, report_.threads);
          return;
        }
        auto sum =
            std::make_unique<VariantSum>(operation_, contraction_, *part_, outcome_.plan, request_.request);
        variant_ = sum.get();
        sum_ = std::move(sum);
      });
    });
  }

  void add() {
    std::exception_ptr failure;
    if (!idle()) {
      dist::PanelTimes times =
          dist::add_panels(*grid_, panels_along(true), panels_along(false), *left_, *right_, *sum_,
                           [&](const std::exception_ptr& e) { failure = e; });
      if (variant_ != nullptr) outcome_.plan = variant_->plan();
      if (shared_ != nullptr) {
        report_.device = shared_->told();
        report_.devices = shared_->devices();
        for (const std::string& note : shared_->notes()) report_.notes += note + "\n";
        if (shared_->checks().any()) report_.checks = to_text(shared_->checks());
      }
      report_.compute_seconds = times.compute_seconds;
      report_.transfer_seconds = times.transfer_seconds;
      report_.wait_seconds = times.wait_seconds;
      report_.agree_seconds = times.agree_seconds;
      report_.received_bytes = times.received_bytes;
      report_.spans = std::move(times.spans);
      if (shared_ != nullptr) tell_of_devices(times.started);
    }
    if (request_.spread) name_failures(failure);
    dist::agree(ranks_, [&] {
      if (failure) std::rethrow_exception(failure);
    });
  }

  // What they did takes the place of the panels' adding.
  void tell_of_devices(std::chrono::steady_clock::time_point started) {
    std::erase_if(report_.spans, [](const dist::Span& span) { return span.deed == dist::Deed::compute; });
    for (dist::Span span : shared_->spans(started)) {
      ++span.device;
      report_.spans.push_back(span);
    }
  }

  // What befell each rank's devices, of which agree() would tell one rank's: rank 0 speaks for all.
  // Everybody's mistake is said once.
  void name_failures(std::exception_ptr& failure) {
    if (ranks_.largest(failure ? 1 : 0) == 0) return;
    const std::vector<std::string> told = ranks_.gather(kind_and_text(failure));
    std::string all;
    bool same = true;
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
      same = same && told[rank] == told[0];
      if (!told[rank].empty())
        all += (all.empty() ? "rank " : "; rank ") + std::to_string(rank) + ": " + told[rank].substr(1);
    }
    if (told.empty()) return;
    const std::string& first =
        *std::ranges::find_if(told, [](const std::string& text) { return !text.empty(); });
    const auto kind = static_cast<Error::Kind>(first[0]);
    failure = std::make_exception_ptr(Error(kind, same && kind == Error::Kind::user ? first.substr(1) : all));
  }
  static std::string kind_and_text(const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const Error& error) {
      return static_cast<char>(error.kind()) + std::string(error.what());
    } catch (const std::exception& error) {
      return static_cast<char>(Error::Kind::internal) + std::string(error.what());
    } catch (...) {
      return static_cast<char>(Error::Kind::internal) + std::string("an unknown failure");
    }
    return {};
  }

  // Each rank holds its block against the files, without what travelled.
  void check() {
    dist::agree(ranks_, [&] {
      if (!idle()) report_.check_seconds = timed([&] { verdict_ = verify(operation_, *part_); });
    });
    outcome_.passed = ranks_.largest(verdict_ && !verdict_->passed ? 1 : 0) == 0;
  }

  void write() {
    const ArrayView& whole = whole_.array(contraction_.result);
    ArrayView block = result_.view();
    block.element = whole.element;
    report_.write_seconds = timed([&] {
      dist::write_together(ranks_, request_.output, whole.extents, block, report_.rows, report_.cols);
    });
  }

  const Operation& operation_;
  const Contraction& contraction_;
  const Arguments& whole_;
  dist::Communicator& ranks_;
  const DistributedRequest& request_;
  std::unique_ptr<dist::Communicator> grid_, row_, col_;  // null: this rank has nothing to do
  std::unique_ptr<DeviceSide> device_;                    // null: the processors
  std::optional<Arguments> part_;
  Array result_;
  std::optional<dist::Operand> left_, right_;
  std::unique_ptr<PanelSum> sum_;
  const VariantSum* variant_ = nullptr;  // the sum, where a device makes it
  Spread spread_;                        // this rank's, where it has several
  const SpreadSum* shared_ = nullptr;    // the sum, where several make it
  RankReport report_;
  std::optional<Verdict> verdict_;
  DistributedOutcome outcome_;
};

}  // namespace

DistributedOutcome run_distributed(const Operation& operation, const Arguments& whole,
                                   dist::Communicator& ranks, const DistributedRequest& request) {
  const Contraction* const contraction = contraction_of(operation.name);
  if (contraction == nullptr)
    throw Error("tessera " + operation.name + " runs in one process: its result is not shared among ranks");
  return Rank(operation, *contraction, whole, ranks, request).run();
}

}  // namespace tessera
