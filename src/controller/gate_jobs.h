// The gates of a wave that run on its nodes: one Job for each gate and node, and what they came to.
// A gate that ends with an error of its own is tried again; then it is inconclusive. All Jobs are
// in a namespace of their own, under an account without rights.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/cache_feed.h"
#include "objects/generic_object.h"
#include "objects/job.h"
#include "rollout/baseline.h"
#include "rollout/gate_end.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"
#include "view/fleet_watch.h"

namespace lockstep::controller {

inline constexpr std::string_view usual_gate_namespace = "lockstep-gates";

struct GateJobsOptions {
  std::string ns = std::string(usual_gate_namespace);
  std::string image = "ghcr.io/lockstep/lockstep:latest";  // that runs `lockstep gate`
  int tries = 3;                                           // of a gate that ends with an error
  bool allows_job_gates = true;                            // off: only built-in gates run
};

// A wave's gates as they run once: for one revision of the driver, since the rollout began with it,
// and for each time that a user retries them.
struct GateRun {
  std::string rollout;
  size_t wave = 0;
  std::string wave_name;
  std::string revision;
  std::string version;
  Time started;
  int64_t round = 0;
  std::vector<rollout::GateSpec> gates;
  std::vector<std::string> nodes;
  // Before the upgrade: the measurements are kept, and the rollout does not wait for long.
  bool is_baseline = false;
  // After it: what was kept for the wave (null: nothing), the nodes on which to compare it, and
  // those on which pods of users use the GPUs.
  std::shared_ptr<const rollout::WaveBaseline> before = nullptr;
  std::set<std::string> compared = {};
  std::set<std::string> in_use = {};

  // What distinguishes one run from another.
  std::string id() const;
};

// On the Jobs of gates, and their pods.
inline constexpr std::string_view gate_label = "lockstep.dev/gate";

// The pod of a Job that runs `lockstep gate` with these words on one node: with all of its GPUs,
// also those in use, with its verdict in the termination message, and without a token.
JsonObject gate_pod(const std::string& image, const std::string& node,
                    const std::vector<std::string>& words);

// A built-in gate or a Job; other gates query a server.
bool runs_on_nodes(const rollout::GateSpec& gate);

class GateJobs {
 public:
  GateJobs(kube::Api& api, Loop& loop, Random& random, Log& log, view::FleetWatch& watch,
           GateJobsOptions options);
  GateJobs(const GateJobs&) = delete;
  GateJobs& operator=(const GateJobs&) = delete;

  void start();
  void on_change(std::function<void()> listener) { listener_ = std::move(listener); }
  // Of gates that run on nodes, by gate; one of which no Job has been made yet is left out.
  std::vector<rollout::Verdict> verdicts(const GateRun& run) const;
  // Makes the Jobs that are missing; may be asked again. `done` when all were answered: with what
  // the API server said to one that it refused, or with nothing.
  void begin(const GateRun& run, std::function<void(const std::string& refusal)> done);
  // Of a baseline: the numbers of each gate, by node; nothing as long as one has not ended.
  using Measured = std::map<std::string, std::map<std::string, rollout::GateNumbers>>;
  std::optional<Measured> measured(const GateRun& run) const;
  // Of a run after the upgrade that has ended: the speeds beside those of before.
  std::vector<rollout::SpeedPair> speed_pairs(const GateRun& run) const;

 private:
  struct NodeVerdict {
    rollout::Outcome outcome = rollout::Outcome::running;
    std::string text;
    int tries = 0;  // Jobs that there are
    bool started = false;
    bool again = false;                                  // the next try is to be made
    std::optional<rollout::GateEnd> end = std::nullopt;  // of a try that decided
  };
  NodeVerdict verdict_of(const GateRun& run, const rollout::GateSpec& gate,
                         const std::string& node) const;
  NodeVerdict own_verdict(const GateRun& run, const rollout::GateSpec& gate,
                          const std::string& node) const;
  NodeVerdict read_failure(const Job& job) const;
  // What the pod of a Job that passed left behind; nothing: it has not arrived yet.
  std::optional<rollout::GateEnd> end_of(const Job& job) const;
  void note_pod(const GenericObject& pod, bool is_there);
  std::string job_name(const GateRun& run, const std::string& gate, const std::string& node,
                       int attempt) const;
  Json job_object(const GateRun& run, const rollout::GateSpec& gate, const std::string& node,
                  int attempt) const;
  // Why no Job is made for the gate; empty: it is.
  std::string refusal_of(const rollout::GateSpec& gate) const;

  kube::Api& api_;
  Loop& loop_;
  GateJobsOptions options_;
  kube::CachedResource<Job> jobs_;
  // Whole ones: their last words are in them.
  kube::CachedResource<GenericObject> pods_;
  std::map<std::string, std::optional<rollout::GateEnd>> ends_;  // of pods, by their Job's uid
  std::function<void()> listener_;
  Scope scope_;
};

}  // namespace lockstep::controller
