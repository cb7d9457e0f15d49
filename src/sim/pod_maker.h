// Makes and removes the pods of an owner for the controllers of workloads, and remembers what it
// did until the cache shows it: nothing is made twice because a watch lags.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/parts.h"
#include "sim/view.h"
#include "sim/writer.h"

namespace lockstep::sim {

class PodMaker {
 public:
  // `changed` is called with an owner's uid whenever its pods should be counted again.
  PodMaker(Parts parts, View& view, std::function<void(const std::string& uid)> changed);
  PodMaker(const PodMaker&) = delete;
  PodMaker& operator=(const PodMaker&) = delete;

  struct Pods {
    std::vector<Object> live;  // neither finished nor on their way out
    std::vector<Object> succeeded;
    std::vector<Object> failed;
    size_t unseen = 0;  // made, and not shown yet
  };
  Pods pods_of(const std::string& owner_uid) const;

  void create(const ResourceType& type, const GenericObject& owner, const Json& pod_template,
              const JsonObject& labels, std::string_view restart_policy);
  void remove(const GenericObject& pod);

 private:
  void forget(const std::string& owner_uid, const ObjectKey& pod);

  Parts parts_;
  View& view_;
  std::function<void(const std::string& uid)> changed_;
  Writer writer_;
  std::map<std::string, std::set<ObjectKey>> unseen_;  // by owner
  std::map<ObjectKey, std::string> expected_;          // made, owner: the cache has not come to it
  std::set<std::string> doomed_;                       // uids
  Scope scope_;
};

}  // namespace lockstep::sim
