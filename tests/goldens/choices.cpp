// SPDX-License-Identifier: Apache-2.0
// Prints which rung, with which tuning, each device takes for random problems, and why the rungs above it are
// passed over. compare.py compares the lines with recorded ones.
//   choices SECTION...      a section is OPERATION/ELEMENT or tuned/OPERATION/ELEMENT; `choices --sections`
//   lists them
//
// Interfaces that this program needs, and that a change of the internals must keep or replace here:
//   find_operation, ladder_of, Variant::{name, where, place, baseline, needs}; Arguments from views and
//   words; choose_device, choose_on, choose_in_place, workspace_bytes, Request, Plan; Device, Backend,
//   register_backend.
// The problems follow from a seed by a generator of their own, which nothing of the library changes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>
#include "tessera/matmul.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/device/streams.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::goldens {
namespace {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::int64_t from_to(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool happens(int percent) { return from_to(0, 99) < percent; }
  // Uniform in the number of bits, then among the numbers of so many bits.
  std::int64_t magnitude(std::int64_t most) {
    int bits = 0;
    while ((std::int64_t{1} << (bits + 1)) <= most) ++bits;
    const std::int64_t low = std::int64_t{1} << from_to(0, bits);
    return std::min(most, from_to(low, 2 * low - 1));
  }
  std::string word(std::initializer_list<const char*> words) {
    return *(words.begin() + from_to(0, std::ssize(words) - 1));
  }

 private:
  std::uint64_t state_;
};

std::uint64_t seed_of(const std::string& section) {
  std::uint64_t out = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : section) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return out;
}

struct Problem {
  std::map<std::string, ArrayView> inputs;
  Arguments::Words words;
  ArrayView output;       // of matrices in a GPU's memory
  bool in_place = false;  // on a GPU: the arrays lie in its memory already
  std::string text;
};

// Addresses that nobody reads. Each array has 2^38 bytes to itself.
class Addresses {
 public:
  void* next(std::int64_t offset_bytes) {
    return reinterpret_cast<void*>((std::uintptr_t{++count_} << 38) +
                                   static_cast<std::uintptr_t>(offset_bytes));
  }

 private:
  std::uint32_t count_ = 0;
};

ArrayView packed(Addresses& addresses, Element element, Extents extents) {
  return {addresses.next(0), element, extents, row_major_strides(extents)};
}

void append_field(std::string& text, const std::string& name, std::int64_t value) {
  text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
}

// Words in the order of the map, then what arrays are there.
void finish(Problem& p) {
  for (const auto& [name, word] : p.words) p.text += (p.text.empty() ? "" : " ") + name + "=\"" + word + "\"";
  if (p.in_place) p.text += " in place";
}

// Matrices.

// Few rows, odd sizes, multiples of what kernels like, and all magnitudes.
std::int64_t side(Random& random) {
  switch (random.from_to(0, 7)) {
    case 0:
      return random.from_to(1, 16);
    case 1:
      return random.from_to(1, 4);
    case 2:
      return 128 * random.from_to(1, 64);
    case 3:
      return 8 * random.from_to(1, 256);
    case 4:
      return 2 * random.magnitude(4096) - 1;
    case 5:
      return random.happens(10) ? 0 : random.from_to(17, 160);
    default:
      return random.magnitude(16384);
  }
}

std::int64_t depth(Random& random) {
  switch (random.from_to(0, 5)) {
    case 0:
      return random.from_to(1, 32);
    case 1:
      return 64 * random.from_to(1, 256);
    case 2:
      return 16 * random.from_to(1, 64);
    case 3:
      return random.happens(5) ? 0 : random.from_to(33, 600);
    default:
      return random.magnitude(32768);
  }
}

bool is_fp8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }

Element element_named(const std::string& name) { return *parse_element(name); }

Element element_of_c(Element a, const std::string& word) {
  if (word != "default") return element_named(word);
  if (is_fp8(a)) return Element::bf16;
  return a == Element::i8 ? Element::i32 : a;
}

