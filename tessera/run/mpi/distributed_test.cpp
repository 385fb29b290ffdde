// SPDX-License-Identifier: Apache-2.0
// Tests a product computed by ranks from files to a file, with threads for ranks: the bits of one process,
// wrong blocks, ranks that fail alone.
#include "tessera/run/mpi/distributed.hpp"
#include <gtest/gtest.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include "tests/made_up_ranks.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/run/mpi/device_sum.hpp"
#include "tests/made_up_streams.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

const Operation& shared_operation() { return *find_operation("matmul"); }

class SharedProduct : public testing::Test {
 protected:
  SharedProduct() {
    char name[] = "/tmp/tessera-hosts-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~SharedProduct() override { fs::remove_all(folder_); }

  std::string file() const { return (folder_ / "D.npy").string(); }

  Arguments arguments(const Arguments::Words& words = {}) {
    return {shared_operation().signature, Element::f32, {{"A", a_.view()}, {"B", b_.view()}}, words};
  }
  static Array filled(std::int64_t rows, std::int64_t cols) {
    Array out(Element::f32, {rows, cols});
    for (std::int64_t i = 0; i < rows * cols; ++i)
      out.as<float>()[i] = static_cast<float>((i * 37 % 101) - 50) / 7;
    return out;
  }

  // Calls `see` with every rank's outcome; returns the errors that ranks threw.
  std::vector<std::string> run_ranks(int ranks, const DistributedRequest& request,
                                     const std::function<void(int, DistributedOutcome&)>& see = {},
                                     const std::function<Arguments(int)>& requested = {}) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    made_up::on_threads(ranks, [&](Communicator& communicator) {
      const int rank = communicator.rank();
      try {
        const Arguments given = requested ? requested(rank) : arguments();
        DistributedOutcome outcome = run_distributed(shared_operation(), given, communicator, request);
        if (see) see(rank, outcome);
      } catch (const SharedError& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
    return errors;
  }

  const Array a_ = filled(23, 900), b_ = filled(900, 19);
  fs::path folder_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Registers the product's contraction with a change to one rank's block; the last registration counts.
void register_changed(const std::function<void(const Arguments& part)>& at_start,
                      const std::function<void(const Arguments& part)>& at_end) {
  struct Changed : PanelSum {
    void add(const ArrayView& left, const ArrayView& right) override { sum->add(left, right); }
    void finish() override {
      sum->finish();
      end(*part);
    }
    std::unique_ptr<PanelSum> sum;
    const Arguments* part;
    std::function<void(const Arguments&)> end;
  };
  static const Contraction plain = *contraction_of("matmul");
  Contraction changed = plain;
  changed.start = [at_start, at_end](const Arguments& part, int threads) {
    at_start(part);
    auto out = std::make_unique<Changed>();
    out->sum = plain.start(part, threads);
    out->part = &part;
    out->end = at_end;
    return out;
  };
  register_contraction(std::move(changed));
}

const auto nothing = [](const Arguments&) {};

TEST_F(SharedProduct, TheFileHoldsTheBitsOfOneProcess) {
  register_changed(nothing, nothing);
  Arguments alone = arguments();
  const Outcome one = run(shared_operation(), alone, {.device = "cpu", .cached = false});
  for (const int ranks : {1, 2, 3, 4, 6}) {
    std::atomic<int> thrown = 0;
    const auto errors =
        run_ranks(ranks, {.check = true, .output = file()}, [&](int rank, DistributedOutcome& outcome) {
          EXPECT_TRUE(outcome.passed);
          EXPECT_EQ(outcome.verdict.has_value(), rank == 0);
          if (rank != 0) return;
          ++thrown;
          ASSERT_EQ(outcome.ranks.size(), static_cast<std::size_t>(ranks));
          double received = 0;
          std::int64_t elements = 0;
          for (const RankReport& report : outcome.ranks) {
            received += report.received_bytes;
            elements += report.rows.size() * report.cols.size();
          }
          EXPECT_EQ(received, outcome.predicted_bytes);
          EXPECT_EQ(elements, 23 * 19);
          EXPECT_EQ(outcome.plan.variant->name, "simd");
        });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    EXPECT_EQ(thrown, 1);
    const Array shared = npy::read(file());
    ASSERT_EQ(shared.extents(), (Extents{23, 19}));
    EXPECT_EQ(std::memcmp(shared.as<void>(), one.outputs.at("C").as<void>(), shared.view().bytes()), 0)
        << ranks;
    fs::remove(file());
  }
}

TEST_F(SharedProduct, AWrongBlockIsNamedByItsPlaceInTheWholeAndNotWritten) {
  register_changed(nothing, [](const Arguments& part) {
    const ArrayView& c = part.array("C");
    if (c.extents[0] == 11 && c.extents[1] == 9) static_cast<float*>(c.data)[1 * c.strides[0] + 2] += 1;
  });
  const auto errors =
      run_ranks(4, {.check = true, .output = file()}, [](int rank, DistributedOutcome& outcome) {
        EXPECT_FALSE(outcome.passed);
        if (rank != 0) return;
        ASSERT_TRUE(outcome.verdict);
        EXPECT_EQ(outcome.verdict->wrong, 1);
        ASSERT_EQ(outcome.verdict->first.size(), 1U);
        EXPECT_EQ(outcome.verdict->first[0].index, (Extents{12 + 1, 10 + 2}));
      });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_FALSE(fs::exists(file()));
  register_changed(nothing, nothing);
}

TEST_F(SharedProduct, AnErrorOnOneRankStopsAllAndKeepsTheOldFile) {
  std::ofstream(file()) << "old";
  for (const bool early : {true, false}) {
    const auto fail = [&](const Arguments& part) {
      if (part.array("C").extents == Extents{11, 9}) throw Error(Error::Kind::user, "no room");
    };
    if (early) register_changed(fail, nothing);
    else register_changed(nothing, fail);
    for (const std::string& error : run_ranks(4, {.output = file()}))
      EXPECT_EQ(error, "rank 3 on here: no room");
  }
  register_changed(nothing, nothing);
  EXPECT_EQ(content(file()), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file is left";
}

TEST_F(SharedProduct, RanksMustGetTheSameRequest) {
  for (const std::string& error : run_ranks(3, {}, {}, [&](int rank) {
         return arguments({{"alpha", rank == 1 ? "2" : "1"}});
       }))
    EXPECT_NE(error.find("unlike things"), std::string::npos);
}

TEST_F(SharedProduct, AnUnwritableFileFailsOnAllRanks) {
  for (const std::string& error : run_ranks(2, {.output = (folder_ / "none" / "D.npy").string()}))
    EXPECT_NE(error.find("cannot be written"), std::string::npos);
  for (const std::string& error : run_ranks(2, {.output = "/dev/null"}))
    EXPECT_NE(error.find("is no regular file"), std::string::npos);
}

TEST_F(SharedProduct, RefusesUnsupportedOptions) {
  const auto refused = [&](const Request& request) { return run_ranks(2, {.request = request})[1]; };
  EXPECT_NE(refused({.variant = "blocked"}).find("compute this as simd does"), std::string::npos);
  EXPECT_NE(refused({.device = "cuda:1"}).find("the GPU of its place"), std::string::npos);
  EXPECT_NE(refused({.tuning = Tuning{{"depth", 8}}}).find("--tuning"), std::string::npos);
}

// Each rank's kernels add panel after panel to C in place.
TEST_F(SharedProduct, KernelsGiveTheSameForAnyNumberOfRanks) {
  std::string first;
  for (const int ranks : {1, 2, 4}) {
    const auto errors = run_ranks(
        ranks,
        {.request = {.device = "simt:threads=1", .variant = "per_element"}, .check = true, .output = file()},
        [](int, DistributedOutcome& outcome) { EXPECT_TRUE(outcome.passed); });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    if (first.empty()) first = content(file());
    EXPECT_EQ(content(file()), first) << ranks;
  }
}

TEST(DevicesOfARank, GpusAreDistributedAndProcessorsShared) {
  const auto gpu = [](int index) {
    Device out;
    out.where = Where::cuda;
    out.index = index;
    return out;
  };
  Device cpu;
  cpu.threads = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const std::vector<Device> list{gpu(0), gpu(1), cpu, gpu(2)};
  const auto of = [&](int rank, int ranks, const std::string& words = "all") {
    std::string out;
    for (const Device& device : devices_of_rank(list, words, {rank, ranks})) out += device.label() + " ";
    return out;
  };
  EXPECT_EQ(of(0, 1), "cuda:0 cuda:1 cuda:2 cpu ");
  EXPECT_EQ(of(0, 2), "cuda:0 cuda:2 cpu ");
  EXPECT_EQ(of(1, 2), "cuda:1 cpu ");
  for (const int rank : {0, 1, 2}) EXPECT_EQ(of(rank, 5), "cuda:" + std::to_string(rank) + " cpu ");
  EXPECT_EQ(of(3, 5), "cuda:0 cpu ");
  EXPECT_EQ(of(4, 5), "cuda:1 cpu ");
  EXPECT_EQ(devices_of_rank(list, "all", {0, cpu.threads}).back().threads, 1);
  EXPECT_EQ(devices_of_rank(list, "cpu:threads=8", {0, 2}).back().threads, cpu.threads);
}

// Four panels of three kinds: the first adds to existing values, the last is less deep.
TEST_F(SharedProduct, DevicesAreStartedOnceForAllPanels) {
  const Array a = filled(150, 3 * 4096 + 100), b = filled(3 * 4096 + 100, 90), c0 = filled(150, 90);
  for (const char* split : {"auto", "dynamic"})
    for (const bool pinned : {true, false}) {
      const made_up::OnStreams streams(std::vector<made_up::Traits>{{.pinned = pinned}});
      const MultiDeviceOptions options{
          .devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
          .request = {.cached = false},
          .split = parse_split(split)};
      const auto errors = run_ranks(
          2, {.check = true, .devices = options},
          [](int, DistributedOutcome& outcome) {
            EXPECT_EQ(outcome.panels, 4);
            EXPECT_TRUE(outcome.passed);
          },
          [&](int) {
            return Arguments(shared_operation().signature, Element::f32,
                             {{"A", a.view()}, {"B", b.view()}, {"C0", c0.view()}},
                             {{"alpha", "-2"}, {"beta", "0.5"}});
          });
      for (const std::string& error : errors) EXPECT_EQ(error, "");
      EXPECT_EQ(streams.opened(), 2 * options.devices.size()) << split;
    }
}

// Failures in the trial or in the first panel, and in a later one.
TEST_F(SharedProduct, ADeviceThatFailsAmidAPanelIsLeftOutOfLaterPanels) {
  const Array a = filled(150, 10 * 4096), b = filled(10 * 4096, 90);
  for (const std::size_t step : {1U, 12U, 20U}) {
    const made_up::OnStreams streams(std::vector<made_up::Traits>{{.fails_at_step = step}, {}});
    const MultiDeviceOptions options{.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
                                     .request = {.cached = false}};
    const auto errors = run_ranks(
        1, {.check = true, .devices = options},
        [step](int, DistributedOutcome& outcome) {
          EXPECT_TRUE(outcome.passed);
          ASSERT_EQ(outcome.ranks.at(0).notes.size(), 1U) << step;
          EXPECT_TRUE(outcome.ranks.at(0).notes[0].starts_with("cpu (device 0) failed")) << step;
        },
        [&](int) {
          return Arguments(shared_operation().signature, Element::f32, {{"A", a.view()}, {"B", b.view()}},
                           {});
        });
    EXPECT_EQ(errors[0], "");
  }
}

// Within this process: a device that fails in one panel is left out of the next.
TEST_F(SharedProduct, ADeviceThatFailsIsLeftOutOfLaterPanels) {
  const Array a = filled(64, 9000), b = filled(9000, 48);
  std::atomic<int> calls = 0;
  MultiDeviceOptions options{.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
                             .split = parse_split("1:1")};
  options.before_tile = [&](std::size_t device, std::size_t) {
    if (device == 1 && calls++ == 0) throw Error("it broke");
  };
  const auto errors = run_ranks(
      1, {.check = true, .devices = options},
      [&](int, DistributedOutcome& outcome) {
        EXPECT_TRUE(outcome.passed);
        EXPECT_EQ(outcome.panels, 3);
        ASSERT_EQ(outcome.ranks.at(0).notes.size(), 1U);
        EXPECT_TRUE(outcome.ranks.at(0).notes[0].starts_with("cpu (device 1) failed"));
        EXPECT_TRUE(outcome.ranks.at(0).notes[0].ends_with("it broke"));
      },
      [&](int) {
        return Arguments(shared_operation().signature, Element::f32, {{"A", a.view()}, {"B", b.view()}}, {});
      });
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tessera
