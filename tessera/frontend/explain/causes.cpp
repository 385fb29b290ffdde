// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/explain/causes.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include "tessera/frontend/explain/explain.hpp"

namespace tessera::frontend {
namespace {

enum class Cause {
  same_value,  // harmless if every thread writes one value
  update,      // many threads read, change and write one word
  test,        // threads test a word before an atomic changes it
  writers,     // many threads write one word
  fence,       // atomics between the accesses lack fences
  order        // an order between two accesses is missing
};

// Returns the update as an atomic, if the line is a sum or a counter; else "". The operand of a sum does not
// read the array itself, as a step of a tree does.
std::string atomic_of(const std::string& source) {
  static const std::regex update(
      R"((?:(\+\+|--)\s*)?(\*\s*\w+|\w+(?:(?:\.|->)\w+|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)\s*(?:([+-])=\s*([^;]+)|(\+\+|--)|=(?!=)\s*([^;]+))?;)");
  std::smatch match;
  for (auto from = source.begin(); std::regex_search(from, source.end(), match, update);
       from = match[2].second) {
    const std::string target = match[2], counts = match[1].str() + match[5].str();
    std::string operand = match[4];
    if (match[3] == "-") operand = "-(" + operand + ")";
    if (!counts.empty()) operand = counts == "--" ? "-1" : "1";
    if (const std::string right = match[6]; right.starts_with(target)) {
      const std::size_t plus = right.find_first_not_of(' ', target.size());
      if (plus != right.npos && right[plus] == '+')
        operand = right.substr(right.find_first_not_of(' ', plus + 1));
    }
    const std::string name = target.substr(0, target.find_first_of("[.-"));
    if (operand.empty() ||
        std::regex_search(operand, std::regex("\\b" + name.substr(name.find_first_not_of("* ")) + "\\b")) ||
        std::ranges::count(operand, '(') != std::ranges::count(operand, ')'))
      continue;
    return fmt::format("atomicAdd({}, {})",
                       target.starts_with('*') ? target.substr(target.find_first_not_of("* ")) : "&" + target,
                       operand);
  }
  return {};
}

struct Race {
  const Json* finding;
  Cause cause;
  std::string file, kernel, scope, array;
  Json thread;
  int line, other_line;
  int tested_for = 0;  // the write that a test precedes; 0: none

  explicit Race(const Json& of)
      : finding(&of),
        file(of.value("file", "")),
        kernel(of.value("kernel", "")),
        scope(of.value("scope", "block")),
        array(of.value("array", "")),
        thread({of.value("kernel", ""), of.value("block", Json()), of.value("thread", Json())}),
        line(of.value("line", 0)),
        other_line(of.value("other_line", 0)) {
    const bool one_line = line == other_line, reads = number("read_line") != 0;
    const bool tests = of.value("text", "").find(" updates ") != std::string::npos &&
                       number("read_line") == low() && is_condition();
    cause = !of.value("serious", true)                            ? Cause::same_value
            : is_locked()                                         ? Cause::fence
            : tests                                               ? Cause::test
            : (one_line && reads && has_writers()) || is_update() ? Cause::update
            : one_line && !reads && has_writers()                 ? Cause::writers
            : number("release_line") != 0                         ? Cause::fence
                                                                  : Cause::order;
  }
  bool is(const char* field) const { return finding->value(field, false); }
  int number(const char* field) const { return finding->value(field, 0); }
  int low() const { return std::min(line, other_line); }
  int high() const { return std::max(line, other_line); }
  // Many threads write the word in the same execution of the line, and not only in different iterations.
  bool has_writers() const { return 2 * number("together") > number("both_write"); }
  // A sum or counter, whose threads may come in any iteration.
  bool is_update() const {
    return number("both_write") != 0 && !atomic_of(source_line(file, line)).empty() &&
           !atomic_of(source_line(file, other_line)).empty();
  }
  // The atomics around the accesses are those of a lock, and not a counter's.
  bool is_locked() const {
    const std::string taken = source_line(file, number("lock_line"));
    return taken.find("atomicCAS") != taken.npos || taken.find("atomicExch") != taken.npos;
  }
  bool is_condition() const {
    const std::string source = source_line(file, low());
    static const std::regex branch(R"(\bif\b)"), loop(R"(\bwhile\b)");  // not "diff"
    return std::regex_search(source, branch) && !std::regex_search(source, loop);
  }
  // A barrier at one place can order both.
  bool overlaps(const Race& other) const { return low() <= other.high() && other.low() <= high(); }
};

// Threads test a word, and then write it: an update. Their other writes belong to it.
void mark_tested(std::vector<Race>& races) {
  for (Race& test : races)
    for (const Race& write : races)
      if (test.cause == Cause::order && write.cause == Cause::writers && test.is_condition() &&
          test.number("read_line") == test.low() && test.high() == write.line &&
          test.kernel == write.kernel && test.array == write.array)
        for (Race& race : races)
          if (&race == &test || (race.cause == Cause::writers && race.thread == write.thread))
            race.tested_for = write.line;
  for (Race& race : races)
    if (race.tested_for != 0) race.cause = Cause::update;
}

// The races of one cause.
class Group {
 public:
  explicit Group(const Race& first) : races_{first} {}

