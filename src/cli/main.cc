// The command line: the flags of every command. Only this file and the files called *_flags.cc
// include CLI11.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/apiserver_command.h"
#include "cli/common_flags.h"
#include "cli/controller_command.h"
#include "cli/demo_command.h"
#include "cli/driver_manager_command.h"
#include "cli/exit_codes.h"
#include "cli/fleet_command.h"
#include "cli/gate_command.h"
#include "cli/install_command.h"
#include "cli/matrix_flags.h"
#include "cli/plan_command.h"
#include "cli/recipe_flags.h"
#include "cli/reroll_command.h"
#include "cli/rollout_command.h"
#include "cli/simulate_command.h"
#include "cli/status_command.h"
#include "cli/steer_command.h"

namespace {

using namespace lockstep::cli;

void add_connection_flags(CLI::App* command, ClusterFlags& flags) {
  command->add_option("--kubeconfig", flags.kubeconfig, "Path to the kubeconfig file");
  command->add_option("--context", flags.context, "Context of the kubeconfig to use");
  command
      ->add_option("--key-domain", flags.key_domain,
                   "Domain of the upgrade's labels; lockstep.dev beside NVIDIA's own operator")
      ->capture_default_str();
  command->add_flag("-v,--verbose", flags.verbose, "Log more");
}

void add_cluster_flags(CLI::App* command, ClusterFlags& flags) {
  add_connection_flags(command, flags);
  command
      ->add_option("--gpu-dra-drivers", flags.dra_drivers,
                   "DRA drivers whose devices are GPUs, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--client-daemonsets", flags.clients,
                   "DaemonSets whose pods hold the driver open, as namespace/name")
      ->delimiter(',')
      ->capture_default_str();
}

void add_apiserver(CLI::App& app, ApiserverFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "apiserver", "An embedded Kubernetes API in memory: for demos, simulations and tests");
  command->add_option("--address", flags.address, "Where to listen")->capture_default_str();
  command->add_option("--port", flags.port, "Port; 0 takes a free one")->capture_default_str();
  command->add_option("--kubeconfig-out", flags.kubeconfig_out,
                      "File to write a kubeconfig to, once it serves; removed at the end");
  command->add_flag(
      "--tls", flags.tls,
      "Serve HTTPS with a certificate made for this run, and ask for a token or certificate");
  command->add_option("--token", flags.token, "A bearer token to let in (with --tls)");
  command->add_flag("--gzip", flags.gzip, "Compress long answers for clients that take it");
  command
      ->add_flag("--reap-pods,!--no-reap-pods", flags.reap_pods,
                 "Remove deleted pods when their grace period is over, as there is no kubelet")
      ->capture_default_str();
  command->callback([&] { result = run_apiserver(flags); });
}

void add_controller(CLI::App& app, ControllerFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "controller", "The upgrade controller, in the cluster or outside it; leader-elected");
  add_cluster_flags(command, flags.cluster);
  command->add_option("-n,--namespace", flags.ns, "Where its lease and its slots are kept")
      ->capture_default_str();
  command->add_option("--mode", flags.mode, "drive: run the nodes' upgrades")
      ->check(CLI::IsMember({"drive", "conduct"}))
      ->capture_default_str();
  command
      ->add_flag("--leader-election,!--no-leader-election", flags.elect,
                 "Let one of several replicas lead")
      ->capture_default_str();
  command
      ->add_option("--status-address", flags.status_address,
                   "Where /metrics, /healthz and /readyz are served; empty: nowhere")
      ->capture_default_str();
  command->add_option("--parallel-writes", flags.parallel_writes, "Nodes worked on at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--on-bad-config", flags.on_bad_config,
                   "What becomes of a pod whose claim asks for what its DRA driver does not know: "
                   "leave it and say so on it, or fail it")
      ->check(CLI::IsMember({"leave", "fail"}))
      ->capture_default_str();
  command->callback([&] { result = run_controller(flags); });
}

