// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/epilogue_pass.hpp"
#include <map>
#include <string_view>
#include <utility>
#include "tessera/core/error.hpp"
#include "tessera/core/rounding.hpp"

namespace tessera {
namespace {

constexpr std::size_t alignment = 256;

std::map<std::string, EpiloguePass, std::less<>>& passes() {
  static std::map<std::string, EpiloguePass, std::less<>> all;
  return all;
}

// Looked up when it is needed: variants register before it or after it.
const EpiloguePass* serving(const std::string& operation, const Choice& choice, const Arguments& arguments) {
  if (!choice.unsupported_arguments(arguments)) return nullptr;
  const EpiloguePass* const found = epilogue_pass_of(operation);
  return found != nullptr && found->serves(arguments) ? found : nullptr;
}

// The spare memory is the workspace's end: a variant knows what its front holds.
template <class Compute>
void run_with_pass(const EpiloguePass& pass, const Compute& compute, const Arguments& arguments, Run& run) {
  const std::size_t spare_bytes = pass.spare_bytes(arguments);
  Run own = run;
  void* spare = nullptr;
  if (spare_bytes != 0) {
    if (run.workspace_bytes < round_up(spare_bytes, alignment))
      throw Error(Error::Kind::internal, "the workspace has no room for sums");
    own.workspace_bytes = (run.workspace_bytes - round_up(spare_bytes, alignment)) / alignment * alignment;
    spare = static_cast<char*>(run.workspace) + own.workspace_bytes;
  }
  compute(pass.before(arguments, spare), own);
  pass.after(arguments, spare, own);
  run.reported_seconds = own.reported_seconds;
  run.values = std::move(own.values);
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
      return serving(operation, alone, arguments) != nullptr ? std::nullopt
                                                             : alone.unsupported_arguments(arguments);
    };
    for (auto& [element, run] : choice.run)
      run = [alone, operation, element = element](const Arguments& arguments, const Tuning& tuning, Run& at) {
        const auto compute = [&](const Arguments& given, Run& there) {
          alone.run.at(element)(given, tuning, there);
        };
        const EpiloguePass* const pass = serving(operation, alone, arguments);
        if (pass == nullptr) compute(arguments, at);
        else run_with_pass(*pass, compute, arguments, at);
      };
    for (auto& [element, prepare] : choice.prepare)
      prepare = [alone, operation, element = element](const Arguments& arguments, const Tuning& tuning,
                                                      const Device& device) {
        if (serving(operation, alone, arguments) != nullptr) return PreparedRun{};
        return alone.prepare.at(element)(arguments, tuning, device);
      };
    choice.workspace_bytes = [alone, operation](const Arguments& arguments, const Tuning& tuning) {
      const std::size_t own = alone.workspace_bytes ? alone.workspace_bytes(arguments, tuning) : 0;
      const EpiloguePass* const pass = serving(operation, alone, arguments);
      return pass == nullptr || pass->spare_bytes(arguments) == 0
                 ? own
                 : round_up(own, alignment) + round_up(pass->spare_bytes(arguments), alignment);
    };
  }
}

}  // namespace tessera
