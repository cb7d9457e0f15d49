#include "cli/looking_flags.h"

#include <cstdint>

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

void add_looking(CLI::App& app, LookingFlags& flags, int& result) {
  CLI::App* status = app.add_subcommand("status", "Show the fleet: nodes by state, with reasons");
  add_cluster_flags(status, flags.status.cluster);
  add_output_flag(status, flags.status.output);
  status->add_flag("-w,--watch", flags.status.watch, "Keep showing");
  status->add_flag("--all", flags.status.all, "Show every node, also those that are done");
  status->callback([&] { result = run_status(flags.status); });

  CLI::App* top = app.add_subcommand("top", "Show the whole fleet on one screen, trouble first");
  add_cluster_flags(top, flags.top.cluster);
  top->add_option("--sort", flags.top.sort, "Order of the nodes")
      ->check(CLI::IsMember({"trouble", "age", "name"}))
      ->capture_default_str();
  top->add_flag("--once", flags.top.once, "Print once and exit");
  top->callback([&] { result = run_top(flags.top); });

  CLI::App* why =
      app.add_subcommand("why", "Explain the state of a node or rollout, and what would change it");
  add_cluster_flags(why, flags.why.cluster);
  add_output_flag(why, flags.why.output);
  why->add_option("node", flags.why.node, "The node, or the rollout")->required();
  why->callback([&] { result = run_why(flags.why); });

  CLI::App* plan = app.add_subcommand(
      "plan", "Show what an upgrade would do: order, moved pods, blockers, duration");
  add_cluster_flags(plan, flags.plan.cluster);
  add_output_flag(plan, flags.plan.output);
  plan->add_flag("--assume-change", flags.plan.asked.assume_change, "Assume a new driver version");
  plan->add_option("--node-minutes", flags.node_minutes, "Time for one node, in minutes")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  plan->add_option("--git-repository", flags.plan.git_repositories,
                   "A repository of a rollout's spec.matrix to read with your own git; with a "
                   "trailing / all repositories below it; repeatable")
      ->allow_extra_args(false);
  plan->callback([&, plan] {
    flags.plan.asked.node_time = seconds(static_cast<int64_t>(flags.node_minutes * 60));
    flags.plan.asked.node_time_given = plan->count("--node-minutes") > 0;
    result = run_plan(flags.plan);
  });
}

}  // namespace lockstep::cli
