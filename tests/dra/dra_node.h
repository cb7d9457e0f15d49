// A node for the plugin's executable: an embedded API server, directories that look like a machine
// with GPUs, a fake driver of either of two versions, the plugin as a process, and a test kubelet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/door/embedded_server.h"
#include "base/patience_test_util.h"
#include "data/json.h"
#include "fake_machine.h"
#include "kube/api.h"
#include "test_kubelet.h"
#include "world/directories_test_util.h"

namespace lockstep::commands {
class Child;
}

namespace lockstep::dra {

class DraNode {
 public:
  explicit DraNode(int gpus = 2, KubeletOptions kubelet = {});
  ~DraNode();
  DraNode(const DraNode&) = delete;
  DraNode& operator=(const DraNode&) = delete;

  // The machine.
  void load_driver(const std::string& version) { machine_.load_driver(version); }
  void unload_driver() { machine_.unload_driver(); }
  void set_scenario(const std::string& lines) { machine_.set_scenario(lines); }
  // For plugins that are started from now on (tests/dra/trouble.c).
  std::map<std::string, std::string> environment;

  // The plugin. `name` is that of its log; `pod_uid` makes it one of two.
  commands::Child& start_plugin(const std::string& name = "plugin",
                                const std::vector<std::string>& flags = {});
  void kill_plugin(const std::string& name = "plugin");
  // By SIGTERM; its exit code.
  int end_plugin(const std::string& name = "plugin");
  commands::Child& plugin(const std::string& name = "plugin");
  void wait_ready(const std::string& name = "plugin");
  std::string status(const std::string& path, const std::string& name = "plugin");
  std::string said(const std::string& name = "plugin");

  // The next plugin finds no server at the address.
  void lose_api_server();

  // The cluster.
  Json must(const kube::Request& request);
  kube::Response send(const kube::Request& request);
  // A claim, allocated to the first device that is free and not tainted, as the scheduler does it;
  // or to `device`. Fails the test if no device is free.
  KubeletClaim claim(const std::string& name, const std::string& device = "",
                     const std::string& parameters = "");
  void remove_claim(const std::string& name);
  // Names of devices that could be allocated now.
  std::vector<std::string> free_devices();
  std::vector<Json> slices();
  std::string driver_in_slice();
  std::vector<std::string> taints();
  bool has_event(const std::string& reason);

  // Polls, while the kubelet polls too.
  bool wait(const std::function<bool()>& done, Duration limit = test_patience);

  std::string path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> files_in(const std::string& name) const;
  TestKubelet& kubelet() { return *kubelet_; }
  apiserver::EmbeddedServer& server() { return *server_; }
  // A process whose environment is the container's: what it prints.
  static std::string run_container(const PodRun& pod, const std::string& script);

 private:
  lockstep::testing::TemporaryDirectory folder_;
  FakeMachine machine_;
  std::unique_ptr<apiserver::EmbeddedServer> server_;
  std::map<std::string, std::unique_ptr<commands::Child>> plugins_;
  std::unique_ptr<TestKubelet> kubelet_;
};

}  // namespace lockstep::dra
