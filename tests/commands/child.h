// A program that runs beside the test: its output goes to a file, and it ends with the test,
// whatever becomes of the test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace lockstep::commands {

class Child {
 public:
  // command[0] is a path. The environment is added to ours.
  Child(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
        std::string log_file);
  // Kills it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Not set while it runs; 128 + signal when it was killed.
  std::optional<int> exit_code();
  // All that it has written so far, to both of its outputs.
  std::string output() const;

 private:
  std::string log_file_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace lockstep::commands
