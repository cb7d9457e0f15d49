#include "rollout/decide_rollout.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/baseline.h"
#include "rollout/membership.h"
#include "rollout/restoring.h"
#include "rollout/rollout_look.h"
#include "rollout/rollout_matrix.h"
#include "rollout/wave_evidence.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

RolloutDecision decide_rollout(const RolloutView& view, Time now) {
  return Look(view, now).decide();
}

Look::Look(const RolloutView& view, Time now) : view_(view), now_(now), next_(view.status) {
  next_.generation = view.generation;
  spec_fits_ = has_opened_waves(view.spec, view.status);
  if (spec_fits_) {
    next_.waves.resize(view.spec.waves.size());
    for (size_t i = 0; i < next_.waves.size(); ++i) next_.waves[i].name = view.spec.waves[i].name;
  }
  learn_fields(view.target, next_);
  progress_ = measure_progress(view);
  take_counts();
}

RolloutDecision Look::decide() {
  if (!view_.spec.problems.empty() && !is_rollback_wanted()) {
    Reason invalid{Reason::invalid_spec, join(view_.spec.problems, "; "),
                   "correct the rollout's spec"};
    // Why it is held decides how it continues.
    return phase() == Phase::held ? hold(std::move(invalid)) : rest(std::move(invalid));
  }
  if (auto commanded = obey()) return std::move(*commanded);
  if (auto changed = check_spec()) return std::move(*changed);
  if (!view_.target.is_set()) {
    Reason unknown{Reason::revision_unknown, "the driver's newest revision is not known now", ""};
    // In the middle of a rollout it passes: nothing is said of it.
    return phase() == Phase::pending ? rest(std::move(unknown)) : hold(std::move(unknown));
  }
  switch (phase()) {
    case Phase::pending:
    case Phase::complete:
    case Phase::rolled_back:
      return decide_idle();
    case Phase::rolling_back:
      return decide_rolling_back();
    default:
      break;
  }
  if (is_held_as_rejected()) return decide_rejected();
  if (!view_.target.same_as(next_.open_for)) return on_new_target();
  if (auto held = check_nodes()) return std::move(*held);
  switch (phase()) {
    case Phase::upgrading:
      return decide_upgrading();
    case Phase::gating:
      return decide_gating();
    case Phase::baking:
      return decide_baking();
    case Phase::awaiting_approval:
      return rest({Reason::awaiting_approval,
                   fmt::format("wave {} has passed and needs an approval", wave().name),
                   fmt::format("lockstep rollout promote {}", view_.name)});
    case Phase::promoting:
      return decide_promoting();
    default:
      return decide_held();
  }
}

// A rollback needs no wave's rules: an invalid spec does not hold it.
bool Look::is_rollback_wanted() const {
  if (view_.spec.waves.empty()) return false;
  bool is_asked = view_.command && view_.command->verb == "rollback" &&
                  view_.command->text != next_.last_command;
  return phase() == Phase::rolling_back || is_asked;
}

// Nodes are deleted and skipped in every phase.
std::optional<RolloutDecision> Look::check_nodes() {
  bool is_checked =
      phase() == Phase::upgrading || phase() == Phase::gating || phase() == Phase::baking;
  if (!is_checked || wave_progress().pending > 0 || has_too_many_failed()) return std::nullopt;
  auto missing = missing_evidence(view_, current(), progress_);
  if (!missing) return std::nullopt;
  return hold_wave(std::move(*missing));
}

void Look::take_counts() {
  next_.total = static_cast<int64_t>(view_.nodes.size());
  next_.by_state = progress_.by_state;
  next_.by_reason = progress_.by_reason;
  if (!spec_fits_) return;
  for (size_t i = 0; i < next_.waves.size(); ++i) {
    next_.waves[i].done = progress_.waves[i].done;
    next_.waves[i].failed = progress_.waves[i].failed;
    next_.waves[i].pending = progress_.waves[i].pending;
    next_.waves[i].nodes = progress_.waves[i].nodes;
  }
}

