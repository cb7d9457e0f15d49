// Beside NVIDIA's controller: the labels that hold nodes whose wave is closed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/api.h"
#include "rollout/conduct.h"
#include "view/fleet_watch.h"
#include "world/loop.h"

namespace lockstep::controller {

// Without the version, a patch may arrive late and change back what was done since.
std::string version_of_node(const view::FleetWatch& watch, const std::string& name);

class NodeHolds {
 public:
  using Done = std::function<void(const std::string& rollout, bool failed)>;

  NodeHolds(kube::Api& api, Loop& loop, view::FleetWatch& watch, Done done);
  NodeHolds(const NodeHolds&) = delete;
  NodeHolds& operator=(const NodeHolds&) = delete;

  struct Due {
    std::vector<rollout::SkipChange> changes;
    std::optional<Duration> requeue_after;  // of a release that waits
  };
  Due due(const view::KnownRollout& known, const rollout::RolloutView& view) const;
  // Nodes held by a rollout that was deleted, or that does not govern them any more.
  std::vector<rollout::SkipChange> orphans() const;
  void write(const std::string& rollout, std::vector<rollout::SkipChange> changes);

 private:
  // A node that we released last. If it is held again, another replica sees the rollout otherwise.
  struct Release {
    uint32_t times = 0;
    Duration at{0};
  };
  std::optional<Duration> wait_of(const rollout::SkipChange& change) const;
  void note(const rollout::SkipChange& change);

  kube::Api& api_;
  Loop& loop_;
  view::FleetWatch& watch_;
  Done done_;
  std::map<std::string, Release> releases_;
  Scope scope_;
};

}  // namespace lockstep::controller
