// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/finding_json.hpp"
#include <nlohmann/json.hpp>

namespace tessera {

const char* name_of(Finding::Mended mended) {
  switch (mended) {
    case Finding::Mended::element:
      return "element";
    case Finding::Mended::part:
      return "part";
    case Finding::Mended::nothing:
      break;
  }
  return "nothing";
}

nlohmann::ordered_json to_json(const Finding& finding) {
  return {{"settled", finding.settled},
          {"right", finding.right},
          {"rows", finding.rows},
          {"cols", finding.cols},
          {"element", finding.element},
          {"computed_again", name_of(finding.mended)},
          {"check_seconds", finding.check_seconds},
          {"product_seconds", finding.product_seconds}};
}

Finding finding_of(const nlohmann::ordered_json& json) {
  Finding out;
  out.settled = json.at("settled");
  out.right = json.at("right");
  out.rows = json.at("rows");
  out.cols = json.at("cols");
  out.element = json.at("element").get<std::vector<std::int64_t>>();
  for (const auto mended : {Finding::Mended::element, Finding::Mended::part})
    if (json.at("computed_again") == name_of(mended)) out.mended = mended;
  out.check_seconds = json.at("check_seconds");
  out.product_seconds = json.at("product_seconds");
  return out;
}

}  // namespace tessera
