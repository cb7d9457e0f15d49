#include "rollout/forward_rollout.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/baseline.h"
#include "rollout/restoring.h"
#include "rollout/rollout_progress.h"
#include "rollout/wave_evidence.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

// A decision never needs as many writes at one moment; if it does, the run ends anyway.
constexpr int most_writes = 40;

std::optional<Time> earlier(std::optional<Time> one, std::optional<Time> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

std::string rollback_of(const ForwardRollout& rollout) {
  const RolloutSpec& spec = rollout.view.spec;
  if (spec.on_failure == OnFailure::hold) return "none (onFailure: Hold); a failure holds";
  if (spec.driver.kind == DriverKind::daemon_set && !spec.matrix) {
    return "none: a DaemonSet's version is not set by Lockstep";
  }
  if (!spec.matrix) return "the previous version is set in the driver's object";
  std::string text = "the commit in " + spec.matrix->repository + " is reverted";
  if (rollout.matrix_unread.empty()) return text;
  return fmt::format("{}; not checked from here: {}", text, rollout.matrix_unread);
}

}  // namespace

RolloutNode rollout_node_of(const fleet::NodeView& view, const upgrade::Policy& policy,
                            const fleet::Keys& keys) {
  RolloutNode node;
  node.node = view.node;
  node.state = fleet::state_of(*view.node, keys);
  node.in_sync = view.driver.is_settled();
  node.out_of_sync = view.driver.is_out_of_sync();
  node.skipped = fleet::is_skipped(*view.node, keys);
  node.excluded = excluded_because(*view.node, node.skipped, keys, policy);
  if (view.driver.set) node.set = view.driver.set->meta.key().text();
  if (const auto& pod = view.driver.pod) {
    node.revision = std::string(pod->meta.labels.get(fleet::revision_label));
    node.image = fleet::driver_image_of(view.driver.pod->spec);
  }
  if (node.state == fleet::State::failed) {
    const Text* failed = view.node->meta.annotations.find(fleet::failed_revision_annotation);
    node.old_failure = failed != nullptr && *failed != view.driver.newest_revision;
  }
  return node;
}

ForwardRolloutRun::ForwardRolloutRun(ForwardRollout start, const TimeZones& zones, const Pace& pace,
                                     Time now)
    : start_(std::move(start)), zones_(&zones), pace_(pace), origin_(now) {
  const RolloutView& view = start_.view;
  planned.name = view.name;
  planned.phase = std::string(to_string(view.status.phase));
  planned.rollback = rollback_of(start_);
  for (const WaveSpec& spec : view.spec.waves) {
    PlannedWave wave;
    wave.name = spec.name;
    wave.selection = spec.nodes.text();
    wave.needs_approval = spec.needs_approval;
    for (const GateSpec& gate : spec.gates) wave.gates.push_back(gate.name);
    planned.waves.push_back(std::move(wave));
  }
  if (view.status.phase != Phase::gating || current() >= view.spec.waves.size()) return;
  gates_end_ = view.status.phase_since + pace_.gates;
  for (const GateSpec& gate : view.spec.waves[current()].gates) {
    start_.view.gates.push_back({gate.name, Outcome::running, "", gate.dry_run});
  }
}

size_t ForwardRolloutRun::current() const {
  return static_cast<size_t>(std::max<int64_t>(view().status.open_waves, 1) - 1);
}

// What the gate of a node depends on.
std::string ForwardRolloutRun::signature() const {
  const RolloutStatus& status = view().status;
  return fmt::format("{} {} {} {} {} {} {}", to_string(status.phase), status.closed,
                     status.open_waves, revision_id(status.open_for), revision_id(status.stable),
                     start_.gate.wave_of.size(), start_.gate.paused);
}

bool ForwardRolloutRun::look(const ForwardFleet& fleet, Time now) {
  RolloutGate& gate = start_.gate;
  const bool was_open = gate.window.open;
  const Time until = gate.window.until;
  if (!until.is_set() || until <= now) {
    gate.window = look_at_windows(gate.windows, *zones_, now);
  }
  bool changed = gate.window.open != was_open;
  if (changed && view().status.phase == Phase::upgrading && left_ > 0) {
    note(now, gate.window.open ? "a window opens" : "the window closes: nodes in flight finish");
  }
  if (auto next = this->next(); next && *next <= now) is_due_ = true;
  if (!is_due_ || has_ended_) return changed;
  is_due_ = false;
  const std::string before = signature();
  fleet.fill(start_.view);
  decide_all(fleet, now);
  gate.status = view().status;
  const auto& waves = view().status.waves;
  left_ = current() < waves.size() ? waves[current()].pending : 0;
  counts_all_ = view().status.phase == Phase::rolling_back && left_ == 0;
  if (counts_all_) left_ = measure_progress(view()).to_upgrade;
  return changed || signature() != before;
}

