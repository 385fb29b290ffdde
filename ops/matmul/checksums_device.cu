// SPDX-License-Identifier: Apache-2.0
// Checksums on a GPU, of what it has just computed. The host gets two numbers; rows and columns only where
// some do not fit.
#include <algorithm>
#include <type_traits>
#include <vector>
#include "ops/matmul/checksums_finish.cuh"
#include "ops/matmul/checksums_folds.cuh"
#include "ops/matmul/checksums_kernels.cuh"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"

namespace tessera::matmul {
namespace {

using checksum::FoldJobs;
using checksum::Job;
using checksum::Jobs;

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// `several`: it is read for several sets of weights at a time.
Job job_of(const Pass& pass, bool several) {
  const auto size = static_cast<std::int64_t>(size_of(pass.matrix.element)), words = 16 / size;
  Job job{.pass = pass,
          .stride = pass.matrix.row,
          .across = false,
          .wide = false,
          .folded = false,
          .parts = 1,
          .pieces = 1,
          .sums = nullptr,
          .squares = nullptr};
  job.across = pass.matrix.row == 1 && pass.matrix.col != 1;
  if (job.across) job.stride = pass.matrix.col;
  const std::int64_t along = job.across ? pass.rows : pass.cols;
  job.wide = (job.across || pass.matrix.col == 1) && job.stride % words == 0 && along % words == 0 &&
             reinterpret_cast<std::uintptr_t>(pass.matrix.data) % 16 == 0;
  job.folded = several && job.wide && !job.across;
  if (job.folded) {
    job.pieces = static_cast<int>(parts_of(pass.rows, checksum::fold_rows));
    job.parts = static_cast<int>(parts_of(std::max<std::int64_t>(pass.cols, 1), checksum::fold_segment));
  } else if (job.across) {
    job.pieces = static_cast<int>(parts_of(pass.rows, checksum::threads * (job.wide ? words : 1)));
    job.parts = static_cast<int>(parts_of(std::max<std::int64_t>(pass.cols, 1), checksum::depth_of_a_block));
  } else {
    job.pieces = static_cast<int>(parts_of(pass.rows, checksum::rows_of_a_block));
    job.parts =
        static_cast<int>(parts_of(std::max<std::int64_t>(pass.cols, 1), checksum::segment_words * words));
  }
  return job;
}

bool same_matrix(const Pass& a, const Pass& b) {
  return a.matrix.data == b.matrix.data && a.matrix.row == b.matrix.row && a.matrix.col == b.matrix.col &&
         a.rows == b.rows && a.cols == b.cols;
}

class GpuSumming final : public Summing {
 public:
  std::size_t at_once() const override { return checksum::most_folds; }
  void run(std::span<const Pass> passes, const Run& run) override {
    const cuda::OnDevice on_device(run.device->index);
    auto* const stream = static_cast<cudaStream_t>(run.stream);
    Jobs all{};
    std::int64_t needed = 0, most_rows = 0;
    for (const Pass& pass : passes) {
      if (pass.rows == 0) continue;
      const Job& job = all.job[all.count++] = job_of(pass, among(passes, pass));
      needed += 2 * job.parts * pass.rows;
      most_rows = std::max(most_rows, pass.rows);
    }
    if (all.count == 0) return;
    // Those that take a block longest begin, lest one be waited for in the end.
    std::stable_partition(all.job, all.job + all.count, [](const Job& job) { return job.across; });
    give_room(all, needed);
    for (const Element element :
         {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2})
      launch(all, element, stream);
    launch_folded(all, stream);
    const dim3 grid(static_cast<unsigned>(parts_of(most_rows, checksum::finish_rows)),
                    static_cast<unsigned>(all.count));
    checksum::finish<<<grid, dim3(checksum::finish_rows, checksum::finish_threads), 0, stream>>>(all);
    cuda::check(cudaGetLastError());
  }

