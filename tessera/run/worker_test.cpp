// SPDX-License-Identifier: Apache-2.0
// Devices in processes of their own: what they map, what is copied, and what becomes of one that dies.
#include "tessera/run/worker.hpp"
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstring>
#include <filesystem>
#include "tessera/core/shared_array.hpp"
#include "tessera/io/mapped_file.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/spread.hpp"

namespace tessera {
namespace {

TEST(SharedArray, IsFoundByAnyOfItsBytesWhileItLives) {
  const char* address = nullptr;
  {
    const Array array = shared_array(Element::f64, {3, 5});
    address = array.as<char>();
    EXPECT_EQ(array.as<double>()[14], 0);
    const auto place = find_shared(address + 100);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->offset, 100);
    EXPECT_EQ(place->bytes, 120);
    EXPECT_FALSE(find_shared(address + 120).has_value());
    const auto other = map_shared(place->file, 120);
    static_cast<double*>(other.get())[7] = 2.5;
    EXPECT_EQ(array.as<double>()[7], 2.5);
  }
  EXPECT_FALSE(find_shared(address).has_value());
  const double local = 0;
  EXPECT_FALSE(find_shared(&local).has_value());
}

TEST(Process, TellsHowItEnded) {
  dist::Process ended("/bin/true");
  EXPECT_THROW(ended.receive(20), Error);
  EXPECT_THROW(dist::Process("/no/such/program"), Error);
  dist::Process silent(worker_program());  // nothing is asked of it
  kill(silent.id(), SIGKILL);
  try {
    (void)silent.receive(20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Killed"), std::string::npos) << error.what();
  }
}

TEST(Worker, SharedOperandsAreNotCopiedAndOthersOnce) {
  const Operation& product = *find_operation("matmul");
  const std::int64_t n = 96;
  const Array a = shared_array(Element::f32, {n, n}), b(Element::f32, {n, n});
  fill_normal(1, a.view());
  fill_normal(2, b.view());
  Arguments host(product.signature, Element::f32, {{"A", a.view().transposed()}, {"B", b.view()}}, {});
  Spread spread{.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
                .request = {.cached = false},
                .split = parse_split("1:1"),  // from a queue one might have had every part
                .protect = true,
                .faults = parse_faults("kill:1@1,flip:0@1")};
  const Together together = run_together(product, host, spread, true);
  EXPECT_EQ(faults_left(spread, together), std::vector<std::string>{});
  EXPECT_EQ(together.copied_bytes, n * n * 4);
  EXPECT_TRUE(together.verdict->passed);
  Arguments alone(product.signature, Element::f32, {{"A", a.view().transposed()}, {"B", b.view()}}, {});
  const Outcome wanted = run(product, alone, {.device = "cpu:threads=1", .cached = false});
  EXPECT_EQ(std::memcmp(alone.array("C").data, host.array("C").data, host.array("C").bytes()), 0);
}

// What was written into a mapped file's memory is not in the file: only who knows better says that workers
// may read that.
TEST(Worker, FilesAreReadOnlyWhereSomebodySaysThatTheyHoldTheOperands) {
  const Operation& product = *find_operation("matmul");
  const std::int64_t n = 96;
  const Array a(Element::f32, {n, n});
  fill_normal(1, a.view());
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tessera_mapped_" + std::to_string(getpid()) + ".npy"))
          .string();
  npy::write(path, a.view());
  for (const bool as_read : {false, true}) {
    Array mapped = npy::read(path);
    if (!as_read) mapped.as<float>()[5] += 1;
    Arguments host(product.signature, Element::f32, {{"A", mapped.view()}, {"B", a.view()}}, {});
    const Spread spread{.devices = {find_device("cpu:threads=1")},
                        .request = {.cached = false},
                        .protect = true,
                        .files_as_read = as_read};
    const Together together = run_together(product, host, spread, true);
    EXPECT_EQ(together.copied_bytes, (as_read ? 1 : 2) * n * n * 4);
    EXPECT_EQ(together.mapped_bytes, as_read ? n * n * 4 : 0);
    EXPECT_TRUE(together.verdict->passed);
  }
  const Array before = npy::read(path);
  EXPECT_TRUE(find_mapped(before.as<char>()).has_value());
  npy::write(path, a.view());  // another file by now
  EXPECT_FALSE(find_mapped(before.as<char>()).has_value());
  std::filesystem::remove(path);
}

// No page of it is touched.
TEST(Worker, MoreThanMemoryHoldsIsRefusedBeforeItIsCopied) {
  const std::int64_t n = std::int64_t{1} << 22;  // 64 TiB each of A, B and C
  const auto bytes = static_cast<std::size_t>(n * n * 4);
  void* const nothing = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (nothing == MAP_FAILED) GTEST_SKIP() << "this system has no such addresses to give";
  const ArrayView huge{nothing, Element::f32, {n, n}, {n, 1}};
  const Operation& product = *find_operation("matmul");
  const Arguments host(product.signature, Element::f32, {{"A", huge}, {"B", huge}}, {});
  try {
    const SharedCall call(product, host);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("want 211106232532992 bytes"), std::string::npos)
        << error.what();
  }
  (void)munmap(nothing, bytes);
}

TEST(Faults, AreReadAsTyped) {
  const auto faults = parse_faults("kill:1@3,delay:0@2:0.5");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::kill);
  EXPECT_EQ(faults[0].device, 1u);
  EXPECT_EQ(faults[0].tile, 3u);
  EXPECT_EQ(faults[1].seconds, 0.5);
  for (const char* word : {"kill:1@3:2", "delay:0@1", "delay:0@1:-1", "flip@1", "flip:1"})
    EXPECT_THROW(parse_faults(word), Error);
}

}  // namespace
}  // namespace tessera