void ForwardRolloutRun::decide_all(const ForwardFleet& fleet, Time now) {
  RolloutView& view = start_.view;
  for (int i = 0; i < most_writes && !has_ended_; ++i) {
    if (gates_end_ && *gates_end_ <= now) {
      gates_end_.reset();
      view.gates.clear();
      for (const GateSpec& gate : view.spec.waves[current()].gates) {
        view.gates.push_back({gate.name, Outcome::passed, "", gate.dry_run});
      }
    }
    if (view.status.phase == Phase::baking && !bake_end_) begin_bake(fleet, now);
    if (bake_end_) view.bake = *bake_end_ <= now ? baked_ : BakeView{};
    const RolloutDecision decision = decide_rollout(view, now);
    planned.end = decision.reason;
    if (!std::holds_alternative<std::monostate>(decision.write)) {
      carry_out(fleet, decision, now);
    } else if (view.status.phase == Phase::awaiting_approval) {
      note(now, "an approval is needed; assumed to be immediate");
      command("promote", now);
    } else if (!solve(decision.reason)) {
      return;
    }
  }
}

void ForwardRolloutRun::carry_out(const ForwardFleet& fleet, const RolloutDecision& decision,
                                  Time now) {
  RolloutView& view = start_.view;
  if (const auto* status = decision.as<StatusWrite>()) {
    write_status(fleet, status->status, now);
  } else if (const auto* wave = decision.as<WaveWrite>()) {
    view.recorded[wave->wave] = wave->record;
    std::map<std::string, size_t>& wave_of = start_.gate.wave_of;
    std::erase_if(wave_of, [&](const auto& each) { return each.second >= wave->wave; });
    for (const std::string& node : wave->record.nodes) wave_of.try_emplace(node, wave->wave);
  } else if (const auto* baseline = decision.as<TakeBaseline>()) {
    view.baselines.resize(view.spec.waves.size());
    view.baselines[baseline->wave] = baseline_id(view);
  } else if (const auto* gates = decision.as<StartGates>()) {
    for (const std::string& gate : gates->gates) {
      view.gates.push_back({gate, Outcome::running, "", false});
    }
    gates_end_ = now + pace_.gates;
  } else if (const auto* commit = decision.as<GitCommit>()) {
    answer(*commit);
  } else {
    // A rollback, or a retry that a user asked for: the plan ends there.
    has_ended_ = true;
  }
}

void ForwardRolloutRun::answer(const GitCommit& commit) {
  start_.view.git = GitOutcome{commit.step, "planned",
                               commit.step == GitStep::check ? start_.matrix_obstacle : "", false,
                               commit.version};
}

void ForwardRolloutRun::write_status(const ForwardFleet& fleet, const RolloutStatus& status,
                                     Time now) {
  RolloutView& view = start_.view;
  const Phase before = view.status.phase;
  // Several phases may begin at one moment.
  const bool is_entered = status.phase != before || status.phase_since != view.status.phase_since;
  view.status = status;
  if (!is_entered) return;
  view.git.reset();
  view.gates.clear();
  gates_end_.reset();
  bake_end_.reset();
  on_phase(fleet, before, now);
}

void ForwardRolloutRun::on_phase(const ForwardFleet& fleet, Phase before, Time now) {
  const RolloutView& view = start_.view;
  const RolloutStatus& status = view.status;
  PlannedWave* wave = current() < planned.waves.size() ? &planned.waves[current()] : nullptr;
  if (before == Phase::upgrading && wave != nullptr && !wave->upgraded) {
    wave->upgraded = now - origin_;
  }
  switch (status.phase) {
    case Phase::upgrading:
      // What was planned until here is of another version.
      if (status.reason == Reason::wave_open && current() == 0) planned.to = status.to.version;
      if (wave != nullptr && !wave->opens) wave->opens = now - origin_;
      note(now, status.message);
      break;
    case Phase::gating:
      note(now, "gates " + join(wave->gates, ", "));
      break;
    case Phase::baking:
      begin_bake(fleet, now);
      break;
    case Phase::promoting:
      if (wave != nullptr) wave->passes = now - origin_;
      break;
    case Phase::awaiting_approval:
    case Phase::pending:
      break;
    case Phase::complete:
    case Phase::rolled_back:
      note(now, status.reason.str());
      has_ended_ = true;
      break;
    case Phase::held:
      if (status.reason == Reason::rejected_version) break;
      note(now, fmt::format("held: {}: {}", status.reason.view(), status.message));
      has_ended_ = true;
      break;
    case Phase::rolling_back:
      if (before != status.phase) {
        note(now, fmt::format("rolls back: {}: {}", status.reason.view(), status.message));
      }
      // Until the version is restored, the plan ends there.
      has_ended_ = !view.target.same_as(status.from);
      break;
  }
}

