// The kubelet plugin without its wire: follows the driver, publishes the node's devices, prepares
// claims and says how the devices are. All on one loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dra/claim_service.h"
#include "dra/device_edits.h"
#include "dra/device_health.h"
#include "dra/driver_watch.h"
#include "dra/slice_publisher.h"
#include "dra/time_slicer.h"
#include "gpu/xid.h"
#include "kube/events.h"

namespace lockstep::dra {

struct PluginOptions {
  std::string driver = "gpu.lockstep.dev";
  std::string node;
  std::string dev_root;      // where "/dev/nvidia0" is searched for; empty: "/"
  std::string state_folder;  // where the checkpoint is
  EditSettings edits;
  CdiOptions cdi;
  DriverWatchOptions watch;
  ClaimServiceOptions claims;
};

struct DeviceReport {
  enum class Status { unknown, healthy, unhealthy };
  std::string pool;
  std::string device;
  Status status = Status::unknown;
  std::string message;
  Time updated;

  bool operator==(const DeviceReport&) const = default;
};

// What the plugin is made of, from outside.
struct PluginParts {
  Loop& loop;
  kube::Api& api;
  Random& random;
  Log& log;
  StateFiles& files;
  StateLock& lock;
  Checkpoint& checkpoint;
  DriverProbe& probe;
  TimeSlicer& slicer;
  // The names in a directory.
  std::function<std::vector<std::string>(const std::string&)> list_folder;
  std::function<bool(const std::string&)> is_character_device;
  // Fatal ones since the last time.
  std::function<std::vector<gpu::Xid>()> new_xids;
};

class Plugin final : private DeviceSource {
 public:
  Plugin(PluginParts parts, PluginOptions options);
  ~Plugin() override;

  void start();
  ClaimService& claims() { return *claims_; }

  std::vector<DeviceReport> health() const;
  // Whenever health() says something else.
  void on_health(std::function<void()> told) { health_told_ = std::move(told); }

  // NVML and the kernel module agree, and the cluster knows the devices.
  bool is_ready() const { return watch_->is_current() && publisher_->is_published(); }
  std::string why_not_ready() const;
  std::string metrics() const;
  const Inventory& inventory() const { return inventory_; }
  bool is_settled() const { return events_.idle() && claims_->calls_in_progress() == 0; }

 private:
  tl::expected<CdiEdits, DeviceProblem> find(const std::string& pool, const std::string& device,
                                             const GpuConfig& config) override;
  bool is_character_device(const std::string& path) const override;

  void on_inventory(const Inventory& inventory, bool is_new);
  void on_new_driver();
  void set_slices_anew();
  void set_time_slices(std::vector<SliceWanted> wanted, Duration limit,
                       const std::function<void(Result<void>)>& done);
  void on_away(const std::string& why);
  void publish();
  void look_for_xids();
  void reconcile();
  void remove_leftovers();
  void remove_file(const std::string& path);
  void forget_claims_that_are_gone();
  void on_verdict(const ClaimVerdict& verdict);
  ObjectReference node_reference() const;

  PluginParts parts_;
  PluginOptions options_;
  Inventory inventory_;
  std::vector<CdiMount> libraries_;
  DeviceHealth health_state_;
  kube::EventRecorder events_;
  std::unique_ptr<SlicePublisher> publisher_;
  std::unique_ptr<ClaimService> claims_;
  std::unique_ptr<DriverWatch> watch_;
  std::function<void()> health_told_;
  bool has_inventory_ = false;
  uint64_t specs_renewed_ = 0;
  uint64_t specs_not_renewed_ = 0;
  Scope scope_;
};

// The claim's uid in the name of a CDI file of ours; empty: the file is not ours.
std::string claim_of_cdi_file(const CdiOptions& options, const std::string& name);

}  // namespace lockstep::dra
