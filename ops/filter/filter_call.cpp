// SPDX-License-Identifier: Apache-2.0
#include "tessera/filter.hpp"
#include <string>
#include "ops/imaging/words.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::filtering {
namespace {

// The options with the result's size and element type, which the call passes as words, too.
struct CallOptions : FilterOptions {
  std::int64_t height = 0, width = 0;
  Element element = Element::u8;

  bool operator==(const CallOptions&) const = default;
};

Arguments::Words words_of(const CallOptions& o) {
  using imaging::word_of;
  return {{"kernel", std::string(o.kernel)},
          {"size", std::to_string(o.size)},
          {"sigma", word_of(o.sigma)},
          {"mode", o.convolution ? "convolution" : "correlation"},
          {"border", word_of(o.border)},
          {"border-value", word_of(o.border_value)},
          {"abs", word_of(o.abs)},
          {"scale", word_of(o.scale)},
          {"offset", word_of(o.offset)},
          {"output-element", std::string(name_of(o.element))},
          {"roi_x", std::to_string(o.roi_x)},
          {"roi_y", std::to_string(o.roi_y)},
          {"roi_width", std::to_string(o.width)},
          {"roi_height", std::to_string(o.height)}};
}

const Call& call_of(const FilterOptions& options, const ArrayView& filtered) {
  const CallOptions all{options, filtered.extents[1], filtered.extents[2], filtered.element};
  return remembered_call(all,
                         [&] { return std::make_unique<const Call>("filter", words_of(all), all.request); });
}

}  // namespace

Outcome filter(const ArrayView& image, const ArrayView& filtered, const FilterOptions& options) {
  return typed_call([&] {
    const ArrayView arrays[] = {image, filtered};
    return call_of(options, filtered).run(arrays, options.check);
  });
}

std::shared_ptr<const PreparedCall> enqueue_filter(void* stream, const ArrayView& image,
                                                   const ArrayView& filtered, const FilterOptions& options,
                                                   const Workspace& workspace) {
  if (options.check) throw Error("check is not supported for asynchronous calls");
  return typed_call([&] {
    const ArrayView arrays[] = {image, filtered};
    return call_of(options, filtered).enqueue(stream, arrays, workspace);
  });
}

}  // namespace tessera::filtering
