#include "cli/command_tree.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/command_examples.h"

namespace lockstep::cli {

namespace {

// Every command with the words that lead to it: "lockstep rollout status".
void each_command(const CommandText& command, const std::string& path,
                  const std::function<void(const CommandText&, const std::string&)>& visit) {
  visit(command, path);
  for (const CommandText& child : command.commands) {
    each_command(child, path + " " + child.name, visit);
  }
}

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::vector<std::string> flags_of(const CommandText& command) {
  std::vector<std::string> flags;
  for (const OptionText& option : command.options) {
    if (option.is_positional()) continue;
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  }
  return flags;
}

// Whose names a command takes: asked of the cluster while a word is being typed. Empty: files.
std::string names_taken(const CommandText& command, std::string_view path) {
  for (const OptionText& option : command.options) {
    if (!option.is_positional()) continue;
    const std::string& name = option.names.front();
    if (name == "node") return "nodes,rollouts";
    if (name == "nodes") return "nodes";
    if (name == "name" && path.find(" rollout ") != std::string_view::npos) return "rollouts";
  }
  return {};
}

// Words that go on after the words of `path`, and after a flag with few values these.
constexpr std::string_view bash_head =
    R"(# Completion of lockstep for bash: source <(lockstep completion bash)
_lockstep() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path=lockstep i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
)";

std::string bash_script(const CommandText& program) {
  std::string paths;
  std::string values;
  std::string words;
  each_command(program, program.name, [&](const CommandText& command, const std::string& path) {
    if (path != program.name) paths += fmt::format("    {}) ;&\n", single_quoted(path));
    std::vector<std::string> next;
    for (const CommandText& child : command.commands) next.push_back(child.name);
    const std::string names = names_taken(command, path);
    words += fmt::format("    {}) words={} flags={} names={} ;;\n", single_quoted(path),
                         single_quoted(join(next, " ")),
                         single_quoted(join(flags_of(command), " ")), single_quoted(names));
    for (const OptionText& option : command.options) {
      // The word after a flag with a value is not a name.
      const bool takes_file = !names.empty() && option.takes_value;
      if ((option.choices.empty() && !takes_file) || option.is_positional()) continue;
      const std::string offered =
          option.choices.empty() ? "-f" : "-W " + single_quoted(join(option.choices, " "));
      for (const std::string& name : option.names) {
        values += fmt::format("    {}) COMPREPLY=($(compgen {} -- \"$current\")); return ;;\n",
                              single_quoted(path + " " + name), offered);
      }
    }
  });
  std::string text(bash_head);
  text += paths;
  text += R"(    'unknown command') path="$path ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $previous" in
)" + values +
          R"(  esac
  local words= flags= names= place=()
  case "$path" in
)" + words +
          R"sh(  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
    --kubeconfig | --context)
      if [[ ${COMP_WORDS[i+1]} == = ]]; then
        place+=("${COMP_WORDS[i]}" "${COMP_WORDS[i+2]}")
      else
        place+=("${COMP_WORDS[i]}" "${COMP_WORDS[i+1]}")
      fi ;;
    esac
  done
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ -n $names ]]; then
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" complete-names "$names" "${place[@]}" 2> /dev/null)" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _lockstep lockstep kubectl-lockstep
)sh";
  return text;
}

// In zsh's lists a colon ends the word that is described.
std::string zsh_entry(std::string_view word, std::string_view about) {
  std::string text;
  for (char c : word) text += c == ':' ? std::string("\\:") : std::string(1, c);
  return single_quoted(fmt::format("{}:{}", text, about));
}

std::string zsh_script(const CommandText& program) {
  std::string paths;
  std::string values;
  std::string words;
  each_command(program, program.name, [&](const CommandText& command, const std::string& path) {
    if (path != program.name) paths += fmt::format("      {}) ;&\n", single_quoted(path));
    std::string next;
    for (const CommandText& child : command.commands) {
      next += " " + zsh_entry(child.name, child.about);
    }
    std::string flags;
    for (const OptionText& option : command.options) {
      if (option.is_positional()) continue;
      for (const std::string& name : option.names) flags += " " + zsh_entry(name, option.about);
      if (option.choices.empty()) continue;
      for (const std::string& name : option.names) {
        values += fmt::format("    {}) compadd -- {}; return ;;\n",
                              single_quoted(path + " " + name), join(option.choices, " "));
      }
    }
    words += fmt::format("    {}) next=({}) flags=({}) names={} ;;\n", single_quoted(path), next,
                         flags, single_quoted(names_taken(command, path)));
  });
  return R"(#compdef lockstep kubectl-lockstep
# Completion of lockstep for zsh: source <(lockstep completion zsh)
_lockstep() {
  local where=lockstep names= i
  local -a next flags place
  for ((i = 2; i < CURRENT; i++)); do
    case "$where $words[i]" in
)" + paths +
         R"(      'unknown command') where="$where $words[i]" ;;
    esac
  done
  case "$where $words[CURRENT-1]" in
)" + values +
         R"(  esac
  case "$where" in
)" + words +
         R"sh(  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -t flags flag flags
  elif (( $#next )); then
    _describe -t commands command next
  elif [[ -n $names && $words[CURRENT-1] != --* ]]; then
    for ((i = 2; i < CURRENT; i++)); do
      case "$words[i]" in
        --kubeconfig|--context) place+=("$words[i]" "$words[i+1]") ;;
        --kubeconfig=*|--context=*) place+=("${words[i]%%=*}" "${words[i]#*=}") ;;
      esac
    done
    compadd -- ${(f)"$($words[1] complete-names $names $place 2> /dev/null)"}
  else
    _files
  fi
}
(( $+functions[compdef] )) && compdef _lockstep lockstep kubectl-lockstep
)sh";
}

