// What a rollout really allows, read from the store. Written from the specification (rollout.md,
// sections 2 and 3) and not by the functions that the controller uses: what they get wrong is to be
// found.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/store.h"
#include "base/time.h"

namespace lockstep::sim {

struct TrueHold {
  std::string_view reason;  // as a node that waits for it has to call it: "WaveNotOpen"
  std::string why;
};

// Why the rollout does not let the node begin with this revision of its driver's DaemonSet
// ("namespace/name"); nothing: it does.
std::optional<TrueHold> true_hold(const apiserver::StoredPtr& rollout,
                                  const apiserver::Store& store, const std::string& node,
                                  const std::string& set, const std::string& revision, Time now);

// Which wave each node was written down for, from 0 on.
std::map<std::string, size_t> recorded_waves(const apiserver::StoredPtr& rollout, size_t waves,
                                             const apiserver::Store& store);

// "namespace/name" of the DaemonSet that made the pod.
std::string daemon_set_of(const Json& pod);

}  // namespace lockstep::sim
