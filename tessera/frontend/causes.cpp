// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/causes.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include "tessera/frontend/explain.hpp"

namespace tessera::frontend {
namespace {

enum class Cause {
  same_value,  // harmless if every thread writes one value
  update,      // many threads read, change and write one word
  writers,     // many threads write one word
  fence,       // atomics between the accesses lack fences
  order        // an order between two accesses is missing
};

struct Race {
  const Json* finding;
  Cause cause;
  std::string file, kernel, scope, array;
  int line, other_line;

  explicit Race(const Json& of)
      : finding(&of),
        file(of.value("file", "")),
        kernel(of.value("kernel", "")),
        scope(of.value("scope", "block")),
        array(of.value("array", "")),
        line(of.value("line", 0)),
        other_line(of.value("other_line", 0)) {
    const bool one_line = line == other_line, reads = number("read_line") != 0;
    cause = !of.value("serious", true)            ? Cause::same_value
            : is_locked()                         ? Cause::fence
            : one_line && reads && has_writers()  ? Cause::update
            : one_line && !reads && has_writers() ? Cause::writers
            : number("release_line") != 0         ? Cause::fence
                                                  : Cause::order;
  }
  bool is(const char* field) const { return finding->value(field, false); }
  int number(const char* field) const { return finding->value(field, 0); }
  int low() const { return std::min(line, other_line); }
  int high() const { return std::max(line, other_line); }
  // Many threads write the word in the same execution of the line, and not only in different iterations.
  bool has_writers() const { return 2 * number("together") > number("both_write"); }
  // The atomics around the accesses are those of a lock, and not a counter's.
  bool is_locked() const {
    const std::string taken = source_line(file, number("lock_line"));
    return taken.find("atomicCAS") != taken.npos || taken.find("atomicExch") != taken.npos;
  }
  // A barrier at one place can order both.
  bool overlaps(const Race& other) const { return low() <= other.high() && other.low() <= high(); }
};

// The races of one cause.
class Group {
 public:
  explicit Group(const Race& first) : races_{first} {}

  bool takes(const Race& race) const {
    const Race& first = races_.front();
    if (race.cause != first.cause || race.kernel != first.kernel || race.file != first.file) return false;
    if (race.cause == Cause::order || race.cause == Cause::fence)
      return (race.scope == "grid") == (first.scope == "grid") &&
             std::ranges::any_of(races_, [&](const Race& r) {
               return r.overlaps(race) || (race.scope == "grid" && r.array == race.array) ||
                      (race.scope == "warp" && r.scope == "warp");
             });
    return race.line == first.line && race.array == first.array;
  }
  void add(const Race& race) { races_.push_back(race); }
  void add(const Group& other) { std::ranges::copy(other.races_, std::back_inserter(races_)); }
  const std::vector<Race>& races() const { return races_; }

  Json finding(const std::vector<Json>& launches) const {
    const Race& first = *std::ranges::min_element(
        races_, {}, [](const Race& r) { return std::tuple(r.low(), r.line, r.array); });
    Json out = *first.finding;
    std::set<std::tuple<int, int, std::string>> pairs;
    for (const Race& race : races_) pairs.emplace(race.low(), race.high(), race.array);
    pairs.erase({first.low(), first.high(), first.array});
    constexpr std::size_t most = 5;
    Json also = Json::array();
    for (const auto& [low, high, array] : pairs)
      if (also.size() < most)
        also.push_back(
            (low == high ? fmt::format("line {}", low) : fmt::format("lines {} and {}", low, high)) +
            (array == first.array ? "" : " (" + array + ")"));
    if (pairs.size() > most) also.push_back(fmt::format("{} more pairs of lines", pairs.size() - most));
    if (!also.empty()) out["also"] = also;
    out["remedy"] = remedy(launches);
    return out;
  }

