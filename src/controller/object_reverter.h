// Restores a driver's object: the ClusterPolicy or NVIDIADriver says again what it said before a
// rollout, byte for byte. Not for drivers whose version a matrix in Git says: there the next sync
// would bring the bad one again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/api.h"
#include "rollout/decide_rollout.h"
#include "world/loop.h"

namespace lockstep::controller {

class ObjectReverter {
 public:
  explicit ObjectReverter(kube::Api& api) : api_(api) {}
  ObjectReverter(const ObjectReverter&) = delete;
  ObjectReverter& operator=(const ObjectReverter&) = delete;

  // Returns the version of the object that has it. The object is read first, and written only as it
  // was read: a concurrent change wins, and what a user has set stays.
  using Done = std::function<void(Result<std::string>)>;
  void revert(const rollout::RolloutSpec& spec, const rollout::Revert& revert, Done done);

 private:
  struct Task {
    rollout::DriverTarget driver;
    rollout::Revert revert;
    Done done;
    int tries = 0;
  };
  void read(const std::shared_ptr<Task>& task);
  void write(const std::shared_ptr<Task>& task, const Json& object);

  kube::Api& api_;
  Scope scope_;
};

}  // namespace lockstep::controller