std::string fish_script(const CommandText& program) {
  std::string paths;
  std::string rules;
  each_command(program, program.name, [&](const CommandText& command, const std::string& path) {
    if (path != program.name) paths += " " + single_quoted(path);
    std::string here =
        fmt::format("complete -c lockstep -n \"__lockstep_at {}\"", single_quoted(path));
    for (const CommandText& child : command.commands) {
      rules += fmt::format("{} -f -a {} -d {}\n", here, child.name, single_quoted(child.about));
    }
    if (const std::string names = names_taken(command, path); !names.empty()) {
      rules += fmt::format("{} -f -a \"(__lockstep_names {})\"\n", here, names);
    }
    for (const OptionText& option : command.options) {
      if (option.is_positional()) continue;
      rules += here;
      for (const std::string& name : option.names) {
        bool is_long = name.starts_with("--");
        rules += fmt::format(" -{} {}", is_long ? "l" : "s", name.substr(is_long ? 2 : 1));
      }
      if (option.takes_value) rules += " -r";
      if (!option.choices.empty()) {
        rules += fmt::format(" -f -a {}", single_quoted(join(option.choices, " ")));
      }
      rules += fmt::format(" -d {}\n", single_quoted(option.about));
    }
  });
  return R"(# Completion of lockstep for fish: lockstep completion fish | source
function __lockstep_at
  set -l where lockstep
  for word in (commandline -opc)[2..-1]
    contains -- "$where $word")" +
         paths + R"(; and set where "$where $word"
  end
  test "$where" = "$argv[1]"
end
function __lockstep_names
  set -l place
  set -l words (commandline -opc)
  for i in (seq 2 (count $words))
    switch $words[$i]
      case --kubeconfig --context
        test (count $words) -gt $i; and set -a place $words[$i] $words[(math $i + 1)]
      case '--kubeconfig=*' '--context=*'
        set -a place (string split -m 1 = -- $words[$i])
    end
  end
  $words[1] complete-names $argv[1] $place 2> /dev/null
end
)" + rules;
}

// In man(7) a line that begins with a dot or a quote is a request, and a minus is a hyphen.
std::string for_man(std::string_view text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\\') {
      escaped += "\\e";
    } else if (byte == '-') {
      escaped += "\\-";
    } else if (byte < 0x80) {
      escaped += text[i];
    } else {
      // troff has names for what is not ASCII: the bytes of one character come together.
      size_t more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      uint32_t code = byte & (0x3fU >> more);
      for (; more > 0 && i + 1 < text.size(); --more) {
        code = code << 6U | (static_cast<unsigned char>(text[++i]) & 0x3fU);
      }
      escaped += fmt::format("\\[u{:04X}]", code);
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped = "\\&" + escaped;
  return escaped;
}

std::string man_option(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + for_man(name) + "\\fR");
  std::string text = ".TP\n" + join(names, ", ");
  if (option.takes_value && !option.is_positional()) text += " \\fIVALUE\\fR";
  text += "\n" + for_man(option.about.empty() ? "See the manual." : option.about);
  if (!option.choices.empty()) text += "\n(" + for_man(join(option.choices, ", ")) + ")";
  if (!option.preset.empty()) text += "\n[" + for_man(option.preset) + "]";
  if (option.required) text += "\nRequired.";
  return text + "\n";
}

// In Markdown a bar ends a cell of a table, and <WORD> is an HTML tag.
std::string for_markdown(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') {
      escaped += "\\|";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string markdown_names(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back("`" + (option.is_positional() ? upper_case(name) : name) + "`");
  }
  return join(names, ", ");
}

std::string markdown_row(const OptionText& option) {
  std::string about = for_markdown(option.about);
  if (!option.choices.empty()) about += " (" + for_markdown(join(option.choices, ", ")) + ")";
  if (option.required) about += ". Required.";
  return fmt::format("| {} | {} | {} |\n", markdown_names(option),
                     option.preset.empty() ? "" : "`" + for_markdown(option.preset) + "`", about);
}

bool is_listed(const OptionText& option) {
  return option.names.front() != "--help" && option.names.front() != "--version";
}

constexpr std::string_view markdown_head = "| flag | default | meaning |\n|---|---|---|\n";

