// SPDX-License-Identifier: Apache-2.0
// CPU baseline: liblqr, which is what GIMP and ImageMagick carve with, on its one core. Loaded when first
// asked for, through declarations of our own.
//
// Its energies are floats, kept where they change by less than 1e-5, and it takes ties from either side in
// turn: only times are compared.
#include <dlfcn.h>
#include <cstdlib>
#include <cstring>
#include <memory>
#include "ops/seamcarve/seamcarve.hpp"
#include "tessera/baseline.hpp"

namespace tessera::seamcarve {
namespace {

struct Carver;

// As liblqr's own enumerations count.
constexpr int depth_u8 = 0, depth_u16 = 1, sum_of_magnitudes = 1, success = 1;

class Library {
 public:
  Library() : file_(dlopen("liblqr-1.so.0", RTLD_NOW | RTLD_LOCAL)) {
    if (file_ == nullptr) return;
    bind(create, "lqr_carver_new_ext");
    bind(init, "lqr_carver_init");
    bind(set_energy, "lqr_carver_set_energy_function_builtin");
    bind(resize, "lqr_carver_resize");
    bind(scan_line, "lqr_carver_scan_line_ext");
    bind(destroy, "lqr_carver_destroy");
  }
  bool found() const { return create && init && set_energy && resize && scan_line && destroy; }

  Carver* (*create)(void* samples, int width, int height, int channels,
                    int depth) = nullptr;  // frees the samples
  int (*init)(Carver*, int step, float rigidity) = nullptr;
  int (*set_energy)(Carver*, int which) = nullptr;
  int (*resize)(Carver*, int width, int height) = nullptr;
  int (*scan_line)(Carver*, int* row, void** samples) = nullptr;
  void (*destroy)(Carver*) = nullptr;

 private:
  template <class F>
  void bind(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(file_, name));
  }
  void* file_;
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

void check(int status) {
  if (status != success) throw Error(Error::Kind::internal, "liblqr: status " + std::to_string(status));
}

template <class T>
void run_liblqr(const Problem<T>& p, const Tuning&, Run&) {
  const Library& lqr = library();
  const std::int64_t rows = p.image.extent[1], columns = p.image.extent[2], channels = p.channels();
  const std::int64_t height = p.carved.extent[1], width = p.carved.extent[2];
  for (std::int64_t n = 0; n < p.images(); ++n) {
    const auto bytes = static_cast<std::size_t>(columns * channels) * sizeof(T);
    auto* const samples = static_cast<char*>(std::malloc(bytes * static_cast<std::size_t>(rows)));
    if (samples == nullptr) throw std::bad_alloc();
    for (std::int64_t y = 0; y < rows; ++y)
      std::memcpy(samples + static_cast<std::size_t>(y) * bytes, &p.image(n, y, 0, 0), bytes);
    const std::unique_ptr<Carver, void (*)(Carver*)> carver(
        lqr.create(samples, static_cast<int>(columns), static_cast<int>(rows), static_cast<int>(channels),
                   sizeof(T) == 1 ? depth_u8 : depth_u16),
        lqr.destroy);
    check(lqr.init(carver.get(), 1, 0));
    check(lqr.set_energy(carver.get(), sum_of_magnitudes));
    check(lqr.resize(carver.get(), static_cast<int>(width), static_cast<int>(height)));
    int row = 0;
    void* line = nullptr;
    while (lqr.scan_line(carver.get(), &row, &line) != 0)
      std::memcpy(&p.carved(n, row, 0, 0), line, static_cast<std::size_t>(width * channels) * sizeof(T));
  }
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  if (arguments.text("energy") != "gradient") return "has gradients only";
  if (arguments.has("protect") || arguments.has("remove")) return "weighs masks otherwise";
  if (arguments.dim("height") != arguments.dim("rows")) return "is for widths";
  for (const char* name : {"image", "carved"}) {
    const ArrayView& view = arguments.array(name);
    if (view.strides[3] != 1 || view.strides[2] != view.extents[3]) return "is for pixels side by side";
  }
  return std::nullopt;
}

Choice by_liblqr() {
  Choice choice =
      choice_of<Problem>([](const auto& p, const Tuning& tuning, Run& run) { run_liblqr(p, tuning, run); });
  choice.refuses = refuses;
  return choice;
}

Reason unsupported_device(const Device&) {
  if (library().found()) return std::nullopt;
  return "liblqr was not found (liblqr-1.so.0)";
}

const Rung rung(timed_baseline("liblqr, as GIMP and ImageMagick call it, on one core", Where::cpu,
                               {by_liblqr()}, unsupported_device));

}  // namespace
}  // namespace tessera::seamcarve
