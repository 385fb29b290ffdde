// SPDX-License-Identifier: Apache-2.0
// The devices that words name.
#include <optional>
#include "tessera/core/expression.hpp"
#include "tessera/core/suggest.hpp"
#include "tessera/core/part.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {
namespace {

struct DeviceWords {
  Where where;
  int index = 0;
  std::optional<int> threads;
  std::string part = {};  // of a GPU's multiprocessors
};

// `what` is the part of the device that the number is.
int whole_number(const std::string& word, const std::string& what, const std::string& whole, int least) {
  constexpr int most = 1 << 20;
  std::optional<std::int64_t> value;
  try {
    value = evaluate(word);
  } catch (const Error&) {  // it speaks of expressions, which nobody meant
  }
  if (!value || *value < least || *value > most)
    throw Error("--device " + whole + ": " + what + " needs a whole number from " + std::to_string(least) +
                (word.empty() ? "" : ", not '" + word + "'"));
  return static_cast<int>(*value);
}

// "cuda:1", "cuda:1:sms=44", "cpu:threads=2".
DeviceWords parse_device(const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const auto where = parse_where(name);
  if (!where)
    throw Error("no device is called '" + name + "'" + suggestion(name, {"auto", "cpu", "simt", "cuda"}));
  DeviceWords out{*where, 0, {}};
  if (colon == std::string::npos) return out;
  std::string rest = word.substr(colon + 1);
  const std::string threads = "threads=", part = ":sms=";
  if (const auto at = rest.find(part); *where == Where::cuda && at != std::string::npos) {
    out.part = rest.substr(at + part.size());
    if (out.part.empty())
      throw Error("--device " + word + " names no multiprocessors: write sms=44 or sms=44-131");
    rest.resize(at);
  }
  if (*where == Where::cuda) out.index = whole_number(rest, name + ":", word, 0);
  else if (rest.starts_with(threads))
    out.threads = whole_number(rest.substr(threads.size()), threads, word, 1);
  else throw Error("'" + word + "' is not a device: write " + name + ":threads=NUMBER");
  return out;
}

// "44": the first 44 of its multiprocessors; "44-131": those.
Device named_part(const Device& gpu, const std::string& words, const std::string& whole) {
  const std::size_t dash = words.find('-');
  const std::string what = "sms=";
  if (dash == std::string::npos) return as_part(gpu, 0, whole_number(words, what, whole, 1));
  const int first = whole_number(words.substr(0, dash), what, whole, 0);
  return as_part(gpu, first, whole_number(words.substr(dash + 1), what, whole, first) - first + 1);
}

Error no_device(const std::string& label, const std::string& reason) {
  return Error(Error::Kind::no_device, label + " cannot be used: " + reason);
}

}  // namespace

Device find_device(const std::string& word) {
  const DeviceWords words = parse_device(word);
  Backend* backend = find_backend(words.where);
  if (backend == nullptr)
    throw no_device(word, words.where == Where::cuda ? "this build has no CUDA" : "this build lacks it");
  const auto& devices = backend->devices();
  if (devices.empty()) throw no_device(word, backend->unusable());
  const auto index = static_cast<std::size_t>(words.index);
  if (index >= devices.size())
    throw no_device(word, "there " + std::string(devices.size() == 1 ? "is" : "are") + " only " +
                              std::to_string(devices.size()));
  Device device = devices[index];
  if (words.threads) device.threads = *words.threads;
  return words.part.empty() ? device : named_part(device, words.part, word);
}

}  // namespace tessera