// A matrix with lines that may be further apart than they are long, at an address that may be odd.
ArrayView matrix(Random& random, Addresses& addresses, Element element, std::int64_t batch, std::int64_t rows,
                 std::int64_t cols, std::string& text, const std::string& name) {
  const auto size = static_cast<std::int64_t>(size_of(element));
  std::int64_t line = std::max<std::int64_t>(cols, 1), offset = 0;
  const bool by_columns = name == "C" && random.happens(15);
  if (by_columns) line = std::max<std::int64_t>(rows, 1);
  if (random.happens(20)) line += random.happens(50) ? random.from_to(1, 9) : 16 - line % 16;
  if (random.happens(20)) offset = random.happens(50) ? size * random.from_to(1, 7) : 16;
  ArrayView out{addresses.next(offset), element, {rows, cols}, {line, 1}};
  if (by_columns) out.strides = {1, line};
  if (batch >= 0) {
    const std::int64_t lines = by_columns ? cols : rows;
    out.extents.insert_front(batch);
    out.strides.insert_front(line * std::max<std::int64_t>(lines, 1));
  }
  const bool plain = offset == 0 && !by_columns && line == std::max<std::int64_t>(cols, 1);
  text += " " + name;
  if (!plain) {
    text += ":" + std::to_string(line) + (by_columns ? "c" : "");
    if (offset != 0) text += "@" + std::to_string(offset);
  }
  return out;
}

void add_words_of_a_product(Random& random, Element element, Problem& p, bool& c0) {
  const bool whole = is_integer(element), fp8 = is_fp8(element);
  Arguments::Words& words = p.words;
  if (random.happens(30))
    words["alpha"] =
        whole ? random.word({"2", "-1", "0", "3"}) : random.word({"2", "-1", "0.5", "0", "1e-3"});
  c0 = random.happens(30);
  if (c0 && random.happens(85))
    words["beta"] = whole ? random.word({"1", "2", "-3"}) : random.word({"1", "0.5", "-2"});
  if (random.happens(35)) words["op-a"] = "transpose";
  if (random.happens(35)) words["op-b"] = "transpose";
  if (fp8 && random.happens(30)) words["element-b"] = random.word({"e4m3", "e5m2"});
  if ((fp8 || element == Element::bf16 || element == Element::f16) && random.happens(25))
    words["output-element"] = random.word({"f32", "f16", "bf16"});
  if (element == Element::i8 && random.happens(30)) words["output-element"] = random.word({"f32", "i8"});
  if (element == Element::f32) {
    if (random.happens(50)) words["compute"] = random.word({"tf32", "tf32x3", "bf16x6", "f16x3"});
    else if (random.happens(20))
      words["accuracy"] = random.word({"f32", "f64", "1e-2", "1e-4", "1e-5", "1e-6"});
  }
  if (element == Element::f64 && random.happens(10))
    words["accuracy"] = random.word({"f32", "f64", "1e-5", "1e-12"});
  if (fp8 && random.happens(30)) words["accumulate"] = "fast";
  if (random.happens(15))
    words["activation"] = whole ? "relu" : random.word({"relu", "gelu", "gelu-tanh", "silu"});
}

// Of one product, or with `batch` of several.
Problem product(Random& random, Element element, bool batched) {
  Problem p;
  const std::int64_t batch = !batched             ? -1
                             : random.happens(20) ? random.from_to(1, 3)
                                                  : random.magnitude(4096);
  const std::int64_t most = batched ? 1024 : 16384;
  const std::int64_t m = std::min(side(random), most), n = std::min(side(random), most),
                     k = std::min(depth(random), 2 * most);
  if (batched) append_field(p.text, "batch", batch);
  append_field(p.text, "m", m);
  append_field(p.text, "n", n);
  append_field(p.text, "k", k);
  bool c0 = false;
  add_words_of_a_product(random, element, p, c0);
  p.in_place = random.happens(50);
  const auto said = [&p](const char* name, const char* otherwise) {
    const auto found = p.words.find(name);
    return found == p.words.end() ? std::string(otherwise) : found->second;
  };
  const std::string b_word = said("element-b", "same");
  const Element b = b_word == "same" ? element : element_named(b_word);
  const Element c = element_of_c(element, said("output-element", "default"));
  Addresses addresses;
  const auto shared = [&](const char* array) {
    if (!batched || !random.happens(20)) return batch;
    p.words[std::string(array) + "-for"] = "all";
    return std::int64_t{-1};
  };
  const auto add = [&](const char* name, Element of, std::int64_t entries, std::int64_t rows,
                       std::int64_t cols, bool transposed) {
    p.inputs[name] = matrix(random, addresses, of, entries, transposed ? cols : rows,
                            transposed ? rows : cols, p.text, name);
  };
  add("A", element, shared("a"), m, k, said("op-a", "none") == "transpose");
  add("B", b, shared("b"), k, n, said("op-b", "none") == "transpose");
  if (c0) add("C0", c, shared("c"), m, n, false);
  const auto add_vector = [&](const char* name, const char* word, const char* other, Element of,
                              std::int64_t usual, std::int64_t otherwise) {
    if (!random.happens(15)) return;
    std::int64_t length = usual;
    if (random.happens(30)) p.words[word] = other, length = otherwise;
    Extents extents{length};
    if (shared(name) >= 0) extents.insert_front(batch);
    p.inputs[name] = packed(addresses, of, extents);
    p.text += std::string(" ") + name;
  };
  if (element != Element::f64 && element != Element::i32) {
    add_vector("scale-a", "scale-a-per", "tensor", Element::f32, m, 1);
    add_vector("scale-b", "scale-b-per", "tensor", Element::f32, n, 1);
  }
  add_vector("bias", "bias-along", "rows", c == Element::i8 ? Element::f32 : c, n, m);
  p.output = matrix(random, addresses, c, batch, m, n, p.text, "C");
  p.text += ";";
  finish(p);
  return p;
}

