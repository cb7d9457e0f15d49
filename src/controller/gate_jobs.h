// The gates of a wave that run on its nodes: one Job for each gate and node, and what they came to.
// A gate that ends with an error of its own is tried again; then it is inconclusive.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/fleet_watch.h"
#include "kube/cache_feed.h"
#include "objects/job.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"

namespace lockstep::controller {

struct GateJobsOptions {
  std::string ns = "lockstep-system";
  std::string image = "ghcr.io/lockstep/lockstep:latest";  // that runs `lockstep gate`
  int tries = 3;                                           // of a gate that ends with an error
};

// A wave's gates as they run for one revision of the driver.
struct GateRun {
  std::string rollout;
  size_t wave = 0;
  std::string revision;
  std::vector<rollout::GateSpec> gates;
  std::vector<std::string> nodes;
};

class GateJobs {
 public:
  GateJobs(kube::Api& api, Loop& loop, Random& random, Log& log, FleetWatch& watch,
           GateJobsOptions options);
  GateJobs(const GateJobs&) = delete;
  GateJobs& operator=(const GateJobs&) = delete;

  void start();
  void on_change(std::function<void()> listener) { listener_ = std::move(listener); }
  // By gate; one of which no Job has been made yet is left out.
  std::vector<rollout::Verdict> verdicts(const GateRun& run) const;
  // Makes the Jobs that are missing; may be asked again. `done` when all were answered.
  void begin(const GateRun& run, std::function<void()> done);

 private:
  struct NodeVerdict {
    rollout::Outcome outcome = rollout::Outcome::running;
    std::string text;
    int tries = 0;  // Jobs that there are
    bool started = false;
    bool again = false;  // the next try is to be made
  };
  NodeVerdict verdict_of(const GateRun& run, const rollout::GateSpec& gate,
                         const std::string& node) const;
  NodeVerdict read_failure(const Job& job) const;
  std::string job_name(const GateRun& run, const std::string& gate, const std::string& node,
                       int attempt) const;
  Json job_object(const GateRun& run, const rollout::GateSpec& gate, const std::string& node,
                  int attempt) const;

  kube::Api& api_;
  FleetWatch& watch_;
  GateJobsOptions options_;
  kube::CachedResource<Job> jobs_;
  std::function<void()> listener_;
  Scope scope_;
};

}  // namespace lockstep::controller
