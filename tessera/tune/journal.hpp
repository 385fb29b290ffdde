// SPDX-License-Identifier: Apache-2.0
// Keeps the results of tuning in the file that run/tuned.hpp reads. Each trial is written as soon as it is
// done, so an interrupted or crashed search continues where it stopped.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
#include "tessera/bench/result.hpp"
#include "tessera/run/tuned.hpp"

namespace tessera::tune {

class Journal {
 public:
  // `file`: "" keeps nothing. `context`: what trials must agree in to be the same measurement, besides the
  // problem, the choice and the device's name.
  Journal(std::string file, std::string context);

  // What was measured before, failed and wrong ones too. `retry`: these not.
  std::optional<bench::Row> find(const bench::Row& blank, bool retry = false) const;
  // It was begun among others, and the program ended: it is to be measured alone. Alone: it is why.
  bool is_suspect(const bench::Row& blank) const;

  void begin(const std::vector<bench::Row>& blanks);
  void add(const bench::Row& row);       // it has ended
  void let_go(const bench::Row& blank);  // it has not been measured, and nothing is wrong with it
  // The winner of a tuning, for calls to come. `untuned`: what they would use without it.
  void decide(const TunedFor& key, const bench::Row& winner, const bench::Row* untuned);

  const std::string& file() const { return file_; }
  const std::string& failure() const { return failure_; }  // why something could not be written; "": it was

 private:
  std::string key_of(const bench::Row& row) const;
  void read();
  void write(const std::string& line);

  std::string file_, context_, failure_;
  std::unordered_map<std::string, std::string> trials_;  // the row's JSON, by key
  std::unordered_map<std::string, std::size_t> begun_;   // among how many, by key
};

}  // namespace tessera::tune