// Pictures.

ArrayView picture(Addresses& addresses, Problem& p, const std::string& name, Element element,
                  Extents extents) {
  append_field(p.text, name, extents[0]);
  for (std::size_t i = 1; i < extents.size(); ++i) p.text += "x" + std::to_string(extents[i]);
  return packed(addresses, element, std::move(extents));
}

Extents size_of_a_picture(Random& random) {
  return {random.happens(80) ? 1 : random.from_to(2, 20), random.magnitude(4096), random.magnitude(4096),
          random.happens(50)   ? random.from_to(1, 4)
          : random.happens(50) ? 3
                               : 1};
}

Problem filtered(Random& random, Element element) {
  Problem p;
  Addresses addresses;
  const Extents extents = size_of_a_picture(random);
  p.inputs["image"] = picture(addresses, p, "image", element, extents);
  p.words["kernel"] =
      random.word({"laplacian4", "laplacian8", "laplacian_ksize3", "gaussian", "gaussian", "box", "box",
                   "sobel_x", "sobel_y", "scharr_x", "sharpen", "1 2 1; 2 4 2; 1 2 1", "1 2 3 4 5", "1; -1",
                   "0.5 0.25 0; 0.125 1 2; 3 4 5", "1 2 3 4; 5 6 7 8; 9 1 2 3"});
  if (p.words["kernel"] == "gaussian" || p.words["kernel"] == "box")
    p.words["size"] =
        std::to_string(random.happens(80) ? 2 * random.from_to(0, 15) + 1 : random.from_to(1, 31));
  if (random.happens(20)) p.words["mode"] = "convolution";
  if (random.happens(50)) p.words["border"] = random.word({"constant", "replicate", "reflect", "wrap"});
  if (random.happens(20)) p.words["abs"] = "yes";
  if (random.happens(20)) p.words["scale"] = random.word({"0.25", "2", "0.1"});
  if (random.happens(20)) p.words["offset"] = random.word({"128", "0.5"});
  if (random.happens(30)) p.words["output-element"] = random.word({"u8", "u16", "i16", "f16", "f32"});
  if (random.happens(20)) {
    p.words["roi_x"] = std::to_string(random.from_to(0, extents[2] - 1));
    p.words["roi_y"] = std::to_string(random.from_to(0, extents[1] - 1));
  }
  p.text += ";";
  finish(p);
  return p;
}

Problem resized(Random& random, Element element) {
  Problem p;
  Addresses addresses;
  p.inputs["image"] = picture(addresses, p, "image", element, size_of_a_picture(random));
  switch (random.from_to(0, 3)) {
    case 0:
      p.words["scale"] = random.word({"0.5", "2", "0.25", "0.3", "3", "1"});
      break;
    case 1:
      p.words["width"] = std::to_string(random.magnitude(4096));
      break;
    default:
      p.words["width"] = std::to_string(random.magnitude(4096));
      p.words["height"] = std::to_string(random.magnitude(4096));
  }
  p.words["method"] =
      random.word({"nearest", "linear", "linear", "cubic", "cubic", "lanczos3", "lanczos3", "area", "box"});
  if (random.happens(60)) {
    p.words["convention"] = random.word({"opencv", "onnx"});
    if (p.words["convention"] == "onnx") {
      p.words["method"] = random.word({"nearest", "linear", "cubic"});
      if (random.happens(40))
        p.words["coordinate"] =
            random.word({"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"});
      if (random.happens(40)) p.words["antialias"] = "yes";
    } else if (p.words["method"] == "lanczos3" || p.words["method"] == "box") {
      p.words["method"] = random.word({"nearest_exact", "linear_exact", "lanczos4"});
    }
  } else if (random.happens(15) && (element == Element::u8 || element == Element::u16)) {
    p.words["light"] = "linear";
  }
  p.text += ";";
  finish(p);
  return p;
}

