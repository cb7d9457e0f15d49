// The controllers of workloads in the embedded cluster: a Deployment has one ReplicaSet for its
// template, a ReplicaSet and a Job have pods, and lost pods are replaced. A real cluster has its
// own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kube/queue.h"
#include "sim/actors/parts.h"
#include "sim/actors/pod_maker.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

class WorkloadControllers {
 public:
  WorkloadControllers(Parts parts, View& view, Duration reaction = milliseconds(200));
  WorkloadControllers(const WorkloadControllers&) = delete;
  WorkloadControllers& operator=(const WorkloadControllers&) = delete;

 private:
  void follow(const ResourceType& type, std::string_view prefix);
  void sync(const std::string& key);
  void sync_deployment(const GenericObject& deployment);
  void sync_replica_set(const GenericObject& replica_set);
  void sync_job(const GenericObject& job);
  void write_status(const ResourceType& type, const GenericObject& object, JsonObject status);

  Parts parts_;
  View& view_;
  Duration reaction_;
  Writer writer_;
  std::map<std::string, std::string> key_by_uid_;
  std::map<std::string, std::set<std::string>> done_;  // by Job: uids of pods that succeeded
  kube::WorkQueue queue_;
  PodMaker maker_;
  Scope scope_;
};

}  // namespace lockstep::sim
