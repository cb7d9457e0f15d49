// Makes and removes the pods of an owner for the controllers of workloads, and remembers what it
// did until the cache shows it: nothing is made twice because a watch lags.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

class PodMaker {
 public:
  // `changed` is called with an owner's uid whenever its pods should be counted again.
  PodMaker(Parts parts, View& view, std::function<void(const std::string& uid)> changed);
  PodMaker(const PodMaker&) = delete;
  PodMaker& operator=(const PodMaker&) = delete;

  // Kept change by change: an owner may have thousands of pods.
  struct Counts {
    int64_t live = 0;   // neither finished nor being deleted
    int64_t ready = 0;  // of these
    int64_t failed = 0;
    int64_t unseen = 0;  // made, and not shown yet
    int64_t present() const { return live + unseen; }
  };
  Counts count(const std::string& owner_uid) const;
  // In the order of their names; reads every pod of the owner.
  std::vector<Object> live_pods(const std::string& owner_uid) const;
  // The uids of pods that have succeeded since the last call, and are still shown.
  std::set<std::string> take_succeeded(const std::string& owner_uid);

  void create(const ResourceType& type, const GenericObject& owner, const Json& pod_template,
              const JsonObject& labels, std::string_view restart_policy);
  void remove(const GenericObject& pod);

 private:
  enum class Part { none, live, ready, succeeded, failed };
  struct Counted {
    std::string owner;
    Part part = Part::none;
  };
  struct Owned {
    Counts counts;
    std::set<std::string> succeeded;  // not taken yet
  };
  void take(const ObjectCache::Change& change);
  void count_again(const GenericObject& pod);
  void count_as(const std::string& uid, const std::string& owner, Part part);
  Part part_of(const GenericObject& pod) const;
  void forget(const std::string& owner_uid, const ObjectKey& pod);

  Parts parts_;
  View& view_;
  std::function<void(const std::string& uid)> changed_;
  Writer writer_;
  std::map<std::string, std::set<ObjectKey>> unseen_;  // by owner
  std::map<ObjectKey, std::string> expected_;          // made, owner: the cache has not come to it
  std::set<std::string> doomed_;                       // uids
  std::unordered_map<std::string, Counted> counted_;   // by uid
  std::unordered_map<std::string, Owned> owned_;       // by owner
  Scope scope_;
};

}  // namespace lockstep::sim