void add_demo(CLI::App& app, DemoFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "demo", "A whole fleet upgrade on an embedded cluster, live on screen, in about a minute");
  command->add_option("--nodes", flags.nodes, "How many GPU nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command->add_option("--from", flags.from, "Driver version at the beginning")
      ->capture_default_str();
  command->add_option("--to", flags.to, "Driver version to upgrade to")->capture_default_str();
  command->add_option("--speed", flags.speed, "How much faster than real life the nodes work")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--failing-node", flags.failing,
                   "Number of the node whose upgrade is made to fail; 0: none")
      ->capture_default_str();
  command->add_option("--kubectl", flags.kubectl,
                      "A kubectl program to look at the result with, at the end");
  command->add_option("--kubeconfig-out", flags.kubeconfig_out,
                      "File to write the cluster's kubeconfig to; removed at the end");
  command->add_flag("--keep", flags.keep,
                    "Leave the cluster running until Ctrl-C, and print its kubeconfig");
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
  command->add_option("--speed", flags.speed, "How much faster than real life")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command->add_option("--work", flags.work, "GPU pods of a Deployment to run on them")
      ->capture_default_str();
  command->add_flag("--genuine-control-plane", flags.genuine_control_plane,
                    "The cluster has its own controllers and scheduler: DaemonSets, Deployments, "
                    "Jobs and claims are left to them");
  command->add_flag("--nodes-only", flags.nodes_only,
                    "Nodes and nothing else: no objects, no GPU operator, no controllers");
  command->callback([&] { result = run_fleet(flags); });
}

void add_simulate(CLI::App& app, SimulateFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Run a scenario in virtual time; exit 1 when it does not go as it expects");
  command->add_option("scenario", flags.file, "A scenario file (see scenarios/)");
  ExploreFlags& explore = flags.explore;
  command->add_flag("--random", explore.random,
                    "Fleets, policies, work, faults and people drawn from seeds");
  command->add_option("--seeds", explore.seeds, "Of --random: how many, from --seed on")
      ->capture_default_str();
  command->add_option("--every", explore.every, "Of --random: every so many of them")
      ->check(CLI::PositiveNumber);
  command->add_flag("--no-shrinking", explore.no_shrinking,
                    "Of --random: do not look for the smallest case that fails");
  command->add_flag("--keep-going", explore.keep_going,
                    "Of --random: try all seeds, and print two lines for each that fails");
  command->add_flag("--print", explore.print,
                    "Of --random: print the scenario of --seed as a file, and run nothing");
  command->add_flag("--calm", explore.calm, "Of --print: the same without faults, its calm twin");
  command->add_option(
      "--events", flags.events,
      "Of a scenario: print as many, the last before a violation or before the end");
  command->add_flag("--exhaustive", explore.exhaustive,
                    "Kill the controller after every write of the scenario, and show it an old "
                    "view from every event on");
  command->add_flag("--pairs", explore.pairs, "Of --exhaustive: also two crashes, everywhere");
  command->add_option("--crash-after", explore.crashes,
                      "Kill the controller after this write only; 7+420s: nobody for so long");
  command->add_option(
      "--freeze", explore.freezes,
      "An old view of a resource from this event on: pods:7; with a crash: pods:7!");
  command->add_flag("--sequences", explore.sequences, "Every change of mind in every state");
  command->add_option("--only", explore.only, "Of --sequences: this one");
  command->add_option("--seed", flags.seed, "Of every latency and every order of events")
      ->capture_default_str();
  command->add_option("--nodes", flags.nodes, "Instead of as many as the scenario says")
      ->check(CLI::Range(1, 200000));
  add_output_flag(command, flags.output);
  command->callback([&] { result = run_simulate(flags); });
}

struct LookingFlags {
  StatusFlags status;
  WhyFlags why;
  PlanFlags plan;
  double node_minutes = 5;
};

