// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/intake.hpp"
#include <map>

namespace tessera {
namespace {

std::map<std::string, TellIntake, std::less<>>& all() {
  static std::map<std::string, TellIntake, std::less<>> told;
  return told;
}

// "FOLDER/FILE" of a path, as Variant::file has it.
std::string_view with_folder(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return path;
  const std::size_t before = path.rfind('/', slash - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

}  // namespace

std::string_view text_of(Intake intake) {
  switch (intake) {
    case Intake::as_it_lies:
      return "as it lies";
    case Intake::turned_in_loading:
      return "turned in loading";
    case Intake::packed_before:
      return "packed before";
    case Intake::packed_if_large:
      return "packed before if large";
    case Intake::turned_packed_or_lying:
      break;
  }
  return "turned; large: packed; few rows: as it lies";
}

void register_intake(TellIntake tell, Here here) {
  all().insert_or_assign(std::string(with_folder(here.file)), std::move(tell));
}

const TellIntake* intake_of(std::string_view file) {
  const auto found = all().find(file);
  return found == all().end() ? nullptr : &found->second;
}

}  // namespace tessera
