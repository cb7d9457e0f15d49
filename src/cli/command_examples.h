// Examples of each command, and the groups in which commands are listed. `--help` prints the
// examples below the flags; docs/CLI.md has both.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cli {

struct CommandExample {
  std::string_view command;  // "rollout promote"
  std::string_view about;
  std::string_view line;  // as a user types it
};

struct CommandGroup {
  std::string_view title;
  std::string_view about;
  std::vector<std::string_view> commands;  // of the first level
};

// `command` is without the program's name: "rollout promote".
std::vector<CommandExample> examples_of(std::string_view command);

std::span<const CommandGroup> command_groups();

// For --help: empty if the command has no example.
std::string examples_text(std::string_view command);

}  // namespace lockstep::cli