 private:
  std::string remedy(const std::vector<Json>& launches) const {
    const Race& first = *std::ranges::min_element(  // of the widest scope: grid, block, warp
        races_, {}, [](const Race& r) { return r.scope == "block"  ? 1
                                               : r.scope == "warp" ? 2
                                                                   : 0; });
    switch (first.cause) {
      case Cause::same_value:
        return "nothing, if all that write it always write one value; otherwise use an atomic";
      case Cause::update:
        return update_remedy(first);
      case Cause::writers:
        return first.scope == "grid" ? "let one thread of all blocks write it, or use an atomic"
                                     : "let one thread write it, or use an atomic";
      case Cause::fence:
        return fence_remedy();
      case Cause::order:
        break;
    }
    const auto launch = std::ranges::find_if(
        launches, [&](const Json& l) { return l.value("number", 0) == first.number("launch"); });
    const bool cooperative = launch != launches.end() && launch->value("cooperative", false);
    if (first.scope == "grid" && !cooperative) {
      const auto [from, to] = straight();
      const bool writes_first =
          std::ranges::all_of(races_, [](const Race& r) { return r.number("read_line") != r.low(); });
      return "no barrier orders blocks: " +
             (from < to && writes_first
                  ? fmt::format(
                        "end the kernel between line {} and line {}, and let a second launch do the rest",
                        from, to)
                  : std::string(
                        "read from one array and write to another, and exchange them between launches"));
    }
    const std::string barrier = first.scope == "grid"   ? "grid.sync()"
                                : first.scope == "warp" ? "__syncwarp()"
                                                        : "__syncthreads()";
    const std::string who = first.scope == "grid"   ? "all threads of the grid reach"
                            : first.scope == "warp" ? "all lanes of the warp reach"
                                                    : "all threads of the block reach";
    return barrier_remedy(barrier, launch == launches.end() ? Json() : *launch) + ", where " + who + " it";
  }

  // Returns the statement with an atomic, if the line updates something by + or -.
  static std::string update_remedy(const Race& race) {
    static const std::string value = R"((\*\s*\w+|\w+(?:(?:\.|->)\w+|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*))";
    static const std::regex compound(value + R"(\s*([+-])=\s*([^;]+);)"), plain(value + R"(\s*=\s*([^;]+);)"),
        counts(value + R"(\s*(\+\+|--)\s*;|(\+\+|--)\s*)" + value + R"(\s*;)");
    const std::string source = source_line(race.file, race.line);
    std::string target, operand;
    std::smatch match;
    if (std::regex_search(source, match, compound)) {
      target = match[1];
      operand = match[2] == "-" ? "-(" + match[3].str() + ")" : match[3].str();
    } else if (std::regex_search(source, match, counts)) {
      target = match[1].matched ? match[1] : match[4];
      operand = (match[2].matched ? match[2] : match[3]) == "--" ? "-1" : "1";
    } else if (std::regex_search(source, match, plain)) {
      const std::string left = match[1], right = match[2];
      if (right.starts_with(left) && right.find_first_not_of(' ', left.size()) != right.npos &&
          right[right.find_first_not_of(' ', left.size())] == '+') {
        target = left;
        operand = right.substr(right.find('+', left.size()) + 1);
        operand.erase(0, operand.find_first_not_of(' '));
      }
    }
    const std::string all = race.scope == "grid" ? "the threads of all blocks" : "many threads";
    if (target.empty())
      return all +
             " read and write one word: use an atomic, such as atomicAdd, or let each thread write a word of "
             "its "
             "own";
    target = target.starts_with('*') ? target.substr(target.find_first_not_of(" *")) : "&" + target;
    return fmt::format("{} update one word: atomicAdd({}, {}); or a reduction, and one update for each block",
                       all, target, operand);
  }

  std::string fence_remedy() const {
    int release = 0, lock = 0, before = 0;
    for (const Race& race : races_) {
      release = std::max(release, race.number("release_line"));
      lock = std::max(lock, race.number("lock_line"));
      for (const int line : {race.line, race.other_line})
        if (line < race.number("release_line")) before = std::max(before, line);
    }
    if (lock != 0)
      return fmt::format(
          "the lock orders nothing without fences: __threadfence() after the atomic that takes it (line {}), "
          "and "
          "before the one that frees it (line {})",
          lock, release);
    return fmt::format("the atomic of line {} orders nothing without a fence: __threadfence() before it{}",
                       release, before == 0 ? "" : fmt::format(", after line {}", before));
  }

  // Returns the lines between which one barrier orders all pairs; the first is not below the second if there
  // are none.
  std::pair<int, int> straight() const {
    std::pair<int, int> out{0, 1 << 30};
    for (const Race& race : races_) {
      out.first = std::max(out.first, race.low());
      out.second = std::min(out.second, race.high());
    }
    return out;
  }