  bool takes(const Race& race) const {
    const Race& first = races_.front();
    if (race.cause != first.cause || race.file != first.file) return false;
    return std::ranges::any_of(races_, [&](const Race& r) {
      if (r.array == race.array && r.low() == race.low() && r.high() == race.high())
        return true;  // another instance of a template
      if (r.kernel != race.kernel) return false;
      if (r.tested_for != 0 && r.tested_for == race.tested_for) return true;
      if (race.cause != Cause::order && race.cause != Cause::fence)
        return r.array == race.array && r.overlaps(race);
      const bool of_grid = race.scope == "grid";
      return of_grid == (r.scope == "grid") ? r.overlaps(race) || (of_grid && r.array == race.array) ||
                                                  (race.scope == "warp" && r.scope == "warp")
                                            : r.overlaps(race) && r.array == race.array;
    });
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
    // A stale value only lets more threads reach an atomic that compares by itself.
    const std::string source = source_line(first.file, first.high());
    if (first.cause == Cause::test &&
        (source.find("atomicMax") != source.npos || source.find("atomicMin") != source.npos))
      out["serious"] = false;
    return out;
  }

 private:
  std::string remedy(const std::vector<Json>& launches) const {
    const Race& first = *std::ranges::min_element(  // the widest scope: grid, block, warp
        races_, {}, [](const Race& r) { return r.scope == "block"  ? 1
                                               : r.scope == "warp" ? 2
                                                                   : 0; });
    switch (first.cause) {
      case Cause::same_value:
        return first.finding->value("text", "").find(" updates ") != std::string::npos
                   ? "nothing, where the atomic compares what was read; otherwise test what the atomic "
                     "returns, or read the word by an atomic as well"
                   : "nothing, if all that write it always write one value; otherwise use an atomic";
      case Cause::update:
        return update_remedy(first);
      case Cause::test:
        return fmt::format(
            "the atomic of line {} needs no test before it: leave the read of line {} out, or "
            "use what the atomic returns",
            first.high(), first.low());
      case Cause::writers:
        return std::string("let one thread") + (first.scope == "grid" ? " of all blocks" : "") +
               " write it, or use an atomic; if each thread was to write an element of its own, correct the "
               "index";
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
    return shared_turn(first) + barrier_remedy(barrier, launch == launches.end() ? Json() : *launch) +
           ", where " + who + " it";
  }

  // One line fills a buffer while the other reads the one before: both take the same one.
  static std::string shared_turn(const Race& race) {
    const auto buffer = [&](int line) {
      const std::string source = source_line(race.file, line);
      const std::size_t begin = source.find(race.array + "[");
      return begin == source.npos ? "" : source.substr(begin, source.find(']', begin) + 1 - begin);
    };
    const std::string own = buffer(race.line);
    if (race.line == race.other_line || own.find('%') == own.npos || own != buffer(race.other_line))
      return {};
    return "if two buffers take turns, correct an index, since both lines use " + own + "; otherwise ";
  }

  std::string update_remedy(const Race& race) const {
    if (std::ranges::any_of(races_, [&](const Race& r) { return r.array != race.array; }))
      return "threads test and write words that belong together: take a lock around the test and the "
             "writes, or keep them in one word of 64 bits and use atomicMax or atomicCAS";
    const std::string all = race.scope == "grid" ? "the threads of all blocks" : "many threads";
    const std::string atomic = atomic_of(source_line(race.file, race.line));
    return atomic.empty()
               ? all +
                     " read and write one word: use an atomic, such as atomicAdd or atomicMax, or let "
                     "each thread write a word of its own"
               : all + " update one word: " + atomic + "; or a reduction, and one update for each block";
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
    int low = 1 << 30, high = 0, repeated = 1 << 30;  // repeated: the first line of a loop
    std::pair<int, int> gap{0, 1 << 30};              // a barrier in it orders the pairs within a pass
    bool before_write = false, between = false, unsure = false;
    for (const Race& race : races_) {
      low = std::min(low, race.low());
      high = std::max(high, race.high());
      if (race.line == race.other_line) {
        before_write = before_write || race.is("read_first");
        repeated = std::min(repeated, race.low());
        continue;
      }
      const bool down = race.line < race.other_line ? race.is("is_first") : race.is("other_is_first");
      const bool up = race.line < race.other_line ? race.is("other_is_first") : race.is("is_first");
      const bool has = has_barrier(launch, race);
      unsure = unsure || (has && race.scope == "grid");  // it may be a block's, which orders no blocks
      if (down || !has || race.scope == "grid")
        between = true, gap = {std::max(gap.first, race.low()), std::min(gap.second, race.high())};
      if (up) repeated = std::min(repeated, race.low());
    }
    const std::string lines =
        low == high ? fmt::format("line {}", low) : fmt::format("lines {} to {}", low, high);
    if (before_write)
      return fmt::format("{}: read into a variable, call {}, write, and call {} again", lines, barrier,
                         barrier);
    const bool are_writes =
        std::ranges::all_of(races_, [](const Race& r) { return r.number("read_line") == 0; });
    const std::string put =
        (are_writes ? "two threads write one element: correct the indices; if both are meant, put "
                    : "put ") +
        barrier;
    if (!between) return fmt::format("{} at the end of the body of the loop that repeats {}", put, lines);
    const auto [from, to] = gap;
    if (from < to && to <= repeated && repeated < (1 << 30))
      return fmt::format("{} before line {}, at the beginning of the body of the loop", put, to);
    return (from < to ? fmt::format("{} between line {} and line {}", put, from, to)
                      : fmt::format("{} between the accesses of {}", put, lines)) +
           (repeated < (1 << 30) ? ", and, if a loop repeats them, at the end of its body"
            : unsure             ? " or, if it stands there, at the end of the body of the loop"
                                 : "");
  }

  std::vector<Race> races_;
};

}  // namespace

namespace {

// A guard that is wrong or missing lets one thread leave several arrays; a return lets it miss several
// barriers; an array that is too small is left at several lines.
bool merge_beside(std::vector<Json>& known, const Json& finding) {
  const std::string what = finding.value("what", "");
  const bool of_barriers = what == "barrier", of_copies = what == "copy";
  if (!of_barriers && !of_copies && (what != "out of bounds" || !finding.contains("thread"))) return false;
  const auto same = std::ranges::find_if(known, [&](const Json& other) {
    const auto agree = [&](std::initializer_list<const char*> fields) {
      return std::ranges::all_of(fields, [&](const char* field) {
        return other.value(field, Json()) == finding.value(field, Json());
      });
    };
    const bool same_array = !finding.value("array", "").empty() && agree({"array"});
    if (same_array && other.value("remedy", "").find(" are needed: allocate ") != std::string::npos)
      return !of_copies || agree({"remedy"});
    return !of_copies && agree({"what", "kernel", "launch", "remedy"}) &&
           (same_array || (agree({"thread"}) && (of_barriers || agree({"block"}))));
  });
  if (same == known.end()) return false;
  const std::string array = finding.value("array", "");
  const int line = finding.value("line", 0);
  if (line == same->value("line", 0) && !array.empty()) (*same)["also"].push_back(array);
  else (*same)["also"].push_back(fmt::format("line {}", line) + (array.empty() ? "" : " (" + array + ")"));
  return true;
}

}  // namespace

std::vector<Json> by_cause(const std::vector<Json>& findings, const std::vector<Json>& launches) {
  std::vector<Json> out;
  std::vector<Race> races;
  std::vector<Group> groups;
  for (const Json& finding : findings)
    if (finding.value("what", "") == "race") races.emplace_back(finding);
    else if (!merge_beside(out, finding)) out.push_back(finding);
  mark_tested(races);
  for (const Race& race : races) {
    // A race may connect groups.
    Group own{race};
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
    const auto also_by = [&](const Race& r) {
      return std::ranges::any_of(other.races(), [&](const Race& o) {
        return std::tuple(r.kernel, r.array, r.low(), r.high()) ==
               std::tuple(o.kernel, o.array, o.low(), o.high());
      });
    };
    if (race.cause == Cause::same_value && by.cause != race.cause &&
        std::ranges::all_of(group.races(), also_by))
      return true;
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