Problem carved(Random& random, Element element) {
  Problem p;
  Addresses addresses;
  const Extents extents{random.happens(80) ? 1 : random.from_to(2, 4), random.magnitude(2048),
                        random.magnitude(2048), random.from_to(1, 4)};
  p.inputs["image"] = picture(addresses, p, "image", element, extents);
  if (random.happens(20))
    p.inputs["protect"] =
        picture(addresses, p, "protect", Element::u8, {extents[0], extents[1], extents[2], 1});
  p.words["width"] = std::to_string(random.from_to(1, 2 * extents[2]));
  if (random.happens(50)) p.words["height"] = std::to_string(random.from_to(1, 2 * extents[1]));
  if (random.happens(60)) p.words["energy"] = random.word({"laplacian", "forward"});
  p.text += ";";
  finish(p);
  return p;
}

// Refocus and viewpoint.
Problem of_views(Random& random, Element element, bool planes) {
  Problem p;
  Addresses addresses;
  p.inputs["views"] = picture(addresses, p, "views", element,
                              {random.from_to(1, 9), random.from_to(1, 9), random.magnitude(1024),
                               random.magnitude(1024), random.from_to(1, 4)});
  if (planes && random.happens(50)) {
    p.words["slopes"] = random.word({"-1:1:5", "0,0.5,1", "-2:2:17", "1", "-3:3:2"});
  } else if (random.happens(70)) {
    p.words["slope"] = random.word({"1", "-0.5", "0.37", "2.25", "-3"});
  }
  if (planes && random.happens(50)) {
    p.words["aperture"] = random.word({"weighted", "disc"});
    if (random.happens(50)) p.words["radius"] = random.word({"1", "1.5", "3"});
  }
  if (!planes && random.happens(30)) p.words["cameras"] = "nearest";
  if (random.happens(50)) p.words["at"] = random.word({"0,0", "0.25,0.75", "1,0.5"});
  if (random.happens(50)) p.words["interpolation"] = random.word({"nearest", "cubic"});
  if (random.happens(50)) p.words["border"] = random.word({"constant", "reflect", "reflect_101", "wrap"});
  p.text += ";";
  finish(p);
  return p;
}

Problem sharpest(Random& random, Element element) {
  Problem p;
  Addresses addresses;
  p.inputs["stack"] =
      picture(addresses, p, "stack", element,
              {random.from_to(1, 40), random.magnitude(2048), random.magnitude(2048), random.from_to(1, 4)});
  if (random.happens(50)) p.words["give"] = "depth";
  if (random.happens(70)) p.words["radius"] = std::to_string(random.from_to(0, 12));
  p.text += ";";
  finish(p);
  return p;
}

// Integrals.

Problem integral(Random& random) {
  Problem p;
  const int variables = random.happens(60) ? 1 : static_cast<int>(random.from_to(2, 4));
  if (variables == 1) {
    p.words["FORMULA"] =
        random.word({"sqrt(1-x^2)", "exp(-x)*cos(3*x)", "1/(1+x^2)", "abs(x-0.3)", "x^2", "log(2+x)"});
    p.words["LIMITS"] = random.word({"0 1", "-1 0.5", "0 0.25"});
    p.words["rule"] = random.word({"auto", "trapezoid", "trapezoid", "trapezoid", "richardson", "simpson",
                                   "gauss_kronrod", "tanh_sinh"});
    const std::string rule = p.words["rule"];
    if (rule == "trapezoid" || random.happens(10)) {
      if (random.happens(80)) p.words["strips"] = std::to_string(random.magnitude(std::int64_t{1} << 34));
      if (random.happens(60)) p.words["sum"] = random.word({"plain", "kahan", "double_float", "exact"});
      if (random.happens(15)) p.words["abscissa"] = "accumulated";
      if (random.happens(15)) p.words["scale-at"] = "term";
      if (random.happens(30)) p.words["roots"] = "fast";
    } else if (random.happens(50)) {
      p.words["relative"] = random.word({"1e-3", "1e-6", "1e-12"});
    }
  } else {
    static const char* const limits[] = {"x=[0,1] y=[-1,0.5]", "x=[0,1] y=[2,-1] z=[0,3]",
                                         "x=[0,1] y=[0,1] z=[0,1] u=[0,1]"};
    p.words["FORMULA"] = variables == 2   ? random.word({"exp(-(x^2+y^2))", "abs(x-y)"})
                         : variables == 3 ? random.word({"x^3*y^2-2*y+z", "1/(1+x+y*y+z)"})
                                          : random.word({"x*y*z*u", "sqrt(x+y+z+u)"});
    p.words["LIMITS"] = limits[variables - 2];
    p.words["rule"] = random.word({"auto", "genz_malik", "quasi_random", "vegas"});
    if (random.happens(60)) p.words["relative"] = random.word({"1e-2", "1e-4", "1e-7"});
    if (random.happens(30)) p.words["most-evaluations"] = random.word({"20000", "1e7"});
    if (random.happens(20)) p.words["random-seed"] = "7";
  }
  if (random.happens(30)) p.words["scale"] = random.word({"4", "0.5"});
  finish(p);
  return p;
}

