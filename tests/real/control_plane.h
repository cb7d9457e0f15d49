// A real Kubernetes control plane on loopback, in a folder of its own: etcd, kube-apiserver with
// RBAC and an audit log, kube-controller-manager, kube-scheduler. Each is a child of the test and
// ends with it, whatever becomes of the test. scripts/real-cluster builds the programs.
//
//   if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
//   ControlPlane plane(directory);
//   plane.start();                                   // throws when it does not come up
//   cluster.use(plane.kubeconfig("admin"));
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child.h"
#include "data/json.h"
#include "objects/resource_type.h"
#include "world/event_loop.h"

namespace lockstep::real {

enum class Part { etcd, apiserver, controller_manager, scheduler };

// A user who may log in. Each test's controller has a name of its own in the audit log.
struct User {
  std::string name;
  std::vector<std::string> groups;
};

struct ControlPlaneOptions {
  std::vector<User> users = {};  // besides "admin", who may do everything
  // As much as the embedded API server does by itself: no scheduler, no service accounts, and of
  // the controllers only garbage collection, the end of namespaces and disruption budgets.
  bool like_embedded = false;
  // An API server that drops the taints of devices, as those do that are older than them.
  bool without_device_taints = false;
  // The path of another API server, which then has no features but those that it comes with. It
  // runs alone with etcd: the other parts may be newer than it, as they never are in a cluster.
  std::string apiserver = {};
};

class ControlPlane {
 public:
  // Why there can be none here; empty: there can. `apiserver`: as in the options.
  static std::string missing(const std::string& apiserver = {});
  // The path of a program that scripts/real-cluster built; of "" the folder of all.
  static std::string program(const std::string& name);
  // A free one on loopback.
  static int free_port();

  // In a folder that is there already.
  explicit ControlPlane(std::string directory, ControlPlaneOptions options = {});
  // Ends every part; shows what they said when the test has failed.
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // All parts, until the API is ready and the controllers work.
  void start();
  // One part again, on the same port and with the same data; returns at once.
  void start(Part part);
  // By SIGKILL, and waits for its end.
  void kill(Part part);
  // Until the API answers.
  void wait_until_ready();
  // Throws when it does not come.
  void wait(const std::string& what, const std::function<bool()>& done);
  std::optional<Json> get(const ResourceType& type, const ObjectKey& key);

  // The file of one user.
  std::string kubeconfig(const std::string& user) const;
  std::string audit_log() const { return directory_ + "/audit.log"; }
  const std::string& directory() const { return directory_; }
  pid_t pid(Part part) const { return children_.at(part)->pid(); }

 private:
  void write_certificates() const;
  void write_users() const;
  void write_kubeconfig(const std::string& user, const std::string& token) const;
  void write_audit_policy() const;
  std::string file(const std::string& name) const { return directory_ + "/" + name; }
  std::string url() const;
  std::vector<std::string> command(Part part) const;
  void show() const;

  std::string directory_;
  ControlPlaneOptions options_;
  int etcd_port_;
  int peer_port_;
  int api_port_;
  EventLoop loop_;
  std::map<Part, std::unique_ptr<commands::Child>> children_;
};

}  // namespace lockstep::real
