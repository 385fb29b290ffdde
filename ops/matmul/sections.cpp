// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/sections.hpp"
#include <algorithm>

namespace tessera::matmul {
namespace {

const void* moved(const void* data, Element element, std::int64_t elements) {
  if (data == nullptr) return nullptr;
  return static_cast<const char*>(data) + elements * static_cast<std::int64_t>(size_of(element));
}

Operand part_of(const Operand& x, const Section& rows, const Section& cols) {
  Operand out = x;
  out.data = moved(x.data, x.element, rows.first * x.row + cols.first * x.col);
  return out;
}

// Of C's rows and columns, with all of k.
MixedProblem block_of(const MixedProblem& p, const Section& rows, const Section& cols) {
  MixedProblem out = p;
  const Section all{0, p.k};
  out.a = part_of(p.a, rows, all);
  out.b = part_of(p.b, all, cols);
  out.c0 = part_of(p.c0, rows, cols);
  out.c = const_cast<void*>(moved(p.c, p.c_element, rows.first * p.c_row + cols.first * p.c_col));
  out.m = rows.count, out.n = cols.count;
  out.bias = moved(p.bias, p.bias_element, rows.first * p.bias_row + cols.first * p.bias_col);
  if (p.scale_a != nullptr) out.scale_a += rows.first * p.scale_a_step;
  if (p.scale_b != nullptr) out.scale_b += cols.first * p.scale_b_step;
  return out;
}

bool meets_in_c(const MixedProblem& p) { return p.c_element == Element::f32 || p.c_element == Element::i32; }

// Where a block's sums meet.
Operand meeting_of(const MixedProblem& block, void* sums) {
  if (meets_in_c(block)) return {block.c, block.c_element, block.c_row, block.c_col};
  return {sums, Element::f32, block.n, 1};
}

// `ends`: C is made of the last one's sums.
MixedProblem along_k(const MixedProblem& block, const Section& k, const Operand& meeting, bool ends) {
  MixedProblem out = block;
  out.a.data = moved(block.a.data, block.a.element, k.first * block.a.col);
  out.b.data = moved(block.b.data, block.b.element, k.first * block.b.row);
  out.k = k.count;
  if (k.first != 0) {
    out.c0 = meeting;
    out.beta = 1;
  } else if (!ends) {
    out.c0 = {};
    out.beta = 0;
  }
  if (ends && k.first + k.count == block.k) return out;
  out.c = const_cast<void*>(meeting.data);
  out.c_element = meeting.element;
  out.c_row = meeting.row, out.c_col = meeting.col;
  out.bias = nullptr;
  out.activation = Activation::none;
  return out;
}

void append_block(const MixedProblem& block, void* sums, std::int64_t most, std::vector<SectionStep>& out) {
  const auto sections = sections_of(block.k, most);
  const bool ends = sections.size() == 1 || meets_in_c(block);
  const Operand meeting = meeting_of(block, sums);
  for (const Section& k : sections) out.push_back({along_k(block, k, meeting, ends)});
  if (!ends) out.push_back({block, static_cast<const float*>(sums)});
}

}  // namespace

std::vector<Section> sections_of(std::int64_t whole, std::int64_t most) {
  std::vector<Section> out;
  for (std::int64_t first = 0; first < whole; first += most)
    out.push_back({first, std::min(most, whole - first)});
  if (out.empty()) out.push_back({0, 0});
  return out;
}

std::size_t section_bytes(const MixedProblem& p, std::int64_t most) {
  if (p.k <= most || meets_in_c(p)) return 0;
  return static_cast<std::size_t>(std::min(p.m, most)) * static_cast<std::size_t>(std::min(p.n, most)) *
         sizeof(float);
}

std::optional<std::string> cannot_cut(const MixedProblem& p, std::int64_t most) {
  if (p.k <= most || p.a.element != Element::i8 || p.c_element == Element::i32) return std::nullopt;
  return "it sums up to " + std::to_string(most) + " products of i8 where C is not i32";
}

std::vector<SectionStep> sections_of(const MixedProblem& p, void* sums, std::int64_t most) {
  std::vector<SectionStep> out;
  for (const Section& rows : sections_of(p.m, most))
    for (const Section& cols : sections_of(p.n, most)) append_block(block_of(p, rows, cols), sums, most, out);
  return out;
}

}  // namespace tessera::matmul
