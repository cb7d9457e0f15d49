#include "controller/notice_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "upgrade/slots.h"

namespace lockstep::controller {

namespace {

using fleet::Reason;
using fleet::Severity;
using fleet::State;
using notify::Notice;
using rollout::Phase;

constexpr Duration just_now = minutes(2);

std::string title_of_pool(const std::string& pool) {
  return pool.empty() ? std::string("The fleet") : "Pool " + pool;
}

Severity severity_of(Phase phase) {
  if (phase == Phase::held || phase == Phase::rolling_back) return Severity::critical;
  if (phase == Phase::awaiting_approval || phase == Phase::rolled_back) return Severity::warning;
  return Severity::info;
}

std::string remedy_of(Phase phase, const std::string& name) {
  if (phase == Phase::awaiting_approval) return "lockstep rollout promote " + name;
  if (phase == Phase::held)
    return fmt::format("lockstep rollout status {0}, then promote, retry or rollback", name);
  return {};
}

}  // namespace

std::optional<fleet::Reason> held_for_a_person(const view::FleetWatch& watch,
                                               const std::string& pool) {
  if (watch.conflicting_controller()) return watch.conflicting_controller();
  auto held = upgrade::held_back(watch.pool(pool), false);
  if (!held || held->name.row().severity == Severity::none) return std::nullopt;
  return held;
}

NoticeSource::NoticeSource(view::FleetWatch& watch, Loop& loop, notify::Notifier& notifier)
    : watch_(watch), loop_(loop), notifier_(notifier) {
  watch_.on_node(scope_.bind([this](const std::string& node) {
    if (leading_) look_at_node(node);
  }));
  watch_.on_pool(scope_.bind([this] { look_soon(); }));
  watch_.rollouts().on_change(scope_.bind([this] { look_soon(); }));
}

bool NoticeSource::is_fresh(Time since) const {
  return since.is_set() && loop_.now() - since < just_now;
}

void NoticeSource::lead() {
  leading_ = true;
  states_.clear();
  phases_.clear();
  pools_.clear();
  for (const std::string& name : watch_.nodes()) look_at_node(name);
  look_soon();
}

// Combines many changes into one pass.
void NoticeSource::look_soon() {
  if (!leading_ || posted_) return;
  posted_ = true;
  loop_.post(scope_.bind([this] {
    posted_ = false;
    if (!leading_ || !watch_.synced()) return;
    look_at_rollouts();
    look_at_pools();
  }));
}

void NoticeSource::look_at_node(const std::string& name) {
  auto node = watch_.node(name);
  if (node == nullptr) {
    states_.erase(name);
    return;
  }
  State now = fleet::state_of(*node, watch_.rules().keys);
  auto [at, is_new] = states_.emplace(name, now);
  State before = at->second;
  if (is_new) {
    if (now != State::failed || !is_fresh(fleet::state_since(*node))) return;
    before = State::unknown;
  }
  if (before == now) return;
  at->second = now;
  tell_of_node(*node, before, now);
}

void NoticeSource::tell_of_node(const Node& node, State before, State now) {
  Notice notice;
  notice.at = loop_.now();
  notice.subject = "Node " + node.meta.name.str();
  notice.state = fleet::display_name(now);
  if (now == State::failed) {
    Reason failure = Reason::of_failure(node.meta.annotations.get(fleet::failure_annotation));
    notice.event = Reason::node_failed;
    notice.severity = failure.name.row().severity;
    notice.reason = failure.name;
    notice.text = std::move(failure.text);
    notice.remedy = fmt::format("lockstep why {0}; after the repair: lockstep retry {0}",
                                node.meta.name.view());
  } else if (before == State::failed) {
    notice.event = Reason::node_recovered;
    notice.reason = Reason::retry;
    notice.text = "it had failed and continues";
  } else {
    return;
  }
  notifier_.notify(std::move(notice));
}

void NoticeSource::look_at_rollouts() {
  for (const auto& [name, known] : watch_.rollouts().all()) {
    // The reason belongs to the phase only where the rollout waits for a user: in Upgrading it
    // changes all the time.
    Phase phase = known.status.phase;
    bool waits =
        phase == Phase::held || phase == Phase::awaiting_approval || phase == Phase::pending;
    std::string text =
        fmt::format("{} {}", rollout::to_string(phase), waits ? known.status.reason.view() : "");
    auto [at, is_new] = phases_.emplace(name, text);
    if (is_new && !is_fresh(known.status.phase_since)) continue;
    if (!is_new && at->second == text) continue;
    at->second = text;
    tell_of_rollout(known);
  }
  std::erase_if(phases_,
                [&](const auto& entry) { return !watch_.rollouts().all().contains(entry.first); });
}

void NoticeSource::tell_of_rollout(const view::KnownRollout& known) {
  const rollout::RolloutStatus& status = known.status;
  Notice notice;
  notice.at = loop_.now();
  notice.severity = severity_of(status.phase);
  notice.event = status.phase == Phase::held ? Reason::rollout_held : Reason::phase_changed;
  notice.subject = "DriverRollout " + known.name();
  notice.state = rollout::to_string(status.phase);
  // Two waves that are opened are two pieces of news.
  auto wave = static_cast<size_t>(std::max<int64_t>(status.current_wave(), 0));
  if (status.open_waves > 0 && wave < status.waves.size()) {
    notice.state += " (wave " + status.waves[wave].name + ")";
  }
  notice.reason = status.reason;
  notice.text = status.message;
  notice.remedy = remedy_of(status.phase, known.name());
  notifier_.notify(std::move(notice));
}

void NoticeSource::look_at_pools() {
  for (const std::string& pool : watch_.tally().pools()) {
    const fleet::PoolCounts& counts = watch_.tally().counts(pool);
    PoolLook now;
    now.busy = counts.waiting + counts.active > 0;
    auto held = held_for_a_person(watch_, pool);
    if (held && now.busy) now.held = held->name;
    auto [at, is_new] = pools_.emplace(pool, now);
    if (is_new) continue;
    PoolLook before = std::exchange(at->second, now);
    if (before != now) tell_of_pool(pool, before, now);
  }
}

void NoticeSource::tell_of_pool(const std::string& pool, const PoolLook& before,
                                const PoolLook& now) {
  const fleet::PoolCounts& counts = watch_.tally().counts(pool);
  Notice notice;
  notice.at = loop_.now();
  notice.subject = title_of_pool(pool);
  if (before.busy != now.busy) {
    notice.event = now.busy ? Reason::upgrade_began : Reason::upgrade_ended;
    notice.severity = !now.busy && counts.failed > 0 ? Severity::warning : Severity::info;
    notice.state = now.busy ? "upgrading" : "at rest";
    notice.reason = notice.event;
    notice.text =
        fmt::format("{} nodes: {} done, {} in progress, {} waiting, {} failed", counts.total,
                    counts.done, counts.active, counts.waiting, counts.failed);
    notifier_.notify(notice);
  }
  if (before.held == now.held || now.held.empty()) return;
  auto held = held_for_a_person(watch_, pool);
  if (!held) return;
  notice.event = Reason::pool_held;
  notice.severity = held->name.row().severity;
  notice.state = "held";
  notice.reason = held->name;
  notice.text = held->text;
  notice.remedy = held->remedy;
  notifier_.notify(std::move(notice));
}

}  // namespace lockstep::controller
