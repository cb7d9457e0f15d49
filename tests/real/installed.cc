#include "installed.h"

#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace lockstep::real {

namespace {

constexpr std::string_view status_address = "--status-address=";

std::vector<std::string> arguments_of(const Json& deployment) {
  std::vector<std::string> arguments;
  const JsonArray* containers =
      array_of(find(deployment, "spec", "template", "spec", "containers"));
  const JsonArray* found =
      containers == nullptr ? nullptr : array_of(find(containers->at(0), "args"));
  if (found == nullptr) throw std::runtime_error("the controller's Deployment has no arguments");
  for (const Json& argument : *found) arguments.emplace_back(as_text(&argument));
  return arguments;
}

}  // namespace

void install_chart(RealCluster& cluster, const std::string& flags) {
  ProcessOutput done = cluster.sh(
      fmt::format("'{}' install --image registry.example.com/lockstep --set controller.replicas=0 "
                  "{} && kubectl wait --for=condition=Established "
                  "crd/driverrollouts.lockstep.dev --timeout=60s",
                  commands::lockstep_program(), flags));
  if (done.exit_code != 0) throw std::runtime_error(done.output + done.error);
}

commands::Child& start_installed_controller(RealCluster& cluster,
                                            const std::map<std::string, std::string>& replaced) {
  std::vector<std::string> words =
      arguments_of(cluster.get(resource::deployments, "lockstep-controller", "lockstep-system"));
  for (std::string& word : words) {
    // The port of the pod may be in use here.
    if (word.starts_with(status_address)) word = std::string(status_address) + "127.0.0.1:0";
    for (const auto& [from, to] : replaced) {
      if (const size_t at = word.find(from); at != std::string::npos) {
        word.replace(at, from.size(), to);
      }
    }
  }
  words.push_back("--kubeconfig=" + cluster.plane.kubeconfig(installed_account));
  return cluster.start("controller", std::move(words));
}

}  // namespace lockstep::real
