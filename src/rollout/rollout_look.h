// One reconciliation of a rollout: the status as it is, and as it will be. Only for the files that
// decide: decide_rollout.cc (waves, gates, bakes, promotion), decide_held.cc, decide_rollback.cc
// and decide_command.cc.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "rollout/decide_rollout.h"
#include "rollout/rollout_progress.h"

namespace lockstep::rollout {

class Look {
 public:
  Look(const RolloutView& view, Time now);
  RolloutDecision decide();

 private:
  Phase phase() const { return view_.status.phase; }
  // The spec may have fewer waves than have opened: whatever is taken by a wave's number is there.
  size_t current() const {
    size_t last = std::min(next_.waves.size(), view_.spec.waves.size()) - 1;
    return std::min(static_cast<size_t>(std::max<int64_t>(next_.open_waves, 1) - 1), last);
  }
  int64_t all_waves() const {
    return static_cast<int64_t>(std::min(next_.waves.size(), view_.spec.waves.size()));
  }
  WaveStatus& wave() { return next_.waves[current()]; }
  const WaveSpec& wave_spec() const { return view_.spec.waves[current()]; }
  const WaveProgress& wave_progress() const { return progress_.waves[current()]; }

  // How a decision is written: see decide_rollout.cc.
  static RolloutDecision hold(Reason reason, std::optional<Duration> look_again = {}) {
    return {{}, std::move(reason), look_again};
  }
  void take_counts();
  RolloutDecision rest(Reason reason, std::optional<Duration> look_again = {});
  bool is_written() const;
  RolloutDecision enter(Phase phase, Reason reason, std::string by = {});
  RolloutDecision enter_held(Reason reason, std::string by = {});

  // Starting and opening waves.
  std::optional<RolloutDecision> check_spec();
  RolloutDecision decide_idle();
  std::optional<RolloutDecision> check_matrix();
  RolloutDecision start(std::optional<HistoryEntry> changed = {});
  RolloutDecision open(size_t index);
  std::optional<RolloutDecision> take_baseline(size_t index) const;
  RolloutDecision hold_unopened(Reason reason);
  RolloutDecision on_new_target();

  // A wave on its way.
  bool is_rollback_wanted() const;
  std::optional<RolloutDecision> check_nodes();
  RolloutDecision decide_held();
  bool has_lost_nodes() const;
  int64_t allowed_failures() const { return current() == 0 ? 0 : view_.max_failures - 1; }
  bool is_over_budget(int64_t failed) const { return failed > allowed_failures(); }
  bool has_too_many_failed() const;
  RolloutDecision decide_failed();
  RolloutDecision decide_blocked();
  RolloutDecision decide_upgrading();
  RolloutDecision after_gates();
  RolloutDecision after_bake(const std::string& text);
  RolloutDecision start_gates(std::vector<std::string> missing, fleet::KnownReason reason);
  std::string name_finished() const;
  RolloutDecision decide_gating();
  RolloutDecision decide_baking();
  RolloutDecision decide_promoting();
  RolloutDecision promote_in_git();
  RolloutDecision fail_wave(Reason reason);
  RolloutDecision hold_wave(Reason reason);
  const GitOutcome* outcome_of_git(GitStep step) const {
    return view_.git && view_.git->step == step ? &*view_.git : nullptr;
  }

  // What a user asks for: decide_command.cc.
  std::optional<RolloutDecision> obey();
  RolloutDecision ignore(const Command& command, std::string_view why);
  RolloutDecision note(const Command& command, fleet::KnownReason reason, std::string text);
  RolloutDecision roll_back(const Command& command);
  RolloutDecision retry(const Command& command);
  RolloutDecision choose_again(const Command& command);
  RolloutDecision allow_rejected(const Command& command);
  RolloutDecision promote(const Command& command);

  // Rolling back: decide_rollback.cc.
  bool has_driver_before() const;
  bool is_previous() const;
  bool is_held_as_rejected() const;
  RolloutDecision decide_rejected();
  RolloutDecision go_back(Reason reason, std::string by = {});
  void reject_as_asked();
  RolloutDecision go_back_to_previous();
  RolloutDecision take_back_in_git();
  RolloutDecision note_revert(const GitOutcome& outcome);
  RolloutDecision restore_object();
  RolloutDecision decide_rolling_back();
  std::optional<RolloutDecision> return_wave();
  RolloutDecision return_others();
  RolloutDecision rest_returning(const std::string& text);
  RolloutDecision returned();

  const RolloutView& view_;
  Time now_;
  RolloutStatus next_;
  bool spec_fits_ = true;
  Progress progress_;
};

}  // namespace lockstep::rollout
