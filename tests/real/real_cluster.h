// A real control plane with simulated nodes, and the same short ways to read its state as for the
// embedded one (tests/commands/cluster.h).
#pragma once

#include <string>
#include <vector>

#include "audit.h"
#include "cluster.h"
#include "control_plane.h"

namespace lockstep::real {

// As they are named in the audit log.
inline const std::string controller_user = "lockstep";
inline const std::string second_controller_user = "lockstep-second";
inline const std::string fleet_user = "simulated-nodes";

class RealCluster : public commands::Cluster {
 public:
  // Users besides those above.
  explicit RealCluster(ControlPlaneOptions options = {});

  // Simulated nodes by `lockstep fleet`, and a policy; the controllers are the control plane's.
  void add_real_fleet(int nodes, int speed, const std::vector<std::string>& flags = {});
  // `lockstep controller` as a user of its own.
  commands::Child& start_real_controller(const std::string& name,
                                         const std::vector<std::string>& flags = {});
  // Ends the fleet, which then says what it knows: how many GPU pods lost their driver while they
  // ran.
  std::string end_fleet();

  // As is_everyone; false while the API server is away.
  bool all_are(const std::string& state, const std::string& version = "");
  // Pods of the fleet's work that run and are not about to end.
  size_t running_work();
  std::vector<NodeVersion> history() const;
  std::string log() const;
  // Nodes and pods as kubectl shows them, for a test that fails.
  std::string table();

  ControlPlane plane;
};

}  // namespace lockstep::real
