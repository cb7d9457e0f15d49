// What the demo shows while it runs: a compact view of the fleet that is drawn again in place, or,
// where there is no terminal, a line for each change.
#pragma once

#include <string>
#include <sys/types.h>

#include "cli/status_text.h"
#include "cli/terminal.h"

namespace lockstep::cli {

class DemoScreen {
 public:
  explicit DemoScreen(Terminal terminal) : terminal_(terminal) {}

  // `rollout`: one line about it.
  void show(const FleetStatus& status, const std::string& rollout, Duration elapsed,
            pid_t controller);

 private:
  void draw(const FleetStatus& status, const std::string& rollout, Duration elapsed,
            pid_t controller);
  void print_changes(const FleetStatus& status, const std::string& rollout, Duration elapsed);

  Terminal terminal_;
  int drawn_lines_ = 0;
  std::string last_line_;
  std::string last_failures_;
  std::string last_rollout_;
  Duration last_time_{-1};
};

// The end of it: how it went, and each failed node with its reason.
std::string demo_summary(const FleetStatus& status, Duration took, const Terminal& terminal);

}  // namespace lockstep::cli
