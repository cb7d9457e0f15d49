#include "cli/node_flags.h"

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

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
  CLI::App* command =
      app.add_subcommand("driver-manager", "Prepare a node before its driver is loaded again");
  add_connection_flags(command, flags.cluster);
  add_gpu_flags(command, flags.cluster);
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
  command
      ->add_option("--drain-use-force", flags.force,
                   "Also pods that no controller would create again")
      ->envname("DRAIN_USE_FORCE")
      ->capture_default_str();
  command->add_option("--drain-pod-selector-label", flags.drain_pods, "Drain only pods that match")
      ->envname("DRAIN_POD_SELECTOR_LABEL");
  command
      ->add_option("--drain-timeout-seconds", flags.drain_timeout,
                   "Timeout of evictions and of the drain, such as 300 or 5m; 0s: no limit")
      ->envname("DRAIN_TIMEOUT_SECONDS")
      ->capture_default_str();
  command
      ->add_option("--drain-delete-emptydir-data", flags.delete_empty_dir,
                   "Also pods with data in an emptyDir")
      ->envname("DRAIN_DELETE_EMPTYDIR_DATA")
      ->capture_default_str();
  command
      ->add_option("--driver-config-digest", flags.digest,
                   "Configuration of the driver to be loaded: the same one is not loaded again")
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

void add_gate(CLI::App& app, GateFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "gate", "Is this node fit to serve with this driver: checks of its GPUs, in seconds");
  command->add_option("--check,check", flags.checks, "Only these checks, separated by commas")
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
  command->add_option("--termination-message", flags.termination_message,
                      "File for verdict and numbers in 4096 bytes: a Job's /dev/termination-log");
  command->add_flag("--list", flags.list, "Name the checks and what makes them fail");
  command->add_option("--root", flags.root,
                      "Where the host's file system is, for /proc, /sys and /dev");
  command->add_option("--node", flags.node,
                      "Run the gate on this node of the cluster now, as a Job; show the result");
  command->add_option("-n,--namespace", flags.ns, "With --node: where the Job is made")
      ->capture_default_str();
  command->add_option("--image", flags.image,
                      "With --node: the image to run; by default that of the controller's gates");
  command
      ->add_option("--node-timeout", flags.node_timeout,
                   "With --node: for the image's pull and the gate")
      ->capture_default_str();
  add_connection_flags(command, flags.cluster);
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

}  // namespace lockstep::cli
