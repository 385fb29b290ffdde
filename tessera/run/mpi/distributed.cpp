// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/distributed.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <type_traits>
#include "tessera/run/mpi/device_sum.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/npy.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double timed(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Serialises values as bytes: the same calls write and read them. All ranks are the same program on like
// machines.
class Bytes {
 public:
  Bytes() = default;  // writes
  explicit Bytes(std::string from) : bytes_(std::move(from)), reads_(true) {}
  const std::string& written() const { return bytes_; }

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void pass(T& value) {
    if (reads_) std::memcpy(&value, bytes_.data() + at_, sizeof value);
    else bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    at_ += sizeof value;
  }
  template <class Many>
  requires requires(Many& many) { many.resize(1); }
  void pass(Many& many) {
    std::size_t count = many.size();
    pass(count);
    many.resize(count);
    for (auto& one : many) pass(one);
  }
  void pass(Mismatch& m) {
    pass(m.index);
    pass(m.got), pass(m.expected), pass(m.bound), pass(m.beyond);
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  bool reads_ = false;
};

// Serialises the report that a rank sends to rank 0 at the end.
void pass(Bytes& bytes, RankReport& r, std::optional<Verdict>& verdict) {
  bytes.pass(r.host), bytes.pass(r.device);
  bytes.pass(r.rows), bytes.pass(r.cols), bytes.pass(r.threads);
  for (double* const value : {&r.read_seconds, &r.compute_seconds, &r.transfer_seconds, &r.wait_seconds,
                              &r.agree_seconds, &r.check_seconds, &r.write_seconds, &r.received_bytes})
    bytes.pass(*value);
  bytes.pass(r.spans), bytes.pass(r.notes);
  bool checked = verdict.has_value();
  bytes.pass(checked);
  if (!checked) return;
  if (!verdict) verdict.emplace();
  bytes.pass(verdict->passed), bytes.pass(verdict->method), bytes.pass(verdict->largest_ratio);
  bytes.pass(verdict->norm_error), bytes.pass(verdict->wrong), bytes.pass(verdict->first);
}

void add_verdict(const RankReport& rank, const Verdict& one, std::optional<Verdict>& to) {
  constexpr std::size_t max_shown = 10;
  if (!to) {
    to.emplace().passed = true;
    to->method = one.method + ", each rank its block";
  }
  Verdict& all = *to;
  all.passed = all.passed && one.passed;
  all.largest_ratio = std::max(all.largest_ratio, one.largest_ratio);
  if (one.norm_error) all.norm_error = std::max(all.norm_error.value_or(0), *one.norm_error);
  all.wrong += one.wrong;
  for (Mismatch m : one.first) {
    if (all.first.size() == max_shown) return;
    m.index[0] += rank.rows.first;
    m.index[1] += rank.cols.first;
    all.first.push_back(std::move(m));
  }
}

void add_report(const std::string& text, DistributedOutcome& outcome) {
  Bytes bytes(text);
  std::optional<Verdict> verdict;
  RankReport& rank = outcome.ranks.emplace_back();
  pass(bytes, rank, verdict);
  if (verdict) add_verdict(rank, *verdict, outcome.verdict);
}

class OpenFile {
 public:
  OpenFile(const std::string& temporary, std::string path)
      : path_(std::move(path)), file_(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (file_ < 0 && errno == ENOENT)
      throw Error(path_ + ": cannot be written: its folder is not one that rank 0's host shares");
    if (file_ < 0) fail();
  }
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(const char* from, std::size_t bytes, std::size_t at) {
    while (bytes != 0) {
      const ssize_t written = ::pwrite(file_, from, bytes, static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      const auto count = static_cast<std::size_t>(written);
      from += count;
      at += count;
      bytes -= count;
    }
  }
  void finish() {
    if (::fsync(file_) != 0) fail();
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0 && errno != EINTR) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(path_ + ": cannot be written: " + std::generic_category().message(errno));
  }

