// Which commands there are. Their flags are in the files called *_flags.cc, and only these and this
// one include CLI11.
#include "cli/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/command_examples.h"
#include "cli/complete_names.h"
#include "cli/controller_flags.h"
#include "cli/dashboard_flags.h"
#include "cli/dra_plugin_command.h"
#include "cli/exit_codes.h"
#include "cli/looking_flags.h"
#include "cli/matrix_flags.h"
#include "cli/node_flags.h"
#include "cli/recipe_flags.h"
#include "cli/rollout_flags.h"
#include "cli/shell_flags.h"
#include "cli/simulation_flags.h"
#include "cli/steering_flags.h"
#include "cli/support_flags.h"

namespace {

using namespace lockstep::cli;

// CLI11 itself only says that a command is missing.
std::optional<lockstep::Error> find_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return std::nullopt;
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return std::nullopt;
  const bool has_near = lockstep::nearest(argv[1], names).has_value();
  if (!has_near) names.clear();
  std::string message = lockstep::unknown_word("command", argv[1], names);
  if (!has_near) message += "; lockstep --help lists the commands";
  return lockstep::Error{lockstep::ErrorKind::invalid, std::move(message), {}};
}

struct Flags {
  ApiserverFlags apiserver;
  ControllerFlags controller;
  DemoFlags demo;
  DashboardFlags dashboard;
  FleetFlags fleet;
  SimulateFlags simulate;
  LookingFlags looking;
  SteeringFlags steering;
  RolloutFlags rollout;
  RerollFlags reroll;
  DriverManagerFlags driver_manager;
  MatrixFlags matrix;
  GateFlags gate;
  OwnFlags own;
  RecipesFlags recipes;
  DoctorFlags doctor;
  SupportBundleFlags support;
  ShellFlags shell;
};

// Only the command that is asked for, where there is one of that name: the flags of all of them
// take longer to make than most commands take to run. A group without names is about all of them.
void add_commands(CLI::App& app, std::string_view asked, Flags& flags, int& result) {
  struct Group {
    std::vector<std::string_view> names;
    std::function<void()> add;
  };
  const std::vector<Group> groups = {
      {{"demo"}, [&] { add_demo(app, flags.demo, result); }},
      {{"controller"}, [&] { add_controller(app, flags.controller, result); }},
      {{"dashboard"}, [&] { add_dashboard(app, flags.dashboard, result); }},
      {{"status", "top", "why", "plan"}, [&] { add_looking(app, flags.looking, result); }},
      {{"pause", "resume", "retry", "skip", "unskip"},
       [&] { add_steering(app, flags.steering, result); }},
      {{"rollout"}, [&] { add_rollout(app, flags.rollout, result); }},
      {{"doctor"}, [&] { add_doctor(app, flags.doctor, result); }},
      {{"support-bundle"}, [&] { add_support_bundle(app, flags.support, result); }},
      {{"install", "uninstall"}, [&] { add_install(app, flags.own, result); }},
      {{"matrix"}, [&] { add_matrix(app, flags.matrix, result); }},
      {{"reroll"}, [&] { add_reroll(app, flags.reroll, result); }},
      {{"driver-manager"}, [&] { add_driver_manager(app, flags.driver_manager, result); }},
      {{"dra-plugin"}, [&] { app.add_subcommand("dra-plugin", std::string(dra_plugin_about)); }},
      {{"gate"}, [&] { add_gate(app, flags.gate, result); }},
      {{"recipe"}, [&] { add_recipe(app, flags.recipes, result); }},
      {{"query"}, [&] { add_query(app, flags.recipes, result); }},
      {{"bundle"}, [&] { add_bundle(app, flags.recipes, result); }},
      {{"verify"}, [&] { add_verify(app, flags.recipes, result); }},
      {{"check"}, [&] { add_check(app, flags.recipes, result); }},
      {{"simulate"}, [&] { add_simulate(app, flags.simulate, result); }},
      {{"apiserver"}, [&] { add_apiserver(app, flags.apiserver, result); }},
      {{"fleet"}, [&] { add_fleet(app, flags.fleet, result); }},
      {{}, [&] { add_shell(app, flags.shell, result); }},
  };
  for (const Group& group : groups) {
    if (std::find(group.names.begin(), group.names.end(), asked) == group.names.end()) continue;
    group.add();
    return;
  }
  for (const Group& group : groups) group.add();
}

// --help prints them below the flags.
void add_examples(CLI::App& app, const std::string& path) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = path.empty() ? command->get_name() : path + " " + command->get_name();
    command->footer(examples_text(name));
    add_examples(*command, name);
  }
}

// kubectl runs a program of this name for `kubectl lockstep`.
bool is_kubectl_plugin(const char* path) {
  std::string_view name(path);
  return name.substr(name.rfind('/') + 1) == "kubectl-lockstep";
}

int run(int argc, char** argv) {
  // Scripts ask for it all the time, and making the flags of every command takes two milliseconds.
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    fmt::print("lockstep {}\n", LOCKSTEP_VERSION);
    return ExitCode::ok;
  }
  if (argc > 1 && std::string_view(argv[1]) == "enter-root") return enter_root(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "dra-plugin") return run_dra_plugin(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == complete_names_word) {
    return run_complete_names(argc, argv);
  }
  // A process of the gate's own; no other caller starts it.
  if (argc == 2 && std::string_view(argv[1]) == gate_worker_word) return run_gate_worker();
  CLI::App app(
      "Lockstep upgrades the GPU drivers of a Kubernetes fleet without breaking what runs on it.",
      argc > 0 && is_kubectl_plugin(argv[0]) ? "kubectl lockstep" : "lockstep");
  app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  int result = ExitCode::ok;

  Flags flags;
  add_commands(app, argc > 1 ? argv[1] : "", flags, result);
  add_examples(app, "");

  if (auto unknown = find_unknown_command(app, argc, argv)) return report(*unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    int code = app.exit(problem);
    return code == 0 ? ExitCode::ok : ExitCode::bad_input;
  }
  return result;
}

// Under the name that the GPU operator calls it by, it is that command.
std::vector<char*> words_of(int argc, char** argv, std::string& program, std::string& command) {
  std::vector<char*> words(argv, argv + argc);
  std::string_view name = argc > 0 ? std::string_view(argv[0]) : std::string_view();
  if (name.substr(name.rfind('/') + 1) == command) {
    words[0] = program.data();
    words.insert(words.begin() + 1, command.data());
  }
  words.push_back(nullptr);
  return words;
}

}  // namespace

int lockstep::cli::run_program(int argc, char** argv) {
  try {
    std::string program = "lockstep";
    std::string command = "driver-manager";
    std::vector<char*> words = words_of(argc, argv, program, command);
    int result = run(static_cast<int>(words.size()) - 1, words.data());
    // A full disk or a closed pipe behind ">" shows only now.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      fmt::print(stderr, "lockstep: cannot write the output: {}\n",
                 std::generic_category().message(errno));
      return result == ExitCode::ok ? ExitCode::failed : result;
    }
    return result;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lockstep: internal error: {}\n", problem.what());
    return ExitCode::failed;
  }
}
