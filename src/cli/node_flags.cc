#include "cli/node_flags.h"

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

void add_reroll(CLI::App& app, RerollFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "reroll", "Wait for the driver's migration, then restart DRA plugin pods that are older");
  add_connection_flags(command, flags.cluster);
  add_output_flag(command, flags.output);
  command->add_option("--driver-namespace", flags.driver_namespace, "Namespace of the driver pods")
      ->capture_default_str();
  command->add_option("--plugin-namespace", flags.plugin_namespace, "Namespace of the DRA plugin")
      ->capture_default_str();
  command->add_option("--plugin-selector", flags.plugin_selector,
                      "Labels of the plugin's pods; default: those of NVIDIA's chart");
  command->add_option("--driver-version", flags.driver_version,
                      "The delivered driver version: wait until the cluster has it");
  command->add_option("--chart-version", flags.chart_version,
                      "The delivered gpu-operator chart: wait until the cluster has it");
  command->add_option("--timeout", flags.timeout, "Timeout of the driver's migration")
      ->capture_default_str();
  command->add_option("--rollout-timeout", flags.rollout_timeout, "Timeout of the plugins' restart")
      ->capture_default_str();
  command
      ->add_option("--settle", flags.settle,
                   "How long the migration must look finished: the operator may not have started")
      ->capture_default_str();
  command
      ->add_option("--parallel", flags.parallel,
                   "Plugin pods unavailable at the same time: 5, or 25%")
      ->capture_default_str();
  command->add_flag("--dry-run", flags.dry_run, "Print which pods would be restarted now");
  command->callback([&] { result = run_reroll(flags); });
}

// Flag and variable have the names that NVIDIA's manager has, so that one takes the other's place.
void add_driver_manager(CLI::App& app, DriverManagerFlags& flags, int& result) {
  CLI::App* command =
      app.add_subcommand("driver-manager", "Prepare a node before its driver is loaded again");
  add_connection_flags(command, flags.cluster);
  add_gpu_flags(command, flags.cluster);
  command->add_option("action", flags.action, "For compatibility with NVIDIA's manager; optional")
      ->check(CLI::IsMember({"uninstall_driver"}));
  command->add_option("--node-name", flags.node, "The node")->envname("NODE_NAME");
  command
      ->add_option("--operator-namespace", flags.operator_namespace,
                   "Namespace of the GPU operator")
      ->envname("OPERATOR_NAMESPACE")
      ->capture_default_str();
  command
      ->add_option("--enable-gpu-pod-eviction", flags.evict_gpu_pods,
                   "Cordon the node and evict GPU pods, if no controller does")
      ->envname("ENABLE_GPU_POD_EVICTION")
      ->capture_default_str();
  command->add_option("--enable-auto-drain", flags.drain, "Drain the node if that failed")
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
  command
      ->add_option("--force-reinstall", flags.force_reinstall,
                   "Reload the driver although its configuration is the same")
      ->envname("FORCE_REINSTALL")
      ->capture_default_str();
  command
      ->add_option("--node-label-for-gpu-pod-eviction", flags.plugin_label,
                   "One more node label that removes a DRA plugin from the node")
      ->envname("NODE_LABEL_FOR_GPU_POD_EVICTION");
  command
      ->add_option(
          "--wait-timeout", flags.wait_timeout,
          "Timeout for operands and plugins to end, claims to be released and devices to be closed")
      ->capture_default_str();
  command
      ->add_option("--root", flags.root,
                   "A directory that looks like a machine, for a trial: nothing is unloaded")
      ->capture_default_str();
  command->callback([&] { result = run_driver_manager(flags); });
}

void add_gate(CLI::App& app, GateFlags& flags, int& result) {
  CLI::App* command =
      app.add_subcommand("gate", "Check this node's GPUs with its driver, in seconds");
  command->add_option("--check,check", flags.checks, "Run only these checks, separated by commas")
      ->delimiter(',');
  command->add_option("--expect-driver", flags.expect_driver, "The version that must be loaded");
  command->add_option("--baseline", flags.baseline,
                      "What --save-baseline wrote on this node before its upgrade");
  command->add_option("--save-baseline", flags.save_baseline, "File to write the measurements to");
  command->add_option("--gpus", flags.gpus, "all, or UUIDs separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--budget", flags.budget, "Timeout of the whole gate")->capture_default_str();
  command->add_option("-o,--output", flags.output, "table, json or ctrf")
      ->check(CLI::IsMember({"table", "json", "ctrf"}))
      ->capture_default_str();
  command->add_option("--termination-message", flags.termination_message,
                      "File for verdict and numbers in 4096 bytes: a Job's /dev/termination-log");
  command->add_flag("--list", flags.list, "List the checks and what makes them fail");
  command->add_option("--root", flags.root,
                      "Root of the host's file system, for /proc, /sys and /dev");
  command->add_option("--node", flags.node,
                      "Run the gate on this node of the cluster now, as a Job; show the result");
  command->add_option("-n,--namespace", flags.ns, "With --node: namespace of the Job")
      ->capture_default_str();
  command->add_option("--image", flags.image,
                      "With --node: the image to run; by default that of the controller's gates");
  command
      ->add_option("--node-timeout", flags.node_timeout,
                   "With --node: timeout of the image pull and the gate")
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
