#include "cli/common_flags.h"

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "objects/names.h"

namespace lockstep::cli {

void add_output_flag(CLI::App* command, std::string& output) {
  command->add_option("-o,--output", output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str();
}

void add_key_domain_flag(CLI::App* command, ClusterFlags& flags) {
  command
      ->add_option("--key-domain", flags.key_domain,
                   "Domain of the upgrade's labels: nvidia.com, or lockstep.dev beside NVIDIA's "
                   "operator; default: the domain that the controller publishes")
      ->envname("LOCKSTEP_KEY_DOMAIN");
}

void add_connection_flags(CLI::App* command, ClusterFlags& flags) {
  command->add_option("--kubeconfig", flags.kubeconfig, "Path to the kubeconfig file");
  command->add_option("--context", flags.context, "Context of the kubeconfig to use");
  add_key_domain_flag(command, flags);
  command->add_flag("-v,--verbose", flags.verbose, "Log more");
}

void add_client_flags(CLI::App* command, fleet::ClientOptions& clients) {
  command
      ->add_option("--plugin-namespaces", clients.namespaces,
                   "Namespaces of DRA plugins, which are found by the labels of their charts")
      ->delimiter(',')
      ->default_str(join(clients.namespaces, ", "));
  command
      ->add_option("--client-daemonsets", clients.named,
                   "Other DaemonSets whose pods hold the driver open, as namespace/name")
      ->delimiter(',');
}

void add_driver_flag(CLI::App* command, std::vector<std::string>& namespaces,
                     const std::string& otherwise) {
  const CLI::Validator is_namespace(
      [](const std::string& name) -> std::string {
        return check_dns_label(name).empty() ? "" : name + " is not the name of a namespace";
      },
      "NAMESPACE");
  command
      ->add_option("--driver-namespaces", namespaces,
                   "Namespaces of the GPU driver, its validators and NVIDIA's operator; elsewhere "
                   "their labels are ignored. Default: " +
                       otherwise)
      ->delimiter(',')
      ->check(is_namespace);
}

void add_gpu_flags(CLI::App* command, ClusterFlags& flags) {
  command
      ->add_option("--gpu-dra-drivers", flags.dra_drivers,
                   "DRA drivers whose devices are GPUs, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  add_client_flags(command, flags.clients);
}

void add_cluster_flags(CLI::App* command, ClusterFlags& flags,
                       const std::string& driver_namespaces) {
  add_connection_flags(command, flags);
  add_gpu_flags(command, flags);
  add_driver_flag(command, flags.driver_namespaces, driver_namespaces);
}

}  // namespace lockstep::cli
