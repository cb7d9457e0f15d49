#include "cli/command_examples.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace lockstep::cli {

namespace {

constexpr CommandExample all_examples[] = {
    {"demo", "Upgrade 48 simulated nodes in about a minute", "lockstep demo"},
    {"demo", "Show a failed canary and its rollback; keep the cluster for kubectl",
     "lockstep demo --bad-driver --keep"},
    {"status", "Show the fleet and keep the view up to date", "lockstep status -w"},
    {"status", "List every node for a script", "lockstep status --all -o json"},
    {"top", "Show the nodes with trouble first", "lockstep top"},
    {"why", "Show why a node waits", "lockstep why gpu-7"},
    {"why", "Show the phase, bakes and history of a rollout", "lockstep why driver"},
    {"plan", "Show what the controller does next", "lockstep plan"},
    {"plan", "Estimate an upgrade to a new version before you start it",
     "lockstep plan --assume-change"},
    {"doctor", "Check the cluster", "lockstep doctor"},
    {"doctor", "Check this machine, without a cluster", "lockstep doctor --node"},
    {"support-bundle", "Collect the facts for a maintainer", "lockstep support-bundle"},
    {"dashboard", "Serve the dashboard on this machine", "lockstep dashboard"},

    {"pause", "Start no new node in the whole fleet", "lockstep pause --reason 'XID 79 on gpu-7'"},
    {"resume", "End the pause", "lockstep resume"},
    {"retry", "Upgrade a failed node again", "lockstep retry gpu-7"},
    {"skip", "Leave a node out of upgrades", "lockstep skip gpu-7 --reason 'RMA'"},
    {"unskip", "Include the node again", "lockstep unskip gpu-7"},
    {"rollout create", "Create a rollout from a file", "lockstep rollout create -f rollout.yaml"},
    {"rollout list", "List all rollouts", "lockstep rollout list"},
    {"rollout status", "Follow the only rollout", "lockstep rollout status -w"},
    {"rollout promote", "Approve the wave that waits for approval",
     "lockstep rollout promote driver --wave canary"},
    {"rollout promote", "End a bake early; this is recorded as an override",
     "lockstep rollout promote driver --force"},
    {"rollout pause", "Start no new node of this rollout",
     "lockstep rollout pause driver --reason 'XID 79'"},
    {"rollout resume", "End the pause", "lockstep rollout resume driver"},
    {"rollout abort", "Close the waves; every node keeps its version",
     "lockstep rollout abort driver"},
    {"rollout retry", "Try a held rollout again", "lockstep rollout retry driver"},
    {"rollout rollback", "Show what a rollback would write",
     "lockstep rollout rollback driver --dry-run"},
    {"rollout rollback", "Roll back", "lockstep rollout rollback driver --reason 'XID 79'"},
    {"rollout history", "Show who decided what, and when", "lockstep rollout history driver"},
    {"matrix show", "Show current and canary versions", "lockstep matrix show"},
    {"matrix check", "Check a file in CI", "lockstep matrix check -f gpu-version-matrix.yaml"},
    {"matrix set", "Give the canary a new driver",
     "lockstep matrix set driver=580.95.05 cuda=13.0"},
    {"matrix promote", "Make the canary's versions current",
     "lockstep matrix promote --evidence 'gate training: Passed'"},
    {"matrix revert", "Revert the commit that brought the version",
     "lockstep matrix revert --reason 'XID 79'"},

    {"recipe", "Show the components for one kind of cluster",
     "lockstep recipe --service eks --accelerator h100 --intent training --os ubuntu -o table"},
    {"recipe list", "List what the catalogue covers", "lockstep recipe list"},
    {"recipe diff", "Compare two recipes", "lockstep recipe diff before.yaml after.yaml"},
    {"query", "Print the driver version of a recipe",
     "lockstep query --service eks --accelerator h100 --intent training --os ubuntu "
     "components.gpu-operator.values.driver.version"},
    {"bundle", "Write files for Flux",
     "lockstep bundle --service eks --accelerator h100 --intent training --os ubuntu -d flux "
     "-o gpu --repo https://git.example.com/fleet.git"},
    {"verify", "Find changed files of a bundle", "lockstep verify gpu"},
    {"check", "Check derived values of a bundle", "lockstep check gpu"},

    {"controller", "Run the controller outside the cluster", "lockstep controller"},
    {"controller", "Run rollouts beside NVIDIA's upgrade controller",
     "lockstep controller --mode coordinate"},
    {"install", "Install Lockstep and wait for the controller",
     "lockstep install --image registry.example.com/lockstep:0.1.0 --wait"},
    {"install", "Print the objects",
     "lockstep install --image registry.example.com/lockstep:0.1.0 --dry-run"},
    {"uninstall", "Remove Lockstep from the cluster", "lockstep uninstall"},
    {"gate", "Run every check on this node", "lockstep gate"},
    {"gate", "Run a gate on a node of the cluster", "lockstep gate training --node gpu-7"},
    {"reroll", "Wait up to 30 minutes for the driver, then restart stale DRA plugin pods",
     "lockstep reroll --driver-version 580.126.20 --timeout 30m"},
    {"driver-manager", "What the driver pod's init container runs",
     "lockstep driver-manager uninstall_driver --node-name gpu-7"},
    {"dra-plugin", "Show the flags of the plugin", "lockstep dra-plugin --help"},

    {"simulate", "Run one scenario", "lockstep simulate scenarios/canary-happy.yaml"},
    {"simulate", "Run 100 random scenarios with rollouts",
     "lockstep simulate --random --rollouts --seeds 100"},
    {"apiserver", "Serve an embedded Kubernetes API",
     "lockstep apiserver --kubeconfig-out kubeconfig"},
    {"fleet", "Add 12 simulated nodes to it",
     "lockstep fleet --kubeconfig kubeconfig --nodes 12 --speed 60"},
    {"completion", "Complete commands in bash", "source <(lockstep completion bash)"},
    {"man", "Read the manual", "lockstep man | man -l -"},
    {"man", "Print docs/CLI.md", "lockstep man --markdown"},
};

}  // namespace

std::vector<CommandExample> examples_of(std::string_view command) {
  std::vector<CommandExample> found;
  std::copy_if(std::begin(all_examples), std::end(all_examples), std::back_inserter(found),
               [&](const CommandExample& example) { return example.command == command; });
  return found;
}

std::span<const CommandGroup> command_groups() {
  static const std::vector<CommandGroup> groups = {
      {"Watch",
       "These commands only read.",
       {"status", "top", "why", "plan", "dashboard", "doctor", "support-bundle"}},
      {"Steer",
       "These commands change what the controller does.",
       {"rollout", "pause", "resume", "retry", "skip", "unskip", "matrix"}},
      {"Recipes",
       "These commands need no cluster.",
       {"recipe", "query", "bundle", "verify", "check"}},
      {"Run",
       "The controller, and the programs that run on nodes.",
       {"install", "uninstall", "controller", "gate", "reroll", "driver-manager", "dra-plugin"}},
      {"Develop",
       "A cluster without hardware, and shell support.",
       {"demo", "simulate", "apiserver", "fleet", "completion", "man"}}};
  return groups;
}

std::string examples_text(std::string_view command) {
  std::string text;
  for (const CommandExample& example : examples_of(command)) {
    text += fmt::format("{}  # {}\n  {}\n", text.empty() ? "Examples:\n" : "", example.about,
                        example.line);
  }
  return text;
}

}  // namespace lockstep::cli
