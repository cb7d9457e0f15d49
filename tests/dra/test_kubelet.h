// A kubelet as a DRA plugin meets it, over the real gRPC: finds plugins by their sockets,
// registers them, has claims prepared before a pod runs and unprepared after it, and listens to
// their health. What it does about claims is sim/actors/claim_book.h, which the simulated kubelets
// use too. With `knows_error_type` it is the kubelet of KEP-5322: a permanent failure ends the pod.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "sim/actors/claim_book.h"

namespace lockstep::dra {

struct KubeletClaim {
  std::string ns;
  std::string uid;
  std::string name;
};

struct PreparedByPlugin {
  std::vector<std::string> cdi_ids;
  std::string pool;
  std::string device;
  std::vector<std::string> requests;
};
struct ClaimAnswer {
  std::vector<PreparedByPlugin> devices;
  std::string error;
  bool permanent = false;
};

enum class PodPhase { pending, running, failed };

struct PodRun {
  PodPhase phase = PodPhase::pending;
  std::string message;                             // why it waits or has failed
  std::map<std::string, std::string> environment;  // of its container, by CDI
  std::vector<std::string> device_nodes;           // on the host
};

struct KubeletOptions {
  std::string folder;      // /var/lib/kubelet
  std::string cdi_folder;  // the container runtime's
  std::string driver = "gpu.lockstep.dev";
  bool knows_error_type = false;
  bool old = false;  // speaks v1beta1 and v1alpha1 alone
  Duration call_limit = seconds(45);
};

class TestKubelet {
 public:
  explicit TestKubelet(KubeletOptions options);
  ~TestKubelet();
  TestKubelet(const TestKubelet&) = delete;
  TestKubelet& operator=(const TestKubelet&) = delete;

  // Reads the registry directory once: registers what is new, forgets what is gone. Returns what
  // was wrong with each plugin that it refused.
  std::vector<std::string> look();
  // Endpoints in the order in which they registered; calls go to the last.
  std::vector<std::string> endpoints() const;
  // Forgets everything, as a restart does, but for the pods' claims, which are on its disk. They
  // are prepared again when their pods are started again.
  void restart();

  // The bare calls, which it does not remember. By uid. An error: the call itself failed.
  Result<std::map<std::string, ClaimAnswer>> prepare(const std::vector<KubeletClaim>& claims);
  Result<std::map<std::string, std::string>> unprepare(const std::vector<KubeletClaim>& claims);
  // One attempt to start a pod: prepares its claims that are not prepared yet, then applies its
  // container's edits by CDI. The first claim identifies a pod.
  PodRun start_pod(const std::vector<KubeletClaim>& claims);
  // Its end, as often as it takes until there is no error.
  Result<void> end_pod(const std::vector<KubeletClaim>& claims);

  // "HEALTHY", "UNHEALTHY", "UNKNOWN", "" when the stream has not told; by device.
  std::string health(const std::string& device) const;
  std::string health_message(const std::string& device) const;
  int reports() const { return reports_; }

 private:
  struct Plugin;
  void listen(const std::shared_ptr<Plugin>& plugin);
  void stop_listening();

  KubeletOptions options_;
  sim::ClaimBook book_;
  std::map<std::string, std::vector<PreparedByPlugin>> prepared_;  // by claim
  std::map<std::string, std::shared_ptr<Plugin>> known_;           // by socket
  std::vector<std::shared_ptr<Plugin>> order_;
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<std::string, std::string>> health_;
  std::atomic<int> reports_ = 0;
  std::thread listener_;
  std::shared_ptr<Plugin> listened_;
};

}  // namespace lockstep::dra
