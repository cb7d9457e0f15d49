// The loop of the rollouts: watch, decide, write. It opens waves, asks for gates and bakes, and
// takes a driver back; the nodes' own steps are the upgrade controller's. All that matters lives in
// the cluster; this can be killed after any write and started again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "controller/bake_keeper.h"
#include "controller/fleet_watch.h"
#include "controller/gate_jobs.h"
#include "kube/backoff.h"
#include "rollout/decide_rollout.h"

namespace lockstep::controller {

// Takes the driver back to an earlier version.
class Reverter {
 public:
  virtual ~Reverter() = default;
  // Why it cannot be done for this rollout; empty: it can.
  virtual std::string obstacle(const rollout::RolloutSpec& spec) const = 0;
  // May be asked again for the same: what is done already is done.
  virtual void revert(const rollout::RolloutSpec& spec, const rollout::Revert& revert,
                      std::function<void(Result<void>)> done) = 0;
};

// Sets the version in the ClusterPolicy or NVIDIADriver itself. Not for drivers whose version a
// matrix in Git says: there the next sync would bring the bad one again.
class ObjectReverter final : public Reverter {
 public:
  explicit ObjectReverter(kube::Api& api) : api_(api) {}
  std::string obstacle(const rollout::RolloutSpec& spec) const override;
  void revert(const rollout::RolloutSpec& spec, const rollout::Revert& revert,
              std::function<void(Result<void>)> done) override;

 private:
  kube::Api& api_;
  Scope scope_;
};

struct RolloutOptions {
  // Why a node waits or failed, by name.
  std::function<std::string(const std::string& node)> reason_of;
  // For drivers whose version stands in Git; null: those have no way back.
  Reverter* git = nullptr;
  GateJobsOptions gates;
  // How often what happens in a bake is written down.
  Duration bake_interval = minutes(5);
};

class RolloutController {
 public:
  RolloutController(kube::Api& api, Loop& loop, Random& random, Log& log, FleetWatch& watch,
                    RolloutOptions options);
  RolloutController(const RolloutController&) = delete;
  RolloutController& operator=(const RolloutController&) = delete;

  void start() { gates_.start(); }
  void lead();
  void follow() { leading_ = false; }
  bool idle() const { return busy_.empty(); }
  // Everything that the decision about a rollout looks at.
  rollout::RolloutView view(const KnownRollout& known) const;
  // What was last decided, by rollout.
  const std::map<std::string, upgrade::Reason>& reasons() const { return reasons_; }

 private:
  void look_within(Duration delay);
  void look();
  void look_at(const KnownRollout& known);
  void add_nodes(const KnownRollout& known, rollout::RolloutView& view) const;
  void add_revisions(rollout::RolloutView& view, const std::set<std::string>& sets) const;
  Reverter& reverter_of(const rollout::RolloutSpec& spec) const;
  // The gates of the current wave, as they run now.
  static GateRun gate_run(const rollout::RolloutView& view);
  const KeptBake* kept_bake(const rollout::RolloutView& view) const;
  bool keeps_bake(const KnownRollout& known, const rollout::RolloutView& view);
  std::vector<BakeNode> bake_nodes(const rollout::RolloutView& view) const;
  void act(const KnownRollout& known, const rollout::RolloutDecision& decision);
  void write_status(const KnownRollout& known, const rollout::StatusWrite& write);
  void write_wave(const KnownRollout& known, const rollout::WaveWrite& write);
  void retry_nodes(const std::string& name, const rollout::RetryNodes& write);
  void on_written(const std::string& name, kube::Reply reply,
                  const std::function<void(const std::string& version)>& expect);
  void done(const std::string& name, bool failed);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  FleetWatch& watch_;
  RolloutOptions options_;
  mutable ObjectReverter object_reverter_;
  GateJobs gates_;
  // Bakes that were read, by the version of their ConfigMap.
  mutable std::map<std::string, std::pair<std::string, std::optional<KeptBake>>> bakes_;
  kube::Backoff backoff_;
  bool leading_ = false;
  std::set<std::string> busy_;  // a write of theirs is under way
  std::map<std::string, upgrade::Reason> reasons_;
  std::map<std::string, Duration> counted_;  // when counts alone were last written
  TimerId timer_ = 0;
  Duration timer_due_{0};
  Scope scope_;
};

}  // namespace lockstep::controller
