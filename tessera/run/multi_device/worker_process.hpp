// SPDX-License-Identifier: Apache-2.0
// Another program, started beside this one, and a channel of whole messages to it. It shares nothing with
// this one but the files that come with messages: whatever becomes of it, this process goes on.
#pragma once
#include <string>
#include <vector>

namespace tessera {

class WorkerProcess {
 public:
  // Runs the program with the channel's other end as file 3; nothing else is inherited but the standard
  // streams. Throws Error where it cannot be started.
  explicit WorkerProcess(const std::string& program);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Throw Error with how it ended, where it did. The files, open ones of this process, come with the message.
  void send(const std::string& message, const std::vector<int>& files = {});
  // Likewise where no answer comes within so long, after which it is killed.
  std::string receive(double seconds);

  void stop() noexcept;  // at once; on return it does nothing any more

  int id() const { return process_; }

 private:
  std::string end();  // kills it, unless it has ended; tells how it ended

  int channel_ = -1, process_ = -1;
};

// The other side's ends of a channel. False, or nothing: the channel is closed.
inline constexpr int channel_file = 3;
bool send_message(int channel, const std::string& message, const std::vector<int>& files = {});
// `files`: those that came with it, in their order, which the caller closes.
bool receive_message(int channel, std::string& message, std::vector<int>& files);
bool receive_message(int channel, std::string& message);  // one without files
// Whether one has come within so many seconds, or the channel is closed.
bool message_waits(int channel, double seconds);

}  // namespace tessera