// Stays in its phase; only what is counted and said may change.
namespace {

// The begin or end of a gate is written at once.
bool has_same_outcomes(const RolloutStatus& one, const RolloutStatus& other) {
  return std::equal(one.waves.begin(), one.waves.end(), other.waves.begin(), other.waves.end(),
                    [](const WaveStatus& a, const WaveStatus& b) {
                      return std::equal(a.gates.begin(), a.gates.end(), b.gates.begin(),
                                        b.gates.end(), [](const Verdict& x, const Verdict& y) {
                                          return x.name == y.name && x.outcome == y.outcome;
                                        });
                    });
}

}  // namespace

RolloutDecision Look::rest(Reason reason, std::optional<Duration> look_again) {
  next_.reason = reason.name;
  next_.message = reason.text;
  if (is_written()) return hold(std::move(reason), look_again);
  bool counts_only = next_.reason == view_.status.reason && next_.phase == view_.status.phase &&
                     has_same_outcomes(next_, view_.status);
  return {StatusWrite{next_, counts_only}, std::move(reason), look_again};
}

// Long strings are shortened when they are written: compares what would be written now.
bool Look::is_written() const {
  return next_ == view_.status ||
         read_rollout_status(JsonObject{{"status", rollout_status_to_json(next_)}}) == view_.status;
}

RolloutDecision Look::enter(Phase phase, Reason reason, std::string by) {
  if (reason.name != Reason::spec_changed) next_.held_from.reset();
  next_.phase = phase;
  next_.phase_since = now_;
  next_.reason = reason.name;
  next_.message = reason.text;
  next_.history.push_back(
      {now_, phase, next_.open_waves > 0 ? wave().name : "", reason.name, reason.text, by});
  if (next_.history.size() > most_history) next_.history.erase(next_.history.begin());
  return {StatusWrite{next_, false}, std::move(reason), {}};
}

RolloutDecision Look::enter_held(Reason reason, std::string by) {
  next_.closed = true;
  return enter(Phase::held, std::move(reason), std::move(by));
}

// Opened waves are counted by their place: a spec in which they have another place has no effect
// until it fits again. A rollback needs no wave's rules, and is not held.
std::optional<RolloutDecision> Look::check_spec() {
  bool active = phase() != Phase::pending && !is_over(phase());
  if (!active || phase() == Phase::rolling_back) return std::nullopt;
  // The version before, set by hand, is a rollback.
  bool is_set_back = view_.target.is_set() && is_previous() &&
                     !view_.target.same_as(next_.open_for) && !is_held_as_rejected();
  if (is_set_back) return std::nullopt;
  bool is_held = phase() == Phase::held && view_.status.held_from.has_value();
  if (!spec_fits_ && phase() == Phase::held && !is_held)
    return rest({next_.reason, next_.message, ""});
  if (!spec_fits_) {
    Reason reason{Reason::spec_changed,
                  fmt::format("spec.waves no longer begins with the waves that have opened ({})",
                              name_opened_waves(view_.status)),
                  "restore these waves in spec.waves; the rollout then continues automatically"};
    if (is_held) return rest(std::move(reason));
    next_.held_from = phase();
    return enter_held(std::move(reason));
  }
  if (!is_held) return std::nullopt;
  next_.closed = false;
  return enter(view_.status.held_from.value_or(Phase::upgrading),
               {Reason::spec_restored, "spec.waves has the waves that have opened again", ""});
}

RolloutDecision Look::decide_idle() {
  if (!view_.other.empty()) {
    return rest({Reason::another_rollout,
                 fmt::format("rollout {} of the same driver is in progress", view_.other), ""});
  }
  if (!next_.stable.is_set()) {
    if (progress_.out_of_sync == 0) {
      next_.stable = view_.target;
    } else if (view_.previous.is_set()) {
      next_.stable = view_.previous;
    }
  }
  if (next_.stable.is_set() && view_.target.same_as(next_.stable)) {
    record_stable(view_.target, next_);
    bool was_about_to_begin = next_.reason == Reason::taking_baseline;
    if (phase() != Phase::pending && !was_about_to_begin) {
      return rest({next_.reason, next_.message, ""});
    }
    return rest({Reason::nothing_to_do,
                 fmt::format("all nodes run {}; no new version requested", view_.target.version),
                 ""});
  }
  // No bake for what the whole fleet ran until this rollout.
  if (phase() == Phase::complete && is_previous()) return go_back_to_previous();
  if (const RejectedDriver* rejected = rejection_of_target(view_, next_)) {
    next_.open_waves = next_.waves_to_return = 0;
    return enter_held(rejection_reason(*rejected, next_, view_.name));
  }
  if (!view_.refused_repository.empty()) {
    return rest({Reason::repository_not_allowed, view_.refused_repository,
                 "name it in the chart's controller.git.repositories (--git-repository)"});
  }
  if (view_.spec.on_failure == OnFailure::roll_back) {
    if (auto obstacle = obstacle_to_start(view_, next_)) return rest(std::move(*obstacle));
  }
  if (view_.spec.on_failure == OnFailure::roll_back && view_.spec.matrix) {
    if (auto waits = check_matrix()) return std::move(*waits);
  }
  return start();
}

