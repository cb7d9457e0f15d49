#include "cli/dashboard_flags.h"

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

void add_dashboard_address(CLI::App* command, std::string& address) {
  command
      ->add_option("--dashboard-address", address,
                   "Address of the dashboard, such as 127.0.0.1:8640; empty: not served")
      ->capture_default_str();
}

void add_dashboard(CLI::App& app, DashboardFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "dashboard", "Show the fleet's upgrade live in a browser, for any cluster");
  ClusterFlags& cluster = flags.cluster;
  command->add_option("--kubeconfig", cluster.kubeconfig, "Path to the kubeconfig file");
  command->add_option("--context", cluster.context, "Context of the kubeconfig to use");
  add_key_domain_flag(command, cluster);
  add_gpu_flags(command, cluster);
  add_driver_flag(command, cluster.driver_namespaces, published_driver_namespaces);
  command->add_flag("-v,--verbose", cluster.verbose, "Log more");
  command
      ->add_option(
          "--address", flags.place.address,
          "Address to listen on; other machines reach any address but loopback, without encryption")
      ->capture_default_str();
  command->add_option("--cluster-name", flags.place.cluster,
                      "Name of the cluster on the page, instead of the context's");
  command->add_option("--rack-label", flags.place.rack_label, "The node label that names its rack")
      ->capture_default_str();
  command->add_option(
      "--matrix-repo", flags.place.matrix.repository,
      "Show the version matrix of this repository, with its history: a URL or a local directory");
  command->add_option("--matrix-branch", flags.place.matrix.branch,
                      "Its branch; default: the branch that is checked out");
  command->add_option("--matrix-path", flags.place.matrix.path, "The matrix's file in it")
      ->capture_default_str();
  command->callback([&] { result = run_dashboard(flags); });
}

}  // namespace lockstep::cli