Problem integral_batch(Random& random) {
  Problem p;
  p.words["FORMULA"] = random.word({"x^a", "cos(a*x)*exp(-x)", "abs(x-a)", "1/(a+x*x)"});
  p.words["LIMITS"] = random.word({"0 1", "0 a+1", "0 2"});
  p.words["parameters"] = random.word({"a=0.5:4", "a=1e-1:1e2:log"});
  p.words["n"] = std::to_string(random.magnitude(std::int64_t{1} << 20));
  if (random.happens(50)) p.words["relative"] = random.word({"1e-3", "1e-6", "1e-9"});
  if (random.happens(30)) p.words["points"] = "a/2";
  if (random.happens(30)) p.words["most-evaluations"] = "5000";
  finish(p);
  return p;
}

// Sections.

struct Section {
  std::string operation;
  Element element;
  int problems;
  bool tuned = false;

  std::string name() const {
    return (tuned ? "tuned/" : "") + operation + "/" + std::string(name_of(element));
  }
};

std::vector<Section> sections() {
  using enum Element;
  std::vector<Section> out;
  for (const Element e : {f32, f64, i32, bf16, f16, e4m3, e5m2, i8}) out.push_back({"matmul", e, 2000});
  for (const Element e : {f32, f64, i32, bf16, f16, e4m3, e5m2, i8}) out.push_back({"matmul_batch", e, 300});
  for (const Element e : {u8, u16, i16, f16, f32}) out.push_back({"filter", e, 300});
  for (const Element e : {u8, u16, i16, f16, f32}) out.push_back({"resize", e, 300});
  for (const Element e : {u8, u16}) out.push_back({"seamcarve", e, 100});
  for (const char* name : {"refocus", "viewpoint"})
    for (const Element e : {u8, u16, f32}) out.push_back({name, e, 200});
  for (const Element e : {u8, u16}) out.push_back({"sharpest", e, 100});
  for (const Element e : {f64, f32}) out.push_back({"integrate", e, 400});
  out.push_back({"integrate_batch", f64, 200});
  // With the findings that TESSERA_CACHE names; of few sizes, so that a finding is near.
  for (const Element e : {f32, f64, bf16}) out.push_back({"matmul", e, 150, true});
  out.push_back({"filter", u8, 100, true});
  return out;
}

// Sizes near those that were tuned, and words that a finding is for or is not.
Problem tuned_problem(Random& random, const Section& section) {
  Problem p;
  Addresses addresses;
  const std::int64_t size = section.operation == "matmul" ? 64 : 96;
  const auto near = [&] {
    return random.happens(30) ? size : std::max<std::int64_t>(1, size * random.from_to(1, 40) / 8);
  };
  if (section.operation == "filter") {
    p.inputs["image"] =
        picture(addresses, p, "image", section.element, {1, near(), near(), random.happens(60) ? 3 : 1});
    p.words["kernel"] = random.word({"gaussian", "gaussian", "box"});
    p.words["size"] = random.word({"5", "5", "7", "31"});
  } else {
    const std::int64_t m = near(), n = random.happens(50) ? m : near(), k = random.happens(50) ? m : near();
    append_field(p.text, "m", m);
    append_field(p.text, "n", n);
    append_field(p.text, "k", k);
    p.inputs["A"] = packed(addresses, section.element, {m, k});
    p.inputs["B"] = packed(addresses, section.element, random.happens(80) ? Extents{k, n} : Extents{n, k});
    if (p.inputs["B"].extents != Extents{k, n} || (n == k && random.happens(20)))
      p.words["op-b"] = "transpose";
    if (random.happens(20)) p.words["alpha"] = "2";
  }
  p.text += ";";
  finish(p);
  return p;
}

Problem problem_of(Random& random, const Section& section) {
  if (section.tuned) return tuned_problem(random, section);
  if (section.operation == "matmul") return product(random, section.element, false);
  if (section.operation == "matmul_batch") return product(random, section.element, true);
  if (section.operation == "filter") return filtered(random, section.element);
  if (section.operation == "resize") return resized(random, section.element);
  if (section.operation == "seamcarve") return carved(random, section.element);
  if (section.operation == "sharpest") return sharpest(random, section.element);
  if (section.operation == "integrate") return integral(random);
  if (section.operation == "integrate_batch") return integral_batch(random);
  return of_views(random, section.element, section.operation == "refocus");
}

