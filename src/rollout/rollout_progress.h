// How far a rollout is: its nodes counted by wave, and its gates taken together.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rollout/rollout_view.h"

namespace lockstep::rollout {

struct WaveProgress {
  int64_t nodes = 0;
  int64_t done = 0;
  int64_t failed = 0;
  int64_t skipped = 0;
  int64_t pending = 0;  // neither of these
  std::vector<std::string> failed_nodes;
};

struct Progress {
  std::vector<WaveProgress> waves;
  std::map<std::string, int64_t> by_state;
  std::map<ReasonName, int64_t> by_reason;
  int64_t out_of_sync = 0;
  // Of another revision or in flight, whatever their wave; and what a user's skip leaves out.
  int64_t to_upgrade = 0;
  std::vector<std::string> returning;  // the same by name, during a rollback
  int64_t left_out = 0;
  // Of another revision, and their label does not say so yet.
  int64_t unaware = 0;
  int64_t failed = 0;  // with the newest revision, in any wave
  int64_t failed_in_open = 0;
  std::vector<std::string> failed_names;  // in open waves; during a rollback in any
  // Of those in open waves: their driver was restarted. Only they are evidence against the new one.
  std::vector<std::string> failed_with_driver;
  // The others by name; and each with its failure: "gpu-4: ProtectedPods: 1 pod may not …".
  std::vector<std::string> blocked_names;
  std::vector<std::string> blocked;
};

Progress measure_progress(const RolloutView& view);

// At most a few by name: "gpu-1, gpu-2 and 7 more".
std::string upgrade_names(const std::vector<std::string>& names);

struct GateSummary {
  Outcome outcome = Outcome::passed;
  std::string text;
  std::vector<std::string> missing;  // gates that have not been started
};
// Those that only show what they would say are waited for, and do not count.
GateSummary summarize_gates(const WaveSpec& wave, const std::vector<Verdict>& gates);

}  // namespace lockstep::rollout
