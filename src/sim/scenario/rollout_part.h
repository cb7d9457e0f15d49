// What a scenario with a rollout adds to its world: the definition of DriverRollout, the rollout
// itself, what users ask of it, and nodes that report their GPUs' health.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rollout/matrix_file.h"
#include "rollout/rollout_status.h"
#include "sim/actors/cluster.h"
#include "sim/actors/git_ops.h"
#include "sim/actors/health_reporter.h"
#include "sim/actors/memory_matrix.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class RolloutPart {
 public:
  RolloutPart(Cluster& cluster, const Scenario& scenario, uint64_t seed);
  RolloutPart(const RolloutPart&) = delete;
  RolloutPart& operator=(const RolloutPart&) = delete;

  bool enabled() const { return !scenario_.rollout.is_null(); }
  // Before the controllers begin.
  Result<void> start();
  const rollout::RolloutStatus& status() const;
  // It waits only for users.
  bool at_rest() const;
  // "promote", "promote --force", "abort", …
  Result<void> command(const std::string& verb);
  Result<void> change_spec(const Json& patch);
  // The version comes from Git, over a GitOps tool.
  bool has_git() const { return git_ != nullptr; }
  controller::MatrixStore* matrix_store() { return has_matrix() ? &git_->store : nullptr; }
  // A user's commit: another version, with a matrix for the canary.
  Result<void> commit_version(const std::string& version);
  Result<void> commit_versions(const rollout::MatrixEntries& values);
  // The repository is unreachable for so long.
  void cut_git(Duration length);
  // The messages of all commits but the first.
  std::vector<std::string> commit_messages() const;
  void set_xid_rates(EventRates rates) { rates_ = std::move(rates); }

 private:
  struct Git {
    Git(Cluster& cluster, uint64_t seed, GitOpsOptions options);

    SeededRandom random;
    SilentLog log;
    MemoryRepository repository;
    MemoryMatrix store;
    GitOps tool;
  };
  bool has_matrix() const { return git_ && find(scenario_.rollout, "matrix") != nullptr; }
  void start_git();
  // The driver's object as it is in Git without a matrix.
  std::string manifest_of(std::string_view version) const;
  void tick();

  Cluster& cluster_;
  const Scenario& scenario_;
  // Of the object as it was last read: it is asked for every second of days.
  mutable std::optional<uint64_t> read_at_;  // the store's version then
  mutable Document last_read_;
  mutable rollout::RolloutStatus last_status_;
  SeededRandom random_;
  EventRates rates_;
  std::map<std::string, int64_t> events_;  // fatal XIDs by node
  int commands_ = 0;
  uint64_t seed_;
  std::unique_ptr<Git> git_;
  Scope scope_;
};

// The definition as our chart installs it.
Json driver_rollout_definition();

}  // namespace lockstep::sim