// Devices.

Device gpu(int index, const char* name, int capability, int multiprocessors, std::int64_t memory,
           std::int64_t cache, std::int64_t shared) {
  Device out;
  out.where = Where::cuda;
  out.index = index;
  out.name = name;
  out.multiprocessors = multiprocessors;
  out.compute_capability = capability;
  out.memory_bytes = memory;
  out.cache_bytes = cache;
  out.max_shared_bytes = shared;
  out.driver = "driver 580.1 for CUDA 13.0, runtime 13.0";
  return out;
}

// Properties of GPUs that this machine need not have.
class MadeUpGpus final : public HostBackend {
 public:
  Where where() const override { return Where::cuda; }
  const std::vector<Device>& devices() override { return devices_; }
  bool shares_host_memory() const override { return false; }

 private:
  std::vector<Device> devices_{
      gpu(0, "NVIDIA H200", 90, 132, 150'000'000'000, 52'428'800, 232'448),
      gpu(1, "NVIDIA H100 PCIe", 90, 114, 85'000'000'000, 52'428'800, 232'448),
      gpu(2, "NVIDIA A100-SXM4-80GB", 80, 108, 85'000'000'000, 41'943'040, 166'912),
      gpu(3, "NVIDIA GeForce RTX 4090", 89, 128, 25'000'000'000, 75'497'472, 101'376),
      gpu(4, "NVIDIA B200", 100, 148, 190'000'000'000, 132'644'864, 232'448)};
};

Device host(Where where) {
  Device out;
  out.where = where;
  out.name = where == Where::simt ? "SIMT executor on AMD EPYC" : "AMD EPYC";  // those of the findings
  out.threads = out.multiprocessors = 2;
  out.memory_bytes = std::int64_t{16} << 30;
  out.cache_bytes = std::int64_t{32} << 20;
  return out;
}

// The driver and NVRTC of this machine are no property of a made-up GPU.
void forget_this_machine() {
  for (Variant& variant : const_cast<std::vector<Variant>&>(all_variants())) {
    if (variant.where != Where::cuda || !variant.unsupported_device) continue;
    variant.unsupported_device = [unsupported_device =
                                      variant.unsupported_device](const Device& device) -> Reason {
      const Reason reason = unsupported_device(device);
      if (!reason) return reason;
      for (const char* part : {"driver", "NVRTC", "this build has no code for this GPU"})
        if (reason->find(part) != std::string::npos) return std::nullopt;
      return reason;
    };
  }
}

bool has_cuda_rungs() {
  return std::ranges::any_of(all_variants(), [](const Variant& v) { return v.where == Where::cuda; });
}

// Each made-up GPU has 2^43 bytes of addresses, from 2^43 on.
constexpr int gpu_bits = 43;

void* on_gpu(void* data, const Device& device) {
  const auto to = static_cast<std::uintptr_t>(device.index + 1) << gpu_bits;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) | to);
}

class MadeUpOrder final : public StreamOrderedMemory {
 public:
  std::optional<int> holder_of(const void* address) override {
    const auto number = static_cast<int>(reinterpret_cast<std::uintptr_t>(address) >> gpu_bits);
    return number == 0 ? std::nullopt : std::optional(number - 1);
  }
  std::optional<std::string> refuses_stream(const Device&, void*) override { return std::nullopt; }
  bool is_capturing(const Run&) override { return false; }
  void* keep(const Run&, std::size_t, std::size_t) override { return nullptr; }
  void* borrow(const Run&, std::size_t) override { return nullptr; }
  void give_back(const Run&, void*) noexcept override {}
};

std::string told(const Plan& plan) {
  if (plan.variant == nullptr) return "nothing";
  const std::string tuning = to_string(plan.tuning);
  return plan.variant->name + (tuning.empty() ? "" : "[" + tuning + "]");
}

