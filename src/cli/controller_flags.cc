#include "cli/controller_flags.h"

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"
#include "cli/dashboard_flags.h"

namespace lockstep::cli {

namespace {

void add_release_flags(CLI::App* command, ClusterFlags& cluster, deploy::ReleaseName& release) {
  command->add_option("--kubeconfig", cluster.kubeconfig, "Path to the kubeconfig file");
  command->add_option("--context", cluster.context, "Context of the kubeconfig to use");
  command->add_option("-n,--namespace", release.ns, "Namespace of the controller")
      ->capture_default_str();
  command->add_option("--name", release.name, "Name of the release, as in Helm")
      ->capture_default_str();
}

}  // namespace

void add_controller(CLI::App& app, ControllerFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "controller", "Run the upgrade controller, in the cluster or outside it; leader-elected");
  add_cluster_flags(command, flags.cluster, "gpu-operator");
  command->add_option("-n,--namespace", flags.ns, "Namespace of its lease and its slots")
      ->capture_default_str();
  command
      ->add_option("--mode", flags.mode,
                   "drive: Lockstep runs the nodes' upgrades; coordinate: NVIDIA's controller runs "
                   "them, and rollouts hold nodes by its skip label")
      // conduct: as it was called before.
      ->check(CLI::IsMember({"drive", "coordinate", "conduct"}).description("{drive,coordinate}"))
      ->capture_default_str();
  command
      ->add_flag("--leader-election,!--no-leader-election", flags.elect,
                 "Elect a leader among several replicas")
      ->capture_default_str();
  command->add_option(
      "--identity", flags.identity,
      "Identity in the lease, kept across restarts; two replicas must not share it");
  command
      ->add_option("--status-address", flags.status_address,
                   "Address of /metrics, /healthz and /readyz; empty: not served")
      ->capture_default_str();
  command
      ->add_option("--parallel-writes", flags.parallel_writes, "Nodes reconciled at the same time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--on-bad-config", flags.on_bad_config,
                   "What to do with a pod whose claim has an invalid configuration: report it on "
                   "the pod, or also fail the pod")
      ->check(CLI::IsMember({"leave", "fail"}))
      ->capture_default_str();
  command
      ->add_option("--bad-config-phrase", flags.bad_config_words,
                   "Phrase of a DRA driver's error that means an invalid configuration, in "
                   "addition to the built-in ones; repeatable")
      ->allow_extra_args(false);
  command->add_option("--gate-image", flags.gate_image,
                      "The image that runs the gates of rollouts on their nodes");
  command
      ->add_option("--gate-namespace", flags.gate_namespace,
                   "Namespace of the gates' Jobs; keep it empty otherwise")
      ->capture_default_str();
  command
      ->add_flag("--job-gates,!--no-job-gates", flags.job_gates,
                 "Let rollouts run gates with a pod template of their own")
      ->capture_default_str();
  command
      ->add_option("--git-repository", flags.git_repositories,
                   "A repository that rollouts may name in spec.matrix: https://... or ssh://...; "
                   "with a trailing / all repositories below it; append ,header-file=FILE or "
                   ",ssh-key=FILE,known-hosts=FILE; repeatable. Default: none")
      ->allow_extra_args(false);
  command->add_flag("--allow-local-git", flags.allow_local_git,
                    "For tests and demonstrations: --git-repository may be a local directory, or "
                    "plain HTTP to this machine");
  command
      ->add_option(
          "--allow-gate-addresses", flags.allow_gate_addresses,
          "Networks (127.0.0.0/8) or host names that gates and notifications may connect "
          "to although they are this machine, link-local, multicast or a cloud's metadata; "
          "repeatable")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_dashboard_address(command, flags.dashboard_address);
  command
      ->add_option(
          "--notify-url", flags.notify_address,
          "Webhook for notifications of phases, holds and failures; keep it in the variable")
      ->envname("LOCKSTEP_NOTIFY_URL");
  command->add_option("--notify-form", flags.notify_form, "json, slack or teams")
      ->check(CLI::IsMember({"json", "slack", "teams"}))
      ->capture_default_str();
  command->add_option("--notify-cluster", flags.notify_cluster,
                      "This cluster's name in notifications");
  command->callback([&] { result = run_controller(flags); });
}

void add_install(CLI::App& app, OwnFlags& own, int& result) {
  InstallFlags& flags = own.install;
  CLI::App* command = app.add_subcommand(
      "install", "Install Lockstep itself in a cluster: the objects of its Helm chart");
  add_release_flags(command, flags.cluster, flags.release);
  command->add_option("--image", flags.image,
                      "Lockstep's image in your registry: registry.example.com/lockstep:0.1.0, or "
                      "with @sha256:... (image.* of the values)");
  command->add_option("-f,--values", flags.values_files, "A file of values; the last one wins");
  command->add_option("--set", flags.set, "One value: controller.replicas=1")
      ->allow_extra_args(false);
  command->add_option("--set-string", flags.set_string, "Like --set, always a string")
      ->allow_extra_args(false);
  command->add_option("--set-json", flags.set_json, "Like --set, as JSON")->allow_extra_args(false);
  add_driver_flag(command, flags.driver_namespaces, "controller.driverNamespaces of the values");
  command->add_flag("--dry-run", flags.dry_run,
                    "Print the objects, as helm template does, without a cluster");
  command->add_flag("--force", flags.force, "Take over objects that another tool created");
  command->add_flag("--wait", flags.wait, "Wait until the controller is available");
  command->add_option("--timeout", flags.timeout, "Of --wait")->capture_default_str();
  command->callback([&] { result = run_install(flags); });

  CLI::App* uninstall =
      app.add_subcommand("uninstall",
                         "Remove what lockstep install created, and the skip labels of rollouts; "
                         "other labels of nodes and policies stay");
  add_release_flags(uninstall, own.uninstall.cluster, own.uninstall.release);
  uninstall->add_flag("--force", own.uninstall.force,
                      "Also while nodes are in the middle of an upgrade");
  uninstall->callback([&] { result = run_uninstall(own.uninstall); });
}

}  // namespace lockstep::cli
