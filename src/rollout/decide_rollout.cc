#include "rollout/decide_rollout.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/baseline.h"
#include "rollout/membership.h"
#include "rollout/restoring.h"
#include "rollout/rollout_matrix.h"
#include "rollout/rollout_progress.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

using upgrade::Reason;

constexpr std::string_view taking_baseline = "TakingBaseline";

RolloutDecision hold(Reason reason, std::optional<Duration> look_again = {}) {
  return {{}, std::move(reason), look_again};
}

// One look: the status as it is, and as it shall be.
class Look {
 public:
  Look(const RolloutView& view, Time now) : view_(view), now_(now), next_(view.status) {
    next_.generation = view.generation;
    next_.waves.resize(view.spec.waves.size());
    for (size_t i = 0; i < next_.waves.size(); ++i) next_.waves[i].name = view.spec.waves[i].name;
    learn_fields(view.target, next_);
    progress_ = measure_progress(view);
    take_counts();
  }

  RolloutDecision decide() {
    if (!view_.spec.problems.empty()) {
      return rest({"InvalidSpec", join(view_.spec.problems, "; "), "correct the rollout's spec"});
    }
    if (auto commanded = obey()) return std::move(*commanded);
    if (!view_.target.is_set()) {
      Reason unknown{"RevisionUnknown", "the driver's newest revision is not known at this moment",
                     ""};
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
    switch (phase()) {
      case Phase::upgrading:
        return decide_upgrading();
      case Phase::gating:
        return decide_gating();
      case Phase::baking:
        return decide_baking();
      case Phase::awaiting_approval:
        return rest({"AwaitingApproval",
                     fmt::format("wave {} has passed, and its approval is required", wave().name),
                     fmt::format("lockstep rollout promote {}", view_.name)});
      case Phase::promoting:
        return decide_promoting();
      default:
        return rest({next_.reason, next_.message, "lockstep rollout promote, retry or rollback"});
    }
  }

 private:
  Phase phase() const { return view_.status.phase; }
  size_t current() const { return static_cast<size_t>(std::max<int64_t>(next_.open_waves, 1) - 1); }
  WaveStatus& wave() { return next_.waves[std::min(current(), next_.waves.size() - 1)]; }
  const WaveSpec& wave_spec() const {
    return view_.spec.waves[std::min(current(), view_.spec.waves.size() - 1)];
  }

  int64_t all_waves() const { return static_cast<int64_t>(next_.waves.size()); }

  void take_counts() {
    next_.total = static_cast<int64_t>(view_.nodes.size());
    next_.by_state = progress_.by_state;
    next_.by_reason = progress_.by_reason;
    for (size_t i = 0; i < next_.waves.size(); ++i) {
      next_.waves[i].done = progress_.waves[i].done;
      next_.waves[i].failed = progress_.waves[i].failed;
      next_.waves[i].nodes = progress_.waves[i].nodes;
    }
  }

  // Stays in its phase; only what is counted and said may change.
  RolloutDecision rest(Reason reason, std::optional<Duration> look_again = {}) {
    next_.reason = reason.name;
    next_.message = reason.text;
    if (is_written()) return hold(std::move(reason), look_again);
    bool counts_only = next_.reason == view_.status.reason && next_.phase == view_.status.phase;
    return {StatusWrite{next_, counts_only}, std::move(reason), look_again};
  }

  // Long texts are cut when they are written: what would be written anew is what counts.
  bool is_written() const {
    return next_ == view_.status ||
           read_rollout_status(JsonObject{{"status", rollout_status_to_json(next_)}}) ==
               view_.status;
  }

  RolloutDecision enter(Phase phase, Reason reason, std::string by = {}) {
    next_.phase = phase;
    next_.phase_since = now_;
    next_.reason = reason.name;
    next_.message = reason.text;
    next_.history.push_back(
        {now_, phase, next_.open_waves > 0 ? wave().name : "", reason.name, reason.text, by});
    if (next_.history.size() > most_history) next_.history.erase(next_.history.begin());
    return {StatusWrite{next_, false}, std::move(reason), {}};
  }

  RolloutDecision enter_held(Reason reason, std::string by = {}) {
    next_.closed = true;
    return enter(Phase::held, std::move(reason), std::move(by));
  }

  RolloutDecision go_back(Reason reason, std::string by = {}) {
    if (is_held_as_rejected()) {
      next_.from = next_.stable;
      next_.to = view_.target;
      if (next_.open_waves == 0) next_.open_waves = all_waves();
    }
    // A user who has set the version before by hand rejects nothing, and needs nothing restored.
    const bool is_set_back = view_.target.same_as(next_.from);
    std::string obstacle = is_set_back ? "" : obstacle_to_rollback(view_, next_);
    if (!obstacle.empty()) {
      return enter_held(
          {std::string(rollback_unavailable),
           fmt::format("{}. It cannot be rolled back: {}", reason.text, obstacle), ""},
          std::move(by));
    }
    if (!is_set_back) reject(next_, next_.to, now_, reason.name);
    next_.closed = true;
    next_.revert_commit.clear();
    next_.restored = false;
    next_.open_for = next_.to;
    next_.waves_to_return = std::max(next_.open_waves, next_.waves_to_return);
    return enter(Phase::rolling_back, std::move(reason), std::move(by));
  }

  bool is_held_as_rejected() const {
    return phase() == Phase::held && view_.status.reason == rejected_version;
  }

  // A tool sets again what was rolled back: nodes keep what they run until a user decides.
  RolloutDecision decide_rejected() {
    if (const RejectedDriver* rejected = rejection_of(next_, view_.target)) {
      return rest(rejection_reason(*rejected, next_, view_.name));
    }
    // Another version, or the change beside the version that had begun before.
    const bool has_begun = view_.target.same_as(next_.to);
    if (has_begun || !view_.target.is_same_driver(next_.stable)) return start();
    // Whatever got it meanwhile returns, wave by wave.
    next_.waves_to_return = std::max(next_.waves_to_return, next_.open_waves);
    if (progress_.out_of_sync > 0 && next_.waves_to_return == 0) {
      next_.waves_to_return = all_waves();
    }
    next_.from = next_.stable;
    return enter(Phase::rolling_back,
                 {"Reverted", fmt::format("{} is set again", view_.target.version), ""});
  }

  RolloutDecision hold_rejected(const RejectedDriver& rejected) {
    return enter_held(rejection_reason(rejected, next_, view_.name));
  }

  RolloutDecision fail_wave(Reason reason) {
    wave().verdict = Outcome::failed;
    wave().verdict_text = reason.text;
    if (view_.spec.on_failure == OnFailure::hold) return enter_held(std::move(reason));
    return go_back(std::move(reason));
  }

  RolloutDecision hold_wave(Reason reason) {
    wave().verdict = Outcome::inconclusive;
    wave().verdict_text = reason.text;
    return enter_held(std::move(reason));
  }

  // What a person asked for, if it has not been done yet.
  std::optional<RolloutDecision> obey() {
    if (!view_.command || view_.command->text == next_.last_command) return std::nullopt;
    const Command& command = *view_.command;
    bool active = phase() != Phase::pending && !is_over(phase());
    auto ignored = [&](std::string_view why) {
      next_.last_command = command.text;
      next_.history.push_back({now_, next_.phase, "", "CommandIgnored",
                               fmt::format("{}: {}", command.verb, why), command.by});
      return RolloutDecision{StatusWrite{next_, false}, {next_.reason, next_.message, ""}, {}};
    };
    if (!active) return ignored("nothing is under way");
    if (command.verb == "abort") {
      next_.last_command = command.text;
      return enter_held(
          {"Aborted",
           fmt::format("aborted by {}: the waves are closed, nodes stay as they are", command.by),
           "lockstep rollout retry or rollback"},
          command.by);
    }
    if (command.verb == "rollback") {
      if (phase() == Phase::rolling_back) return ignored("it is going back already");
      next_.last_command = command.text;
      return go_back({"RollbackAsked", fmt::format("{} asked to go back", command.by), ""},
                     command.by);
    }
    if (command.verb == "retry") return retry(command, ignored);
    if (command.verb == "promote") return promote(command, ignored);
    return ignored("is not known");
  }

  RolloutDecision retry(const Command& command, const auto& ignored) {
    if (phase() != Phase::held) return ignored("only what is held is tried again");
    if (is_held_as_rejected()) return allow_rejected(command);
    const auto& failed = progress_.waves[current()].failed_nodes;
    if (!failed.empty()) {
      return {RetryNodes{failed}, {"Retry", "failed nodes are sent back into the line", ""}, {}};
    }
    next_.last_command = command.text;
    bool backwards = next_.waves_to_return > 0;
    // On the way back nobody begins with the version that is to go.
    next_.closed = backwards && !next_.open_for.same_as(next_.from);
    wave().verdict = Outcome::running;
    wave().verdict_text.clear();
    wave().gates.clear();
    ++wave().gate_round;
    return enter(backwards ? Phase::rolling_back : Phase::upgrading,
                 {"Retry", fmt::format("{} tries again", command.by), ""}, command.by);
  }

  // It begins as any version does, at the first wave.
  RolloutDecision allow_rejected(const Command& command) {
    next_.last_command = command.text;
    next_.open_waves = next_.waves_to_return = 0;
    allow(next_, view_.target);
    return enter(
        Phase::pending,
        {"Retry",
         fmt::format("{} allows {} again, which was rolled back", command.by, view_.target.version),
         ""},
        command.by);
  }

  RolloutDecision promote(const Command& command, const auto& ignored) {
    if (phase() != Phase::held && phase() != Phase::awaiting_approval) {
      return ignored("nothing waits for an approval");
    }
    if (is_held_as_rejected()) return ignored("the version was rolled back: retry allows it again");
    if (!command.wave.empty() && command.wave != wave().name) {
      return ignored(fmt::format("the wave is {}, not {}", wave().name, command.wave));
    }
    if (next_.waves_to_return > 0) return ignored("it is on its way back");
    if (progress_.waves[current()].pending > 0) {
      return ignored("not all nodes of the wave are done");
    }
    next_.last_command = command.text;
    next_.closed = false;
    wave().approved_by = command.by;
    wave().approved_at = now_;
    if (wave().verdict != Outcome::passed) {
      wave().verdict_text =
          fmt::format("taken upon themselves by {}: {}", command.by, wave().verdict_text);
      wave().verdict = Outcome::passed;
    }
    return enter(Phase::promoting,
                 {"Approved", fmt::format("wave {} approved by {}", wave().name, command.by), ""},
                 command.by);
  }

  RolloutDecision decide_idle() {
    if (!view_.other.empty()) {
      return rest({"AnotherRollout",
                   fmt::format("rollout {} is under way for the same driver", view_.other), ""});
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
      bool was_about_to_begin = next_.reason == taking_baseline;
      if (phase() != Phase::pending && !was_about_to_begin) {
        return rest({next_.reason, next_.message, ""});
      }
      return rest(
          {"NothingToDo",
           fmt::format("every node is to run {}: waits for another version", view_.target.version),
           ""});
    }
    if (const RejectedDriver* rejected = rejection_of(next_, view_.target)) {
      next_.open_waves = next_.waves_to_return = 0;
      return hold_rejected(*rejected);
    }
    if (view_.spec.on_failure == OnFailure::roll_back) {
      if (auto obstacle = obstacle_to_start(view_, next_)) return rest(std::move(*obstacle));
    }
    if (view_.spec.on_failure == OnFailure::roll_back && view_.spec.matrix) {
      if (auto waits = check_matrix()) return std::move(*waits);
    }
    return start();
  }

  // Whether what the matrix says could be taken back. Nothing: it could.
  std::optional<RolloutDecision> check_matrix() {
    const GitOutcome* outcome = outcome_of_git(GitStep::check);
    if (outcome == nullptr || outcome->version != view_.target.version) {
      return RolloutDecision{GitCommit{GitStep::check, view_.target.version, {}},
                             {"Starting", "the version matrix is looked at", ""},
                             {}};
    }
    if (outcome->error.empty()) return std::nullopt;
    return rest(
        {std::string(rollback_unavailable), outcome->error, "set onFailure: Hold to go without it"},
        minutes(1));
  }

  RolloutDecision start() {
    if (progress_.unaware > 0) {
      return rest({"Starting",
                   fmt::format("waits until {} nodes know of the new revision", progress_.unaware),
                   ""});
    }
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
  RolloutDecision open(size_t index) {
    const WaveSpec& spec = view_.spec.waves[index];
    std::string revision = revision_id(view_.target);
    const auto& recorded = view_.recorded[index];
    if (!recorded || recorded->revision != revision) {
      RecordedWave record{revision, choose(index)};
      return {WaveWrite{index, std::move(record)},
              {"Opening", fmt::format("the nodes of wave {} are written down", spec.name), ""},
              {}};
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
                 {"WaveOpen",
                  fmt::format("wave {} is open: {} ({})", spec.name,
                              upgrade::counted(recorded->nodes.size(), "node"), spec.nodes.text()),
                  ""});
  }

  // Nothing: it is kept, or there is nothing to compare. What is waited for is said first; all else
  // of the status stays until the wave opens.
  std::optional<RolloutDecision> take_baseline(size_t index) const {
    const WaveSpec& spec = view_.spec.waves[index];
    if (!has_compared_gates(spec)) return std::nullopt;
    bool is_kept = index < view_.baselines.size() && view_.baselines[index] == baseline_id(view_);
    if (is_kept) return std::nullopt;
    Reason reason{std::string(taking_baseline),
                  fmt::format("gates measure the nodes of wave {} before their upgrade", spec.name),
                  ""};
    if (view_.status.reason == reason.name && view_.status.message == reason.text) {
      return RolloutDecision{TakeBaseline{index}, std::move(reason), minutes(1)};
    }
    RolloutStatus waiting = view_.status;
    waiting.reason = reason.name;
    waiting.message = reason.text;
    return RolloutDecision{StatusWrite{std::move(waiting), false}, std::move(reason), {}};
  }

  std::vector<std::string> choose(size_t index) const {
    std::set<std::string> taken;
    for (size_t i = 0; i < index; ++i) {
      if (view_.recorded[i])
        taken.insert(view_.recorded[i]->nodes.begin(), view_.recorded[i]->nodes.end());
    }
    bool is_last = index + 1 == view_.spec.waves.size();
    std::vector<Candidate> free;
    for (const RolloutNode& node : view_.nodes) {
      if (taken.contains(node.name())) continue;
      // Who came after the start falls into the last wave.
      bool is_late = index > 0 && node.node->meta.created > next_.started;
      if (is_late && !is_last) continue;
      free.push_back({node.name(), node.node->meta.labels});
    }
    return choose_wave(view_.spec.waves[index], view_.spec.group_by, free,
                       static_cast<int64_t>(view_.nodes.size()));
  }

  RolloutDecision on_new_target() {
    if (view_.target.same_as(next_.from)) {
      return go_back({std::string(set_back_by_hand), "the version before was set again", ""});
    }
    if (const RejectedDriver* rejected = rejection_of(next_, view_.target)) {
      return hold_rejected(*rejected);
    }
    next_.history.push_back({now_, phase(), "", "VersionChanged",
                             fmt::format("{} instead of {}: from the first wave on",
                                         view_.target.version, next_.to.version),
                             ""});
    return start();
  }

  RolloutDecision decide_upgrading() {
    const WaveProgress& progress = progress_.waves[current()];
    int64_t allowed = current() == 0 ? 0 : view_.max_failures - 1;
    if (progress_.failed_in_open > allowed) {
      return fail_wave({"NodesFailed",
                        fmt::format("{} failed ({}), and {} allowed", progress_.failed_in_open,
                                    upgrade_names(progress_.failed_names),
                                    allowed == 0 ? "none is" : fmt::format("{} are", allowed)),
                        ""});
    }
    if (progress.pending > 0) {
      return rest(
          {"Upgrading",
           fmt::format("wave {}: {} of {} nodes done", wave().name, progress.done, progress.nodes),
           ""});
    }
    if (!wave_spec().gates.empty()) {
      return enter(Phase::gating, {"Gating", fmt::format("the gates of wave {}", wave().name), ""});
    }
    return after_gates();
  }

  RolloutDecision after_gates() {
    if (!wave_spec().bake) return after_bake("");
    wave().bake_began = now_;
    return enter(Phase::baking, {"Baking",
                                 fmt::format("wave {} bakes for {}", wave().name,
                                             format_duration(wave_spec().bake->duration)),
                                 ""});
  }

  RolloutDecision after_bake(const std::string& text) {
    wave().verdict = Outcome::passed;
    wave().verdict_text =
        text.empty()
            ? upgrade::counted(static_cast<size_t>(progress_.waves[current()].done), "node") +
                  " done"
            : text;
    if (wave_spec().needs_approval && wave().approved_by.empty()) {
      return enter(Phase::awaiting_approval,
                   {"AwaitingApproval",
                    fmt::format("wave {} has passed, and its approval is required", wave().name),
                    fmt::format("lockstep rollout promote {}", view_.name)});
    }
    return enter(Phase::promoting,
                 {"WavePassed", fmt::format("wave {} has passed", wave().name), ""});
  }

  RolloutDecision decide_gating() {
    wave().gates = view_.gates;
    GateSummary gates = summarize_gates(wave_spec(), view_.gates);
    if (!gates.missing.empty()) {
      return {StartGates{current(), gates.missing}, {"Gating", "gates are started", ""}, {}};
    }
    if (gates.outcome == Outcome::failed) {
      return fail_wave({"GateFailed", gates.text, ""});
    }
    if (gates.outcome == Outcome::running) return rest({"Gating", gates.text, ""});
    if (gates.outcome != Outcome::passed) {
      return hold_wave({"GateInconclusive", gates.text, "lockstep rollout promote or rollback"});
    }
    return after_gates();
  }

  RolloutDecision decide_baking() {
    if (!view_.bake) return rest({"Baking", "the bake has not been looked at yet", ""});
    wave().bake = view_.bake->text;
    wave().detectable = view_.bake->detectable;
    switch (view_.bake->outcome) {
      case Outcome::running:
        return rest({"Baking", view_.bake->text, ""});
      case Outcome::passed:
        return after_bake(view_.bake->text);
      case Outcome::failed:
        return view_.bake->hold ? hold_wave({"ControlFailsToo", view_.bake->text, ""})
                                : fail_wave({"BakeFailed", view_.bake->text, ""});
      default:
        return hold_wave(
            {"BakeInconclusive", view_.bake->text, "lockstep rollout promote, or rollback"});
    }
  }

  RolloutDecision decide_promoting() {
    if (wave().verdict != Outcome::passed) {
      return hold_wave({"NotPassed", fmt::format("wave {} has not passed", wave().name), ""});
    }
    // Before the last wave the canary's versions become everybody's.
    bool is_due = current() + 2 >= view_.spec.waves.size();
    if (view_.spec.matrix && is_due && next_.promote_commit.empty()) return promote_in_git();
    if (current() + 1 < view_.spec.waves.size()) return open(current() + 1);
    next_.stable = next_.to;
    allow(next_, next_.to);
    return enter(Phase::complete,
                 {"Complete", fmt::format("every wave has passed: {}", next_.to.version), ""});
  }

  const GitOutcome* outcome_of_git(GitStep step) const {
    return view_.git && view_.git->step == step ? &*view_.git : nullptr;
  }

  RolloutDecision promote_in_git() {
    const GitOutcome* outcome = outcome_of_git(GitStep::promote);
    if (outcome == nullptr) {
      return {GitCommit{GitStep::promote, next_.to.version, evidence_of(view_.name, next_)},
              {"Promoting",
               fmt::format("{} becomes everybody's version in the matrix", next_.to.version), ""},
              {}};
    }
    if (outcome->again) return rest({"Promoting", outcome->error, ""}, minutes(1));
    if (!outcome->error.empty()) {
      return enter_held({"PromotionFailed",
                         fmt::format("the commit to the matrix failed: {}", outcome->error),
                         "lockstep rollout promote tries it again"});
    }
    next_.promote_commit = outcome->commit;
    return enter(Phase::promoting, {"Promoted",
                                    fmt::format("commit {} makes {} everybody's version",
                                                outcome->commit, next_.to.version),
                                    ""});
  }

  RolloutDecision take_back_in_git() {
    if (!next_.revert_commit.empty()) {
      return rest({"AwaitingSync",
                   fmt::format("commit {} takes {} back: waits until it reaches the cluster",
                               next_.revert_commit, next_.to.version),
                   ""},
                  minutes(1));
    }
    const GitOutcome* outcome = outcome_of_git(GitStep::take_back);
    if (outcome == nullptr) {
      Evidence evidence = evidence_of(view_.name, next_);
      evidence.reason = next_.message;
      return {GitCommit{GitStep::take_back, next_.to.version, std::move(evidence)},
              {"Reverting", fmt::format("{} is taken back in the matrix", next_.to.version), ""},
              {}};
    }
    // The reason for going back stays: it belongs into the commit.
    if (outcome->again) return hold({"Reverting", outcome->error, ""}, minutes(1));
    if (!outcome->error.empty()) {
      return enter_held({"RevertFailed",
                         fmt::format("{} could not be taken back in the matrix: {}",
                                     next_.to.version, outcome->error),
                         "take it back by hand, or lockstep rollout retry"});
    }
    return note_revert(*outcome);
  }

  RolloutDecision note_revert(const GitOutcome& outcome) {
    next_.revert_commit = outcome.commit;
    return enter(
        Phase::rolling_back,
        {"Reverted", fmt::format("commit {} takes {} back", outcome.commit, next_.to.version), ""});
  }

  RolloutDecision restore_object() {
    using Kind = RestoreStep::Kind;
    RestoreStep step = next_restore_step(view_, next_);
    switch (step.kind) {
      case Kind::restored:
        next_.restored = true;
        return enter(Phase::rolling_back, std::move(step.reason));
      case Kind::unavailable:
      case Kind::rejected:
        return enter_held(std::move(step.reason));
      case Kind::wait:
        return rest(std::move(step.reason), minutes(1));
      case Kind::write:
        break;
    }
    // What it is about is recorded before it is gone.
    if (next_.to != view_.status.to) return rest(std::move(step.reason));
    return {Revert{next_.to, next_.from}, std::move(step.reason), minutes(1)};
  }

  RolloutDecision decide_rolling_back() {
    // Noted even when the cluster was faster.
    const GitOutcome* outcome = outcome_of_git(GitStep::take_back);
    if (outcome != nullptr && !outcome->commit.empty() && next_.revert_commit.empty()) {
      return note_revert(*outcome);
    }
    bool is_bad_still = view_.target.same_as(next_.to) && !next_.open_for.same_as(next_.from);
    bool is_wanted_again = view_.status.reason == set_back_by_hand;
    if (is_bad_still && is_wanted_again) return on_new_target();
    if (is_bad_still) return view_.spec.matrix ? take_back_in_git() : restore_object();
    if (!view_.target.is_same_driver(next_.from)) return on_new_target();
    if (!view_.target.same_as(next_.open_for) || next_.closed) {
      next_.open_for = view_.target;
      next_.open_waves = std::min<int64_t>(1, next_.waves_to_return);
      next_.closed = false;
      return enter(Phase::rolling_back,
                   {"ReturnOpen", fmt::format("nodes go back to {}", view_.target.version), ""});
    }
    if (next_.open_waves == 0) return returned();
    const WaveProgress& progress = progress_.waves[current()];
    if (progress.failed > 0) {
      return enter_held({"RollbackFailed",
                         fmt::format("{} failed on the way back: {}", progress.failed,
                                     upgrade_names(progress.failed_nodes)),
                         "repair them, then lockstep rollout retry"});
    }
    if (progress.pending > 0) {
      return rest({"RollingBack",
                   fmt::format("wave {}: {} of {} nodes are back", wave().name, progress.done,
                               progress.nodes),
                   ""});
    }
    GateSummary gates = summarize_gates(wave_spec(), view_.gates);
    if (!gates.missing.empty()) {
      return {StartGates{current(), gates.missing}, {"RollingBack", "gates are started", ""}, {}};
    }
    if (gates.outcome == Outcome::running) return rest({"RollingBack", gates.text, ""});
    if (gates.outcome != Outcome::passed) {
      return enter_held({"RollbackFailed", "on the way back: " + gates.text, ""});
    }
    if (next_.open_waves < next_.waves_to_return) {
      ++next_.open_waves;
      return enter(Phase::rolling_back,
                   {"ReturnOpen", fmt::format("wave {} goes back", wave().name), ""});
    }
    return returned();
  }

  RolloutDecision returned() {
    next_.stable = view_.target;
    if (next_.from.fields) next_.stable.fields = next_.from.fields;
    next_.waves_to_return = 0;
    next_.open_waves = 0;
    return enter(Phase::rolled_back,
                 {"RolledBack", fmt::format("every node runs {} again", view_.target.version), ""});
  }

  const RolloutView& view_;
  Time now_;
  RolloutStatus next_;
  Progress progress_;
};

}  // namespace

RolloutDecision decide_rollout(const RolloutView& view, Time now) {
  return Look(view, now).decide();
}

}  // namespace lockstep::rollout
