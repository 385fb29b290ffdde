// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/resident.hpp"
#include <algorithm>
#include <set>
#include "ops/matmul/problem/call_arguments.hpp"

namespace tessera::matmul::detail {
namespace {

void check_options(const Options& options) {
  const auto refuse = [](bool given, const char* what) {
    if (given) throw Error(std::string("blocks on several devices take no ") + what);
  };
  refuse(options.check, "check: nobody holds the whole result");
  refuse(options.request.device != "auto", "device: each block has its own");
  refuse(options.scale_a.data != nullptr || options.scale_b.data != nullptr, "scales");
  refuse(options.bias.data != nullptr, "bias");
  refuse(options.c0.data != nullptr, "addend but C itself");
}

Device gpu(int number) {
  Backend* const backend = find_backend(Where::cuda);
  const auto count = backend == nullptr ? 0 : std::ssize(backend->devices());
  if (number < 0 || number >= count)
    throw Error(Error::Kind::no_device,
                "there is no cuda:" + std::to_string(number) + ", where a block should lie");
  return backend->devices()[static_cast<std::size_t>(number)];
}

// More ranks than GPUs share them.
Device gpu_of_place(int place) {
  Backend* const backend = find_backend(Where::cuda);
  const int count = backend == nullptr ? 0 : static_cast<int>(backend->devices().size());
  return gpu(count == 0 ? place : place % count);
}

ArrayView whole_of(const AnySpread& x) {
  return whole_of_blocks(x.element, x.rows, x.cols, x.order == Order::columns);
}

// Another rank's block, of which nobody here knows the address.
ArrayView elsewhere(const AnyMatrix& matrix) {
  ArrayView out = whole_of_blocks(matrix.element, matrix.rows, matrix.cols, matrix.order == Order::columns);
  out.data = nullptr;
  return out;
}

// `numbers`: of the devices, in the order of the call's list. `here`: the only one whose memory is known.
ResidentArray array_of(const char* name, const AnySpread& x, const std::set<int>& numbers,
                       std::optional<int> here = {}) {
  const std::string what = std::string("a block of ") + name;
  ResidentArray out;
  out.spread.along = x.along == Along::rows ? 0 : 1;
  for (const MatrixBlock<const void>& block : x.blocks) {
    const std::int64_t size = block.last - block.first;
    const AnyMatrix matrix{block.data,
                           x.element,
                           x.along == Along::rows ? size : x.rows,
                           x.along == Along::rows ? x.cols : size,
                           block.leading_dimension,
                           x.order};
    const bool known = !here || block.device == *here;
    out.blocks.push_back(known ? view_of(what.c_str(), matrix) : elsewhere(matrix));
    const auto place = std::distance(numbers.begin(), numbers.find(block.device));
    out.spread.blocks.push_back({static_cast<std::size_t>(place), {block.first, block.last}});
  }
  return out;
}

Arguments whole_of(const AnySpread& a, const AnySpread& b, const AnySpread& c, const Options& options) {
  for (const AnySpread* x : {&a, &b, &c}) {
    if (x->rows < 0 || x->cols < 0) throw Error("a matrix has a negative extent");
    check_named("along", x->along, Along::columns);
    check_named("order", x->order, Order::columns);
  }
  const ArrayView result = whole_of(c);
  return arguments_of(whole_of(a), whole_of(b), result, options, options.beta != 0 ? &result : nullptr);
}

}  // namespace

Resident spread_product(const AnySpread& a, const AnySpread& b, const AnySpread& c, const Options& options,
                        const std::function<Device(int)>& find, const Resident::Open& open) {
  check_options(options);
  Arguments whole = whole_of(a, b, c, options);
  std::set<int> numbers;
  for (const AnySpread* x : {&a, &b, &c})
    for (const auto& block : x->blocks) numbers.insert(block.device);
  std::vector<Device> devices;
  for (const int number : numbers) devices.push_back(find ? find(number) : gpu(number));
  std::map<std::string, ResidentArray> arrays{
      {"A", array_of("A", a, numbers)}, {"B", array_of("B", b, numbers)}, {"C", array_of("C", c, numbers)}};
  return Resident({.operation = &the_product(),
                   .whole = std::move(whole),
                   .arrays = std::move(arrays),
                   .in_place = "C0",
                   .devices = std::move(devices),
                   .request = options.request},
                  open);
}

ResidentRanks spread_product(dist::Communicator& ranks, const AnySpread& a, const AnySpread& b,
                             const AnySpread& c, const Options& options, const std::optional<Device>& device,
                             const Resident::Open& open) {
  const int here = ranks.on_host().rank;
  std::optional<ResidentCall> call;
  Device own;
  dist::agree(ranks, [&] {
    check_options(options);
    std::set<int> numbers;
    for (int rank = 0; rank < ranks.size(); ++rank) numbers.insert(rank);
    for (const AnySpread* x : {&a, &b, &c})
      for (const auto& block : x->blocks)
        if (!numbers.contains(block.device))
          throw Error("there is no rank " + std::to_string(block.device) + ", where a block should lie");
    std::map<std::string, ResidentArray> arrays{{"A", array_of("A", a, numbers, ranks.rank())},
                                                {"B", array_of("B", b, numbers, ranks.rank())},
                                                {"C", array_of("C", c, numbers, ranks.rank())}};
    own = device ? *device : gpu_of_place(here);
    call.emplace(ResidentCall{.operation = &the_product(),
                              .whole = whole_of(a, b, c, options),
                              .arrays = std::move(arrays),
                              .in_place = "C0",
                              .devices = {},
                              .request = options.request});
  });
  return ResidentRanks(std::move(*call), ranks, own, open);
}

}  // namespace tessera::matmul::detail
