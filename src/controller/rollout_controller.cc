#include "controller/rollout_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/typed.h"
#include "rollout/restoring.h"
#include "rollout/rollout_gate.h"
#include "rollout/rollout_progress.h"
#include "upgrade/slots.h"

namespace lockstep::controller {

namespace {

// Changes come in bursts, and a reconciliation reads all nodes: the more nodes, the rarer.
constexpr Duration moment = seconds(1);
constexpr size_t nodes_per_moment = 1000;
constexpr Duration between_counts = seconds(10);
constexpr Duration heartbeat = minutes(1);
// While there is only waiting to do: every change arrives by a watch.
constexpr Duration slow_heartbeat = minutes(5);

Duration heartbeat_of(rollout::Phase phase) {
  bool waits = phase == rollout::Phase::baking || phase == rollout::Phase::awaiting_approval ||
               phase == rollout::Phase::held;
  return waits ? slow_heartbeat : heartbeat;
}

// A short bake is recorded more often.
Duration bake_interval_of(const rollout::BakeSpec& bake, Duration longest) {
  return std::clamp<Duration>(bake.duration / 20, seconds(3), longest);
}

kube::EventRecorderOptions event_options(const RolloutOptions& options) {
  kube::EventRecorderOptions events;
  events.component = "lockstep";
  events.instance = options.instance;
  return events;
}

}  // namespace

RolloutController::RolloutController(kube::Api& api, Loop& loop, Random& random, Log& log,
                                     view::FleetWatch& watch, RolloutOptions options)
    : api_(api),
      loop_(loop),
      log_(log),
      watch_(watch),
      options_(std::move(options)),
      events_(api, loop, random, log, event_options(options_)),
      object_reverter_(api),
      nodes_(watch, loop, options_.conduct, options_.reason_of),
      holds_(api, loop, watch,
             [this](const std::string& rollout, bool failed) { done(rollout, failed); }),
      clients_(api, log, watch),
      gates_(api, loop, random, log, watch, options_.gates),
      questions_(api, loop, watch, options_.asker),
      backoff_({milliseconds(500), seconds(30), 2.0, 0.5}, random) {
  auto soon = [this] {
    look_within(moment * static_cast<int64_t>(1 + watch_.driver_facts().size() / nodes_per_moment));
  };
  watch_.on_node(scope_.bind([soon](const std::string&) { soon(); }));
  watch_.rollouts().on_change(scope_.bind(soon));
  gates_.on_change(soon);
}

void RolloutController::lead() {
  leading_ = true;
  look_within(moment);
}

void RolloutController::look_within(Duration delay) {
  if (!leading_) return;
  Duration due = loop_.uptime() + delay;
  if (timer_ != 0 && timer_due_ <= due) return;
  loop_.cancel(timer_);
  timer_due_ = due;
  timer_ = loop_.after(delay, scope_.bind([this] {
    timer_ = 0;
    look();
  }));
}

void RolloutController::look() {
  if (!leading_) return;
  if (!watch_.synced()) return look_within(moment);
  watch_.count_changed();
  if (options_.conduct && (busy_.contains("") || write_holds("", holds_.orphans()))) return;
  std::vector<std::string> names;
  for (const auto& [name, known] : watch_.rollouts().all()) names.push_back(name);
  for (const std::string& name : names) {
    auto at = watch_.rollouts().all().find(name);
    if (at == watch_.rollouts().all().end()) continue;
    if (at->second.is_active()) look_within(heartbeat_of(at->second.status.phase));
    look_at(at->second);
  }
}

void RolloutController::look_at(const view::KnownRollout& known) {
  std::string name = known.name();
  if (busy_.contains(name)) return;
  // What was written last is to be seen first.
  if (!watch_.rollouts().is_current(name) || !nodes_.is_object_current(known.spec)) return;
  rollout::RolloutView now = view(known);
  if (options_.conduct) {
    clients_.look_at(known);
    report_outsiders(now);
    if (conducts(known, now)) return;
  }
  if (keeps_bake(now)) return;
  if (asks_gates(known, now)) return;
  rollout::RolloutDecision decision = rollout::decide_rollout(now, loop_.now());
  reasons_[name] = decision.reason;
  if (decision.look_again) look_within(*decision.look_again);
  act(known, decision);
}

bool RolloutController::conducts(const view::KnownRollout& known,
                                 const rollout::RolloutView& view) {
  NodeHolds::Due due = holds_.due(known, view);
  if (due.requeue_after) look_within(*due.requeue_after);
  return write_holds(known.name(), std::move(due.changes));
}

bool RolloutController::write_holds(const std::string& rollout,
                                    std::vector<rollout::SkipChange> changes) {
  if (changes.empty()) return false;
  busy_.insert(rollout);
  holds_.write(rollout, std::move(changes));
  return true;
}

void RolloutController::report_outsiders(const rollout::RolloutView& view) {
  constexpr auto outside_wave = fleet::Reason::upgraded_outside_wave;
  for (const rollout::RolloutNode& node : view.nodes) {
    if (node.reason != outside_wave) {
      outside_.erase(node.name());
    } else if (outside_.insert(node.name()).second) {
      log_.warning(to_string(outside_wave),
                   {{"node", node.name()}, {"rollout", view.name}, {"image", node.image}});
      events_.record(node_reference(node.node->meta.name), kube::EventType::warning,
                     "GPUDriverUpgrade",
                     fmt::format("{}: the node runs {}, and no open wave of rollout {} allows it",
                                 to_string(outside_wave), node.image, view.name));
    }
  }
}

GateRun RolloutController::gate_run(const rollout::RolloutView& view) const {
  GateRun run;
  run.rollout = view.name;
  run.revision = rollout::revision_id(view.target);
  run.version = fleet::loaded_version(view.target.version);
  run.started = view.status.started;
  run.wave = static_cast<size_t>(std::max<int64_t>(view.status.open_waves, 1) - 1);
  if (run.wave >= view.spec.waves.size()) return run;
  run.wave_name = view.spec.waves[run.wave].name;
  if (run.wave < view.status.waves.size()) run.round = view.status.waves[run.wave].gate_round;
  run.gates = view.spec.waves[run.wave].gates;
  const rollout::WaveIndex waves = rollout::waves_of(view);
  for (const rollout::RolloutNode& node : view.nodes) {
    auto at = waves.find(node.name());
    size_t wave = at == waves.end() ? view.spec.waves.size() - 1 : at->second;
    if (wave == run.wave && node.state == fleet::State::done && node.in_sync) {
      run.nodes.push_back(node.name());
    }
  }
  if (!rollout::has_compared_gates(view.spec.waves[run.wave])) return run;
  auto before = kept_baseline(view.name, run.wave);
  if (before && before->revision == rollout::revision_id(view.status.to)) run.before = before;
  // A node that came later has no earlier measurement.
  if (const auto& recorded = view.recorded[run.wave]) {
    run.compared.insert(recorded->nodes.begin(), recorded->nodes.end());
  }
  run.in_use = in_use(run.nodes);
  return run;
}

std::set<std::string> RolloutController::in_use(const std::vector<std::string>& nodes) const {
  std::set<std::string> used;
  for (const std::string& node : nodes) {
    if (watch_.runs_gpu_pods(node)) used.insert(node);
  }
  return used;
}

std::shared_ptr<const rollout::WaveBaseline> RolloutController::kept_baseline(
    const std::string& rollout, size_t wave) const {
  const ObjectKey key = watch_.rollouts().record_key(baseline_name(rollout, wave));
  auto map = watch_.rollouts().record(key.name);
  if (!map) return nullptr;
  auto& [version, kept] = baselines_[key.name];
  if (version != map->meta.resource_version.view()) {
    version = map->meta.resource_version.str();
    auto read = baseline_from(*map);
    kept = read ? std::make_shared<const rollout::WaveBaseline>(std::move(*read)) : nullptr;
  }
  return kept;
}

// Runs its Jobs first. When all have ended, their measurements are written as a whole. A controller
// that restarts finds the Jobs, or what was written.
void RolloutController::take_baseline(const view::KnownRollout& known, size_t wave) {
  std::string name = known.name();
  const rollout::RolloutView now = view(known);
  const GateRun run = baseline_run(now, wave);
  auto measured = gates_.measured(run);
  if (measured) {
    rollout::WaveBaseline baseline =
        collect_baseline(now, wave, *measured, in_use(run.nodes), loop_.now());
    const ObjectKey key = watch_.rollouts().record_key(baseline_name(name, wave));
    return keep(name, key, [&](const std::string& version) {
      return baseline_to_json(key, *known.object, baseline, version);
    });
  }
  busy_.insert(name);
  gates_.begin(run, scope_.bind([this, name](const std::string&) {
    busy_.erase(name);
    look_within(minutes(1));
  }));
}

void RolloutController::keep(const std::string& rollout, const ObjectKey& key,
                             const std::function<Json(const std::string& resource_version)>& body) {
  busy_.insert(rollout);
  auto held = watch_.rollouts().record(key.name);
  Json map = body(held ? held->meta.resource_version.str() : "");
  kube::Request request = held ? kube::update(resource::config_maps, key, std::move(map))
                               : kube::create(resource::config_maps, key.ns, std::move(map));
  api_.call(std::move(request), scope_.bind([this, rollout, key](kube::Reply reply) {
    on_written(rollout, std::move(reply), [this, key](const std::string& written) {
      watch_.rollouts().expect_record(key.name, written);
    });
  }));
}

// In a rollback, only once all nodes of the wave are back: before that, the answer would be about
// the rejected version.
bool RolloutController::asks_gates(const view::KnownRollout& known,
                                   const rollout::RolloutView& view) {
  bool is_back = view.status.phase == rollout::Phase::rolling_back && !view.status.closed &&
                 view.status.open_waves > 0 && view.target.same_as(view.status.open_for);
  if (view.status.phase != rollout::Phase::gating && !is_back) return false;
  if (!view.target.is_set() || (!view.spec.problems.empty() && !is_back)) return false;
  GateRun run = gate_run(view);
  auto due = questions_.due_in(run);
  if (!due) return false;
  if (is_back && rollout::measure_progress(view).waves[run.wave].pending > 0) return false;
  if (*due > Duration(0)) {
    look_within(*due);
    return false;
  }
  std::string name = known.name();
  busy_.insert(name);
  questions_.ask(run, scope_.bind([this, name](kube::Reply reply) {
    on_written(name, std::move(reply), [](const std::string&) {});
  }));
  return true;
}

const KeptBake* RolloutController::kept_bake(const rollout::RolloutView& view) const {
  return kept_bake(view, static_cast<size_t>(view.status.current_wave()));
}

const KeptBake* RolloutController::kept_bake(const rollout::RolloutView& view, size_t wave) const {
  if (wave >= view.status.waves.size()) return nullptr;
  const KeptBake* kept = stored_bake(view.name, wave);
  // One of an earlier version, or of an earlier try, or from before it began.
  const bool is_ours = kept != nullptr && kept->until.is_set() &&
                       kept->record.began == view.status.waves[wave].bake_began;
  return is_ours ? kept : nullptr;
}

// Whatever there is of it; null: nothing.
const KeptBake* RolloutController::stored_bake(const std::string& rollout, size_t wave) const {
  const ObjectKey key = watch_.rollouts().record_key(view::bake_name(rollout, wave));
  auto map = watch_.rollouts().record(key.name);
  if (!map) return nullptr;
  auto& [version, kept] = bakes_[key.name];
  if (version != map->meta.resource_version.view()) {
    version = map->meta.resource_version.str();
    kept = KeptBake::from_map(*map);
  }
  return kept ? &*kept : nullptr;
}

// The previous result, as long as there are no new observations: computing the detectable effect
// takes a while.
rollout::BakeView RolloutController::judge(const rollout::RolloutView& view,
                                           const KeptBake& kept) const {
  Judged& last = judged_[view.name];
  auto wave = static_cast<size_t>(view.status.current_wave());
  const ObjectKey key = watch_.rollouts().record_key(view::bake_name(view.name, wave));
  const std::string& version = bakes_.at(key.name).first;
  if (last.bake != key.name || last.version != version) {
    last = {key.name, version, judge_bake(kept)};
  }
  return last.view;
}

// By the process's own clock. The wall clock only says how long no controller was running. A step
// of it neither ends nor prolongs a bake; a long time without a controller counts as one
// interval.
Duration RolloutController::since_last_look(const std::string& rollout, const KeptBake& kept,
                                            Duration interval) {
  Sighting& sighting = sightings_[rollout];
  if (sighting.until != kept.until) {
    const Duration gap = std::clamp(loop_.now() - kept.until, Duration::zero(), interval);
    sighting = {kept.until, loop_.uptime() - gap};
  }
  return loop_.uptime() - sighting.at;
}

// Exposure is pooled over waves: the last one before this that was baked has all of them.
std::vector<rollout::BakeStep> RolloutController::steps_before(const rollout::RolloutView& view,
                                                               size_t wave) const {
  while (wave-- > 0) {
    if (!view.spec.waves[wave].bake) continue;
    const KeptBake* before = kept_bake(view, wave);
    return before == nullptr ? std::vector<rollout::BakeStep>{} : earlier_steps(*before);
  }
  return {};
}

// What was broken before the upgrade is written down when the wave opens. True: it is being
// written.
bool RolloutController::notes_before(const rollout::RolloutView& view, size_t wave) {
  const KeptBake* stored = stored_bake(view.name, wave);
  const Time opened = view.status.waves[wave].opened;
  if (stored != nullptr && stored->opened == opened) return false;
  KeptBake before;
  before.opened = before.record.began = opened;
  note_before(before, nodes_.bake_nodes(view), &health_);
  write_bake(view.name, wave, before);
  return true;
}

// What happened since the last time is recorded first. True: the write is in progress.
bool RolloutController::keeps_bake(const rollout::RolloutView& view) {
  auto wave = static_cast<size_t>(view.status.current_wave());
  if (wave >= view.spec.waves.size() || wave >= view.status.waves.size()) return false;
  if (!view.spec.waves[wave].bake) return false;
  if (view.status.phase == rollout::Phase::upgrading) return notes_before(view, wave);
  if (view.status.phase != rollout::Phase::baking) return false;
  const rollout::BakeSpec& spec = *view.spec.waves[wave].bake;
  const Duration interval = bake_interval_of(spec, options_.bake_interval);
  const KeptBake* kept = kept_bake(view);
  const Duration passed =
      kept == nullptr ? Duration(0) : since_last_look(view.name, *kept, interval);
  if (kept != nullptr && passed < next_look(*kept, interval)) {
    look_within(next_look(*kept, interval) - passed);
    return false;
  }
  const std::vector<BakeNode> nodes = nodes_.bake_nodes(view);
  KeptBake next = kept != nullptr ? *kept : begin_bake(view, wave, spec, nodes);
  look_at_bake(next, nodes, loop_.now(), passed, &health_);
  // How fast the wave's nodes are now is known from its gates.
  if (kept == nullptr) next.record.steps.back().speeds = gates_.speed_pairs(gate_run(view));
  write_bake(view.name, wave, next);
  return true;
}

KeptBake RolloutController::begin_bake(const rollout::RolloutView& view, size_t wave,
                                       const rollout::BakeSpec& spec,
                                       const std::vector<BakeNode>& nodes) const {
  KeptBake next;
  next.opened = view.status.waves[wave].opened;
  const KeptBake* before = stored_bake(view.name, wave);
  if (before != nullptr && before->opened == next.opened) next.seen = before->seen;
  next.record.began = view.status.waves[wave].bake_began;
  next.record.rules.duration = spec.duration;
  next.record.rules.min_gpu_hours =
      spec.min_gpu_hours.value_or(usual_gpu_hours(nodes, spec.duration));
  next.record.rules.max_duration = spec.max_duration;
  next.record.rules.alpha = spec.alpha;
  next.record.rules.speed_margin = spec.speed_margin;
  next.record.steps = steps_before(view, wave);
  return next;
}

void RolloutController::write_bake(const std::string& rollout, size_t wave, const KeptBake& bake) {
  const ObjectKey key = watch_.rollouts().record_key(view::bake_name(rollout, wave));
  keep(rollout, key,
       [&](const std::string& version) { return bake.to_json(key, rollout, version); });
}

std::string RolloutController::obstacle_of(const rollout::RolloutSpec& spec) const {
  return spec.matrix && options_.git != nullptr ? options_.git->obstacle(spec)
                                                : rollout::obstacle_to_restore(spec);
}

std::optional<rollout::GitOutcome> RolloutController::git_outcome(
    const rollout::RolloutView& view) const {
  auto at = git_.find(view.name);
  if (at == git_.end() || at->second.phase_since != view.status.phase_since) return std::nullopt;
  const GitMemory& memory = at->second;
  // The author may name another place until the rollout starts.
  const bool is_check = memory.outcome.step == rollout::GitStep::check;
  if (is_check && memory.place != *view.spec.matrix) return std::nullopt;
  // It may be asked again.
  if (memory.outcome.again && loop_.uptime() >= memory.again_at) return std::nullopt;
  return memory.outcome;
}

void RolloutController::commit_to_git(const view::KnownRollout& known,
                                      const rollout::GitCommit& commit) {
  std::string name = known.name();
  GitMemory& memory = git_[name];
  if (memory.phase_since != known.status.phase_since) {
    memory = {};
    memory.phase_since = known.status.phase_since;
  }
  if (memory.outcome.version != commit.version || memory.place != *known.spec.matrix) {
    memory.tries = 0;
  }
  memory.outcome.version = commit.version;
  memory.place = *known.spec.matrix;
  busy_.insert(name);
  if (commit.step != rollout::GitStep::check) {
    log_.info("a commit to the version matrix",
              {{"rollout", name},
               {"what", commit.step == rollout::GitStep::promote ? "promote" : "revert"},
               {"version", commit.version}});
  }
  options_.git->commit({commit.step, *known.spec.matrix, commit.version, commit.evidence},
                       scope_.bind([this, name, step = commit.step](Result<std::string> made) {
                         on_git(name, step, made);
                       }));
}

void RolloutController::on_git(const std::string& name, rollout::GitStep step,
                               const Result<std::string>& commit) {
  GitMemory& memory = git_[name];
  memory.outcome = {step, commit ? *commit : std::string(), "", false, memory.outcome.version};
  if (!commit) {
    ++memory.tries;
    // A user may change the matrix at any time; nothing has begun meanwhile.
    bool is_check = step == rollout::GitStep::check;
    memory.outcome.again =
        is_check || (may_pass(commit.error()) && memory.tries < options_.git_tries);
    memory.outcome.error = memory.tries > 1
                               ? fmt::format("{} ({} tries)", commit.error().text(), memory.tries)
                               : commit.error().text();
    Duration wait = std::min<Duration>(options_.git_wait,
                                       seconds(5) * (int64_t{1} << std::min(memory.tries, 10)));
    memory.again_at = loop_.uptime() + wait;
    if (memory.outcome.again) look_within(wait);
    log_.warning(is_check ? "the version matrix prevents the start of a rollout"
                          : "the version matrix could not be changed",
                 {{"rollout", name}, {"error", commit.error().text()}});
  }
  done(name, false);
}

std::optional<rollout::RestoreOutcome> RolloutController::restore_outcome(
    const rollout::RolloutView& view) const {
  auto at = restores_.find(view.name);
  if (at == restores_.end() || at->second.phase_since != view.status.phase_since) {
    return std::nullopt;
  }
  const RestoreMemory& memory = at->second;
  if (!memory.outcome.is_done() && loop_.uptime() >= memory.again_at) return std::nullopt;
  return memory.outcome;
}

void RolloutController::restore_object(const view::KnownRollout& known,
                                       const rollout::Revert& revert) {
  std::string name = known.name();
  busy_.insert(name);
  log_.info("the driver's object is restored", {{"rollout", name}, {"to", revert.to.version}});
  RestoreMemory& memory = restores_[name];
  if (memory.phase_since != known.status.phase_since) memory = {};
  memory.phase_since = known.status.phase_since;
  object_reverter_.revert(
      known.spec, revert,
      scope_.bind([this, name, spec = known.spec](Result<std::string> restored) {
        RestoreMemory& outcome = restores_[name];
        outcome.outcome = {restored ? std::string() : restored.error().text()};
        if (restored) {
          nodes_.expect_object(spec, *restored);
          return done(name, false);
        }
        ++outcome.tries;
        Duration wait = std::min<Duration>(
            minutes(5), seconds(5) * (int64_t{1} << std::min(outcome.tries, 10)));
        outcome.again_at = loop_.uptime() + wait;
        look_within(wait);
        log_.warning("the driver's object could not be restored",
                     {{"rollout", name}, {"error", restored.error().text()}});
        done(name, true);
      }));
}

rollout::RolloutView RolloutController::view(const view::KnownRollout& known) {
  rollout::RolloutView view;
  view.name = known.name();
  view.generation = known.object->meta.generation;
  view.spec = known.spec;
  view.status = known.status;
  view.recorded = known.recorded;
  view.command = rollout::Command::of(*known.object->document);
  nodes_.add_to(known, view);
  std::string pool =
      known.spec.driver.kind == rollout::DriverKind::nvidia_driver ? known.spec.driver.name : "";
  std::string set = view.target.revisions.empty() ? "" : view.target.revisions.begin()->first;
  const view::KnownRollout* governing = watch_.rollouts().governing(pool, set);
  if (governing != nullptr && governing->name() != view.name) view.other = governing->name();
  auto total = static_cast<int64_t>(view.nodes.size());
  view.max_failures = upgrade::limits_of(watch_.policy(pool), total).failures;
  if (options_.git != nullptr) view.refused_repository = options_.git->refusal(known.spec);
  view.no_rollback = obstacle_of(known.spec);
  for (size_t i = 0; i < view.spec.waves.size(); ++i) {
    auto kept =
        rollout::has_compared_gates(view.spec.waves[i]) ? kept_baseline(view.name, i) : nullptr;
    view.baselines.push_back(kept ? kept->id : "");
  }
  if (known.spec.matrix) view.git = git_outcome(view);
  view.restore = restore_outcome(view);
  bool has_gates = view.status.phase == rollout::Phase::gating ||
                   view.status.phase == rollout::Phase::rolling_back;
  if (has_gates && view.target.is_set()) {
    GateRun run = gate_run(view);
    view.gates = gates_.verdicts(run);
    for (rollout::Verdict& asked : questions_.verdicts(run)) view.gates.push_back(std::move(asked));
    auto refusal = gate_refusals_.find(view.name);
    if (refusal != gate_refusals_.end()) view.gate_refusal = refusal->second;
  }
  if (view.status.phase == rollout::Phase::baking && view.status.open_waves > 0) {
    if (const KeptBake* kept = kept_bake(view)) view.bake = judge(view, *kept);
  }
  return view;
}

void RolloutController::act(const view::KnownRollout& known,
                            const rollout::RolloutDecision& decision) {
  std::string name = known.name();
  if (const auto* status = decision.as<rollout::StatusWrite>()) {
    if (status->counts_only) {
      auto at = counted_.find(name);
      Duration since = at == counted_.end() ? between_counts : loop_.uptime() - at->second;
      if (since < between_counts) return look_within(between_counts - since);
      counted_[name] = loop_.uptime();
    } else {
      log_.info("rollout", {{"rollout", name},
                            {"phase", std::string(to_string(status->status.phase))},
                            {"reason", decision.reason.name.str()},
                            {"because", decision.reason.text}});
    }
    write_status(known, *status);
  } else if (const auto* wave = decision.as<rollout::WaveWrite>()) {
    write_wave(known, *wave);
  } else if (const auto* baseline = decision.as<rollout::TakeBaseline>()) {
    take_baseline(known, baseline->wave);
  } else if (decision.as<rollout::StartGates>() != nullptr) {
    busy_.insert(name);
    gates_.begin(gate_run(view(known)), scope_.bind([this, name](const std::string& refusal) {
      gate_refusals_[name] = refusal;
      done(name, !refusal.empty());
    }));
  } else if (const auto* revert = decision.as<rollout::Revert>()) {
    restore_object(known, *revert);
  } else if (const auto* commit = decision.as<rollout::GitCommit>()) {
    if (options_.git != nullptr) {
      commit_to_git(known, *commit);
    } else {
      git_[name] = {
          {commit->step, "", "this controller has no access to Git", false, commit->version},
          known.status.phase_since,
          Duration(0),
          0,
          *known.spec.matrix};
      look_within(moment);
    }
  } else if (const auto* retry = decision.as<rollout::RetryNodes>()) {
    retry_nodes(name, *retry);
  }
}

void RolloutController::write_status(const view::KnownRollout& known,
                                     const rollout::StatusWrite& write) {
  std::string name = known.name();
  busy_.insert(name);
  // A whole status, so that what is no longer there goes; on the version that was decided on.
  JsonObject object = known.object->document->as_object();
  object["status"] = rollout::rollout_status_to_json(write.status);
  kube::Request request = kube::update(fleet::driver_rollouts, {"", name}, std::move(object));
  request.subresource = "status";
  api_.call(std::move(request), scope_.bind([this, name](kube::Reply reply) {
    on_written(name, std::move(reply), [this, name](const std::string& version) {
      watch_.rollouts().expect_rollout(name, version);
    });
  }));
}

void RolloutController::write_wave(const view::KnownRollout& known,
                                   const rollout::WaveWrite& write) {
  std::string name = known.name();
  const ObjectKey key = watch_.rollouts().record_key(view::wave_name(name, write.wave));
  keep(name, key, [&](const std::string& version) {
    return view::wave_to_json(key, name, write.wave, write.record, version);
  });
}

void RolloutController::retry_nodes(const std::string& name, const rollout::RetryNodes& write) {
  std::vector<std::string> nodes = write.nodes;
  // What was written last is to be seen first.
  std::erase_if(nodes, [this](const std::string& node) { return !watch_.is_node_current(node); });
  if (nodes.empty()) return look_within(moment);
  busy_.insert(name);
  auto left = std::make_shared<size_t>(nodes.size());
  for (const std::string& node : nodes) {
    // A whole step: the state and when it was entered, on the version that was decided on.
    Json patch = JsonObject{
        {"metadata",
         JsonObject{
             {"resourceVersion", version_of_node(watch_, node)},
             {"labels", JsonObject{{watch_.rules().keys.state, to_string(fleet::State::required)}}},
             {"annotations", JsonObject{{fleet::since_annotation, format_rfc3339(loop_.now())}}}}}};
    api_.call(kube::patch(resource::nodes, {"", node}, kube::PatchType::merge, std::move(patch)),
              scope_.bind([this, name, node, left](kube::Reply reply) {
                if (reply && reply->ok()) {
                  watch_.expect_node(node, kube::peek_body_version(reply->body));
                }
                if (--*left == 0) done(name, true);
              }));
  }
}

void RolloutController::on_written(const std::string& name, kube::Reply reply,
                                   const std::function<void(const std::string&)>& expect) {
  if (reply && reply->ok()) {
    backoff_.reset();
    expect(kube::peek_body_version(reply->body));
    return done(name, false);
  }
  // Another client was first: the watch reports it. If it does not, the rollout is requeued
  // anyway.
  bool conflict = reply && (reply->code == 409 || reply->code == 404);
  if (!conflict) {
    Error error = reply ? reply->error() : reply.error();
    log_.warning("a rollout could not be written", {{"rollout", name}, {"error", error.text()}});
  }
  done(name, true);
}

void RolloutController::done(const std::string& name, bool failed) {
  busy_.erase(name);
  look_within(failed ? backoff_.next() + moment : moment);
}

}  // namespace lockstep::controller
