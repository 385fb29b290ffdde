// SPDX-License-Identifier: Apache-2.0
// The arguments of one run, bound to an operation's signature and passed from the command line to a variant,
// which makes its typed Problem from them.
#pragma once
#include <array>
#include <map>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include "tessera/core/operation/signature.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera {

// Addresses of an operation's arrays, in the order of its signature; null where one was not given.
using Addresses = std::array<void*, Signature::max_arrays>;

// A copy shares the parsed arguments and allocates nothing.
class Arguments {
 public:
  using Words = std::map<std::string, std::string>;  // scalar arguments, as strings in command-line syntax

  // Checks shapes, element types and ranges. Outputs have extents but no memory until set_array.
  // Throws Error: "B has k = 33, but A has 65".
  Arguments(const Signature& signature, Element element, std::map<std::string, ArrayView> inputs,
            const Words& words);

  const Signature& signature() const { return *bound_->signature; }
  Element element() const { return bound_->element; }
  const Dims& dims() const { return bound_->dims; }
  std::int64_t dim(const std::string& name) const;

  bool has(std::string_view name) const;                // true if this optional array was given
  const ArrayView& array(std::string_view name) const;  // in its memory layout
  void set_array(std::string_view name, void* data);
  void set_array(std::string_view name, const ArrayView& view);  // the extents must be the same
  Addresses addresses() const;
  // Returns a copy without the named optional inputs and with some scalars (no sizes) replaced.
  Arguments without(std::initializer_list<std::string_view> inputs, const Words& words) const;
  Arguments with_addresses(std::span<void* const> arrays) const;  // one for each array of the signature

  double real(std::string_view name) const;
  std::int64_t integer(const std::string& name) const;
  const std::string& text(const std::string& name) const;  // string and enumerated scalars
  const Words& words() const { return bound_->words; }     // every scalar, defaults filled in

  // Returns the array with op applied; an array broadcast over the batch has stride 0 there. An optional
  // array that was not given has no data and extent 0. Throws unless T matches the array's element type.
  template <class T, int rank>
  View<T, rank> view(std::string_view name) const {
    View<T, rank> out;
    const ArrayView v = oriented(name, element_of<std::remove_const_t<T>>, rank);
    out.data = static_cast<T*>(v.data);
    for (int d = 0; d < rank; ++d) {
      out.extent[d] = v.extents[static_cast<std::size_t>(d)];
      out.stride[d] = v.strides[static_cast<std::size_t>(d)];
    }
    return out;
  }

  ArrayView oriented(std::string_view name, Element element, int rank) const;

  // Returns a value that make() computes from scalar arguments, sizes and element types only, not from
  // arrays. It is computed once for these arguments and their copies, and lives as long as one of them.
  template <class T, class Make>
  const T& derived(const Make& make) const {
    return *static_cast<const T*>(derived(
        typeid(T), [&]() -> std::shared_ptr<const void> { return std::make_shared<const T>(make()); }));
  }

 private:
  const void* derived(std::type_index type, const std::function<std::shared_ptr<const void>()>& make) const;

  struct Bound {
    const Signature* signature = nullptr;
    Element element = Element::f32;
    Words words;
    Dims dims;  // integers are among them
    std::map<std::string, double, std::less<>> reals;
    std::map<std::string, std::string> settled_by;  // dimension → the array that gave it
    mutable std::mutex mutex;
    mutable std::map<std::type_index, std::shared_ptr<const void>> derived;

    void parse(const Words& given);
    void bind_dims(const Parameter& p, const ArrayView& array);
    void bind_sizes(const std::map<std::string, ArrayView>& inputs);
    ArrayView output(const Parameter& p) const;
  };
  struct Bind {
    ArrayView view;
    bool given = false, transposed = false;
    std::optional<std::int64_t> shared_along;  // the extent along which this one array is shared
  };

  std::size_t place_of(std::string_view name) const;  // among the arrays of the signature
  void bind(const Parameter& p, ArrayView view);

  std::shared_ptr<const Bound> bound_;
  std::array<Bind, Signature::max_arrays> arrays_;
};

// Returns the extents of an input array for given dimensions, in its memory layout (before op).
Extents extents_in_memory(const Parameter& p, const Dims& dims, const Arguments::Words& words);

// Throws Error ("--size 5 is only for `what`") if the option has a non-default value but is not used.
void require_option_used(const Arguments& arguments, const std::string& name, bool is_used,
                         const std::string& what);

}  // namespace tessera