void add_looking(CLI::App& app, LookingFlags& flags, int& result) {
  CLI::App* status =
      app.add_subcommand("status", "What is happening: nodes by state, with reasons");
  add_cluster_flags(status, flags.status.cluster);
  add_output_flag(status, flags.status.output);
  status->add_flag("-w,--watch", flags.status.watch, "Keep showing");
  status->add_flag("--all", flags.status.all, "Every node, also those that are done");
  status->callback([&] { result = run_status(flags.status); });

  CLI::App* why =
      app.add_subcommand("why", "Why a node is where it is, and what would change that");
  add_cluster_flags(why, flags.why.cluster);
  add_output_flag(why, flags.why.output);
  why->add_option("node", flags.why.node, "The node")->required();
  why->callback([&] { result = run_why(flags.why); });

  CLI::App* plan = app.add_subcommand(
      "plan", "What would happen: the order, who is moved, who blocks, how long");
  add_cluster_flags(plan, flags.plan.cluster);
  add_output_flag(plan, flags.plan.output);
  plan->add_flag("--assume-change", flags.plan.assume_change, "As if a new driver version came");
  plan->add_option("--node-minutes", flags.node_minutes, "How long one node takes, in minutes")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  plan->callback([&] {
    flags.plan.node_time = lockstep::seconds(static_cast<int64_t>(flags.node_minutes * 60));
    result = run_plan(flags.plan);
  });
}

struct SteeringFlags {
  PauseFlags pause;
  PauseFlags resume;
  SteerFlags retry;
  SteerFlags skip;
  SteerFlags unskip;
};

void add_node_steering(CLI::App& app, const std::string& name, const std::string& about,
                       NodeSteering what, SteerFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(name, about);
  add_cluster_flags(command, flags.cluster);
  command->add_option("nodes", flags.nodes, "The nodes")->required();
  command->add_flag("--dry-run", flags.dry_run, "Say what would be done, and do not do it");
  if (what == NodeSteering::retry) {
    command->add_flag("--force", flags.force, "Also nodes that have not failed");
  }
  flags.what = what;
  command->callback([&flags, &result] { result = run_steer(flags); });
}

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
  pause->add_option("--reason", flags.pause.reason, "Why: shown to whoever asks why nodes wait");
  add_node_steering(app, "retry", "Try failed nodes again", NodeSteering::retry, flags.retry,
                    result);
  add_node_steering(app, "skip", "Leave nodes out", NodeSteering::skip, flags.skip, result);
  add_node_steering(app, "unskip", "Leave nodes out no longer", NodeSteering::unskip, flags.unskip,
                    result);
}

void add_rollout(CLI::App& app, RolloutFlags& flags, int& result) {
  CLI::App* rollout = app.add_subcommand("rollout", "A fleet's upgrade in waves");
  rollout->require_subcommand(1);
  auto add = [&](const std::string& name, const std::string& about, RolloutVerb verb) {
    CLI::App* command = rollout->add_subcommand(name, about);
    add_cluster_flags(command, flags.cluster);
    command->callback([&flags, verb, &result] {
      flags.verb = verb;
      result = run_rollout(flags);
    });
    if (verb != RolloutVerb::list && verb != RolloutVerb::create) {
      command->add_option("name", flags.name, "The rollout; may be left out where there is one");
    }
    bool shows =
        verb == RolloutVerb::list || verb == RolloutVerb::status || verb == RolloutVerb::history;
    if (shows) {
      add_output_flag(command, flags.output);
    } else {
      command->add_flag("--dry-run", flags.dry_run, "Say what would be done, and do not do it");
    }
    return command;
  };
  CLI::App* create = add("create", "Make a DriverRollout of a file", RolloutVerb::create);
  create->add_option("-f,--file", flags.file, "YAML of a DriverRollout; - is standard input")
      ->required();
  add("list", "All rollouts", RolloutVerb::list);
  add("status", "Phase, waves, gates and bakes", RolloutVerb::status)
      ->add_flag("-w,--watch", flags.watch, "Go on showing it");
  CLI::App* promote = add("promote", "Approve the wave that waits for it", RolloutVerb::promote);
  promote->add_option("--wave", flags.wave, "Only if this is the wave that waits");
  add("pause", "Start no new node; nodes in flight finish", RolloutVerb::pause);
  add("resume", "Go on after a pause", RolloutVerb::resume);
  add("abort", "Close the waves and leave nodes as they are", RolloutVerb::abort);
  add("retry", "Try again what is held", RolloutVerb::retry);
  add("rollback", "Go back to the version before", RolloutVerb::rollback);
  add("history", "What was decided, when, and by whom", RolloutVerb::history);
}