// The typed call of a product, of arrays that lie where the device finds them.
class TypedProduct {
 public:
  TypedProduct(const Problem& p, const Device& device) : p_(p), device_(device) {
    matmul::Options& o = options_;
    o.request.cached = false;
    o.alpha = std::stod(word("alpha", "1"));
    o.beta = std::stod(word("beta", "0"));
    o.transpose_a = word("op-a", "none") == "transpose";
    o.transpose_b = word("op-b", "none") == "transpose";
    if (const ArrayView* x = input("scale-a"))
      o.scale_a = {static_cast<const float*>(device_pointer(*x)), word("scale-a-per", "row") == "row"};
    if (const ArrayView* x = input("scale-b"))
      o.scale_b = {static_cast<const float*>(device_pointer(*x)), word("scale-b-per", "column") == "column"};
    if (const ArrayView* x = input("bias"))
      o.bias = {device_pointer(*x), x->element, word("bias-along", "columns") == "rows"};
    if (const ArrayView* x = input("C0"); x != nullptr && o.beta != 0)
      o.c0 = {device_pointer(*x), x->strides[0]};
    o.activation = named<matmul::Activation>("activation", {"none", "relu", "gelu", "gelu-tanh", "silu"});
    o.compute = named<matmul::Compute>("compute", {"strict", "tf32", "tf32x3", "bf16x6", "f16x3"});
    o.accumulate = named<matmul::Accumulate>("accumulate", {"promoted", "fast"});
    if (const std::string accuracy = word("accuracy", ""); accuracy == "f32" || accuracy == "f64")
      o.accuracy = element_named(accuracy);
    else if (!accuracy.empty()) o.accuracy = std::stod(accuracy);
  }

  // The plan, as told() has it.
  std::string plan() const {
    using enum Element;
    const Element a = p_.inputs.at("A").element;
    switch (a) {
      case f32:
        return of<float, float, float>();
      case f64:
        return of<double, double, double>();
      case i32:
        return of<std::int32_t, std::int32_t, std::int32_t>();
      case bf16:
        return to_floats<tessera::bf16, tessera::bf16>();
      case f16:
        return to_floats<tessera::f16, tessera::f16>();
      case e4m3:
        return times_fp8<tessera::e4m3>();
      case e5m2:
        return times_fp8<tessera::e5m2>();
      default:
        break;
    }
    using Byte = std::int8_t;
    if (p_.output.element == i32) return of<Byte, std::int32_t, Byte>();
    return p_.output.element == f32 ? of<Byte, float, Byte>() : of<Byte, Byte, Byte>();
  }

 private:
  std::string word(const char* name, const char* otherwise) const {
    const auto found = p_.words.find(name);
    return found == p_.words.end() ? otherwise : found->second;
  }
  const ArrayView* input(const char* name) const {
    const auto found = p_.inputs.find(name);
    return found == p_.inputs.end() ? nullptr : &found->second;
  }
  void* device_pointer(const ArrayView& x) const {
    return device_.where == Where::cuda ? on_gpu(x.data, device_) : x.data;
  }
  template <class T>
  T named(const char* name, std::initializer_list<const char*> words) const {
    const std::string found = word(name, *words.begin());
    return static_cast<T>(std::ranges::find(words, found) - words.begin());
  }
  template <class T>
  matmul::MatrixView<T> view(const ArrayView& x) const {
    const bool by_columns = x.strides[1] != 1 || (x.strides[0] == 1 && x.extents[1] > 1);
    return {static_cast<T*>(device_pointer(x)), x.extents[0], x.extents[1], x.strides[by_columns ? 1 : 0],
            by_columns ? matmul::Order::columns : matmul::Order::rows};
  }
  template <class T, class Out, class TB>
  std::string of() const {
    const matmul::Prepared<T, Out, TB> prepared(
        view<const T>(p_.inputs.at("A")), view<const TB>(p_.inputs.at("B")), view<Out>(p_.output), options_);
    return told(prepared.plan());
  }
  template <class T, class TB>
  std::string to_floats() const {
    if (p_.output.element == Element::f32) return of<T, float, TB>();
    return p_.output.element == Element::bf16 ? of<T, bf16, TB>() : of<T, f16, TB>();
  }
  template <class T>
  std::string times_fp8() const {
    return p_.inputs.at("B").element == Element::e4m3 ? to_floats<T, e4m3>() : to_floats<T, e5m2>();
  }

  const Problem& p_;
  const Device& device_;
  matmul::Options options_;
};

// Outcomes.

class Asked {
 public:
  Asked(const Operation& operation, const Device& device, const Arguments& arguments, bool in_place,
        bool cached)
      : operation_(operation), device_(device), arguments_(arguments), in_place_(in_place), cached_(cached) {}

  // "RUNG[TUNING] WORKSPACE | PASSED OVER: WHY; … | below: REFUSING: WHY; …"
  std::string outcome() const {
    try {
      const Plan plan = chosen({.cached = cached_});
      std::string out = told(plan);
      if (plan.tuned) out += " tuned";
      if (in_place_ || device_.where != Where::cuda) out += " " + bytes(plan);
      return out + passed_over(plan);
    } catch (const Error& error) {
      return std::string("error: ") + error.what();
    }
  }

 private:
  Plan chosen(const Request& request) const {
    return in_place_ ? choose_in_place(device_, operation_, arguments_, request)
                     : choose_on(device_, operation_, arguments_, request);
  }

