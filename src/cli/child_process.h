// Another program of ours, kept running: started again when it ends, ended when we end.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "world/event_loop.h"

namespace lockstep::cli {

class ChildProcess {
 public:
  // Its output goes to the end of a file.
  ChildProcess(EventLoop& loop, std::vector<std::string> command, std::string log_file);
  // Asks it to end, waits a little, and kills it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool start();
  pid_t pid() const { return pid_; }
  int restarts() const { return restarts_; }

 private:
  void on_end();

  EventLoop& loop_;
  std::vector<std::string> command_;
  std::string log_file_;
  pid_t pid_ = -1;
  int descriptor_ = -1;
  int restarts_ = 0;
  Scope scope_;
};

// The file that this program was started from.
std::string own_program();

}  // namespace lockstep::cli