// Rows that many commands have, in the order in which they come first: they are listed once.
std::vector<std::string> common_rows(const CommandText& program) {
  constexpr size_t many = 8;
  std::map<std::string, size_t> counts;
  std::vector<std::string> rows;
  each_command(program, program.name, [&](const CommandText& command, const std::string&) {
    for (const OptionText& option : command.options) {
      if (!is_listed(option) || option.is_positional()) continue;
      if (++counts[markdown_row(option)] == 1) {
        rows.push_back(markdown_row(option));
      }
    }
  });
  std::erase_if(rows, [&](const std::string& row) { return counts[row] < many; });
  return rows;
}

std::string markdown_options(const CommandText& command, const std::vector<std::string>& common) {
  std::string rows;
  std::vector<std::string> others;
  for (const OptionText& option : command.options) {
    if (!is_listed(option)) continue;
    const std::string row = markdown_row(option);
    if (std::find(common.begin(), common.end(), row) == common.end()) {
      rows += row;
    } else {
      others.push_back(markdown_names(option));
    }
  }
  std::string text = rows.empty() ? "" : std::string(markdown_head) + rows + "\n";
  if (!others.empty()) text += "[Common flags](#common-flags): " + join(others, ", ") + ".\n\n";
  return text;
}

// What is behind "lockstep " in `path`.
std::string without_program(const std::string& path) { return path.substr(path.find(' ') + 1); }

std::string markdown_command(const CommandText& command, const std::string& path,
                             const std::vector<std::string>& common) {
  std::string text = fmt::format("### {}\n\n{}.\n\n", path, for_markdown(command.about));
  for (const CommandExample& example : examples_of(without_program(path))) {
    text += fmt::format("    # {}\n    {}\n", example.about, example.line);
  }
  if (!examples_of(without_program(path)).empty()) text += '\n';
  return text + markdown_options(command, common);
}

std::string anchor_of(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '-');
  return path;
}

std::string markdown_group(const CommandText& program, const CommandGroup& group,
                           const std::vector<std::string>& common) {
  std::string rows;
  std::string details;
  for (std::string_view name : group.commands) {
    for (const CommandText& child : program.commands) {
      if (child.name != name) continue;
      each_command(child, program.name + " " + child.name,
                   [&](const CommandText& command, const std::string& path) {
                     rows += fmt::format("| [`{}`](#{}) | {} |\n", path, anchor_of(path),
                                         for_markdown(command.about));
                     details += markdown_command(command, path, common);
                   });
    }
  }
  return fmt::format("## {}\n\n{}\n\n| command | what it does |\n|---|---|\n{}\n{}", group.title,
                     group.about, rows, details);
}

}  // namespace

std::string completion_script(const CommandText& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return {};
}

std::string man_page(const CommandText& program, const std::string& version) {
  std::string text = fmt::format(
      ".TH LOCKSTEP 1 \"\" \"lockstep {}\" \"User Commands\"\n.SH NAME\nlockstep \\- {}\n"
      ".SH SYNOPSIS\n.B lockstep\n\\fICOMMAND\\fR [\\fIFLAGS\\fR]\n.SH DESCRIPTION\n{}\n"
      ".SH COMMANDS\n",
      for_man(version), "upgrade the GPU drivers of a Kubernetes fleet", for_man(program.about));
  each_command(program, program.name, [&](const CommandText& command, const std::string& path) {
    if (&command == &program) return;
    text += fmt::format(".SS \"{}\"\n{}\n", for_man(path), for_man(command.about));
    for (const OptionText& option : command.options) {
      if (option.names.front() != "--help") text += man_option(option);
    }
  });
  text +=
      ".SH EXIT STATUS\n0 ok, 1 failed, 2 bad input or usage, 3 not found, 4 refused by "
      "authorization, 5 timed out, 6 cluster unreachable.\n"
      ".SH ENVIRONMENT\n.TP\n.B KUBECONFIG\nThe kubeconfig, as for kubectl.\n"
      ".TP\n.B NO_COLOR\nNo colours.\n"
      ".SH SEE ALSO\n.BR kubectl (1)\n";
  return text;
}

std::string markdown_page(const CommandText& program) {
  std::string text =
      "# Commands\n\nReference: every command of `lockstep`, with its flags and examples. "
      "`make docs` makes this page from the\ndefinitions of `--help`; a test compares the two.\n\n"
      "- The conventions are those of kubectl: `-o`, `-w`, `-n`, `--context`, `--kubeconfig`.\n"
      "- As `kubectl-lockstep` on the `PATH`, the program is the plugin `kubectl lockstep`.\n"
      "- [REFERENCE.md](REFERENCE.md) lists exit codes, environment variables and metrics.\n";
  const std::vector<std::string> common = common_rows(program);
  for (const CommandGroup& group : command_groups()) {
    text += "\n" + markdown_group(program, group, common);
  }
  text += fmt::format("## Common flags\n\nMany commands have these flags.\n\n{}{}", markdown_head,
                      join(common, ""));
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace lockstep::cli
