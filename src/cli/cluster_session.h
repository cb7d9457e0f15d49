// What a command needs to talk to a cluster: the loop, the connection, and the parts behind it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/connect.h"
#include "kube/counting_api.h"
#include "kube/limited_api.h"
#include "kube/self_review.h"
#include "view/fleet_watch.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/log.h"
#include "world/process.h"
#include "world/random.h"

namespace lockstep::cli {

// Flags that every command with a cluster has.
struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
  std::string key_domain;    // empty: not said
  std::string key_conflict;  // what was found is of another domain (key_domain.h)
  std::vector<std::string> dra_drivers = {"gpu.nvidia.com", "gpu.lockstep.dev"};
  fleet::ClientOptions clients;
  // Where the driver is; empty: not said, and what the controller publishes counts.
  std::vector<std::string> driver_namespaces;
  bool verbose = false;

  view::FleetWatchOptions fleet() const;
};

class ClusterSession {
 public:
  static Result<std::unique_ptr<ClusterSession>> open(const ClusterFlags& flags,
                                                      LogLevel level = LogLevel::warning);
  ~ClusterSession();
  ClusterSession(const ClusterSession&) = delete;
  ClusterSession& operator=(const ClusterSession&) = delete;

  EventLoop loop;
  SystemFiles files;
  SystemProcesses processes;
  SystemRandom random;
  std::unique_ptr<Log> log;
  kube::Connection connection;
  std::unique_ptr<kube::CountingApi> counting;
  std::unique_ptr<kube::LimitedApi> api;

 private:
  ClusterSession();
};

// Our environment as a value.
kube::Environment system_environment();
// The local user, for what is written into the cluster: user@host.
std::string who_am_i();
// The user as the cluster knows them; a cluster that does not say gets who_am_i().
Result<kube::ClusterUser> identity_in(kube::SyncApi& api);

// Starts the watch and waits until all has been listed; an error says what did not come.
Result<void> wait_for_fleet(ClusterSession& session, view::FleetWatch& watch,
                            Duration limit = seconds(30));

}  // namespace lockstep::cli
