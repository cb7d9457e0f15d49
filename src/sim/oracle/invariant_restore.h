// What must never happen when a rollout rolls back: a driver's object that is not exactly as users
// had it before, or a version that was rolled back and is begun again by itself.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rollout/rollout_status.h"
#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// A rollback restores spec.driver's version, image, repository and usePrecompiled byte for byte,
// and changes nothing else in the object.
class ObjectRestored : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  struct Said {
    Json fields;
    std::string image;  // that the operator makes of them
  };
  struct History {
    std::vector<Said> said;  // by users and their tools, the oldest first
    Duration changed = Duration::min();
  };
  void on_object(const std::string& storage, const apiserver::Change& change, bool ours);
  void on_rolled_back(const Json& rollout, const rollout::RolloutStatus& status);

  std::map<std::string, History> objects_;  // by storage and name
};

// No wave opens for a driver that was rolled back, until a user says retry.
class NoRejectedVersion : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  std::set<std::string> rejected_;  // images
};

}  // namespace lockstep::sim
