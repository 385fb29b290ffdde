// SPDX-License-Identifier: Apache-2.0
// One Arguments without memory for outputs serves any number of calls: each Outcome owns its own result.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tessera/run/run.hpp"

namespace tessera {
namespace {

using OutputBytes = std::map<std::string, std::vector<char>>;

OutputBytes bytes_of_outputs(const std::map<std::string, Array>& outputs) {
  OutputBytes out;
  for (const auto& [name, array] : outputs)
    out[name].assign(array.as<char>(), array.as<char>() + array.view().bytes());
  return out;
}

// The same inputs, and outputs that the caller gives no memory for.
Arguments without_outputs(const Operation& operation, const Inputs& inputs, const Case& tried) {
  std::map<std::string, ArrayView> given;
  for (const Parameter* p : operation.signature.of(Parameter::Kind::input))
    if (inputs.arguments().has(p->name)) given[p->name] = inputs.arguments().array(p->name);
  return {operation.signature, inputs.arguments().element(), given, tried.words};
}

// True where the devices of `call` have a rung for the case.
template <class Call>
bool can_compute(const Operation& operation, Element element, const Case& tried, const Call& call) {
  if (!tried.elements.empty() && std::ranges::find(tried.elements, element) == tried.elements.end())
    return false;
  const Inputs inputs(operation, element, tried, 1);
  try {
    (void)call(operation, inputs.arguments());
    return true;
  } catch (const Error&) {
    return false;
  }
}

template <class Call>
void expect_results_of_their_own(const Operation& operation, const Call& call) {
  int elements = 0;
  for (const Element element : operation.elements) {
    const auto tried = std::ranges::find_if(
        operation.cases, [&](const Case& c) { return can_compute(operation, element, c, call); });
    if (tried == operation.cases.end()) continue;
    ++elements;
    SCOPED_TRACE(operation.name + " " + std::string(name_of(element)) + " " + to_string(*tried));
    Inputs inputs(operation, element, *tried, 1);
    const Arguments arguments = without_outputs(operation, inputs, *tried);
    OutputBytes first;
    {
      const auto one = call(operation, arguments);
      ASSERT_EQ(one.outputs.size(), operation.signature.of(Parameter::Kind::output).size());
      first = bytes_of_outputs(one.outputs);
      const auto two = call(operation, arguments);
      EXPECT_EQ(bytes_of_outputs(two.outputs), first);
      for (const auto& [name, array] : two.outputs) {
        if (array.view().bytes() == 0) continue;
        EXPECT_NE(array.template as<void>(), one.outputs.at(name).template as<void>()) << name;
        std::memset(array.view().data, 0x55, array.view().bytes());
      }
      EXPECT_EQ(bytes_of_outputs(one.outputs), first);
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bytes_of_outputs(call(operation, arguments).outputs), first);
    for (const Parameter* p : operation.signature.of(Parameter::Kind::output))
      EXPECT_EQ(arguments.array(p->name).data, nullptr) << p->name;
  }
  EXPECT_GT(elements, 0) << operation.name;
}

TEST(RepeatedCalls, OnOneDeviceOwnTheirResults) {
  for (const char* device : {"cpu:threads=1", "simt:threads=1"})
    for (const Operation& operation : operations())
      expect_results_of_their_own(operation, [&](const Operation& of, const Arguments& arguments) {
        return run(of, arguments, {.device = device, .cached = false}, true);
      });
}

auto on_two_devices(bool in_processes) {
  return [in_processes](const Operation& operation, const Arguments& arguments) {
    return run_on_devices(operation, arguments,
                          {.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
                           .request = {.cached = false},
                           .whole = find_partition(operation.name) == nullptr,
                           .protect = in_processes});
  };
}

TEST(RepeatedCalls, OnSeveralDevicesOwnTheirResults) {
  for (const Operation& operation : operations())
    expect_results_of_their_own(operation, on_two_devices(false));
  // Outputs in shared memory, which costs a start of two processes each time.
  expect_results_of_their_own(*find_operation("matmul"), on_two_devices(true));
}

}  // namespace
}  // namespace tessera
