// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: several integrals at a time, vectors, every core.
//
// Each of eight integrals lists its next points, and the interpreter evaluates all of them at once: some
// three hundred points share its overhead, and operators run in vectors. A finished integral is replaced by
// the next one, and threads take integrals from one counter, so that hard integrals delay no others. The
// order within an integral is unchanged, so results are bitwise identical. Elementary functions limit it now.
#include <atomic>
#include <memory>
#include <optional>
#include <vector>
#include "integrate_batch.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/formula/evaluate.hpp"
#include "tessera/rung.hpp"

namespace tessera::integrate_batch {
namespace {

constexpr std::size_t together = 8, points = together * pair_cost;

// The rule requests samples in a fixed order. It runs twice: first to write the abscissae, then to read the
// samples computed there.
struct WriteAbscissae {
  double* next;
  double operator()(double x) {
    *next++ = x;
    return 0;
  }
};
struct ReadSamples {
  const double* next;
  double operator()(double) { return *next++; }
};

// One integral in progress.
class Active {
 public:
  explicit Active(int cells) : memory_(static_cast<std::size_t>(list_bytes(cells)) / sizeof(double) + 1) {
    cells_ = OwnCells::of(memory_.data(), cells, 1, 0);
  }

  // False: nothing is to be measured.
  bool begin(const Problem<double>& p, std::int64_t index) {
    problem_ = &p;
    index_ = index;
    ends_ = p.ends_of(index);
    quadrature_.emplace(cells_, p.work.nodes, tolerance_of_row(p.work, index));
    return quadrature_->begin(ends_, p.work.breaks);
  }

  void write_abscissae(double* x) const {
    WriteAbscissae f{x};
    for (int k = 0; k < 2; ++k)
      (void)measure(problem_->work.nodes, quadrature_->piece[k], quadrature_->from[k], quadrature_->width, f);
  }

  bool take_samples(const double* y) {
    ReadSamples f{y};
    Sums sums[2];
    for (int k = 0; k < 2; ++k)
      sums[k] =
          measure(problem_->work.nodes, quadrature_->piece[k], quadrature_->from[k], quadrature_->width, f);
    return quadrature_->take(ends_, sums[0], sums[1]);
  }

  void finish() const { store(problem_->work, index_, quadrature_->ended()); }
  double parameter(int i) const { return ends_.inputs[1 + i]; }

 private:
  std::vector<double> memory_;
  OwnCells cells_{};
  const Problem<double>* problem_ = nullptr;
  std::int64_t index_ = 0;
  Formula ends_{};
  std::optional<AdaptiveQuadrature<OwnCells>> quadrature_;
};

// The integrals that one thread works on.
class Group {
 public:
  Group(const Problem<double>& p, std::atomic<std::int64_t>& next) : p_(p), next_(next) {
    inputs_.push_back({x_, true});
    for (int i = 0; i < p.work.parameters; ++i) inputs_.push_back({parameters_[i], true});
  }

  void run() {
    while (taken_ < together && fill(taken_)) ++taken_;
    while (taken_ > 0) {
      for (std::size_t s = 0; s < taken_; ++s) active_[s]->write_abscissae(x_ + s * pair_cost);
      formula::evaluate_many<double>(p_.integrand, inputs_, taken_ * pair_cost, y_);
      for (std::size_t s = taken_; s-- > 0;) {
        if (active_[s]->take_samples(y_ + s * pair_cost)) continue;
        active_[s]->finish();
        if (!fill(s)) close_up(s);
      }
    }
  }

 private:
  // Begins the next integral at this index; false: there is none.
  bool fill(std::size_t at) {
    if (!active_[at]) active_[at] = std::make_unique<Active>(p_.cells);
    for (std::int64_t index = 0; (index = next_.fetch_add(1, std::memory_order_relaxed)) < p_.work.count;) {
      if (!active_[at]->begin(p_, index)) {
        active_[at]->finish();
        continue;
      }
      write_parameters(at);
      return true;
    }
    return false;
  }

  // Moves the last integral to the free slot; its samples have been taken already.
  void close_up(std::size_t at) {
    --taken_;
    if (at == taken_) return;
    std::swap(active_[at], active_[taken_]);
    write_parameters(at);
  }

  void write_parameters(std::size_t at) {
    for (int i = 0; i < p_.work.parameters; ++i)
      std::fill_n(parameters_[i] + at * pair_cost, pair_cost, active_[at]->parameter(i));
  }

  const Problem<double>& p_;
  std::atomic<std::int64_t>& next_;
  std::size_t taken_ = 0;
  std::unique_ptr<Active> active_[together];
  std::vector<formula::Input<double>> inputs_;
  alignas(64) double x_[points], y_[points], parameters_[max_parameters][points];
};

void integrate_by_many(const Problem<double>& p, const Tuning&, Run& run) {
  std::atomic<std::int64_t> next{0};
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(p.work.count / 4, 1, run.device->threads));
  parallel(threads, [&](int) { std::make_unique<Group>(p, next)->run(); });
}

const Rung rung{"eight integrals at a time, their points in vectors, on every core",
                Where::cpu,
                {choice_of<Problem>(integrate_by_many)}};

}  // namespace
}  // namespace tessera::integrate_batch
