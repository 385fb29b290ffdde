// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/intakes.hpp"
#include <algorithm>
#include "tessera/core/variant.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

// Inputs that a word transposes, each way; then the same at odd addresses.
std::vector<OperandLayout> orders_of(const Operation& operation) {
  std::vector<OperandLayout> out;
  for (const bool odd : {false, true})
    for (const Parameter& p : operation.signature.parameters)
      if (!p.transposed_by.empty())
        for (const bool transposed : {false, true}) out.push_back({p.name, transposed, odd});
  return out;
}

std::string name_of_order(const OperandLayout& order) { return order.input + (order.transposed ? "ᵀ" : ""); }

// Elements that a rung reads alike, and how.
struct Alike {
  std::vector<Element> elements;
  std::vector<LayoutHandling> intakes;  // in the order of orders_of
};

std::vector<Alike> intakes_of(const Operation& operation, const Variant& variant) {
  std::vector<Alike> out;
  const HandlesLayout* const tell = layouts_of(variant.file);
  const auto orders = orders_of(operation);
  if (tell == nullptr || orders.empty()) return out;
  for (const Element element : all_elements()) {
    if (std::ranges::none_of(variant.choices, [element](const Choice& c) { return c.run.contains(element); }))
      continue;
    std::vector<LayoutHandling> intakes;
    for (const OperandLayout& order : orders) intakes.push_back((*tell)(element, order));
    const auto like = std::ranges::find(out, intakes, &Alike::intakes);
    if (like == out.end()) out.push_back({{element}, intakes});
    else like->elements.push_back(element);
  }
  return out;
}

std::string text_of(const std::vector<Element>& elements) {
  std::string out;
  for (const Element element : elements) out += (out.empty() ? "" : " ") + std::string(name_of(element));
  return out;
}

// Of the second half what differs from the first.
std::string text_of_odd(const Alike& alike) {
  const std::size_t half = alike.intakes.size() / 2;
  std::string out;
  std::vector<LayoutHandling> told;
  for (std::size_t i = half; i < alike.intakes.size(); ++i) {
    const LayoutHandling intake = alike.intakes[i];
    if (intake == alike.intakes[i - half] || std::ranges::find(told, intake) != told.end()) continue;
    told.push_back(intake);
    out += (out.empty() ? "" : ", ") + std::string(tessera::text_of(intake));
  }
  return out.empty() ? "the same" : out;
}

}  // namespace

std::string intake_table(const Operation& operation) {
  using Align = report::Table::Align;
  const auto orders = orders_of(operation);
  std::vector<report::Table::Column> columns{{"variant", Align::left}, {"elements", Align::left}};
  for (std::size_t i = 0; i < orders.size() / 2; ++i)
    columns.push_back({name_of_order(orders[i]), Align::left});
  columns.push_back({"odd", Align::left});
  report::Table table(columns);
  bool any = false;
  std::string last;
  for (const Variant* variant : ladder_of(operation.name)) {
    if (variant->file == last) continue;
    last = variant->file;
    for (const Alike& alike : intakes_of(operation, *variant)) {
      std::vector<std::string> row{variant->ladder + "/" + variant->name, text_of(alike.elements)};
      for (std::size_t i = 0; i < orders.size() / 2; ++i)
        row.emplace_back(tessera::text_of(alike.intakes[i]));
      row.push_back(text_of_odd(alike));
      table.add(row);
      any = true;
    }
  }
  if (!any) return {};
  return "\nHow inputs are read (ᵀ: the file holds the transpose; odd: what is otherwise where addresses or "
         "lines are no "
         "multiples of 16 bytes)\n" +
         table.text() +
         "The others read any order where it lies, without a pass before; baselines as their library "
         "does.\n";
}

nlohmann::ordered_json json_of_intakes(const Operation& operation, const Variant& variant) {
  const auto orders = orders_of(operation);
  nlohmann::ordered_json out;
  for (const Alike& alike : intakes_of(operation, variant))
    for (std::size_t i = 0; i < orders.size() / 2; ++i) {
      nlohmann::ordered_json elements = nlohmann::ordered_json::array();
      for (const Element element : alike.elements) elements.push_back(std::string(name_of(element)));
      out.push_back({{"input", orders[i].input},
                     {"transposed", orders[i].transposed},
                     {"elements", elements},
                     {"read", std::string(tessera::text_of(alike.intakes[i]))},
                     {"odd", std::string(tessera::text_of(alike.intakes[i + orders.size() / 2]))}});
    }
  return out;
}

}  // namespace tessera::cli
