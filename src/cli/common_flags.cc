#include "cli/common_flags.h"

#include <CLI/CLI.hpp>

namespace lockstep::cli {

void add_output_flag(CLI::App* command, std::string& output) {
  command->add_option("-o,--output", output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str();
}

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

}  // namespace lockstep::cli
