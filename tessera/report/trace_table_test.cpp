// SPDX-License-Identifier: Apache-2.0
// What a trace says beside its counters: of rungs that it cannot trace, and of what it may have overlooked.
#include <gtest/gtest.h>
#include "tessera/bench/trace.hpp"
#include "tessera/report/trace_table.hpp"

namespace tessera::report {
namespace {

class TraceTable : public testing::Test {
 protected:
  TraceTable() {
    first_.ladder = second_.ladder = "gpu";
    first_.name = "first";
    second_.name = "second";
    before_.plan.variant = &first_;
    after_.plan.variant = &second_;
    before_.threads = 32;
    before_.blocks = before_.blocks_run = 1;
    before_.code = code(40, {.of32 = 12}, 0, 1000);
    after_.absent = "runs on cuda, not on simt";
    after_.code = code(168, {.of128 = 6}, 4, 560);
  }

  static bench::KernelCode code(int registers, bench::Widths shared_load, int matrix_load, int instructions) {
    bench::KernelCode out;
    out.registers = registers;
    out.shared_load = shared_load;
    out.global_load.of32 = 2;
    out.matrix_load = matrix_load;
    out.instructions = instructions;
    out.fma32 = 100;
    out.local_store.of32 = registers > 100 ? 3 : 0;
    return out;
  }

  static void see(bench::Traced& traced, simt::Space space, simt::Act act) {
    traced.lines.emplace_back();
    traced.lines.back().space = space;
    traced.lines.back().act = act;
    traced.lines.back().counts.requests = 1;
  }

  Variant first_, second_;
  bench::Traced before_, after_;
};

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

TEST_F(TraceTable, OfWhatCannotBeTracedTheCompilersCodeTells) {
  const std::string text = why(before_, after_);
  for (const char* part :
       {"second against first, by the compiler's code alone:", "multiply-add: 5.6 instead of 10",
        "shared loads in the code, by bits: 6×128 instead of 12×32",
        "matrix loads of shared memory in the code: 4 instead of 0",
        "registers of a thread: 168 instead of 40", "spills in the code: 3 instead of 0",
        "accesses were not counted: second runs on cuda, not on simt"})
    expect_in(part, text);
  const std::string table = trace_table({before_, after_});
  const std::string row = table.substr(table.find("gpu/second"));
  for (const char* cell : {" 168 ", " 3 ", " 6×128 ", " 5.6"}) expect_in(cell, row);
  expect_in("gpu/second: runs on cuda, not on simt: there is no count of its accesses",
            notes({before_, after_}));
  expect_in("of the GPU code", notes({after_}));
}

TEST_F(TraceTable, WithoutCodeItSaysWhatIsMissing) {
  after_.code.reset();
  const std::string text = why(before_, after_);
  expect_in("second runs on cuda", text);
  expect_in("no GPU code of second was found", text);
  EXPECT_EQ(text.find("no GPU code of first"), std::string::npos) << text;
  EXPECT_EQ(text.find("against"), std::string::npos) << text;
}

TEST_F(TraceTable, WarnsOfAccessesThatItHasNotSeen) {
  const std::string shared = "gpu/first: its GPU code has 12 loads of shared memory, and the trace saw none";
  const std::string global = "gpu/first: its GPU code has 2 loads of global memory, and the trace saw none";
  expect_in(shared, notes({before_}));
  expect_in(global, notes({before_}));
  see(before_, simt::Space::shared, simt::Act::read);
  EXPECT_EQ(notes({before_}).find(shared), std::string::npos);
  expect_in(global, notes({before_}));
  see(before_, simt::Space::global, simt::Act::atomic);
  EXPECT_EQ(notes({before_}).find("the trace saw none"), std::string::npos) << notes({before_});
}

// A rung of another device, made of one of the executor's: it is not traced, but its code is found.
TEST(Tracing, FindsTheCodeOfARungThatItCannotTrace) {
  for (const Operation& operation : operations())
    for (const Variant* variant : ladder_of(operation.name)) {
      if (variant->where != Where::simt || variant->choices[0].kernels.empty()) continue;
      Variant elsewhere = *variant;
      elsewhere.where = Where::cuda;
      const Choice& choice = elsewhere.choices[0];
      const auto& [element, type] = *choice.kernels.begin();
      bench::KernelCode code;
      code.name = "void entry<" + bench::readable(type) + ", Problem>(Problem)";
      code.architecture = 90;
      code.registers = 77;
      bench::Tracing tracing;
      tracing.code[elsewhere.object] = {code};
      const Device simt = find_backend(Where::simt)->devices().at(0);
      const auto traced = bench::trace(operation, element, operation.cases.at(0),
                                       {&elsewhere, &choice, choice.defaults(), simt}, tracing);
      ASSERT_TRUE(traced.absent);
      ASSERT_TRUE(traced.code);
      EXPECT_EQ(traced.code->registers, 77);
      return;
    }
  FAIL() << "no operation has a kernel";
}

}  // namespace
}  // namespace tessera::report
