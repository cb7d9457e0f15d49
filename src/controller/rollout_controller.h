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
#include "controller/baseline_keeper.h"
#include "controller/client_restarts.h"
#include "controller/gate_jobs.h"
#include "controller/gate_questions.h"
#include "controller/matrix_store.h"
#include "controller/node_holds.h"
#include "controller/object_reverter.h"
#include "controller/rollout_nodes.h"
#include "kube/backoff.h"
#include "kube/events.h"
#include "rollout/conduct.h"
#include "rollout/decide_rollout.h"
#include "view/fleet_watch.h"

namespace lockstep::controller {

struct RolloutOptions {
  std::string instance;  // of events: the pod's or host's name
  // Why a node waits or failed, by name.
  std::function<fleet::ReasonName(const std::string& node)> reason_of;
  // For drivers whose version is stored in Git; null: rollback is unavailable for those.
  MatrixStore* git = nullptr;
  // How often git is tried when the other side cannot be reached, the waits growing up to this.
  int git_tries = 12;
  Duration git_wait = minutes(5);
  GateJobsOptions gates;
  // For gates that ask Prometheus or a webhook; null: those are inconclusive.
  GateAsker* asker = nullptr;
  // NVIDIA's own controller takes the nodes' steps. Lockstep holds nodes outside the open waves by
  // the label for which that controller skips them.
  bool conduct = false;
  // How often what happens in a bake is written down.
  Duration bake_interval = minutes(5);
};

class RolloutController {
 public:
  RolloutController(kube::Api& api, Loop& loop, Random& random, Log& log, view::FleetWatch& watch,
                    RolloutOptions options);
  RolloutController(const RolloutController&) = delete;
  RolloutController& operator=(const RolloutController&) = delete;

  void start() { gates_.start(); }
  void lead();
  void follow() { leading_ = false; }
  bool idle() const { return busy_.empty(); }
  // Everything that the decision about a rollout reads.
  rollout::RolloutView view(const view::KnownRollout& known);
  // What was last decided, by rollout.
  const std::map<std::string, fleet::Reason>& reasons() const { return reasons_; }

 private:
  void look_within(Duration delay);
  void look();
  void look_at(const view::KnownRollout& known);
  std::string obstacle_of(const rollout::RolloutSpec& spec) const;
  // The gates of the current wave, as they run now.
  GateRun gate_run(const rollout::RolloutView& view) const;
  // What was measured before the wave, as it is kept; null: nothing is.
  std::shared_ptr<const rollout::WaveBaseline> kept_baseline(const std::string& rollout,
                                                             size_t wave) const;
  void take_baseline(const view::KnownRollout& known, size_t wave);
  std::set<std::string> in_use(const std::vector<std::string>& nodes) const;
  // Creates or updates a ConfigMap of the rollout's.
  void keep(const std::string& rollout, const ObjectKey& key,
            const std::function<Json(const std::string& resource_version)>& body);
  // True: a query is in progress.
  bool asks_gates(const view::KnownRollout& known, const rollout::RolloutView& view);
  const KeptBake* kept_bake(const rollout::RolloutView& view) const;
  const KeptBake* kept_bake(const rollout::RolloutView& view, size_t wave) const;
  std::vector<rollout::BakeStep> steps_before(const rollout::RolloutView& view, size_t wave) const;
  const KeptBake* stored_bake(const std::string& rollout, size_t wave) const;
  Duration since_last_look(const std::string& rollout, const KeptBake& kept, Duration interval);
  bool notes_before(const rollout::RolloutView& view, size_t wave);
  bool keeps_bake(const rollout::RolloutView& view);
  KeptBake begin_bake(const rollout::RolloutView& view, size_t wave, const rollout::BakeSpec& spec,
                      const std::vector<BakeNode>& nodes) const;
  void write_bake(const std::string& rollout, size_t wave, const KeptBake& bake);
  rollout::BakeView judge(const rollout::RolloutView& view, const KeptBake& kept) const;
  void act(const view::KnownRollout& known, const rollout::RolloutDecision& decision);
  void write_status(const view::KnownRollout& known, const rollout::StatusWrite& write);
  void write_wave(const view::KnownRollout& known, const rollout::WaveWrite& write);
  // True: labels of nodes are being written.
  bool conducts(const view::KnownRollout& known, const rollout::RolloutView& view);
  bool write_holds(const std::string& rollout, std::vector<rollout::SkipChange> changes);
  // Of nodes that NVIDIA's controller upgraded although their wave was not open.
  void report_outsiders(const rollout::RolloutView& view);
  void commit_to_git(const view::KnownRollout& known, const rollout::GitCommit& commit);
  void on_git(const std::string& name, rollout::GitStep step, const Result<std::string>& commit);
  std::optional<rollout::GitOutcome> git_outcome(const rollout::RolloutView& view) const;
  void restore_object(const view::KnownRollout& known, const rollout::Revert& revert);
  std::optional<rollout::RestoreOutcome> restore_outcome(const rollout::RolloutView& view) const;
  void retry_nodes(const std::string& name, const rollout::RetryNodes& write);
  void on_written(const std::string& name, kube::Reply reply,
                  const std::function<void(const std::string& version)>& expect);
  void done(const std::string& name, bool failed);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  view::FleetWatch& watch_;
  RolloutOptions options_;
  kube::EventRecorder events_;
  ObjectReverter object_reverter_;
  RolloutNodes nodes_;
  NodeHolds holds_;
  ClientRestarts clients_;         // where NVIDIA's controller takes the steps
  std::set<std::string> outside_;  // nodes that were reported (UpgradedOutsideWave)
  HealthMemory health_;
  GateJobs gates_;
  GateQuestions questions_;
  // Bakes that were read, by the version of their ConfigMap.
  mutable std::map<std::string, std::pair<std::string, std::optional<KeptBake>>> bakes_;
  mutable std::map<std::string,
                   std::pair<std::string, std::shared_ptr<const rollout::WaveBaseline>>>
      baselines_;
  struct Judged {
    std::string bake;     // the name of its ConfigMap,
    std::string version;  // and its version
    rollout::BakeView view;
  };
  mutable std::map<std::string, Judged> judged_;
  // Of a bake that was recorded up to this time of the wall clock: when that was by our own.
  struct Sighting {
    Time until;
    Duration at{0};
  };
  std::map<std::string, Sighting> sightings_;
  // What git last said, by rollout: of the phase that began then, and when it may be asked again.
  struct GitMemory {
    rollout::GitOutcome outcome;
    Time phase_since;
    Duration again_at{0};
    int tries = 0;
    rollout::MatrixPlace place = {};  // that was asked
  };
  std::map<std::string, GitMemory> git_;
  std::map<std::string, std::string> gate_refusals_;  // by rollout, of the last try
  // What came of restoring a driver's object, likewise.
  struct RestoreMemory {
    rollout::RestoreOutcome outcome;
    Time phase_since;
    Duration again_at{0};
    int tries = 0;
  };
  std::map<std::string, RestoreMemory> restores_;
  kube::Backoff backoff_;
  bool leading_ = false;
  std::set<std::string> busy_;  // a write of theirs is in progress
  std::map<std::string, fleet::Reason> reasons_;
  std::map<std::string, Duration> counted_;  // when counts alone were last written
  TimerId timer_ = 0;
  Duration timer_due_{0};
  Scope scope_;
};

}  // namespace lockstep::controller
