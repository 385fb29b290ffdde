// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/border.hpp"
#include <cctype>
#include <string_view>
#include "tessera/core/error.hpp"
#include "tessera/core/suggest.hpp"

namespace tessera {
namespace {

struct BorderName {
  const char* name;
  Border border;
};

// OpenCV's and ours; SciPy's (its reflect is OpenCV's); NPP's.
constexpr BorderName border_names[] = {
    {"constant", Border::constant},   {"replicate", Border::replicate},
    {"reflect", Border::reflect},     {"reflect_101", Border::reflect_101},
    {"wrap", Border::wrap},           {"reflect101", Border::reflect_101},
    {"default", Border::reflect_101}, {"nearest", Border::replicate},
    {"mirror", Border::reflect_101},  {"grid-constant", Border::constant},
    {"grid-mirror", Border::reflect}, {"grid-wrap", Border::wrap},
    {"edge", Border::replicate},      {"symmetric", Border::reflect},
    {"mirror_refl", Border::reflect},
};

}  // namespace

Border border_named(const std::string& word) {
  std::string name;
  for (const char c : word) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view prefix : {"cv2.", "cv::", "npp_", "border_"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  for (const BorderName& known : border_names)
    if (name == known.name) return known.border;
  throw Error(
      "--border cannot be '" + word + "'" +
      suggestion(name, {"constant", "replicate", "reflect", "reflect_101", "wrap", "nearest", "mirror"}));
}

}  // namespace tessera