// Whether what the matrix says could be rolled back. Nothing: it could.
std::optional<RolloutDecision> Look::check_matrix() {
  const GitOutcome* outcome = outcome_of_git(GitStep::check);
  if (outcome == nullptr || outcome->version != view_.target.version) {
    return RolloutDecision{GitCommit{GitStep::check, view_.target.version, {}},
                           {Reason::starting, "the version matrix is being checked", ""},
                           {}};
  }
  if (outcome->error.empty()) return std::nullopt;
  return rest({Reason::rollback_unavailable, outcome->error,
               "set onFailure: Hold to start without a rollback"},
              minutes(1));
}

// `changed`: another version than the one that was in progress.
RolloutDecision Look::start(std::optional<HistoryEntry> changed) {
  if (progress_.unaware > 0) {
    Reason starting{Reason::starting,
                    fmt::format("waits until {} nodes have the new revision", progress_.unaware),
                    ""};
    // Why it was held stays: it is held until then.
    return phase() == Phase::held ? hold(std::move(starting)) : rest(std::move(starting));
  }
  if (changed) next_.history.push_back(std::move(*changed));
  if (next_.from.is_set() && !next_.from.is_same_driver(next_.stable)) next_.before = next_.from;
  next_.from = next_.stable;
  next_.to = view_.target;
  next_.started = now_;
  next_.promote_commit.clear();
  next_.revert_commit.clear();
  next_.restored = false;
  next_.waves_to_return = 0;
  for (WaveStatus& each : next_.waves) {
    std::string name = each.name;
    each = {};
    each.name = name;
  }
  return open(0);
}

// First the wave's nodes are written down, then it is opened.
RolloutDecision Look::open(size_t index) {
  const WaveSpec& spec = view_.spec.waves[index];
  std::string revision = revision_id(view_.target);
  const auto& recorded = view_.recorded[index];
  if (!recorded || recorded->revision != revision || !has_nodes_for(view_, index, next_.started)) {
    const std::vector<Candidate> free = free_nodes(view_, index, next_.started);
    WaveChoice choice =
        choose_wave(spec, view_.spec.group_by, free, static_cast<int64_t>(view_.nodes.size()));
    if (auto few = too_few_to_open(view_, index, choice, free)) return hold_unopened(*few);
    RecordedWave record{revision, std::move(choice.nodes)};
    if (!recorded || *recorded != record) {
      return {WaveWrite{index, std::move(record)},
              {Reason::opening, fmt::format("the nodes of wave {} are recorded", spec.name), ""},
              {}};
    }
  }
  if (auto waits = take_baseline(index)) return std::move(*waits);
  next_.open_waves = static_cast<int64_t>(index) + 1;
  next_.open_for = view_.target;
  next_.closed = false;
  WaveStatus& opened = next_.waves[index];
  opened.opened = now_;
  opened.nodes = static_cast<int64_t>(recorded->nodes.size());
  opened.verdict = Outcome::running;
  return enter(Phase::upgrading,
               {Reason::wave_open,
                fmt::format("wave {} is open: {} ({})", spec.name,
                            upgrade::counted(recorded->nodes.size(), "node"), spec.nodes.text()),
                ""});
}

