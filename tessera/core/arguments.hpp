// SPDX-License-Identifier: Apache-2.0
// The arguments of one run, bound to an operation's signature: what every part of the program
// between the command line and a variant hands on. A variant takes its typed Problem from them.
#pragma once
#include <map>
#include <string>
#include "tessera/core/signature.hpp"
#include "tessera/core/view.hpp"

namespace tessera {

class Arguments {
 public:
  using Words = std::map<std::string, std::string>;  // scalars, as one would type them

  // Checks shapes, elements and ranges. Outputs have extents but no memory until set_array.
  // Throws Error: "B has k = 33, but A has 65".
  Arguments(const Signature& signature, Element element, std::map<std::string, ArrayView> inputs,
            const Words& words);

  const Signature& signature() const { return *signature_; }
  Element element() const { return element_; }
  const Dims& dims() const { return dims_; }
  std::int64_t dim(const std::string& name) const;

  bool has(const std::string& name) const;                // was this optional array given?
  const ArrayView& array(const std::string& name) const;  // as it lies in memory
  void set_array(const std::string& name, void* data);
  void set_array(const std::string& name, const ArrayView& view);  // of the same extents

  double real(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  const std::string& text(const std::string& name) const;  // text and choices
  const Words& words() const { return words_; }            // every scalar, defaults filled in

  // The array as the operation sees it (op applied; one that serves all: with a first stride of 0). An
  // optional one not given has no data and extent 0. T is the element's type; throws where it is not.
  template <class T, int rank>
  View<T, rank> view(const std::string& name) const {
    View<T, rank> out;
    const ArrayView v = oriented(name, element_of<std::remove_const_t<T>>, rank);
    out.data = static_cast<T*>(v.data);
    for (int d = 0; d < rank; ++d) {
      out.extent[d] = v.extents[static_cast<std::size_t>(d)];
      out.stride[d] = v.strides[static_cast<std::size_t>(d)];
    }
    return out;
  }

  ArrayView oriented(const std::string& name, Element element, int rank) const;

 private:
  void bind_dims(const Parameter& p, const ArrayView& array);
  void check_words(const Words& given);
  bool is_transposed(const Parameter& p) const;

  const Signature* signature_;
  Element element_;
  std::map<std::string, ArrayView> arrays_;
  Words words_;
  Dims dims_;
  std::map<std::string, std::string> settled_by_;  // dimension → the array that gave it
};

// Extents of every input array for given dimensions, as they lie in memory (before op).
Extents extents_in_memory(const Parameter& p, const Dims& dims, const Arguments::Words& words);

// Refuses an option that would change nothing, given the others: whoever typed it expected an effect. Throws
// Error "--size 5 is only for `what`" unless the word says what its default says, or `serves`.
void demand_effect(const Arguments& arguments, const std::string& name, bool serves, const std::string& what);

}  // namespace tessera
