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
  command->add_flag("--dry-run", flags.dry_run, "Print what would be done, and change nothing");
  command->add_option("--reason", flags.reason, "Reason; recorded on the node with the user");
  if (what == NodeSteering::retry) {
    command->add_flag("--force", flags.force, "Also nodes that have not failed");
  }
  flags.what = what;
  command->callback([&flags, &result] { result = run_steer(flags); });
}

}  // namespace

void add_steering(CLI::App& app, SteeringFlags& flags, int& result) {
  CLI::App* pause = app.add_subcommand("pause", "Start no new node; nodes in flight finish");
  CLI::App* resume = app.add_subcommand("resume", "End a pause");
  flags.resume.resume = true;
  for (auto [command, pauses] : {std::pair{pause, &flags.pause}, {resume, &flags.resume}}) {
    add_cluster_flags(command, pauses->cluster);
    command->add_option("--pool", pauses->pool, "Only this NVIDIADriver's nodes");
    command->add_flag("--dry-run", pauses->dry_run, "Print what would be done, and change nothing");
    command->callback([pauses, &result] { result = run_pause(*pauses); });
  }
  pause->add_option("--reason", flags.pause.reason,
                    "Reason; shown to users who ask why nodes wait");
  resume->add_option("--reason", flags.resume.reason, "Reason; recorded with the user");
  add_node_steering(app, "retry", "Retry failed nodes", NodeSteering::retry, flags.retry, result);
  add_node_steering(app, "skip", "Exclude nodes from upgrades", NodeSteering::skip, flags.skip,
                    result);
  add_node_steering(app, "unskip", "Include skipped nodes again", NodeSteering::unskip,
                    flags.unskip, result);
}

}  // namespace lockstep::cli
