// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/distributed.hpp"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include "tessera/run/mpi/device_sum.hpp"
#include "tessera/run/mpi/shared_file.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double timed(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What a rank sends rank 0 at the end.
Json to_json(const RankReport& r, const std::optional<Verdict>& verdict) {
  Json spans = Json::array(), devices = Json::array();
  for (const TimelineSpan& s : r.spans)
    spans.push_back({s.device, static_cast<int>(s.activity), s.tile, s.first, s.last, s.panel});
  for (const RankDevice& d : r.devices) devices.push_back({d.label, d.failed, d.parts, d.share});
  Json out{{"names", {r.host, r.device}},
           {"block", {r.rows.first, r.rows.last, r.cols.first, r.cols.last}},
           {"threads", r.threads},
           {"seconds",
            {r.read_seconds, r.compute_seconds, r.transfer_seconds, r.wait_seconds, r.agree_seconds,
             r.check_seconds, r.write_seconds}},
           {"received", r.received_bytes},
           {"spans", spans},
           {"devices", devices},
           {"notes", r.notes}};
  if (!verdict) return out;
  // JSON has no NaN and no infinity: numbers travel as text.
  Json wrong = Json::array();
  for (const Mismatch& m : verdict->first)
    wrong.push_back({m.index[0] + r.rows.first, m.index[1] + r.cols.first, fmt::format("{}", m.got),
                     fmt::format("{}", m.expected), fmt::format("{}", m.bound), m.beyond});
  out["verdict"] = {{"passed", verdict->passed},
                    {"method", verdict->method},
                    {"ratio", fmt::format("{}", verdict->largest_ratio)},
                    {"norm", verdict->norm_error ? Json(*verdict->norm_error) : Json(nullptr)},
                    {"wrong", verdict->wrong},
                    {"first", wrong}};
  return out;
}

void add_verdict(const Json& from, std::optional<Verdict>& to) {
  constexpr std::size_t most_shown = 10;
  if (!to) {
    to.emplace().passed = true;
    to->method = from.at("method").get<std::string>() + ", each rank its block";
  }
  Verdict& all = *to;
  all.passed = all.passed && from.at("passed").get<bool>();
  all.largest_ratio = std::max(all.largest_ratio, std::stod(from.at("ratio").get<std::string>()));
  if (!from.at("norm").is_null())
    all.norm_error = std::max(all.norm_error.value_or(0), from.at("norm").get<double>());
  all.wrong += from.at("wrong").get<std::int64_t>();
  for (const Json& one : from.at("first")) {
    if (all.first.size() == most_shown) return;
    Mismatch& m = all.first.emplace_back();
    m.index = {one[0].get<std::int64_t>(), one[1].get<std::int64_t>()};
    m.got = std::stod(one[2].get<std::string>());
    m.expected = std::stod(one[3].get<std::string>());
    m.bound = std::stod(one[4].get<std::string>());
    m.beyond = one[5].get<std::uint8_t>();
  }
}

void add_report(const std::string& text, DistributedOutcome& outcome) {
  const Json from = Json::parse(text);
  RankReport& r = outcome.ranks.emplace_back();
  r.host = from.at("names")[0];
  r.device = from.at("names")[1];
  const auto block = from.at("block").get<std::vector<std::int64_t>>();
  r.rows = {block[0], block[1]};
  r.cols = {block[2], block[3]};
  r.threads = from.at("threads");
  double* const seconds[] = {&r.read_seconds,  &r.compute_seconds, &r.transfer_seconds, &r.wait_seconds,
                             &r.agree_seconds, &r.check_seconds,   &r.write_seconds};
  for (std::size_t i = 0; i < std::size(seconds); ++i) *seconds[i] = from.at("seconds")[i];
  r.received_bytes = from.at("received");
  for (const Json& s : from.at("spans"))
    r.spans.push_back({s[0].get<std::size_t>(), static_cast<Activity>(s[1].get<int>()),
                       s[2].get<std::size_t>(), s[3].get<double>(), s[4].get<double>(),
                       s[5].get<std::size_t>()});
  for (const Json& d : from.at("devices"))
    r.devices.push_back(
        {d[0].get<std::string>(), d[1].get<std::string>(), d[2].get<std::size_t>(), d[3].get<double>()});
  r.notes = from.at("notes").get<std::vector<std::string>>();
  if (from.contains("verdict")) add_verdict(from.at("verdict"), outcome.verdict);
}