  std::string path_;
  int file_;
};

void write_block(OpenFile& file, std::size_t header_bytes, const Extents& extents, const ArrayView& block,
                 const Interval& rows, const Interval& cols) {
  const auto size = static_cast<std::int64_t>(size_of(block.element));
  const auto* from = static_cast<const char*>(block.data);
  const bool whole_rows = cols.size() == extents[1];
  const std::int64_t rows_at_once = whole_rows ? rows.size() : 1, bytes = rows_at_once * cols.size() * size;
  for (std::int64_t row = rows.first; row < rows.last && bytes != 0; row += rows_at_once, from += bytes)
    file.write(from, static_cast<std::size_t>(bytes),
               header_bytes + static_cast<std::size_t>((row * extents[1] + cols.first) * size));
}

// Writes a .npy file collectively, each rank its rows × cols block of a matrix of `extents`; the file appears
// whole or not at all. All hosts must share its folder.
void write_shared(Communicator& ranks, const std::string& path, const Extents& extents,
                  const ArrayView& block, const Interval& rows, const Interval& cols) {
  std::optional<AtomicFile> whole;
  const std::string header = npy::format_header(block.element, false, extents);
  agree(ranks, [&] {
    if (ranks.rank() != 0) return;
    whole.emplace(path);
    if (whole->temporary().empty())
      throw Error(path + ": is no regular file: several ranks cannot write it together");
    whole->write(std::as_bytes(std::span(header)));
    whole->extend(header.size() + bytes_of(block.element, extents));
  });
  const std::string temporary = ranks.broadcast(whole ? whole->temporary() : "", 0);
  agree(ranks, [&] {
    if (rows.size() == 0 || cols.size() == 0) return;
    OpenFile file(temporary, path);
    write_block(file, header.size(), extents, block, rows, cols);
    file.finish();
  });
  agree(ranks, [&] {
    if (whole) whole->commit();
  });
}

// Returns a hash of the request, by which ranks see that it is the same: sizes, words, elements, layouts, and
// the depth of panels, which differs between unlike CPUs.
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
    const HostRank host_rank = ranks_.on_host();
    agree(ranks_, [&] {
      choose_devices(host_rank);
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
    Bytes bytes;
    pass(bytes, report_, verdict_);
    for (const std::string& text : ranks_.gather(bytes.written())) add_report(text, outcome_);
    return std::move(outcome_);
  }

 private:
  bool idle() const { return grid_ == nullptr; }

  // The CPU computes as in a single process; any other device takes panels from the scheduler. GPUs are
  // distributed over the ranks of a host; the CPU is shared.
  void choose_devices(const HostRank& host_rank) {
    Request request = request_.request;
    if (request.device == "auto") request.device = "cpu";
    if (!devices_) {
      if (request.device.starts_with("cuda:"))
        throw Error("--device " + request.device +
                    ": each rank takes the GPU of its place on the host, --device cuda");
      Device device = find_device(request.device);
      if (device.where == Where::cpu) {
        choose_on_processors(std::move(device), request, host_rank);
        return;
      }
      if (device.where == Where::cuda) {
        const auto& all = backend_of(device).devices();
        device = all[static_cast<std::size_t>(host_rank.rank) % all.size()];
      }
      devices_ = MultiDeviceOptions{.devices = {device}, .request = request};
    } else {
      devices_->devices = devices_of_rank(devices_->devices, request.device, host_rank);
    }
    outcome_.plan = choose_on(devices_->devices.at(0), operation_, whole_, request);
    report_.threads = 0;
    for (const Device& one : devices_->devices) report_.threads += one.where == Where::cuda ? 1 : one.threads;
  }

  void choose_on_processors(Device device, Request request, const HostRank& host_rank) {
    const std::string variant = contraction_.variant(whole_);
    if (request.variant && *request.variant != variant)
      throw Error("--variant " + *request.variant + ": several ranks compute this as " + variant + " does");
    if (request.tuning) throw Error("--tuning: products on several ranks have no tuning");
    request.variant = variant;
    device.threads = threads_of_rank(device, request.device, host_rank.ranks);
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

  // Returns the rank's part of an input, as [outer, summed].
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
        const Partition partition = (*find_partition(operation_.name))(whole_);
        part_ = partition.part({report_.rows, report_.cols, {0, partition.depth}});
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
      if (device_sum_ != nullptr) report_devices();
    }
    agree(ranks_, [&] {
      if (failure) std::rethrow_exception(failure);
    });
  }

  void report_devices() {
    outcome_.plan = device_sum_->plan();
    report_.device = device_sum_->label();
    report_.notes = device_sum_->notes();
  }

  // Each rank checks its block against the files, not against the received panels.
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
  std::optional<MultiDeviceOptions> devices_;       // this rank's; nothing: its CPU
  std::unique_ptr<Communicator> grid_, row_, col_;  // null: this rank has nothing to do
  std::optional<Arguments> part_;
  Array result_;
  std::optional<PanelOperand> left_, right_;
  std::unique_ptr<PanelSum> sum_;
  const DeviceSum* device_sum_ = nullptr;  // the sum, if devices compute it
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