// Nothing: it is kept, or there is nothing to compare. What is waited for is said first; all else
// of the status stays until the wave opens.
std::optional<RolloutDecision> Look::take_baseline(size_t index) const {
  const WaveSpec& spec = view_.spec.waves[index];
  if (!has_compared_gates(spec)) return std::nullopt;
  bool is_kept = index < view_.baselines.size() && view_.baselines[index] == baseline_id(view_);
  if (is_kept) return std::nullopt;
  Reason reason{Reason::taking_baseline,
                fmt::format("gates measure the nodes of wave {} before their upgrade", spec.name),
                ""};
  // Why it is held decides how it continues: that stays.
  bool is_said = phase() == Phase::held ||
                 (view_.status.reason == reason.name && view_.status.message == reason.text);
  if (is_said) {
    return RolloutDecision{TakeBaseline{index}, std::move(reason), minutes(1)};
  }
  RolloutStatus waiting = view_.status;
  waiting.reason = reason.name;
  waiting.message = reason.text;
  return RolloutDecision{StatusWrite{std::move(waiting), false}, std::move(reason), {}};
}

// The wave stays closed; it opens by itself as soon as it has its nodes.
RolloutDecision Look::hold_unopened(Reason reason) {
  bool is_said = phase() == Phase::held && view_.status.reason == reason.name &&
                 view_.target.same_as(view_.status.open_for);
  if (is_said) return rest(std::move(reason));
  next_.open_for = view_.target;
  // Waves that were open for another version are not open for this one.
  if (!next_.waves.front().opened.is_set()) next_.open_waves = 0;
  return enter_held(std::move(reason));
}

RolloutDecision Look::on_new_target() {
  if (is_previous()) return go_back_to_previous();
  if (const RejectedDriver* rejected = rejection_of_target(view_, next_)) {
    return enter_held(rejection_reason(*rejected, next_, view_.name));
  }
  return start(HistoryEntry{now_, phase(), "", Reason::version_changed,
                            fmt::format("{} instead of {}: starts with the first wave",
                                        view_.target.version, next_.to.version),
                            ""});
}

RolloutDecision Look::decide_upgrading() {
  const WaveProgress& progress = wave_progress();
  if (has_too_many_failed()) return decide_failed();
  if (progress.pending > 0) {
    return rest(
        {Reason::upgrading,
         fmt::format("wave {}: {} of {} nodes done", wave().name, progress.done, progress.nodes),
         ""});
  }
  if (is_left_empty(view_, current())) {
    wave().verdict = Outcome::passed;
    wave().verdict_text = "no node remained for this wave";
    return enter(Phase::promoting, {Reason::no_node_left,
                                    fmt::format("no node remains for wave {}", wave().name), ""});
  }
  if (!wave_spec().gates.empty()) {
    return enter(Phase::gating,
                 {Reason::gating, fmt::format("the gates of wave {}", wave().name), ""});
  }
  return after_gates();
}

RolloutDecision Look::after_gates() {
  if (!wave_spec().bake) return after_bake("");
  wave().bake_began = now_;
  return enter(Phase::baking, {Reason::baking,
                               fmt::format("wave {} bakes for {}", wave().name,
                                           format_duration(wave_spec().bake->duration)),
                               ""});
}

RolloutDecision Look::after_bake(const std::string& text) {
  if (wave_progress().pending > 0) {
    return rest(
        {Reason::nodes_not_ready,
         fmt::format(
             "wave {} passed its checks and waits until all its drivers are ready: {} of {}",
             wave().name, wave_progress().done, wave_progress().nodes),
         ""});
  }
  wave().verdict = Outcome::passed;
  wave().verdict_text = text.empty() ? name_finished() : text;
  if (wave_spec().needs_approval && wave().approved_by.empty()) {
    return enter(Phase::awaiting_approval,
                 {Reason::awaiting_approval,
                  fmt::format("wave {} has passed and needs an approval", wave().name),
                  fmt::format("lockstep rollout promote {}", view_.name)});
  }
  return enter(Phase::promoting,
               {Reason::wave_passed, fmt::format("wave {} has passed", wave().name), ""});
}

// That it is refused is said before it is tried again.
RolloutDecision Look::start_gates(std::vector<std::string> missing, fleet::KnownReason reason) {
  if (!view_.gate_refusal.empty()) {
    Reason refused{
        Reason::gate_refused,
        fmt::format("the gates of wave {} cannot start: {}; the controller retries", wave().name,
                    view_.gate_refusal),
        "allow the Job: check rights, quota and admission webhooks of the gates' namespace"};
    RolloutDecision said = rest(std::move(refused));
    if (said.as<StatusWrite>() != nullptr) return said;
  }
  return {StartGates{current(), std::move(missing)}, {reason, "gates are started", ""}, {}};
}