// One number for what was asked, by which ranks see that it was the same: sizes, words, elements, layouts,
// and the depth of panels, which differs between unlike processors.
std::int64_t fingerprint_of(const Arguments& whole, std::int64_t depth, const DistributedRequest& request,
                            bool devices) {
  std::string all = std::string(name_of(whole.element())) + request.output + (request.check ? "check" : "");
  for (const auto& [name, extent] : whole.dims()) all += name + "=" + std::to_string(extent) + ";";
  for (const auto& [name, word] : whole.words()) all += name + "=" + word + ";";
  for (const Parameter* p : whole.signature().of(Parameter::Kind::input))
    if (whole.has(p->name)) all += p->name + (whole.array(p->name).row_major() ? ",rows;" : ",columns;");
  all += std::to_string(depth) + (devices ? "devices" : "");
  return static_cast<std::int64_t>(std::hash<std::string>{}(all) >> 1);
}

// One rank's work, step by step; all ranks call each step.
class Rank {
 public:
  Rank(const Operation& operation, const Contraction& contraction, const Arguments& whole,
       Communicator& ranks, const DistributedRequest& request)
      : operation_(operation),
        contraction_(contraction),
        whole_(whole),
        ranks_(ranks),
        request_(request),
        devices_(request.devices) {}

  DistributedOutcome run() {
    const HostPlace here = ranks_.on_host();
    agree(ranks_, [&] {
      choose_devices(here);
      outcome_.depth = devices_ ? device_panel_depth(contraction_, whole_) : contraction_.depth(whole_);
    });
    const std::int64_t print = fingerprint_of(whole_, outcome_.depth, request_, devices_.has_value());
    if (ranks_.largest(print) != -ranks_.largest(-print))
      throw SharedError(
          Error::Kind::user,
          "ranks were asked for unlike things: words, sizes and kind of processor must be the same for all");
    outcome_.connected_by = ranks_.name();
    place();
    outcome_.seconds = timed([&] {
      read();
      outcome_.product_seconds = timed([&] { add(); });
    });
    if (request_.check) check();
    if (outcome_.passed && !request_.output.empty()) outcome_.seconds += timed([&] { write(); });
    for (const std::string& text : ranks_.gather(to_json(report_, verdict_).dump()))
      add_report(text, outcome_);
    return std::move(outcome_);
  }

 private:
  bool idle() const { return grid_ == nullptr; }

  // Processors compute as one process would; anything else takes panels from the scheduler. GPUs are dealt
  // out to the ranks of a host, processors they share.
  void choose_devices(const HostPlace& here) {
    Request request = request_.request;
    if (request.device == "auto") request.device = "cpu";
    if (!devices_) {
      if (request.device.starts_with("cuda:"))
        throw Error("--device " + request.device +
                    ": each rank takes the GPU of its place on the host, --device cuda");
      Device device = find_device(request.device);
      if (device.where == Where::cpu) {
        choose_on_processors(std::move(device), request, here);
        return;
      }
      if (device.where == Where::cuda) {
        const auto& all = backend_of(device).devices();
        device = all[static_cast<std::size_t>(here.rank) % all.size()];
      }
      devices_ = MultiDeviceOptions{.devices = {device}, .request = request};
    } else {
      devices_->devices = devices_of_rank(devices_->devices, request.device, here);
    }
    outcome_.plan = choose_on(devices_->devices.at(0), operation_, whole_, request);
    report_.threads = 0;
    for (const Device& one : devices_->devices) report_.threads += one.where == Where::cuda ? 1 : one.threads;
  }

  void choose_on_processors(Device device, Request request, const HostPlace& here) {
    const std::string variant = contraction_.variant(whole_);
    if (request.variant && *request.variant != variant)
      throw Error("--variant " + *request.variant + ": several ranks compute this as " + variant + " does");
    if (request.tuning) throw Error("--tuning: what several ranks compute by has none");
    request.variant = variant;
    device.threads = threads_of_rank(device, request.device, here.ranks);
    outcome_.plan = choose_on(device, operation_, whole_, request);
    report_.threads = device.threads;
    report_.device = device.label();
  }

  void place() {
    const ArrayView a = whole_.array(contraction_.left), b = whole_.array(contraction_.right);
    const std::int64_t m = whole_.dim(contraction_.rows), n = whole_.dim(contraction_.cols),
                       extent = contraction_.extent(whole_);
    const ProductSize size{m, n, extent, static_cast<std::int64_t>(size_of(a.element)),
                           static_cast<std::int64_t>(size_of(b.element))};
    const RankGrid grid = best_grid(size, ranks_.size());
    outcome_.grid = grid;
    outcome_.predicted_bytes = received_bytes(size, grid);
    outcome_.panels = Panels(extent, outcome_.depth, 1).count();
    report_.host = ranks_.host();
    const int rank = ranks_.rank();
    grid_ = ranks_.split(grid.has(rank) ? 0 : -1);
    if (idle()) return;
    row_ = grid_->split(grid.row_of(rank));
    col_ = grid_->split(grid.col_of(rank));
    report_.rows = nth_part(m, grid.rows, grid.row_of(rank));
    report_.cols = nth_part(n, grid.cols, grid.col_of(rank));
  }

