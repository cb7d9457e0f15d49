// One simulated GPU machine: its kernel module, what programs remember of it, and what is wrong
// with the machine. Pure: values in, values out; Kubelets moves it along.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/actors/claim_book.h"
#include "world/random.h"

namespace lockstep::sim {

struct Range {
  Duration least{0};
  Duration most{0};

  Duration draw(Random& random) const;
};

// How long things take. All are divided by `speed`, so that a demo of an hour's work takes a
// minute.
struct Latencies {
  Range image_pull{seconds(2), seconds(8)};
  Range init_container{seconds(1), seconds(3)};
  Range driver_unload{seconds(3), seconds(8)};
  Range driver_load{seconds(60), seconds(120)};
  // A driver container that finds its own module loaded already.
  Range driver_attach{seconds(2), seconds(5)};
  Range client_start{seconds(2), seconds(5)};  // DRA plugin and other infrastructure
  Range validator_run{seconds(5), seconds(15)};
  Range workload_start{seconds(1), seconds(3)};
  Range pod_stop{seconds(1), seconds(4)};
  // Until the labels of GPU feature discovery say what the driver is; real ones: a minute and more.
  Range gpu_labels{Duration(0), Duration(0)};
  Range prepare_retry{prepare_retry_least, prepare_retry_most};
  // Back-off of image pulls and of crashed containers: doubles from the first to the last.
  Range back_off{seconds(10), seconds(300)};
  double speed = 1.0;
};

// What is wrong with a machine. A version: "580.126.20" means with this driver only, "*" with any,
// "" never. All of it may change while the fleet runs (Kubelets::set_behaviour).
struct NodeBehaviour {
  double slowness = 1.0;         // factor on every latency
  std::string image_pull_fails;  // version whose driver image cannot be pulled
  std::string driver_crashes;    // version whose driver container ends with an error while loading
  int driver_crash_count = -1;   // so often, then it loads; below zero: always
  std::string driver_never_ready;  // version that loads indefinitely
  std::string loads_instead;       // the version that really gets loaded, whatever the image says
  std::string validation_fails;    // version with which the validator never becomes ready
  std::string prepare_fails;       // version with which preparing a claim fails without a fault
  std::string gate_fails;          // version with which the gates of a rollout fail
  int gate_exit_code = 1;          // … in this way
  // How fast the gate "inference" finds the GPUs, by driver version ("*": any other); none: gates
  // say nothing but their exit code.
  std::map<std::string, double> gate_speeds;
  Duration driver_load{0};         // above zero: instead of the drawn time
  Duration slices_late{0};         // the DRA plugin publishes its devices so long after it is ready
  bool manager_uncordons = false;  // the driver-manager uncordons the node in every reload
  bool keeps_operands = false;     // the operator's pods are not paused during the move
  bool hangs = false;              // the kubelet does nothing at all; its node stays Ready
  // The node is NotReady and its kubelet does nothing, from and to on the loop's uptime.
  struct Outage {
    Duration from{0};
    Duration to{0};
  };
  std::vector<Outage> outages;
};
bool applies_to(std::string_view faulty_version, std::string_view version);

// What a process that opened NVML holds. It is never refreshed: that is the stale NVML.
struct NvmlHandle {
  uint64_t generation = 0;
  bool opened_in_migration = false;  // between the unload of one module and the load of the next
  std::string version;               // what it saw, and reports
};

class Machine {
 public:
  enum class Module { absent, loaded, unloading, unloaded, loading };

  Machine() = default;
  Machine(std::string name, int gpus) : name_(std::move(name)), gpus_(gpus) {}

  NodeBehaviour behaviour;

  const std::string& name() const { return name_; }
  int gpus() const { return gpus_; }
  std::string gpu_uuid(int index) const;

  Module module() const { return module_; }
  bool loaded() const { return module_ == Module::loaded; }
  // Since the machine was switched on; before that no program can find any GPU.
  bool loaded_since_boot() const { return loaded_since_boot_; }
  // A module was there and its successor is not loaded yet.
  bool migrating() const { return loaded_since_boot_ && module_ != Module::loaded; }
  // Of the loaded module; before that, of the last one.
  const std::string& version() const { return version_; }
  const std::string& digest() const { return digest_; }
  // Counts the loads.
  uint64_t generation() const { return generation_; }
  // When the last load ended, on the wall clock.
  Time loaded_since() const { return loaded_since_; }

  void begin_unload() { module_ = Module::unloading; }
  void finish_unload() { module_ = Module::unloaded; }
  void begin_load() { module_ = Module::loading; }
  void finish_load(std::string version, std::string digest, Time now);
  // A driver container that died while it was loading.
  void abort_load() { module_ = loaded_since_boot_ ? Module::unloaded : Module::absent; }
  // Nothing is left in the kernel.
  void switch_off();

  NvmlHandle open_nvml() const;
  // Gives the devices of a claim to a pod by way of a process with this handle. The message of a
  // failure is the one that users found in their clusters.
  Result<void> prepare(const NvmlHandle& handle, std::string_view claim, int device) const;

 private:
  std::string name_;
  int gpus_ = 0;
  Module module_ = Module::absent;
  std::string version_;
  std::string digest_;
  uint64_t generation_ = 0;
  bool loaded_since_boot_ = false;
  Time loaded_since_;
};

}  // namespace lockstep::sim
