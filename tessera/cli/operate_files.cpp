// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/operate_files.hpp"
#include <fmt/format.h>
#include <filesystem>
#include <mutex>
#include "tessera/cli/command.hpp"
#include "tessera/cli/file_names.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

// How far several files have come. Its functions may be called by several threads at once.
class Tally {
 public:
  explicit Tally(const std::vector<std::string>& inputs) : inputs_(&inputs) {}

  Progress& progress() { return progress_; }

  void begin(std::size_t file) {
    const std::lock_guard lock(mutex_);
    progress_.say(fmt::format("{} of {}: {}", ++begun_, inputs_->size(), (*inputs_)[file]));
  }

  // Runs one(); an Error for which `is_files` holds is the file's, others go on to the caller.
  template <class One, class IsFiles>
  void add(std::size_t file, const One& one, const IsFiles& is_files) {
    int code = exit_code::passed;
    std::string why = "a wrong result";
    try {
      code = one();
    } catch (const Error& error) {
      if (!is_files(error)) throw;
      code = exit_code_of(error.kind());
      why = error.what();
    }
    const std::lock_guard lock(mutex_);
    if (code == exit_code::passed) {
      ++done_;
      return;
    }
    progress_.clear();
    const std::string of = (*inputs_)[file] + ": ";
    fmt::print(stderr, "{}{}\n", why.starts_with(of) ? "" : of, why);
    if (code_ == exit_code::passed) code_ = code;
  }

  int conclude(std::FILE* to) {
    progress_.clear();
    fmt::print(to, "{} of {} files done\n", done_, inputs_->size());
    return code_;
  }

 private:
  const std::vector<std::string>* inputs_;
  std::mutex mutex_;
  Progress progress_;
  std::size_t begun_ = 0, done_ = 0;
  int code_ = exit_code::passed;
};

// A file's size stands for the work that it is.
std::vector<double> work_of(const std::vector<std::string>& inputs) {
  std::vector<double> out;
  for (const std::string& input : inputs) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(input, none);
    out.push_back(none || bytes == 0 ? 1 : static_cast<double>(bytes));
  }
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> outputs_for(const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& patterns) {
  std::vector<std::vector<std::string>> out(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::string& pattern : patterns) out[i].push_back(name_for(pattern, inputs[i], i));
  demand_apart(inputs, out);
  return out;
}

int run_files(const std::vector<std::string>& inputs,
              const std::function<int(std::size_t file, Progress&)>& run) {
  Tally tally(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tally.begin(i);
    tally.add(
        i, [&] { return run(i, tally.progress()); }, [](const Error&) { return true; });
  }
  return tally.conclude(stdout);
}

std::pair<int, MultiDeviceOutcome> dispatch_files(std::FILE* to, const std::vector<std::string>& inputs,
                                                  const MultiDeviceOptions& options, const MakeFile& make) {
  Tally tally(inputs);
  DispatchedCalls calls{.work = work_of(inputs), .make = {}};
  calls.make = [&](std::size_t file, const MultiDeviceOptions& on) {
    tally.begin(file);
    MultiDeviceOutcome out;
    tally.add(
        file, [&] { return make(file, on, out); },
        [](const Error& error) { return error.kind() == Error::Kind::user; });
    return out;
  };
  try {
    MultiDeviceOutcome outcome = dispatch(options, calls);
    const int code = tally.conclude(to);
    return {code, std::move(outcome)};
  } catch (...) {
    (void)tally.conclude(stderr);
    throw;
  }
}

}  // namespace tessera::cli