  // An input as [outer, summed], the rank's part of it.
  PanelOperand operand(const std::string& name, bool right, const Communicator& ranks) const {
    const auto seen = [&](const Arguments& arguments) {
      const ArrayView view = arguments.oriented(name, arguments.array(name).element, 2);
      return right ? view.transposed() : view;
    };
    const ArrayView all = seen(whole_);
    return {seen(*part_), all.strides[1] > all.strides[0],
            Panels(contraction_.extent(whole_), outcome_.depth, ranks.size()), ranks.rank()};
  }

  void read() {
    agree(ranks_, [&] {
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
        if (!devices_) {
          sum_ = contraction_.start(*part_, report_.threads);
          return;
        }
        auto sum = std::make_unique<DeviceSum>(operation_, contraction_, *part_, *devices_);
        device_sum_ = sum.get();
        sum_ = std::move(sum);
      });
    });
  }

  void add() {
    std::exception_ptr failure;
    if (!idle()) {
      PanelTimes times = add_panels(*grid_, *row_, *col_, *left_, *right_, *sum_,
                                    [&](const std::exception_ptr& e) { failure = e; });
      report_.compute_seconds = times.compute_seconds;
      report_.transfer_seconds = times.transfer_seconds;
      report_.wait_seconds = times.wait_seconds;
      report_.agree_seconds = times.agree_seconds;
      report_.received_bytes = times.received_bytes;
      report_.spans = std::move(times.spans);
      if (device_sum_ != nullptr) report_devices(times.started);
    }
    if (devices_) name_failures(failure);
    agree(ranks_, [&] {
      if (failure) std::rethrow_exception(failure);
    });
  }

  // What the devices did takes the place of the panels' adding.
  void report_devices(Clock::time_point started) {
    outcome_.plan = device_sum_->plan();
    report_.device = device_sum_->label();
    report_.notes = device_sum_->notes();
    double all = 0;
    for (const DeviceReport& one : device_sum_->devices()) all += one.flops;
    for (const DeviceReport& one : device_sum_->devices())
      report_.devices.push_back(
          {one.plan.device.label(), one.failed, one.tiles, all > 0 ? one.flops / all : 0});
    std::erase_if(report_.spans, [](const TimelineSpan& span) { return span.activity == Activity::compute; });
    for (TimelineSpan span : device_sum_->spans(started)) {
      ++span.device;
      report_.spans.push_back(span);
    }
  }

  // Every rank's devices may have failed; agree() would report one rank's reason. Rank 0 reports all, and
  // what is the same on all of them once.
  void name_failures(std::exception_ptr& failure) {
    if (ranks_.largest(failure ? 1 : 0) == 0) return;
    const std::vector<std::string> texts = ranks_.gather(kind_and_text(failure));
    std::string all;
    bool same = true;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      same = same && texts[rank] == texts[0];
      if (!texts[rank].empty())
        all += (all.empty() ? "rank " : "; rank ") + std::to_string(rank) + ": " + texts[rank].substr(1);
    }
    if (texts.empty()) return;
    const std::string& first =
        *std::ranges::find_if(texts, [](const std::string& text) { return !text.empty(); });
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
    }
    return {};
  }

  // Each rank checks its block against the files, not against what travelled.
  void check() {
    agree(ranks_, [&] {
      if (!idle()) report_.check_seconds = timed([&] { verdict_ = verify(operation_, *part_); });
    });
    outcome_.passed = ranks_.largest(verdict_ && !verdict_->passed ? 1 : 0) == 0;
  }

  void write() {
    const ArrayView& whole = whole_.array(contraction_.result);
    ArrayView block = result_.view();
    block.element = whole.element;
    report_.write_seconds = timed(
        [&] { write_shared(ranks_, request_.output, whole.extents, block, report_.rows, report_.cols); });
  }

  const Operation& operation_;
  const Contraction& contraction_;
  const Arguments& whole_;
  Communicator& ranks_;
  const DistributedRequest& request_;
  std::optional<MultiDeviceOptions> devices_;       // this rank's; nothing: its processors
  std::unique_ptr<Communicator> grid_, row_, col_;  // null: this rank has nothing to do
  std::optional<Arguments> part_;
  Array result_;
  std::optional<PanelOperand> left_, right_;
  std::unique_ptr<PanelSum> sum_;
  const DeviceSum* device_sum_ = nullptr;  // the sum, where devices make it
  RankReport report_;
  std::optional<Verdict> verdict_;
  DistributedOutcome outcome_;
};

}  // namespace

DistributedOutcome run_distributed(const Operation& operation, const Arguments& whole, Communicator& ranks,
                                   const DistributedRequest& request) {
  const Contraction* const contraction = contraction_of(operation.name);
  if (contraction == nullptr)
    throw Error("tessera " + operation.name + " runs in one process: its result is not shared among ranks");
  return Rank(operation, *contraction, whole, ranks, request).run();
}

}  // namespace tessera
