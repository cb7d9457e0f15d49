// The commands and their flags as values, taken from the definitions that parse them: shell
// completion, the man page and docs/CLI.md are made from them, so that none can differ from --help.
#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

struct OptionText {
  std::vector<std::string> names;  // "--output", "-o"; one without dashes is positional
  std::string about;
  std::string preset;  // the default; may be empty
  bool takes_value = false;
  bool required = false;
  std::vector<std::string> choices;

  bool is_positional() const { return names.front().front() != '-'; }
};

struct CommandText {
  std::string name;
  std::string about;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

// For `source <(lockstep completion bash)`, `zsh` and `fish`. Empty for an unknown shell.
std::string completion_script(const CommandText& program, const std::string& shell);

// In the language of man(7).
std::string man_page(const CommandText& program, const std::string& version);

// docs/CLI.md: the commands in groups, each with its examples and flags, in Markdown.
std::string markdown_page(const CommandText& program);

}  // namespace lockstep::cli
