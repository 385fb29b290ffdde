// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/npy.hpp"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <memory>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/file_kind.hpp"

namespace tessera::npy {
namespace {

// The text of a header: a Python dictionary of three entries, parsed by a small grammar. The input is not
// trusted.
struct Dict {
  std::string descr;           // "<f4"
  bool fortran_order = false;  // the first index runs fastest
  Extents shape;
};

// The header's dictionary, and the offset of the data after it.
struct Preamble {
  Dict dict;
  std::size_t data_offset = 0;
};

// Returns a text for messages: shortened, with control and non-ASCII characters replaced.
std::string printable(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string out(text.substr(0, longest));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > longest ? out + "..." : out;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Dict dict() {
    expect('{', "a dictionary");
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}', "a comma or the end of the dictionary");
      break;
    }
    if (next() != '\0' || !text_.empty()) fail("has something after the dictionary of its header");
    for (const Key& key : keys_)
      if (!key.seen) fail("has no '" + std::string(key.name) + "' in its header");
    return dict_;
  }

 private:
  struct Key {
    std::string_view name;
    void (Parser::*read)();
    bool seen = false;
  };

  void entry() {
    const std::string name(text());
    expect(':', "a colon");
    for (Key& key : keys_) {
      if (key.name != name) continue;
      if (key.seen) fail("has '" + name + "' twice in its header");
      key.seen = true;
      return (this->*key.read)();
    }
    fail("has the unknown entry '" + printable(name) + "' in its header");
  }

  void read_descr() {
    const char first = next();
    if (first == '[' || first == '(') fail("holds records (a structured dtype); save one field of them");
    dict_.descr = text();
  }

  void read_fortran_order() {
    if (accept_word("True")) dict_.fortran_order = true;
    else if (!accept_word("False")) fail("has a 'fortran_order' that is neither True nor False");
  }

  void read_shape() {
    expect('(', "a tuple as shape");
    while (!accept(')')) {
      if (dict_.shape.size() == max_dimensions)
        fail("has more than " + std::to_string(max_dimensions) + " dimensions");
      dict_.shape.push_back(extent());
      if (accept(',')) continue;
      // In Python, (3) is a number and only (3,) is a tuple.
      if (dict_.shape.size() < 2) expect(',', "a comma");
      expect(')', "a comma or the end of the shape");
      break;
    }
  }

