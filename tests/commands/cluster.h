// A cluster for a test: a temporary directory, the cluster's programs, and short ways to
// read its state and to run commands against it. What does not come up throws: the test
// fails.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/patience_test_util.h"
#include "base/time.h"
#include "child.h"
#include "data/json.h"
#include "fleet/keys.h"
#include "kube/connect.h"
#include "kube/sync_api.h"
#include "objects/resource_type.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::commands {

constexpr Duration patience = test_patience;
inline const std::string state_key = "nvidia.com/gpu-driver-upgrade-state";
using fleet::cluster_policies;

struct NodeLook {
  std::string state;
  std::string version;  // of the kernel module, as the node itself says
  bool cordoned = false;
  std::map<std::string, std::string> annotations;
  std::string resource_version;
};
using Nodes = std::map<std::string, NodeLook>;

bool has_kubectl();
std::string lockstep_program();
// A program and its end, without a cluster.
ProcessOutput run_lockstep(std::vector<std::string> words,
                           const std::map<std::string, std::string>& environment = {});
// The answer to "GET path", with its head; empty without an answer.
std::string http_get(const std::string& port, const std::string& path);

// How a test waits: how often it looks, and when it gives up.
struct Waiting {
  Duration pace = milliseconds(10);
  Duration limit = patience;
};

class Cluster {
 public:
  explicit Cluster(Waiting waiting = {});
  // Ends every program; shows what they said when the test has failed.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // The embedded API server; or one that is there already.
  void serve();
  void use(const std::string& kubeconfig);
  // A fleet that has come up.
  void add_fleet(int nodes, int speed, const std::vector<std::string>& flags = {});
  // Any command of lockstep, left running. `name` is that of its log.
  Child& start(const std::string& name, std::vector<std::string> words);
  Child& start_controller(const std::string& name, const std::vector<std::string>& flags = {});
  Child& start_kubectl(const std::string& name, std::vector<std::string> words);
  // One that was started, by its name.
  Child& child(const std::string& name);
  // Of a controller that was started above.
  std::string status_port(const Child& controller);
  std::string metric(const Child& controller, const std::string& line);

  // A script in which kubectl is the real one.
  ProcessOutput sh(const std::string& script);
  ProcessOutput lockstep(std::vector<std::string> words);
  // spec.driver.upgradePolicy, by merge patch.
  void set_policy(const std::string& json);
  void set_version(const std::string& version);

  Nodes nodes();
  Json get(const ResourceType& type, const std::string& name, const std::string& ns = "");
  std::vector<Json> list(const ResourceType& type, const std::string& ns = "");
  // The driver pod of each node.
  std::map<std::string, Json> driver_pods();
  bool is_everyone(const std::string& state, const std::string& version = "");

  bool wait(const std::function<bool()>& done);
  bool wait(const std::function<bool()>& done, Duration limit);
  // For that long at least.
  bool stays(const std::function<bool()>& holds, Duration time);
  void require(const std::string& what, const std::function<bool()>& done);

  const std::string& directory() const { return directory_; }
  const std::string& kubeconfig() const { return kubeconfig_; }
  EventLoop& loop() { return loop_; }

 private:
  kube::SyncApi api();
  std::map<std::string, std::string> environment() const;

  Waiting waiting_;
  std::string directory_;
  std::string kubeconfig_;
  EventLoop loop_;
  SystemFiles files_;
  SystemProcesses processes_;
  kube::Connection connection_;
  std::deque<std::pair<std::string, std::unique_ptr<Child>>> children_;
};

}  // namespace lockstep::commands