// "9 nodes done, 1 failed (gpu-4)".
std::string Look::name_finished() const {
  const WaveProgress& progress = wave_progress();
  std::string text = upgrade::counted(static_cast<size_t>(progress.done), "node") + " done";
  if (progress.failed == 0) return text;
  return fmt::format("{}, {} failed ({})", text, progress.failed,
                     upgrade_names(progress.failed_nodes));
}

RolloutDecision Look::decide_gating() {
  wave().gates = view_.gates;
  GateSummary gates = summarize_gates(wave_spec(), view_.gates);
  if (!gates.missing.empty()) return start_gates(std::move(gates.missing), Reason::gating);
  if (gates.outcome == Outcome::failed) {
    return fail_wave({Reason::gate_failed, gates.text, ""});
  }
  if (gates.outcome == Outcome::running) return rest({Reason::gating, gates.text, ""});
  if (gates.outcome != Outcome::passed) {
    return hold_wave(
        {Reason::gate_inconclusive, gates.text, "lockstep rollout promote or rollback"});
  }
  return after_gates();
}

RolloutDecision Look::decide_baking() {
  if (!wave_spec().bake) {
    return hold_wave({Reason::bake_removed,
                      fmt::format("the bake of wave {} was removed from spec.waves", wave().name),
                      "restore it and retry, or lockstep rollout promote"});
  }
  if (!view_.bake) return rest({Reason::baking, "the bake has no result yet", ""});
  wave().bake = view_.bake->text;
  wave().detectable = view_.bake->detectable;
  switch (view_.bake->outcome) {
    case Outcome::running:
      return rest({Reason::baking, view_.bake->text, ""});
    case Outcome::passed:
      return after_bake(view_.bake->text);
    case Outcome::failed:
      return view_.bake->hold ? hold_wave({Reason::control_group_failing, view_.bake->text, ""})
                              : fail_wave({Reason::bake_failed, view_.bake->text, ""});
    default:
      return hold_wave(
          {Reason::bake_inconclusive, view_.bake->text, "lockstep rollout promote, or rollback"});
  }
}

RolloutDecision Look::decide_promoting() {
  if (wave().verdict != Outcome::passed) {
    return hold_wave({Reason::not_passed, fmt::format("wave {} has not passed", wave().name), ""});
  }
  // Before the last wave the canary's versions are promoted.
  bool is_due = current() + 2 >= view_.spec.waves.size();
  if (view_.spec.matrix && is_due && next_.promote_commit.empty()) return promote_in_git();
  if (current() + 1 < view_.spec.waves.size()) return open(current() + 1);
  next_.stable = next_.to;
  allow(next_, next_.to);
  if (has_driver_before()) next_.from = next_.before;
  if (progress_.failed_in_open > 0) {
    return enter(
        Phase::complete,
        {Reason::complete_with_failures,
         fmt::format("all waves are complete for {}; {} failed and stay out of service: {}",
                     next_.to.version,
                     upgrade::counted(static_cast<size_t>(progress_.failed_in_open), "node"),
                     upgrade_names(progress_.failed_names)),
         "lockstep why NODE; lockstep retry NODE after the repair"});
  }
  return enter(Phase::complete,
               {Reason::complete, fmt::format("every wave has passed: {}", next_.to.version), ""});
}

RolloutDecision Look::promote_in_git() {
  const GitOutcome* outcome = outcome_of_git(GitStep::promote);
  if (outcome == nullptr) {
    return {GitCommit{GitStep::promote, next_.to.version, evidence_of(view_.name, next_)},
            {Reason::promoting,
             fmt::format("{} becomes the current version in the matrix", next_.to.version), ""},
            {}};
  }
  if (outcome->again) return rest({Reason::promoting, outcome->error, ""}, minutes(1));
  if (!outcome->error.empty()) {
    return enter_held({Reason::promotion_failed,
                       fmt::format("the commit to the matrix failed: {}", outcome->error),
                       "lockstep rollout promote retries it"});
  }
  next_.promote_commit = outcome->commit;
  return enter(Phase::promoting, {Reason::promoted,
                                  fmt::format("commit {} makes {} the current version",
                                              outcome->commit, next_.to.version),
                                  ""});
}

}  // namespace lockstep::rollout
