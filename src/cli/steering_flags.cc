#include "cli/steering_flags.h"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

namespace {

void add_node_steering(CLI::App& app, const std::string& name, const std::string& about,
                       NodeSteering what, SteerFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(name, about);
  add_cluster_flags(command, flags.cluster);
  command->add_option("nodes", flags.nodes, "The nodes")->required();
  command->add_flag("--dry-run", flags.dry_run, "Say what would be done, and do not do it");
  command->add_option("--reason", flags.reason, "Why: kept on the node beside who did it");
  if (what == NodeSteering::retry) {
    command->add_flag("--force", flags.force, "Also nodes that have not failed");
  }
  flags.what = what;
  command->callback([&flags, &result] { result = run_steer(flags); });
}

}  // namespace

void add_steering(CLI::App& app, SteeringFlags& flags, int& result) {
  CLI::App* pause = app.add_subcommand("pause", "Start no new node; nodes in flight finish");
  CLI::App* resume = app.add_subcommand("resume", "Go on after a pause");
  flags.resume.resume = true;
  for (auto [command, pauses] : {std::pair{pause, &flags.pause}, {resume, &flags.resume}}) {
    add_cluster_flags(command, pauses->cluster);
    command->add_option("--pool", pauses->pool, "Only this NVIDIADriver's nodes");
    command->add_flag("--dry-run", pauses->dry_run, "Say what would be done, and do not do it");
    command->callback([pauses, &result] { result = run_pause(*pauses); });
  }
  pause->add_option("--reason", flags.pause.reason, "Why: shown to users who ask why nodes wait");
  resume->add_option("--reason", flags.resume.reason, "Why: kept beside who did it");
  add_node_steering(app, "retry", "Try failed nodes again", NodeSteering::retry, flags.retry,
                    result);
  add_node_steering(app, "skip", "Leave nodes out", NodeSteering::skip, flags.skip, result);
  add_node_steering(app, "unskip", "Leave nodes out no longer", NodeSteering::unskip, flags.unskip,
                    result);
}

}  // namespace lockstep::cli
