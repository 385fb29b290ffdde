// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/epilogue_pass.hpp"
#include <map>
#include <string_view>
#include <utility>
#include "tessera/core/text/error.hpp"
#include "tessera/core/array/rounding.hpp"

namespace tessera {
namespace {

constexpr std::size_t alignment = 256;

std::map<std::string, EpiloguePass, std::less<>>& passes() {
  static std::map<std::string, EpiloguePass, std::less<>> all;
  return all;
}

// Looked up on use: variants may register before or after it.
const EpiloguePass* pass_supporting(const std::string& operation, const Choice& choice,
                                    const Arguments& arguments) {
  if (!choice.unsupported_arguments(arguments)) return nullptr;
  const EpiloguePass* const found = epilogue_pass_of(operation);
  return found != nullptr && found->supports(arguments) ? found : nullptr;
}

// Runs the variant, then the pass. The spare memory is at the workspace's end, because the variant's own
// workspace is at its front.
PreparedRun with_pass(const EpiloguePass& pass, const Prepare& prepare, const Arguments& arguments,
                      const Tuning& tuning, const Device& device) {
  const std::size_t workspace_bytes = round_up(pass.workspace_bytes(arguments), alignment);
  void* const aligned = workspace_bytes == 0 ? nullptr : reinterpret_cast<void*>(std::uintptr_t{alignment});
  const Arguments before = pass.before(arguments, aligned);
  const PreparedRun first = prepare(before, tuning, device);
  const std::size_t front = round_up(first.workspace_bytes, alignment);
  PreparedRun out = first;
  if (workspace_bytes != 0) out.workspace_bytes = front + workspace_bytes;
  const std::string output = arguments.signature().of(Parameter::Kind::output)[0]->name;
  out.launch = [=, &pass](std::span<void* const> arrays, Run& run) {
    void* const spare = workspace_bytes == 0 ? nullptr : static_cast<char*>(run.workspace) + front;
    Arguments pass_arguments = before.with_addresses(arrays);
    if (spare != nullptr) pass_arguments.set_array(output, spare);
    Run own = run;
    own.workspace_bytes = first.workspace_bytes;
    first(pass_arguments.addresses(), own);
    pass.after(arguments.with_addresses(arrays), spare, own);
    run.reported_seconds = own.reported_seconds;
    run.values = std::move(own.values);
  };
  return out;
}

}  // namespace

void register_epilogue_pass(EpiloguePass pass) {
  std::string operation = pass.operation;
  passes().insert_or_assign(std::move(operation), std::move(pass));
}

const EpiloguePass* epilogue_pass_of(std::string_view operation) {
  const auto found = passes().find(operation);
  return found == passes().end() ? nullptr : &found->second;
}

void attach_epilogue_pass(Variant& variant) {
  if (variant.baseline) return;
  for (Choice& choice : variant.choices) {
    if (!choice.unsupported_arguments) continue;
    const Choice alone = choice;
    const std::string operation = variant.operation;
    choice.unsupported_arguments = [alone, operation](const Arguments& arguments) -> Reason {
      return pass_supporting(operation, alone, arguments) != nullptr ? std::nullopt
                                                                     : alone.unsupported_arguments(arguments);
    };
    for (auto& [element, prepare] : choice.prepare)
      prepare = [alone, operation, own = prepare](const Arguments& arguments, const Tuning& tuning,
                                                  const Device& device) {
        const EpiloguePass* const pass = pass_supporting(operation, alone, arguments);
        return pass == nullptr ? own(arguments, tuning, device)
                               : with_pass(*pass, own, arguments, tuning, device);
      };
  }
}

}  // namespace tessera
