#include "cli/shell_flags.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"

namespace lockstep::cli {

namespace {

// CLI11 keeps what a value may be as "TEXT:{table,json,yaml}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  size_t open = type.find('{');
  size_t close = type.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos || close < open) return choices;
  for (std::string_view word :
       split(std::string_view(type).substr(open + 1, close - open - 1), ',')) {
    choices.emplace_back(word);
  }
  return choices;
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  if (text.names.empty()) text.names.push_back(option.get_single_name());
  text.about = option.get_description();
  text.preset = option.get_default_str();
  text.takes_value = option.get_items_expected_max() > 0;
  text.required = option.get_required();
  text.choices = choices_of(option);
  return text;
}

}  // namespace

CommandText command_tree(const CLI::App& app) {
  CommandText command;
  command.name = app.get_name();
  command.about = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    // Those without a group are for tests.
    if (!option->get_group().empty()) command.options.push_back(text_of(*option));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(command_tree(*child));
  }
  return command;
}

void add_shell(CLI::App& app, ShellFlags& flags, int& result) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print the completion of a shell: source <(lockstep completion bash)");
  completion->add_option("shell", flags.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &flags, &result] {
    CommandText program = command_tree(app);
    program.name = "lockstep";  // also as a plugin of kubectl
    fmt::print("{}", completion_script(program, flags.shell));
    result = ExitCode::ok;
  });
  CLI::App* man = app.add_subcommand("man", "Print the man page: lockstep man | man -l -");
  man->add_flag("--markdown", flags.markdown,
                "Print docs/CLI.md instead: every command in Markdown");
  man->callback([&app, &flags, &result] {
    CommandText program = command_tree(app);
    program.name = "lockstep";
    fmt::print("{}", flags.markdown ? markdown_page(program) : man_page(program, LOCKSTEP_VERSION));
    result = ExitCode::ok;
  });
}

}  // namespace lockstep::cli