void add_reroll(CLI::App& app, RerollFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "reroll", "Wait for the driver's migration, then restart DRA plugin pods that are older");
  add_connection_flags(command, flags.cluster);
  add_output_flag(command, flags.output);
  command->add_option("--driver-namespace", flags.driver_namespace, "Where the driver pods are")
      ->capture_default_str();
  command->add_option("--plugin-namespace", flags.plugin_namespace, "Where the DRA plugin is")
      ->capture_default_str();
  command->add_option("--plugin-selector", flags.plugin_selector,
                      "Labels of the plugin's pods; by default as NVIDIA's chart makes them");
  command->add_option("--driver-version", flags.driver_version,
                      "The driver that was delivered: waits until the cluster says the same");
  command->add_option("--chart-version", flags.chart_version,
                      "The gpu-operator chart that was delivered: the same");
  command->add_option("--timeout", flags.timeout, "For the driver's migration")
      ->capture_default_str();
  command->add_option("--rollout-timeout", flags.rollout_timeout, "For the plugins' restart")
      ->capture_default_str();
  command
      ->add_option("--settle", flags.settle,
                   "How long the migration must look finished: an operator may not have begun")
      ->capture_default_str();
  command->add_option("--parallel", flags.parallel, "Plugin pods away at a time: 5, or 25%")
      ->capture_default_str();
  command->add_flag("--dry-run", flags.dry_run, "Say which pods would be restarted now");
  command->callback([&] { result = run_reroll(flags); });
}

// Flag and variable have the names that NVIDIA's manager has, so that one takes the other's place.
void add_driver_manager(CLI::App& app, DriverManagerFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "driver-manager", "What has to happen on a node before its driver is loaded anew");
  add_cluster_flags(command, flags.cluster);
  command->add_option("action", flags.action, "What NVIDIA's manager is told; may be left out")
      ->check(CLI::IsMember({"uninstall_driver"}));
  command->add_option("--node-name", flags.node, "The node")->envname("NODE_NAME");
  command
      ->add_option("--operator-namespace", flags.operator_namespace, "Where the GPU operator runs")
      ->envname("OPERATOR_NAMESPACE")
      ->capture_default_str();
  command
      ->add_option("--enable-gpu-pod-eviction", flags.evict_gpu_pods,
                   "Cordon the node and evict GPU pods, where no controller does")
      ->envname("ENABLE_GPU_POD_EVICTION")
      ->capture_default_str();
  command->add_option("--enable-auto-drain", flags.drain, "Drain the node where that failed")
      ->envname("ENABLE_AUTO_DRAIN")
      ->capture_default_str();
  command->add_option("--drain-use-force", flags.force, "Also pods that nobody would make again")
      ->envname("DRAIN_USE_FORCE")
      ->capture_default_str();
  command->add_option("--drain-pod-selector-label", flags.drain_pods, "Drain only pods that match")
      ->envname("DRAIN_POD_SELECTOR_LABEL");
  command
      ->add_option("--drain-timeout-seconds", flags.drain_timeout,
                   "Of evicting and of draining, as 300 or 5m; 0s: for ever")
      ->envname("DRAIN_TIMEOUT_SECONDS")
      ->capture_default_str();
  command
      ->add_option("--drain-delete-emptydir-data", flags.delete_empty_dir,
                   "Also pods with data in an emptyDir")
      ->envname("DRAIN_DELETE_EMPTYDIR_DATA")
      ->capture_default_str();
  command
      ->add_option("--driver-config-digest", flags.digest,
                   "Configuration of the driver to be loaded: the same one is not loaded anew")
      ->envname("DRIVER_CONFIG_DIGEST");
  command->add_option("--force-reinstall", flags.force_reinstall, "Also the same one")
      ->envname("FORCE_REINSTALL")
      ->capture_default_str();
  command
      ->add_option("--node-label-for-gpu-pod-eviction", flags.plugin_label,
                   "One more node label by which a DRA plugin is sent away")
      ->envname("NODE_LABEL_FOR_GPU_POD_EVICTION");
  command
      ->add_option("--wait-timeout", flags.wait_timeout,
                   "For operands and plugins to go, claims to be given back, devices to be closed")
      ->capture_default_str();
  command
      ->add_option("--root", flags.root,
                   "A directory that looks like a machine, to try it out: nothing is unloaded")
      ->capture_default_str();
  command->callback([&] { result = run_driver_manager(flags); });
}

