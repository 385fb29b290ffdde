// SPDX-License-Identifier: Apache-2.0
// A study: tables that an operation makes about itself, with conclusions in words. Studies register
// themselves beside their operation; the program prints them and writes them as JSON.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "tessera/run/run.hpp"

namespace tessera {

struct StudyTable {
  enum class Show {
    digits,
    seconds,
    error,
    ratio
  };  // all digits; a time; three digits, small or large; two decimals
  struct Column {
    std::string name;
    Show show = Show::digits;
  };
  // No number: n/a. Several are repetitions, whose median is shown.
  struct Cell {
    std::vector<double> numbers = {};
    bool several = false, whole = false;

    Cell() = default;
    Cell(double number) : numbers{number} {}
    Cell(std::int64_t number) : numbers{static_cast<double>(number)}, whole(true) {}
    Cell(std::vector<double> repetitions) : numbers(std::move(repetitions)), several(true) {}
  };

  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};  // one cell per column
  std::vector<std::string> remarks = {};     // sentences, below the table
};

struct Study {
  std::string operation, name, summary;
  // `report` receives progress messages; `made` receives each table when it is complete.
  std::function<void(const Operation&, const Arguments&, const Request&,
                     const std::function<void(const std::string&)>& report,
                     const std::function<void(const StudyTable&)>& made)>
      make;
};

void register_study(Study study);
std::vector<const Study*> studies_of(std::string_view operation);
double median(std::vector<double> values);  // NaN if empty

}  // namespace tessera