  std::string bytes(const Plan& plan) const {
    try {
      return std::to_string(workspace_bytes(plan, arguments_));
    } catch (const Error& error) {
      return std::string("(") + error.what() + ")";
    }
  }

  // Rungs above the one that was taken, highest first, and why each is not: what it says when it is named, or
  // "can" where it would run. Then the rungs below that cannot.
  std::string passed_over(const Plan& plan) const {
    auto ladder = ladder_of(operation_.name);
    std::erase_if(ladder, [this](const Variant* v) { return v->where != device_.where || v->baseline; });
    std::ranges::stable_sort(ladder, std::ranges::greater{}, &Variant::place);
    std::string above, below;
    bool is_above = true;
    for (const Variant* variant : ladder) {
      if (variant == plan.variant) {
        is_above = false;
        continue;
      }
      const std::string reason = reason_of(variant->name);
      std::string& out = is_above ? above : below;
      if (is_above || reason != "can") out += (out.empty() ? "" : "; ") + variant->name + ": " + reason;
    }
    return (above.empty() ? "" : " | " + above) + (below.empty() ? "" : " | below: " + below);
  }

  std::string reason_of(const std::string& name) const {
    try {
      (void)chosen({.variant = name});
      return "can";
    } catch (const Error& error) {
      const std::string what = error.what(), before = "; " + name + ": ";
      const std::size_t at = what.find(before);
      return at == std::string::npos ? what : what.substr(at + before.size());
    }
  }

  const Operation& operation_;
  const Device& device_;
  const Arguments& arguments_;
  bool in_place_, cached_;
};

// Where the typed call of the same product comes to something else: " | typed: …".
std::string typed(const Section& section, const Problem& p, const Device& device,
                  const std::string& outcome) {
  const bool in_place = device.where == Where::cpu || (device.where == Where::cuda && p.in_place);
  if (section.operation != "matmul" || section.tuned || !in_place) return {};
  std::string plan;
  try {
    plan = TypedProduct(p, device).plan();
  } catch (const Error& error) {
    plan = std::string("error: ") + error.what();
  }
  if (outcome == plan || outcome.starts_with(plan + " ") || without_flags(outcome) == plan) return {};
  return " | typed: " + plan;
}

// One processor, as many as compare.py leaves this process, or a made-up GPU.
std::string automatic(const Operation& operation, const Arguments& arguments) {
  try {
    return choose_device(operation, arguments, {.cached = false}).label();
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }
}

void print(const Section& section, const std::vector<Device>& devices) {
  const Operation& operation = *find_operation(section.operation);
  std::printf("S %s\n", section.name().c_str());
  Random random(seed_of(section.name()));
  for (int i = 0; i < section.problems; ++i) {
    const Problem p = problem_of(random, section);
    std::printf("P %s\n", p.text.c_str());
    std::optional<Arguments> arguments, device_pointer;
    try {
      device_pointer = arguments = Arguments(operation.signature, section.element, p.inputs, p.words);
      if (p.output.data != nullptr) device_pointer->set_array(operation.output, p.output);
    } catch (const Error& error) {
      std::printf("all\terror: %s\n", error.what());
      continue;
    }
    for (const Device& device : devices) {
      const bool in_place = p.in_place && device.where == Where::cuda;
      const Asked asked(operation, device, in_place ? *device_pointer : *arguments, in_place, section.tuned);
      const std::string outcome = asked.outcome();
      std::printf("%s\t%s%s\n", device.label().c_str(), outcome.c_str(),
                  typed(section, p, device, outcome).c_str());
    }
    if (has_cuda_rungs()) std::printf("auto\t%s\n", automatic(operation, *arguments).c_str());
  }
}

int main_of(std::vector<std::string> words) {
  if (words == std::vector<std::string>{"--sections"}) {
    for (const Section& section : sections())
      std::printf("%s %d\n", section.name().c_str(), section.problems);
    return 0;
  }
  std::vector<Device> devices{host(Where::cpu), host(Where::simt)};
  if (has_cuda_rungs()) {
    for (const Device& device : register_backend(std::make_unique<MadeUpGpus>()).devices())
      devices.push_back(device);
    register_stream_ordered_memory(Where::cuda, std::make_unique<MadeUpOrder>());
    forget_this_machine();
  }
  for (const Section& section : sections())
    if (std::erase(words, section.name()) != 0) print(section, devices);
  for (const std::string& word : words) std::fprintf(stderr, "no section is called %s\n", word.c_str());
  return words.empty() ? 0 : 2;
}

}  // namespace
}  // namespace tessera::goldens

int main(int argc, char** argv) {
  try {
    return tessera::goldens::main_of({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
