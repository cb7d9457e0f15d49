#include "cli/rollout_flags.h"

#include <string>

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

void add_rollout(CLI::App& app, RolloutFlags& flags, int& result) {
  CLI::App* rollout = app.add_subcommand("rollout", "Upgrade a fleet in waves");
  rollout->require_subcommand(1);
  auto add = [&](const std::string& name, const std::string& about, RolloutVerb verb) {
    CLI::App* command = rollout->add_subcommand(name, about);
    add_cluster_flags(command, flags.cluster);
    command->callback([&flags, verb, &result] {
      flags.verb = verb;
      result = run_rollout(flags);
    });
    if (verb != RolloutVerb::list && verb != RolloutVerb::create) {
      command->add_option("name", flags.name, "The rollout; optional if only one exists");
    }
    bool shows =
        verb == RolloutVerb::list || verb == RolloutVerb::status || verb == RolloutVerb::history;
    if (shows) {
      add_output_flag(command, flags.output);
    } else {
      command->add_flag("--dry-run", flags.dry_run, "Print what would be done, and change nothing");
    }
    if (!shows && verb != RolloutVerb::create) {
      command->add_option("--reason", flags.reason,
                          "Reason; recorded on the rollout with the user");
    }
    return command;
  };
  CLI::App* create = add("create", "Create a DriverRollout from a file", RolloutVerb::create);
  create->add_option("-f,--file", flags.file, "YAML of a DriverRollout; - is standard input")
      ->required();
  add("list", "All rollouts", RolloutVerb::list);
  add("status", "Show phase, waves, gates and bakes", RolloutVerb::status)
      ->add_flag("-w,--watch", flags.watch, "Keep the view up to date");
  CLI::App* promote = add("promote", "Approve the wave that waits for it", RolloutVerb::promote);
  promote->add_option("--wave", flags.wave, "Approve only if this wave waits");
  promote->add_flag("--force", flags.force, "End a bake now; recorded as an override");
  add("pause", "Start no new node; nodes in flight finish", RolloutVerb::pause);
  add("resume", "End a pause", RolloutVerb::resume);
  add("abort", "Close the waves; nodes do not change", RolloutVerb::abort);
  add("retry", "Retry what is held", RolloutVerb::retry);
  add("rollback", "Roll back to the previous version, also after Complete", RolloutVerb::rollback);
  add("history", "Show what was decided, when and by whom", RolloutVerb::history);
}

}  // namespace lockstep::cli
