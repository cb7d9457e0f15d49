#include "real_cluster.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace lockstep::real {

namespace {

constexpr commands::Waiting waiting{milliseconds(100), minutes(5)};

std::string make_folder(const std::string& path) {
  std::filesystem::create_directory(path);
  return path;
}

ControlPlaneOptions with_ours(ControlPlaneOptions options) {
  for (const std::string& name : {controller_user, second_controller_user, fleet_user}) {
    options.users.push_back({name, {"system:masters"}});
  }
  return options;
}

}  // namespace

RealCluster::RealCluster(ControlPlaneOptions options)
    : Cluster(waiting), plane(make_folder(directory() + "/plane"), with_ours(std::move(options))) {
  plane.start();
  use(plane.kubeconfig("admin"));
}

void RealCluster::add_real_fleet(int nodes, int speed, const std::vector<std::string>& flags) {
  std::vector<std::string> all{"--real-control-plane", "--kubeconfig",
                               plane.kubeconfig(fleet_user)};
  all.insert(all.end(), flags.begin(), flags.end());
  add_fleet(nodes, speed, all);
}

commands::Child& RealCluster::start_real_controller(const std::string& name,
                                                    const std::vector<std::string>& flags) {
  std::vector<std::string> all{"--kubeconfig", plane.kubeconfig(controller_user)};
  all.insert(all.end(), flags.begin(), flags.end());
  return start_controller(name, all);
}

std::string RealCluster::end_fleet() {
  commands::Child& fleet = child("fleet");
  fleet.signal(SIGTERM);
  require("end of the fleet", [&] { return fleet.exit_code().has_value(); });
  return fleet.output();
}

bool RealCluster::all_are(const std::string& state, const std::string& version) {
  try {
    return is_everyone(state, version);
  } catch (const std::runtime_error&) {
    return false;
  }
}

size_t RealCluster::running_work() {
  size_t running = 0;
  for (const Json& pod : list(resource::pods, "ml-training")) {
    const bool ends = !text_at(pod, "metadata", "deletionTimestamp").empty();
    if (text_at(pod, "status", "phase") == "Running" && !ends) ++running;
  }
  return running;
}

// Of thousands of nodes it is larger than anything that the program itself would read.
std::string RealCluster::log() const {
  std::ifstream file(plane.audit_log(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string RealCluster::table() {
  ProcessOutput shown =
      sh("kubectl get nodes -L " + commands::state_key +
         " -L nvidia.com/cuda.driver-version.full; kubectl get pods -A -o wide; "
         "kubectl get resourceslices -o jsonpath='{range .items[*]}{.metadata.name} "
         "{.spec.devices[0].attributes.driverVersion.version}{\"\\n\"}{end}'");
  ProcessOutput status = lockstep({"status"});
  return shown.output + shown.error + status.output + status.error;
}

std::vector<NodeVersion> RealCluster::history() const { return node_history(log()); }

}  // namespace lockstep::real