  void count(const Lines& lines, const Tolerance& tolerance, const Run& run) override {
    const cuda::OnDevice on_device(run.device->index);
    auto* const stream = static_cast<cudaStream_t>(run.stream);
    auto* const found = static_cast<Tally*>(found_.get());
    checksum::tally<<<1, checksum::tally_threads, 0, stream>>>(lines, tolerance, found);
    cuda::check(cudaGetLastError());
    cuda::check(cudaMemcpyAsync(here_.get(), found, sizeof(Tally), cudaMemcpyDeviceToHost, stream));
  }

  Tally counted(const Run& run) override {
    const cuda::OnDevice on_device(run.device->index);
    cuda::check(cudaStreamSynchronize(static_cast<cudaStream_t>(run.stream)));
    return *static_cast<const Tally*>(here_.get());
  }

 private:
  static bool among(std::span<const Pass> passes, const Pass& pass) {
    return std::ranges::count_if(passes, [&](const Pass& other) { return same_matrix(pass, other); }) > 1;
  }

  // In the order of the stream what was there before has been added up.
  void give_room(Jobs& jobs, std::int64_t needed) {
    const std::size_t bytes = static_cast<std::size_t>(needed) * sizeof(double);
    if (room_.bytes() < bytes) room_ = cuda::DeviceBuffer(bytes);
    auto* at = static_cast<double*>(room_.get());
    for (int i = 0; i < jobs.count; ++i) {
      Job& job = jobs.job[i];
      job.sums = at;
      job.squares = at + job.parts * job.pass.rows;
      at += 2 * job.parts * job.pass.rows;
    }
  }

  // Jobs of a matrix after those of another, as many together as a launch takes.
  static void launch_folded(const Jobs& all, cudaStream_t stream) {
    std::vector<bool> done(static_cast<std::size_t>(all.count), false);
    for (int i = 0; i < all.count; ++i) {
      FoldJobs some{};
      for (int j = i; j < all.count && some.count < checksum::most_folds; ++j) {
        const Job& job = all.job[j];
        if (!job.folded || done[static_cast<std::size_t>(j)] || !same_matrix(job.pass, all.job[i].pass))
          continue;
        some.job[some.count++] = job;
        done[static_cast<std::size_t>(j)] = true;
      }
      if (some.count > 0) start_folds(some, stream);
    }
  }

  static void start_folds(const FoldJobs& some, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(some.job[0].pieces * some.job[0].parts);
    const auto start = [&](auto kernel) { kernel<<<blocks, checksum::threads, 0, stream>>>(some); };
    dispatch(some.job[0].pass.matrix.element, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::is_integral_v<T>) start(checksum::sum_folds<T>);  // whole numbers have none
    });
    cuda::check(cudaGetLastError());
  }

  static void launch(const Jobs& all, Element element, cudaStream_t stream) {
    Jobs some{};
    int blocks = 0;
    for (int i = 0; i < all.count; ++i) {
      const Job& job = all.job[i];
      if (job.pass.matrix.element != element || job.folded) continue;
      some.first_block[some.count] = blocks;
      some.job[some.count++] = job;
      blocks += job.pieces * job.parts;
    }
    if (blocks == 0) return;
    const auto start = [&](auto kernel) {
      kernel<<<static_cast<unsigned>(blocks), checksum::threads, 0, stream>>>(some);
    };
    dispatch(element, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::is_integral_v<T>) start(checksum::sum<T>);
    });
    cuda::check(cudaGetLastError());
  }

  cuda::DeviceBuffer room_, found_{sizeof(Tally)};
  cuda::PinnedBuffer here_{sizeof(Tally)};
};

std::unique_ptr<Checksums> on_gpu(const Arguments& whole, const Device& device) {
  const cuda::OnDevice on_device(device.index);
  return make_checksums(whole, device, std::make_unique<GpuSumming>());
}

[[maybe_unused]] const bool registered = (register_checksums("matmul", Where::cuda, on_gpu), true);

}  // namespace
}  // namespace tessera::matmul