void ForwardRolloutRun::begin_bake(const ForwardFleet& fleet, Time now) {
  const RolloutView& view = start_.view;
  const WaveSpec& wave = view.spec.waves[current()];
  if (!wave.bake) return;
  const BakeSpec& spec = *wave.bake;
  const ForwardExposure seen = fleet.exposure(view.name);
  const bool goes_on = start_.bake && view.status.phase_since < origin_;
  const Duration passed = goes_on ? start_.bake->passed : Duration::zero();
  const double have = goes_on ? start_.bake->gpu_hours : 0;
  constexpr double usual_share = 0.1;
  BakeRules rules;
  rules.duration = spec.duration;
  rules.max_duration = spec.max_duration;
  rules.alpha = spec.alpha;
  rules.min_gpu_hours =
      goes_on ? start_.bake->min_gpu_hours
              : spec.min_gpu_hours.value_or(usual_share * static_cast<double>(seen.upgraded_gpus) *
                                            in_seconds(spec.duration) / 3600);
  double rate = 0;
  for (const auto& [model, gpus] : seen.busy_upgraded) rate += static_cast<double>(gpus);
  const double missing = std::max(rules.min_gpu_hours - have, 0.0);
  Duration end = spec.max_duration;
  const double longest = in_seconds(spec.max_duration - passed) / 3600;
  const bool is_enough = rate > 0 && missing / rate <= std::max(longest, 0.0);
  if (is_enough) {
    // Rounded up, so that there is enough by then.
    const auto needed = static_cast<int64_t>(std::ceil(missing / rate * 3600));
    end = std::max(spec.duration, passed + seconds(needed));
  }
  end = std::max(end, passed);
  BakeStep step;
  step.elapsed = end;
  step.upgraded_nodes = seen.upgraded_nodes;
  step.silent_nodes = seen.silent_nodes;
  const double rest = in_seconds(end - passed) / 3600;
  for (const auto& [model, gpus] : seen.busy_upgraded) {
    const auto control = seen.busy_control.find(model);
    const int64_t others = control == seen.busy_control.end() ? 0 : control->second;
    step.models.push_back(
        {model, static_cast<double>(gpus) * rest, static_cast<double>(others) * rest});
  }
  if (have > 0) step.models.push_back({"", have, 0});
  BakeJudge judge(rules);
  judge.add(step);
  const BakeVerdict verdict = judge.verdict();
  baked_ = {};
  baked_.text = verdict.text;
  baked_.outcome = verdict.outcome == BakeOutcome::passed ? Outcome::passed : Outcome::inconclusive;
  bake_end_ = now + (end - passed);
  note(now, fmt::format("bake for {}{}", format_duration(end - passed),
                        end > spec.duration
                            ? fmt::format(" (asks for {}, and for {:.3g} GPU-hours)",
                                          format_duration(spec.duration), rules.min_gpu_hours)
                            : ""));
}

bool ForwardRolloutRun::solve(const Reason& reason) {
  RolloutView& view = start_.view;
  const bool is_idle = view.status.phase == Phase::pending || is_over(view.status.phase);
  auto refuse = [&] { planned.refused.push_back(reason); };
  if (reason.name == Reason::invalid_spec || reason.name == Reason::another_rollout) {
    refuse();
    has_ended_ = true;
    return false;
  }
  if (is_idle && reason.name == Reason::rollback_unavailable) {
    refuse();
    view.spec.on_failure = OnFailure::hold;
    return true;
  }
  if (is_idle && reason.name == Reason::starting && view.object && !view.target.fields) {
    view.target.fields = view.object;
    return true;
  }
  if (view.status.phase == Phase::held && view.status.reason == Reason::rejected_version) {
    refuse();
    command("retry", origin_);
    return true;
  }
  if (view.status.phase == Phase::upgrading && start_.gate.paused) {
    planned.refused.push_back(
        {Reason::rollout_paused,
         fmt::format("rollout {} is paused; nodes in flight finish", view.name),
         fmt::format("lockstep rollout resume {}", view.name)});
    start_.gate.paused = view.spec.paused = false;
  }
  return false;
}

void ForwardRolloutRun::command(std::string verb, Time now) {
  Command command;
  command.verb = std::move(verb);
  command.by = "the plan";
  command.at = now;
  command.text = fmt::format("planned {} {}", command.verb, view().status.open_waves);
  start_.view.command = std::move(command);
}

void ForwardRolloutRun::see_end(const std::string& node, bool failed) {
  const bool counts =
      view().status.phase == Phase::upgrading || view().status.phase == Phase::rolling_back;
  if (!counts || failed) {
    is_due_ = true;
    return;
  }
  const auto& waves = start_.gate.wave_of;
  auto at = waves.find(node);
  const size_t wave = at == waves.end() ? view().spec.waves.size() - 1 : at->second;
  if ((counts_all_ || wave == current()) && --left_ <= 0) is_due_ = true;
}

std::optional<Time> ForwardRolloutRun::next() const {
  if (has_ended_) return std::nullopt;
  return earlier(gates_end_, bake_end_);
}

std::optional<Time> ForwardRolloutRun::next_window() const {
  const Time until = start_.gate.window.until;
  const bool waits = !has_ended_ && view().status.phase == Phase::upgrading && left_ > 0;
  if (!waits || !until.is_set()) return std::nullopt;
  return until;
}

void ForwardRolloutRun::note(Time now, std::string text) {
  const bool is_open = view().status.open_waves > 0 && current() < planned.waves.size() &&
                       view().status.phase != Phase::complete;
  events.push_back(
      {now - origin_, planned.name, is_open ? planned.waves[current()].name : "", std::move(text)});
}

}  // namespace lockstep::rollout
