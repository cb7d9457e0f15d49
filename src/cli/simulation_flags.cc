#include "cli/simulation_flags.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/common_flags.h"
#include "cli/dashboard_flags.h"

namespace lockstep::cli {

namespace {

// CLI11 takes -1 for the largest number of all.
CLI::Validator from(uint64_t least) {
  return CLI::Validator(
      [least](const std::string& text) {
        auto number = parse_unsigned(text);
        if (number && *number >= least) return std::string();
        return fmt::format("{} is not a whole number of at least {}", text, least);
      },
      "");
}

}  // namespace

void add_apiserver(CLI::App& app, ApiserverFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "apiserver", "Serve a Kubernetes API in memory, for demos, simulations and tests");
  command->add_option("--address", flags.address, "Address to listen on")->capture_default_str();
  command->add_option("--port", flags.port, "Port; 0 chooses a free one")->capture_default_str();
  command->add_option("--kubeconfig-out", flags.kubeconfig_out,
                      "File to write a kubeconfig to, once it serves; removed at the end");
  command
      ->add_flag("--tls,!--no-tls", flags.tls,
                 "Serve HTTPS with a certificate made for this run. kubectl sends no token over "
                 "plain HTTP")
      ->capture_default_str();
  command->add_option("--token", flags.token,
                      "The bearer token of clients; default: a generated one");
  command
      ->add_option(
          "--host", flags.hosts,
          "With --no-tls: a host name or address, in addition to loopback, that clients may use "
          "for it")
      ->delimiter(',');
  command->add_flag("--gzip", flags.gzip, "Compress long answers for clients that accept it");
  command
      ->add_flag("--reap-pods,!--no-reap-pods", flags.reap_pods,
                 "Remove deleted pods when their grace period is over, as there is no kubelet")
      ->capture_default_str();
  command->callback([&] { result = run_apiserver(flags); });
}

void add_demo(CLI::App& app, DemoFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "demo",
      "Upgrade a simulated fleet on an embedded cluster, live on screen, in about a minute");
  command->add_option("--nodes", flags.nodes, "Number of GPU nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command->add_option("--from", flags.from, "Driver version at the beginning")
      ->capture_default_str();
  command->add_option("--to", flags.to, "Driver version to upgrade to")->capture_default_str();
  command->add_option("--speed", flags.speed, "Speed of the nodes compared with real ones")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--failing-node", flags.failing,
                   "Number of the node whose upgrade is made to fail; 0: none")
      ->capture_default_str();
  command->add_option("--kubectl", flags.kubectl,
                      "A kubectl program that shows the result at the end");
  command->add_option("--kubeconfig-out", flags.kubeconfig_out,
                      "File to write the cluster's kubeconfig to; removed at the end");
  command->add_flag("--keep", flags.keep,
                    "Leave the cluster running until Ctrl-C, and print its kubeconfig");
  command->add_flag("--bad-driver", flags.bad_driver,
                    "The new driver is bad: the canary detects it, and a git revert rolls it back");
  add_dashboard_address(command, flags.dashboard_address);
  command->callback([&] { result = run_demo(flags); });
}

void add_fleet(CLI::App& app, FleetFlags& flags, int& result) {
  CLI::App* command =
      app.add_subcommand("fleet", "Simulated GPU nodes and drivers against any API server");
  add_cluster_flags(command, flags.cluster);
  command->add_option("--nodes", flags.nodes, "How many")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--driver-version", flags.driver_version, "At the beginning")
      ->capture_default_str();
  command->add_option("--speed", flags.speed, "Speed compared with real nodes")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command->add_option("--work", flags.work, "GPU pods of a Deployment to run on them")
      ->capture_default_str();
  command->add_option("--gate-fails", flags.gate_fails,
                      "A driver version with which the gates of rollouts fail on every node");
  command->add_flag("--real-control-plane", flags.real_control_plane,
                    "The cluster has its own controllers and scheduler: DaemonSets, Deployments, "
                    "Jobs and claims are left to them");
  command->add_flag("--nodes-only", flags.nodes_only,
                    "Nodes and nothing else: no objects, no GPU operator, no controllers");
  command->callback([&] { result = run_fleet(flags); });
}

void add_simulate(CLI::App& app, SimulateFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Run a scenario in virtual time; exit 1 if an expectation is not met");
  command->add_option("scenario", flags.file, "A scenario file (see scenarios/)");
  ExploreFlags& explore = flags.explore;
  command->add_flag("--random", explore.random,
                    "Draw fleets, policies, work, faults and users from seeds");
  command->add_flag("--rollouts", explore.rollouts,
                    "With --random: add a rollout with waves, gates, bakes and users");
  command->add_option("--seeds", explore.seeds, "With --random: number of seeds, from --seed on")
      ->check(from(1))
      ->capture_default_str();
  command->add_option("--every", explore.every, "With --random: run every Nth seed")
      ->check(from(1));
  command->add_flag("--no-shrinking", explore.no_shrinking,
                    "With a scenario or --random: do not search for the smallest failing case");
  command->add_flag("--keep-going", explore.keep_going,
                    "With --random: run all seeds, and print two lines for each failure");
  command->add_flag("--print", explore.print,
                    "With --random: print the scenario of --seed as a file, and run nothing");
  command->add_flag("--calm", explore.calm, "With --print: print its fault-free run instead");
  command
      ->add_option("--events", flags.events,
                   "With a scenario: print the last N events before a violation or the end")
      ->check(from(1));
  command->add_flag("--exhaustive", explore.exhaustive,
                    "Kill the controller after each write of the scenario, and show it a stale "
                    "view from each event on");
  command->add_flag("--pairs", explore.pairs,
                    "With --exhaustive: also two crashes, at all pairs of writes");
  command
      ->add_option("--crash-after", explore.crashes,
                   "Kill the controller only after this write; 7+420s: restart it after this time")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--freeze", explore.freezes,
          "Show a stale view of a resource from this event on: pods:7; with a crash: pods:7!")
      ->allow_extra_args(false);
  command->add_flag("--sequences", explore.sequences,
                    "Run every change of a decision in every state");
  command->add_option("--only", explore.only, "With --sequences: run only this one");
  command->add_option("--seed", flags.seed, "Seed of all latencies and of the order of events")
      ->check(from(0))
      ->capture_default_str();
  command->add_option("--nodes", flags.nodes, "Number of nodes, instead of the scenario's")
      ->check(CLI::Range(1, 200000));
  command->add_option(
      "--replay", flags.replay,
      "Analyze a recorded bake again: the ConfigMap lockstep-bake-NAME-NUMBER, or its "
      "record; exit 1 when it fails");
  add_output_flag(command, flags.output);
  command->callback([&, command] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 0) flags.given.push_back(option->get_name());
    }
    result = run_simulate(flags);
  });
}

}  // namespace lockstep::cli
