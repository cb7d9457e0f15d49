// A pod as its kubelet knows it: which step it is at, the state of its containers, and the status
// that the kubelet would write. Pure; Kubelets moves it along.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "objects/generic_object.h"
#include "objects/pod.h"
#include "sim/actors/machine.h"
#include "world/loop.h"

namespace lockstep::sim {

// What a pod is to the simulation, by its labels and where it is: a tenant's are work.
enum class Role { workload, driver, dra_plugin, validator };
Role role_of(std::string_view ns, const StringMap& labels);
std::string_view to_string(Role role);
// On the pods of a rollout's gates: the gate's name.
inline constexpr std::string_view gate_label = "lockstep.dev/gate";

enum class Step {
  prepare,        // gets its claims' devices, or tries again later
  init_run,       // init container `init` begins
  init_wait,      // … and waits for something on the machine
  init_done,      // … and has ended
  pull,           // the images of the containers
  pulled,         // … have come, or not
  pull_back_off,  // … and are asked for again after a while
  start,          // the containers begin
  start_wait,     // … as soon as the machine has a driver
  ready,          // all containers are ready
  running,        // nothing to do
  crash,          // the containers end with an error
  finish,         // the containers end well
  finished,
  stop,     // it was deleted: the containers are asked to end
  stopped,  // … have ended: the pod can go
};
std::string_view to_string(Step step);

struct ContainerRun {
  Text name;
  Text image;
  enum class State { waiting, running, terminated };
  State state = State::waiting;
  std::string reason = "ContainerCreating";  // of waiting and terminated
  std::string message;
  std::string last_words;  // the termination message
  Time started;
  Time ended;
  int32_t exit_code = 0;
  bool ready = false;
  int32_t restarts = 0;
  // The termination before this one.
  bool ended_before = false;
  int32_t last_exit_code = 0;
  Time last_started;
  Time last_ended;
};

struct PodRun {
  PodRun(ObjectKey key, Pod pod, const Json& document);

  ObjectKey key;
  Pod pod;  // as it was when the kubelet saw it first, and its newest metadata
  Role role = Role::workload;
  bool uses_gpu = false;  // by extended resources or by a claim
  bool has_claims = false;
  bool restarts = true;    // restartPolicy is not Never
  Duration run_time{-1};   // ends well after this long; below zero: never
  Duration stop_time{-1};  // below zero: as long as any pod
  bool ignores_stop = false;

  Step step = Step::prepare;
  size_t init = 0;
  PodPhase phase = PodPhase::pending;
  std::string phase_reason;   // mostly empty
  std::string phase_message;  // likewise
  Time started;               // status.startTime
  Time initialized;           // when the init containers were through
  Time ready_since;           // when ready last changed
  bool ready = false;
  int pull_failures = 0;
  int crashes = 0;
  int driver_crashes = 0;  // as the machine's behaviour counts them
  Duration wait{0};        // the current back-off
  NvmlHandle nvml;         // of a DRA plugin
  std::vector<ContainerRun> init_containers;
  std::vector<ContainerRun> containers;

  // Kubelets' book-keeping.
  TimerId timer = 0;
  bool stalled = false;  // its step was due while the kubelet hung
  bool deleting = false;
  bool dirty = false;  // the status in the cluster is older
  bool writing = false;
  std::string written;  // the version of the pod with the status that we wrote last

  const std::string& node() const { return node_; }
  std::string_view uid() const { return pod.meta.uid; }
  // A container of it runs now.
  bool running() const;
  std::string driver_version() const;
  std::string driver_digest() const;

  // Each says whether the status changed by it.
  void set_waiting(std::string_view reason, std::string_view message = {});
  void begin(ContainerRun& container, Time now);
  void end(ContainerRun& container, Time now, int32_t exit_code);
  void set_ready(bool ready, Time now);

 private:
  std::string node_;
};

// The whole status subresource, as the kubelet writes it; conditions are the kubelet's own.
Json status_of(const PodRun& run, std::string_view host_ip);

}  // namespace lockstep::sim
