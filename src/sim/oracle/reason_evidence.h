// What was seen of the world and is no longer to be read from it, as far as a reason may name it:
// budgets that have given way since, evictions that went wrong, devices that were published only
// just.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/api.h"
#include "sim/oracle/truth.h"

namespace lockstep::sim {

class ReasonEvidence {
 public:
  explicit ReasonEvidence(const Truth& truth) : truth_(truth) {}

  // As an invariant receives them.
  void on_change(const std::string& storage, const apiserver::Change& change);
  void on_call(int life, const kube::Request& request);
  void on_reply(int life, const kube::Request& request, const kube::Response& reply);

  // A budget of one of the node's pods allows no disruption, or did at the last try. `fails`: the
  // node is given up for it; for a budget that is gone that is not done without another try.
  bool blocked_lately(const std::string& node, bool fails) const;
  // A pod of the node is there whose eviction was asked for and went wrong, or was never answered;
  // a budget's refusal is neither.
  bool eviction_went_wrong(const std::string& node) const;
  // When the node's ResourceSlices last changed.
  Duration published(const std::string& node) const;

 private:
  struct Blocked {
    Duration last{0};  // when it last allowed nothing
    bool gone = false;
    Document budget;
  };
  bool covers_pod_of(const std::string& node, const ObjectKey& budget, const Json& object) const;

  const Truth& truth_;
  std::map<ObjectKey, Blocked> blocked_;
  // Pods whose eviction has not succeeded, and the replica that asked: others do not
  // know.
  std::set<std::pair<ObjectKey, int>> evictions_;
  std::map<std::string, Duration> published_;  // by the slice's name
};

}  // namespace lockstep::sim