  std::int64_t extent() {
    if (next() == '-') fail("has a negative extent");
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code == std::errc::result_out_of_range) fail("has an extent larger than any memory");
    if (code != std::errc()) fail("has a damaged header: expected a whole number " + here());
    // Python reads 00, but not 05.
    if (value != 0 && text_.front() == '0')
      fail("has a damaged header: a number that starts with 0 " + here());
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);  // Python 2's long
    return value;
  }

  std::string_view text() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail("has a damaged header: expected quoted text " + here());
    const std::size_t end = text_.find(quote, 1);
    const std::string_view inside = text_.substr(1, end - 1);
    if (end == text_.npos || inside.find_first_of("\\\n") != text_.npos)
      fail("has a damaged header: text without an end " + here());
    text_.remove_prefix(end + 1);
    return inside;
  }

  // Returns the next character that is not a space; 0 at the end.
  char next() {
    const std::size_t skipped = text_.find_first_not_of(" \t\n\r\f\v");
    text_.remove_prefix(skipped == text_.npos ? text_.size() : skipped);
    return text_.empty() ? '\0' : text_.front();
  }

  bool accept(char wanted) {
    if (next() != wanted || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool accept_word(std::string_view word) {
    next();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  void expect(char wanted, const char* what) {
    if (!accept(wanted)) fail(std::string("has a damaged header: expected ") + what + " " + here());
  }

  std::string here() const {
    return text_.empty() ? "at its end" : "at '" + printable(text_.substr(0, 20)) + "'";
  }

  [[noreturn]] void fail(const std::string& reason) const { throw Error(name_ + ": " + reason); }

  std::string_view text_;  // the unread rest
  const std::string& name_;
  Dict dict_;
  Key keys_[3] = {{"descr", &Parser::read_descr},
                  {"fortran_order", &Parser::read_fortran_order},
                  {"shape", &Parser::read_shape}};
};

constexpr std::string_view magic = "\x93NUMPY";
constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';
struct Code {
  std::string_view code;
  Element element;
};
// NumPy has no name for bf16 and the 8-bit floats; ml_dtypes saves them as untyped bytes.
constexpr Code untyped[] = {{"V2", Element::bf16}, {"V1", Element::e4m3}, {"V1", Element::e5m2}};
constexpr Code codes[] = {{"f8", Element::f64}, {"f4", Element::f32}, {"f2", Element::f16},
                          {"i4", Element::i32}, {"i1", Element::i8},  {"u1", Element::u8},
                          {"i2", Element::i16}, {"u2", Element::u16}};

// Types that NumPy saves and this file cannot read, with the nearest type that it can.
struct Foreign {
  std::string_view code, name, nearest;
};
constexpr Foreign foreign[] = {
    {"i8", "int64", "int32"},  {"u4", "uint32", "int32"},      {"u8", "uint64", "int32"},
    {"b1", "bool", "uint8"},   {"f16", "float128", "float64"}, {"c8", "complex64", ""},
    {"c16", "complex128", ""}, {"c32", "complex256", ""},      {"O", "Python objects", ""},
};

bool is_swapped(std::string_view descr) {
  const char order = descr.empty() ? '=' : descr.front();
  return (order == '<' || order == '>') && order != native_order;
}

// Returns "f4" of "<f4".
std::string_view type_code(std::string_view descr) {
  const bool ordered = !descr.empty() && std::string_view("<>=|").find(descr.front()) != descr.npos;
  return ordered ? descr.substr(1) : descr;
}

// Throws Error if the data exceeds the address space. The check leaves out extents of 0, because strides of
// an empty array could otherwise overflow.
std::size_t bytes_of_data(const Extents& extents, std::size_t element_bytes, const std::string& name) {
  auto bytes = static_cast<std::int64_t>(element_bytes);
  bool empty = false;
  for (const std::int64_t extent : extents) {
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      throw Error(name + ": its shape " + to_string(extents) + " is larger than any memory");
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

std::string why_foreign(std::string_view descr, std::string_view code) {
  if (code == "V2") return "holds 2-byte values of no type (V2); if they are bf16, pass --element bf16";
  if (code == "V1")
    return "holds 1-byte values of no type (V1); if they are 8-bit floats, pass --element e4m3 or e5m2";
  for (const Foreign& f : foreign) {
    if (f.code != code) continue;
    std::string text = "holds " + std::string(f.name);
    if (f.nearest.empty()) return text + ", which cannot be computed with here";
    return text + "; convert with a.astype('" + std::string(f.nearest) + "')";
  }
  if (code.starts_with('S') || code.starts_with('U')) return "holds text, not numbers";
  if (code.starts_with('M') || code.starts_with('m')) return "holds dates or durations, not numbers";
  return "holds elements of the unknown type '" + printable(descr) + "'";
}

void read_element(Header& header, std::string_view descr, const std::string& name,
                  std::optional<Element> as) {
  const std::string_view code = type_code(descr);
  header.swapped = is_swapped(descr);
  const Code* const found = std::ranges::find(codes, code, &Code::code);
  if (found != std::end(codes)) header.element = found->element;
  else if (std::ranges::any_of(untyped, [&](const Code& u) { return u.code == code && u.element == as; }))
    header.element = *as;
  else throw Error(name + ": " + why_foreign(descr, code));
  if (as && *as != header.element)
    throw Error(name + ": holds " + std::string(name_of(header.element)) + ", but " +
                std::string(name_of(*as)) + " was asked for");
}

// Returns the header's text; sets data_offset.
std::string_view text_of(std::size_t& data_offset, std::string_view file, const std::string& name) {
  if (file.empty()) throw Error(name + ": is empty");
  if (file.starts_with("PK\x03\x04"))
    throw Error(name + ": is a zip archive (.npz); save its arrays one by one");
  if (!file.starts_with(magic.substr(0, file.size())))
    throw Error(name + ": is not a .npy file" + but_seems(std::as_bytes(std::span(file))));
  const auto byte = [&](std::size_t i) {
    if (i >= file.size()) throw Error(name + ": ends within its header");
    return static_cast<std::size_t>(static_cast<unsigned char>(file[i]));
  };
  const std::size_t at = magic.size(), major = byte(at), minor = byte(at + 1);
  if (major < 1 || major > 3 || minor != 0)
    throw Error(name + ": is of .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                "; 1.0, 2.0 and 3.0 can be read");
  const std::size_t length_bytes = major == 1 ? 2 : 4, begin = at + 2 + length_bytes;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(at + 2 + i) << (8 * i);
  if (length > file.size() - begin) throw Error(name + ": ends within its header");
  data_offset = begin + length;
  return file.substr(begin, length);
}

Preamble parse_preamble(std::span<const std::byte> file, const std::string& name) {
  Preamble out;
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  out.dict = Parser(text_of(out.data_offset, bytes, name), name).dict();
  return out;
}

}  // namespace

Extents column_major_strides(const Extents& extents) {
  Extents strides(extents.size(), 1);
  for (std::size_t i = 1; i < extents.size(); ++i) strides[i] = strides[i - 1] * extents[i - 1];
  return strides;
}

Extents Header::strides() const {
  return column_major ? column_major_strides(extents) : row_major_strides(extents);
}

Header parse_header(std::span<const std::byte> file, const std::string& name, std::optional<Element> as) {
  const auto [dict, data_offset] = parse_preamble(file, name);
  Header header;
  header.data_offset = data_offset;
  header.extents = dict.shape;
  header.column_major = dict.fortran_order;
  read_element(header, dict.descr, name, as);
  header.data_bytes = bytes_of_data(header.extents, size_of(header.element), name);
  // More bytes are allowed: NumPy lets arrays follow one another in a file.
  if (const std::size_t available_bytes = file.size() - header.data_offset;
      available_bytes < header.data_bytes)
    throw Error(name + ": is cut short: " + to_string(header.extents) + " of " +
                std::string(name_of(header.element)) + " needs " + std::to_string(header.data_bytes) +
                " bytes, " + std::to_string(available_bytes) + " are there");
  return header;
}

namespace {

// `code`: NumPy's name of the type, such as "f4".
std::string header_of_type(std::string_view code, bool column_major, const Extents& extents) {
  constexpr std::size_t alignment = 64;
  std::string text = "{'descr': '";
  text += code.ends_with('1') ? '|' : native_order;
  text += std::string(code) + "', 'fortran_order': " + (column_major ? "True" : "False") + ", 'shape': (";
  for (const std::int64_t extent : extents)
    text += std::to_string(extent) + (extents.size() == 1 ? "," : ", ");
  if (extents.size() > 1) text.resize(text.size() - 2);
  text += "), }";
  const std::size_t before = magic.size() + 4, unpadded = before + text.size() + 1;
  text.append((alignment - unpadded % alignment) % alignment, ' ');
  text += '\n';
  // At most 64 extents: the length always fits version 1.0's two bytes.
  const std::string start{'\1', '\0', static_cast<char>(text.size() & 255),
                          static_cast<char>(text.size() >> 8)};
  return std::string(magic) + start + text;
}

}  // namespace

std::string format_header(Element element, bool column_major, const Extents& extents) {
  std::string_view code;
  for (const Code& u : untyped)
    if (u.element == element) code = u.code;
  for (const Code& c : codes)
    if (c.element == element) code = c.code;
  return header_of_type(code, column_major, extents);
}

namespace {

constexpr std::size_t widest_access = 16;  // by any kernel, in bytes

Array adopt(const Header& header, void* data, std::shared_ptr<void> owner) {
  return Array(ArrayView{data, header.element, header.extents, header.strides()}, std::move(owner));
}

void reverse_bytes(std::byte* data, std::size_t bytes, std::size_t size) {
  for (std::byte* at = data; at != data + bytes; at += size) std::reverse(at, at + size);
}

// Keeps the file's order, so that Fortran order needs no transposition.
Array copy_of(const Header& header, std::span<const std::byte> file) {
  const std::size_t size = size_of(header.element), bytes = header.data_bytes;
  const auto kept = std::make_shared<Array>(header.element, Extents{static_cast<std::int64_t>(bytes / size)});
  if (bytes != 0) std::memcpy(kept->as<std::byte>(), file.data() + header.data_offset, bytes);
  if (header.swapped) reverse_bytes(kept->as<std::byte>(), bytes, size);
  return adopt(header, kept->as<void>(), kept);
}

[[noreturn]] void fail(const std::string& path, int code) {
  throw Error(path + ": " + std::generic_category().message(code));
}

struct MappedFile {
  std::shared_ptr<void> address;  // null: the file is empty
  std::size_t bytes = 0;
};

// Maps a file privately, so that writes go to copies of pages. MAP_NORESERVE: it may be larger than memory.
MappedFile map(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(path, errno);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&file, [](const int* f) { ::close(*f); });
  struct stat about = {};
  if (::fstat(file, &about) != 0) fail(path, errno);
  if (S_ISDIR(about.st_mode)) fail(path, EISDIR);
  if (!S_ISREG(about.st_mode)) throw Error(path + ": is not a regular file");
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes == 0) return {};
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) fail(path, errno);
  return {std::shared_ptr<void>(address, [bytes](void* p) { (void)::munmap(p, bytes); }), bytes};
}

bool column_major(const ArrayView& array) {
  const Extents expected = column_major_strides(array.extents);
  for (std::size_t i = 0; i < array.extents.size(); ++i)
    if (array.extents[i] > 1 && array.strides[i] != expected[i]) return false;
  return true;
}

// Writes a view in row-major order, in pieces, because a packed copy may not fit in memory.
void write_in_row_order(AtomicFile& file, const ArrayView& view) {
  constexpr std::size_t most = std::size_t{1} << 20;
  if (view.bytes() <= most) {
    const Array piece = packed_copy(view);
    return file.write({piece.as<std::byte>(), view.bytes()});
  }
  // In row-major order, halves along the first dimension that can be cut are consecutive.
  const auto cut = static_cast<std::size_t>(
      std::ranges::find_if(view.extents, [](std::int64_t extent) { return extent > 1; }) -
      view.extents.begin());
  ArrayView half = view;
  half.extents[cut] = view.extents[cut] / 2;
  write_in_row_order(file, half);
  half.data = static_cast<std::byte*>(view.data) +
              half.extents[cut] * view.strides[cut] * static_cast<std::int64_t>(size_of(view.element));
  half.extents[cut] = view.extents[cut] - half.extents[cut];
  write_in_row_order(file, half);
}

void write(AtomicFile& file, const std::string& name, const ArrayView& array) {
  if (array.extents.size() > max_dimensions)
    throw Error(name + ": cannot be written: more than " + std::to_string(max_dimensions) + " dimensions");
  const bool rows = array.count() == 0 || array.row_major(), columns = !rows && column_major(array);
  const std::string header = format_header(array.element, columns, array.extents);
  file.write(std::as_bytes(std::span(header)));
  const auto* data = static_cast<const std::byte*>(array.data);
  if (rows || columns) file.write({data, array.bytes()});
  else write_in_row_order(file, array);
  file.commit();
}

}  // namespace

Array read(const std::string& path, std::optional<Element> as) {
  const MappedFile mapped = map(path);
  auto* const bytes = static_cast<std::byte*>(mapped.address.get());
  const Header header = parse_header({bytes, mapped.bytes}, path, as);
  if (header.swapped || header.data_offset % widest_access != 0)
    return copy_of(header, {bytes, mapped.bytes});
  return adopt(header, bytes + header.data_offset, mapped.address);
}

Array parse(std::span<const std::byte> file, const std::string& name, std::optional<Element> as) {
  return copy_of(parse_header(file, name, as), file);
}

void write(const std::string& path, const ArrayView& array) {
  AtomicFile file(path);
  write(file, path, array);
}

void write(int descriptor, const std::string& name, const ArrayView& array) {
  AtomicFile file(descriptor, name);
  write(file, name, array);
}

namespace {

template <class T>
double number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::is_same_v<T, f16>) return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(value);
}

