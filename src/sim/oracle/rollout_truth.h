// What a rollout really allows, read from the store. Written from the specification (rollout.md,
// sections 2 and 3) and not by the functions that the controller uses: what they get wrong is to be
// found.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/store/store.h"
#include "base/time.h"
#include "fleet/reason.h"

namespace lockstep::sim {

// Of the storage that a change belongs to.
bool is_rollout(const std::string& storage);

struct TrueHold {
  fleet::ReasonName reason;  // as a node that waits for it has to call it
  std::string why;
};

// Why the rollout does not let the node begin with this revision of its driver's DaemonSet
// ("namespace/name"); nothing: it does. `pod`: the driver pod that it has; null: none.
std::optional<TrueHold> true_hold(const apiserver::StoredPtr& rollout,
                                  const apiserver::Store& store, const std::string& node,
                                  const std::string& set, const std::string& revision, Time now,
                                  const Json* pod = nullptr);

// A user lets nodes have the driver that they got outside the waves.
bool accepts_outsiders(const Json& rollout);
// Whether the DaemonSet ("namespace/name") has this revision in the status: "stable", "openFor", …
bool speaks_of(const Json& status, std::string_view which, const std::string& set,
               const std::string& revision);

// Which wave each node was written down for, from 0 on.
std::map<std::string, size_t> recorded_waves(const apiserver::StoredPtr& rollout, size_t waves,
                                             const apiserver::Store& store);

// "namespace/name" of the DaemonSet that made the pod.
std::string daemon_set_of(const Json& pod);

}  // namespace lockstep::sim