void add_release_flags(CLI::App* command, ClusterFlags& cluster,
                       lockstep::deploy::ReleaseName& release) {
  command->add_option("--kubeconfig", cluster.kubeconfig, "Path to the kubeconfig file");
  command->add_option("--context", cluster.context, "Context of the kubeconfig to use");
  command->add_option("-n,--namespace", release.ns, "Where it runs")->capture_default_str();
  command->add_option("--name", release.name, "Name of the release, as Helm calls it")
      ->capture_default_str();
}

struct OwnFlags {
  InstallFlags install;
  UninstallFlags uninstall;
};

void add_install(CLI::App& app, OwnFlags& own, int& result) {
  InstallFlags& flags = own.install;
  CLI::App* command = app.add_subcommand(
      "install", "Install Lockstep itself in a cluster: the objects of its Helm chart");
  add_release_flags(command, flags.cluster, flags.release);
  command->add_option("-f,--values", flags.values_files, "A file of values; the last one wins");
  command->add_option("--set", flags.set, "One value: controller.replicas=1")
      ->allow_extra_args(false);
  command->add_option("--set-string", flags.set_string, "The same, always a text")
      ->allow_extra_args(false);
  command->add_option("--set-json", flags.set_json, "The same, as JSON")->allow_extra_args(false);
  command->add_flag("--dry-run", flags.dry_run,
                    "Print the objects, as helm template does, and ask no cluster");
  command->add_flag("--force", flags.force, "Take over objects that somebody else has made");
  command->add_flag("--wait", flags.wait, "Until the controller is available");
  command->add_option("--timeout", flags.timeout, "Of --wait")->capture_default_str();
  command->callback([&] { result = run_install(flags); });

  CLI::App* uninstall = app.add_subcommand(
      "uninstall", "Take away what lockstep install has made; labels of nodes and policies stay");
  add_release_flags(uninstall, own.uninstall.cluster, own.uninstall.release);
  uninstall->add_flag("--force", own.uninstall.force,
                      "Also while nodes are in the middle of an upgrade");
  uninstall->callback([&] { result = run_uninstall(own.uninstall); });
}

void add_gate(CLI::App& app, GateFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "gate", "Is this node fit to serve with this driver: checks of its GPUs, in seconds");
  command->add_option("--check", flags.checks, "Only these checks, separated by commas")
      ->delimiter(',');
  command->add_option("--expect-driver", flags.expect_driver, "The version that must be loaded");
  command->add_option("--baseline", flags.baseline,
                      "What --save-baseline wrote on this node before its upgrade");
  command->add_option("--save-baseline", flags.save_baseline, "File to write the measurements to");
  command->add_option("--gpus", flags.gpus, "all, or UUIDs separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--budget", flags.budget, "How long the whole gate may take")
      ->capture_default_str();
  command->add_option("-o,--output", flags.output, "table, json or ctrf")
      ->check(CLI::IsMember({"table", "json", "ctrf"}))
      ->capture_default_str();
  command->add_flag("--list", flags.list, "Name the checks and what makes them fail");
  command->add_option("--root", flags.root,
                      "Where the host's file system is, for /proc, /sys and /dev");
  // For tests, and for measuring the gate itself.
  command->add_option("--library-dir", flags.library_directory)->group("");
  command->add_option("--call-deadline", flags.call_deadline)->group("");
  command->add_option("--inject-wrong-result", flags.wrong)
      ->check(CLI::IsMember({"training", "inference", "memory"}))
      ->group("");
  command->add_option("--product-kernel", flags.product)->group("");
  command->add_option("--product-size", flags.product_size)->group("");
  command->add_option("--copy-bytes", flags.copy_bytes)->group("");
  command->callback([&] { result = run_gate_command(flags); });
}

