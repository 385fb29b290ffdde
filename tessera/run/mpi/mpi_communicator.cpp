// SPDX-License-Identifier: Apache-2.0
// The communicator over MPI: a shared library of its own, so that a program without a launcher needs no MPI.
// A failure within MPI ends all ranks by MPI's own error handler.
#include <mpi.h>
#include <climits>
#include <cstdlib>
#include "tessera/run/mpi/communicator.hpp"
#include "tessera/run/mpi/launcher.hpp"

namespace tessera {
namespace {

class Requests : public Pending {
 public:
  explicit Requests(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}

  bool done() override {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }
  void wait() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  std::vector<MPI_Request> requests_;
};

std::string host_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

// Returns "Open MPI v4.1.4, package: …" → "Open MPI 4.1.4", and likewise for other implementations.
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, bool any_thread, bool world)
      : comm_(comm), any_thread_(any_thread), world_(world) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    if (world_) find_on_host();
  }
  ~MpiCommunicator() override {
    MPI_Comm_free(&comm_);
    if (world_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return library_name(); }
  std::string host() const override { return host_name(); }
  bool any_thread() const override { return any_thread_; }

  HostRank on_host() const override { return on_host_; }

  std::unique_ptr<Communicator> split(int colour) override {
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(comm_, colour < 0 ? MPI_UNDEFINED : colour, rank_, &some);
    if (some == MPI_COMM_NULL) return nullptr;
    return std::make_unique<MpiCommunicator>(some, any_thread_, false);
  }

  std::unique_ptr<Pending> start_broadcast(void* data, std::size_t bytes, int root) override {
    constexpr std::size_t most = std::size_t{1} << 30;  // MPI counts in int
    static_assert(most <= INT_MAX);
    std::vector<MPI_Request> requests;
    auto* at = static_cast<char*>(data);
    for (const std::size_t piece : pieces(bytes, most)) {
      MPI_Ibcast(at, static_cast<int>(piece), MPI_BYTE, root, comm_, &requests.emplace_back());
      at += piece;
    }
    return std::make_unique<Requests>(std::move(requests));
  }

  std::int64_t largest(std::int64_t value) override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, comm_);
    return value;
  }

  std::vector<std::string> gather(const std::string& bytes) override {
    const int size = static_cast<int>(bytes.size());
    std::vector<int> sizes(static_cast<std::size_t>(size_)), places(sizes.size() + 1);
    MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, comm_);
    for (std::size_t i = 0; i < sizes.size(); ++i) places[i + 1] = places[i] + sizes[i];
    std::string all(static_cast<std::size_t>(places.back()), '\0');
    MPI_Gatherv(bytes.data(), size, MPI_BYTE, all.data(), sizes.data(), places.data(), MPI_BYTE, 0, comm_);
    std::vector<std::string> out;
    if (rank_ == 0)
      for (std::size_t i = 0; i < sizes.size(); ++i)
        out.push_back(all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(sizes[i])));
    return out;
  }

  [[noreturn]] void abort(int exit_code) noexcept override {
    MPI_Abort(comm_, exit_code);
    std::_Exit(exit_code);
  }

 private:
  // Collective, so it runs before any rank can have failed and call something else.
  void find_on_host() {
    MPI_Comm host_comm = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host_comm);
    MPI_Comm_rank(host_comm, &on_host_.rank);
    MPI_Comm_size(host_comm, &on_host_.ranks);
    MPI_Comm_free(&host_comm);
  }

  MPI_Comm comm_;
  bool any_thread_, world_;
  int rank_ = 0, size_ = 1;
  HostRank on_host_;
};

}  // namespace
}  // namespace tessera

extern "C" int tessera_mpi_interface() { return tessera::mpi_interface; }

extern "C" tessera::Communicator* tessera_mpi_world() {
  using tessera::MpiCommunicator;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  return new MpiCommunicator(all, provided >= MPI_THREAD_SERIALIZED, true);
}
