// SPDX-License-Identifier: Apache-2.0
// A variant: one way to compute an operation, with its tunings and its metadata for measuring, tuning and
// reports. Variants register themselves; there is no central list. Its operation, ladder, place and name come
// from its file's name.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/text/source_location.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/text/version.hpp"

namespace tessera {

// Values of a variant's tuning parameters: named integers. A Choice fixes some at compile time and
// leaves others, within ranges, to the run.
class Tuning {
 public:
  Tuning() = default;
  Tuning(std::initializer_list<std::pair<std::string, int>> values) : values_(values) {}

  [[nodiscard]] std::optional<int> find(std::string_view name) const;
  int operator[](std::string_view name) const;  // throws Error if there is none
  void set(const std::string& name, int value);
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const Tuning&) const = default;

 private:
  std::vector<std::pair<std::string, int>> values_;
};

[[nodiscard]] std::string to_string(const Tuning& tuning);  // "tile=16,unroll=1"; "" when empty
[[nodiscard]] Tuning parse_tuning(std::string_view text);   // the inverse; throws Error

// A parameter that is set at run time, such as a block's width.
struct Range {
  std::string name;
  int first = 1, last = 1, value = 1;  // inclusive; `value` is the default
  std::vector<int> values = {};        // the only values allowed, in order; empty: all between
};

using Reason = std::optional<std::string>;  // why something is impossible; std::nullopt: it is possible

// The thread that writes an element of the output.
struct Owner {
  Index3 block, thread;
};

// The resources that a launch needs, known before it.
struct Footprint {
  std::int64_t blocks = 0, threads_per_block = 0, shared_bytes = 0;
  std::optional<int> registers = {};  // per thread, if a compiler has reported them
};

// A planned run. Each launch takes addresses with the alignment that was planned for; several threads may
// launch at once.
struct PreparedRun {
  using Launcher = std::function<void(std::span<void* const> arrays, Run&)>;  // arrays: see Addresses

  Launcher launch;  // null: there is nothing to do
  std::size_t workspace_bytes = 0;
  std::size_t zeroed_bytes = 0;  // bytes at the front of the workspace that must be zero before a launch
  bool planned_ahead = true;     // a launch plans nothing, and restores those zeros

  void operator()(std::span<void* const> arrays, Run& run) const {
    if (launch) launch(arrays, run);
  }
};

// Plans a run of these arguments; their addresses only give the alignment.
using Prepare = std::function<PreparedRun(const Arguments&, const Tuning&, const Device&)>;

// For variants without a plan: each launch calls `compute` with the arguments, at this launch's addresses.
using RunAtOnce = std::function<void(const Arguments&, const Tuning&, Run&)>;
using WorkspaceBytes = std::function<std::size_t(const Arguments&, const Tuning&)>;
// `zeroed_bytes`: see PreparedRun; by default the entire workspace.
Prepare without_plan(RunAtOnce compute, WorkspaceBytes workspace_bytes = {},
                     std::size_t zeroed_bytes = static_cast<std::size_t>(-1));

// A compiled configuration, ready to run once its parameters have values.
struct Choice {
  Tuning tuning;              // fixed at compile time
  std::vector<Range> ranges;  // set at run time
  std::map<Element, Prepare> prepare;
  std::map<Element, std::string> kernels;  // the kernels' types, as the compiler spells them
  // Optional: the reason why Problem<T> cannot express these arguments.
  std::function<Reason(const Arguments&)> unsupported_arguments = {};
  // Optional. The Tuning passed to these holds both the fixed values and the parameters.
  std::function<Reason(const Arguments&, const Tuning&, const Device&)> refuses;
  std::function<std::optional<Owner>(const Arguments&, const Tuning&, const Extents& index)> owner;
  std::function<std::optional<Footprint>(const Arguments&, const Tuning&)> footprint = {};  // kernels only

  PreparedRun prepared(const Arguments& arguments, const Tuning& values, const Device& device) const {
    return prepare.at(arguments.element())(arguments, values, device);
  }
  void run(const Arguments& arguments, const Tuning& values, Run& run) const;  // prepares and launches once
  Tuning defaults() const;                  // the fixed values and each parameter's default
  bool allows(const Tuning& wanted) const;  // true if values and ranges fit all of `wanted`
};

struct Variant {
  std::string idea;  // the improvement over the rung below
  Where where = Where::cpu;
  std::vector<Choice> choices;      // the first is the default
  bool baseline = false;            // third-party code: place 00
  bool compares_time_only = false;  // a baseline that computes something slightly different
  // The reason why the machine cannot run it at all (an instruction set, a library).
  std::function<Reason(const Device&)> unsupported_device;
  // The rung that this one changes, with which its results are compared. std::nullopt: the nearest place
  // before it on its ladder. "": it has no predecessor.
  std::optional<std::string> parent = {};

  // Set by register_variant() from the file's name.
  std::string operation, ladder, name, file;
  std::string object;  // the shared object that brought it, as passed to load(); empty: this program
  int place = 0;

  // Returns the reason why this choice cannot run these arguments on the device: its kind, the element type,
  // unsupported_device, unsupported_arguments, the ranges, or Choice::refuses.
  Reason refuses(const Choice& choice, const Arguments& arguments, const Tuning& tuning,
                 const Device& device) const;
  const Choice* find(
      const Tuning& wanted) const;  // the first whose fixed values and ranges allow all of `wanted`
};

// An ABI tag: a plug-in built with other sizes of these types fails to load.
using VariantInterface = InterfaceOf<Variant, Choice, Arguments, Tuning, Run, Device>;
template <>
const VariantInterface VariantInterface::current;

// Registers a variant; its place follows from its file's name, ops/NAME/LADDER_PLACE_NAME.SUFFIX. Throws
// Error for any other file name, and for a name that the ladder has already.
void register_variant(Variant variant, SourceLocation location = SourceLocation::current(),
                      const VariantInterface& = VariantInterface::current);

// Registers a kernel's second build, which records every access. It is not a rung of the ladder.
void register_traced(Variant variant, SourceLocation location = SourceLocation::current());
// Returns the traced build of a choice of a variant; null: there is none.
[[nodiscard]] const Choice* instrumented_choice(const Variant& variant, const Choice& choice);

const std::vector<Variant>& all_variants();
// Returns the variants in the order of ladder and place.
[[nodiscard]] std::vector<const Variant*> ladder_of(std::string_view operation);

// A rung file, perhaps left out of this build, from the catalogue that the build writes.
struct CatalogueEntry {
  std::string operation, ladder, name, file;
  int place = 0;
  std::string absent;  // why this build lacks it; empty: it is included
};
const std::vector<CatalogueEntry>& catalogue();
void register_catalogue(const char* file, const char* absent);

// The way a rung reads an operand that the user may pass transposed. Rungs declare it, `list` shows it; a
// rung that declares nothing reads any layout in place.
enum class LayoutHandling {
  direct,
  transposed_on_load,
  packed_first,  // a separate pass first writes a copy, of this operand or of the smaller one
  mixed,         // transposed on load, but direct where C has few rows
};
std::string_view text_of(LayoutHandling handling);

struct OperandLayout {
  std::string input;
  bool transposed = false;  // memory holds the transpose
  bool unaligned = false;   // an address or a leading dimension is no multiple of 16 bytes
};
using HandlesLayout = std::function<LayoutHandling(Element, const OperandLayout&)>;

// Registers for the rung of the caller's file.
void register_layouts(HandlesLayout handles, SourceLocation location = SourceLocation::current());
const HandlesLayout* layouts_of(std::string_view file);  // Variant::file; null: it declares nothing

}  // namespace tessera