// CLI11 itself only says that a command is missing.
std::optional<lockstep::Error> find_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return std::nullopt;
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return std::nullopt;
  auto near = lockstep::nearest(argv[1], names);
  return lockstep::Error{lockstep::ErrorKind::invalid,
                         near ? fmt::format("there is no such command; did you mean {}?", *near)
                              : "there is no such command; lockstep --help lists them",
                         argv[1]};
}

struct Flags {
  ApiserverFlags apiserver;
  ControllerFlags controller;
  DemoFlags demo;
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
};

// Only the command that is asked for, where there is one of that name: the flags of all of them
// take longer to make than most commands take to run.
void add_commands(CLI::App& app, std::string_view asked, Flags& flags, int& result) {
  struct Group {
    std::vector<std::string_view> names;
    std::function<void()> add;
  };
  const std::vector<Group> groups = {
      {{"demo"}, [&] { add_demo(app, flags.demo, result); }},
      {{"controller"}, [&] { add_controller(app, flags.controller, result); }},
      {{"status", "why", "plan"}, [&] { add_looking(app, flags.looking, result); }},
      {{"pause", "resume", "retry", "skip", "unskip"},
       [&] { add_steering(app, flags.steering, result); }},
      {{"rollout"}, [&] { add_rollout(app, flags.rollout, result); }},
      {{"install", "uninstall"}, [&] { add_install(app, flags.own, result); }},
      {{"matrix"}, [&] { add_matrix(app, flags.matrix, result); }},
      {{"reroll"}, [&] { add_reroll(app, flags.reroll, result); }},
      {{"driver-manager"}, [&] { add_driver_manager(app, flags.driver_manager, result); }},
      {{"gate"}, [&] { add_gate(app, flags.gate, result); }},
      {{"recipe"}, [&] { add_recipe(app, flags.recipes, result); }},
      {{"query"}, [&] { add_query(app, flags.recipes, result); }},
      {{"bundle"}, [&] { add_bundle(app, flags.recipes, result); }},
      {{"verify"}, [&] { add_verify(app, flags.recipes, result); }},
      {{"check"}, [&] { add_check(app, flags.recipes, result); }},
      {{"simulate"}, [&] { add_simulate(app, flags.simulate, result); }},
      {{"apiserver"}, [&] { add_apiserver(app, flags.apiserver, result); }},
      {{"fleet"}, [&] { add_fleet(app, flags.fleet, result); }},
  };
  for (const Group& group : groups) {
    if (std::find(group.names.begin(), group.names.end(), asked) == group.names.end()) continue;
    group.add();
    return;
  }
  for (const Group& group : groups) group.add();
}

int run(int argc, char** argv) {
  // Scripts ask for it all the time, and making the flags of every command takes two milliseconds.
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    fmt::print("lockstep {}\n", LOCKSTEP_VERSION);
    return ExitCode::ok;
  }
  if (argc > 1 && std::string_view(argv[1]) == "enter-root") return enter_root(argc, argv);
  // A process of the gate's own, which nobody else starts.
  if (argc == 2 && std::string_view(argv[1]) == gate_worker_word) return run_gate_worker();
  CLI::App app(
      "Lockstep upgrades the GPU drivers of a Kubernetes fleet without breaking what runs on it.",
      "lockstep");
  app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  int result = ExitCode::ok;

  Flags flags;
  add_commands(app, argc > 1 ? argv[1] : "", flags, result);

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

int main(int argc, char** argv) {
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