  // True if a barrier that orders the threads of a race stands between its lines.
  static bool has_barrier(const Json& launch, const Race& race) {
    for (int line = race.low() + 1; race.scope == "warp" && line < race.high(); ++line)
      if (source_line(race.file, line).find("__syncwarp") != std::string::npos) return true;
    return std::ranges::any_of(launch.value("barriers", Json::array()), [&](const Json& barrier) {
      const int line = barrier.value("line", 0);
      return race.low() < line && line < race.high();
    });
  }

  std::string barrier_remedy(const std::string& barrier, const Json& launch) const {
    int low = 1 << 30, high = 0;
    bool before_write = false, between = false, repeats = false;
    for (const Race& race : races_) {
      low = std::min(low, race.low());
      high = std::max(high, race.high());
      if (race.line == race.other_line) {
        before_write = before_write || race.is("read_first");
        repeats = true;
        continue;
      }
      const bool down = race.line < race.other_line ? race.is("is_first") : race.is("other_is_first");
      const bool up = race.line < race.other_line ? race.is("other_is_first") : race.is("is_first");
      between = between || down || !has_barrier(launch, race);
      repeats = repeats || up;
    }
    const std::string lines =
        low == high ? fmt::format("line {}", low) : fmt::format("lines {} to {}", low, high);
    if (before_write)
      return fmt::format("{}: read into a variable, call {}, write, and call {} again", lines, barrier,
                         barrier);
    if (!between)
      return fmt::format("put {} at the end of the body of the loop that repeats {}", barrier, lines);
    const auto [from, to] = straight();
    std::string out = from < to ? fmt::format("put {} between line {} and line {}", barrier, from, to)
                                : fmt::format("put {} between the accesses of {}", barrier, lines);
    if (repeats) out += ", and at the end of the body of a loop that repeats them";
    return out;
  }

  std::vector<Race> races_;
};

}  // namespace

namespace {

// A guard that is wrong or missing lets one thread leave several arrays.
bool merge_beside(std::vector<Json>& known, const Json& finding) {
  if (finding.value("what", "") != "out of bounds" || !finding.contains("thread")) return false;
  const auto same = std::ranges::find_if(known, [&](const Json& other) {
    return std::ranges::all_of(
        std::array{"what", "kernel", "launch", "block", "thread", "remedy"},
        [&](const char* field) { return other.value(field, Json()) == finding.value(field, Json()); });
  });
  if (same == known.end()) return false;
  (*same)["also"].push_back(
      fmt::format("line {} ({})", finding.value("line", 0), finding.value("array", "")));
  return true;
}

}  // namespace

std::vector<Json> by_cause(const std::vector<Json>& findings, const std::vector<Json>& launches) {
  std::vector<Json> out;
  std::vector<Group> groups;
  for (const Json& finding : findings) {
    if (finding.value("what", "") != "race") {
      if (!merge_beside(out, finding)) out.push_back(finding);
      continue;
    }
    // A race may connect groups.
    Group own{Race(finding)};
    std::erase_if(groups, [&](const Group& group) {
      const bool connected = group.takes(own.races().front());
      if (connected) own.add(group);
      return connected;
    });
    groups.push_back(std::move(own));
  }
  // A line that many threads write needs no second remedy for the races with itself.
  const auto explained_by = [](const Group& group, const Group& other) {
    const Race &race = group.races().front(), &by = other.races().front();
    if (by.cause != Cause::update && (by.cause != Cause::writers || race.cause == Cause::update))
      return false;
    if (race.cause == by.cause) return false;
    return std::ranges::all_of(group.races(), [&](const Race& r) {
      return r.kernel == by.kernel && r.array == by.array && r.line == by.line && r.other_line == by.line;
    });
  };
  // A thread that came too early read what another had yet to write.
  std::erase_if(out, [&](const Json& finding) {
    return finding.value("what", "") == "uninitialised" &&
           std::ranges::any_of(groups, [&](const Group& group) {
             return std::ranges::any_of(group.races(), [&](const Race& race) {
               return race.cause == Cause::order && race.kernel == finding.value("kernel", "") &&
                      race.array == finding.value("array", "") &&
                      (race.line == finding.value("line", 0) || race.other_line == finding.value("line", 0));
             });
           });
  });
  for (const Group& group : groups)
    if (std::ranges::none_of(groups, [&](const Group& other) { return explained_by(group, other); }))
      out.push_back(group.finding(launches));
  return out;
}

}  // namespace tessera::frontend
