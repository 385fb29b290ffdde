// SPDX-License-Identifier: Apache-2.0
#include "tessera/resize.hpp"
#include <string>
#include "ops/imaging/words.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::resizing {
namespace {

// The options with the result's size, which the call passes as words, too.
struct CallOptions : ResizeOptions {
  std::int64_t height = 0, width = 0;

  bool operator==(const CallOptions&) const = default;
};

Arguments::Words words_of(const CallOptions& o) {
  using imaging::word_of;
  constexpr const char* conventions[] = {"pillow", "opencv", "onnx"};
  check_enumerator("convention", o.convention, ResizeOptions::Convention::onnx);
  check_enumerator("light", o.light, ResizeOptions::Light::linear);
  const auto or_auto = [](const auto& value) { return value ? word_of(*value) : "auto"; };
  return {{"width", std::to_string(o.width)},
          {"height", std::to_string(o.height)},
          {"method", std::string(o.method)},
          {"convention", conventions[static_cast<int>(o.convention)]},
          {"cubic-a", or_auto(o.cubic_a)},
          {"coordinate", std::string(o.coordinate)},
          {"nearest-mode", std::string(o.nearest_mode)},
          {"antialias", or_auto(o.antialias)},
          {"exclude-outside", word_of(o.exclude_outside)},
          {"light", o.light == ResizeOptions::Light::linear ? "linear" : "coded"},
          {"premultiply", or_auto(o.premultiply)}};
}

const Call& call_of(const ResizeOptions& options, const ArrayView& resized) {
  const CallOptions all{options, resized.extents[1], resized.extents[2]};
  return remembered_call(all,
                         [&] { return std::make_unique<const Call>("resize", words_of(all), all.request); });
}

}  // namespace

Outcome resize(const ArrayView& image, const ArrayView& resized, const ResizeOptions& options) {
  return typed_call([&] {
    const ArrayView arrays[] = {image, resized};
    return call_of(options, resized).run(arrays, options.check);
  });
}

std::shared_ptr<const PreparedCall> enqueue_resize(void* stream, const ArrayView& image,
                                                   const ArrayView& resized, const ResizeOptions& options,
                                                   const Workspace& workspace) {
  if (options.check) throw Error("check is not supported for asynchronous calls");
  return typed_call([&] {
    const ArrayView arrays[] = {image, resized};
    return call_of(options, resized).enqueue(stream, arrays, workspace);
  });
}

}  // namespace tessera::resizing