struct NumberType {
  std::string_view code;
  Element bits;  // an Element of the same size
  double (*number)(const std::byte*);
};
constexpr NumberType number_types[] = {
    {"f8", Element::f64, number<double>},        {"f4", Element::i32, number<float>},
    {"f2", Element::u16, number<f16>},           {"i8", Element::f64, number<std::int64_t>},
    {"i4", Element::i32, number<std::int32_t>},  {"i2", Element::u16, number<std::int16_t>},
    {"i1", Element::u8, number<std::int8_t>},    {"u8", Element::f64, number<std::uint64_t>},
    {"u4", Element::i32, number<std::uint32_t>}, {"u2", Element::u16, number<std::uint16_t>},
    {"u1", Element::u8, number<std::uint8_t>},   {"b1", Element::u8, number<std::uint8_t>}};

const NumberType* find_number_type(std::string_view code) {
  const auto* const found = std::ranges::find(number_types, code, &NumberType::code);
  return found == std::end(number_types) ? nullptr : found;
}

}  // namespace

Elements parse_elements(std::span<const std::byte> file, const std::string& name) {
  const Preamble preamble = parse_preamble(file, name);
  const std::string_view code = type_code(preamble.dict.descr);
  const NumberType* const type = find_number_type(code);
  if (type == nullptr) throw Error(name + ": " + why_foreign(preamble.dict.descr, code));
  Header header{.element = type->bits,
                .swapped = is_swapped(preamble.dict.descr),
                .column_major = preamble.dict.fortran_order,
                .extents = preamble.dict.shape,
                .data_offset = preamble.data_offset};
  header.data_bytes = bytes_of_data(header.extents, size_of(type->bits), name);
  if (file.size() - header.data_offset < header.data_bytes) throw Error(name + ": is cut short");
  const Array array = packed_copy(copy_of(header, file).view());
  const auto* const first = array.as<std::byte>();
  return {std::string(code), header.extents, {first, first + header.data_bytes}};
}

Elements read_elements(const std::string& path) {
  const MappedFile mapped = map(path);
  return parse_elements({static_cast<const std::byte*>(mapped.address.get()), mapped.bytes}, path);
}

void write_elements(const std::string& path, const Elements& elements) {
  AtomicFile file(path);
  const std::string header = header_of_type(elements.type, false, elements.extents);
  file.write(std::as_bytes(std::span(header)));
  file.write(elements.bytes);
  file.commit();
}

std::vector<double> values_of(const Elements& elements) {
  const NumberType* const type = find_number_type(elements.type);
  if (type == nullptr) throw Error(Error::Kind::internal, "no type of numbers: " + elements.type);
  std::vector<double> out;
  const std::size_t size = size_of(type->bits);
  for (std::size_t at = 0; at < elements.bytes.size(); at += size)
    out.push_back(type->number(elements.bytes.data() + at));
  return out;
}

Numbers read_numbers(const std::string& path) {
  Elements elements = read_elements(path);
  return {std::move(elements.extents), values_of(elements)};
}

}  // namespace tessera::npy
