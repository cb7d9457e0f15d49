#include "controller/notice_source.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "upgrade/slots.h"

namespace lockstep::controller {

namespace {

using fleet::State;
using notify::Notice;
using notify::Severity;
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

// "DriverCrashLoop: container … has restarted" as it stands on the node.
std::pair<std::string, std::string> split_failure(std::string_view failure) {
  size_t colon = failure.find(": ");
  if (failure.empty()) return {"Failed", "nothing says why"};
  if (colon == std::string_view::npos) return {"Failed", std::string(failure)};
  return {std::string(failure.substr(0, colon)), std::string(failure.substr(colon + 2))};
}

}  // namespace

std::optional<upgrade::Reason> held_for_a_person(const FleetWatch& watch, const std::string& pool) {
  if (watch.rival()) return watch.rival();
  auto held = upgrade::held_back(watch.pool(pool), false);
  constexpr std::array lasting = {std::string_view("InvalidPolicy"), std::string_view("Paused"),
                                  std::string_view("FailureBudget")};
  if (!held || std::find(lasting.begin(), lasting.end(), held->name) == lasting.end()) {
    return std::nullopt;
  }
  return held;
}

NoticeSource::NoticeSource(FleetWatch& watch, Loop& loop, notify::Notifier& notifier)
    : watch_(watch), loop_(loop), notifier_(notifier) {
  watch_.on_node(scope_.bind([this](const std::string& node) {
    if (leading_) look_at_node(node);
  }));
  watch_.on_pool(scope_.bind([this] { look_soon(); }));
  watch_.rollouts.on_change(scope_.bind([this] { look_soon(); }));
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

// Of many changes at a time one look.
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
  auto node = watch_.nodes_watch.cache.find(kube::KeyView("", name));
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
    notice.severity = Severity::warning;
    notice.event = "NodeFailed";
    std::tie(notice.reason, notice.text) =
        split_failure(node.meta.annotations.get(fleet::failure_annotation));
    notice.remedy = fmt::format("lockstep why {0}; when it is repaired: lockstep retry {0}",
                                node.meta.name.view());
  } else if (before == State::failed) {
    notice.event = "NodeRecovered";
    notice.reason = "Retry";
    notice.text = "it had failed, and goes on";
  } else {
    return;
  }
  notifier_.notify(std::move(notice));
}

void NoticeSource::look_at_rollouts() {
  for (const auto& [name, known] : watch_.rollouts.all()) {
    // The reason belongs to it only where somebody is waited for: in Upgrading it changes all the
    // time.
    Phase phase = known.status.phase;
    bool waits =
        phase == Phase::held || phase == Phase::awaiting_approval || phase == Phase::pending;
    std::string text =
        fmt::format("{} {}", rollout::to_string(phase), waits ? known.status.reason : "");
    auto [at, is_new] = phases_.emplace(name, text);
    if (is_new && !is_fresh(known.status.phase_since)) continue;
    if (!is_new && at->second == text) continue;
    at->second = text;
    tell_of_rollout(known);
  }
  std::erase_if(phases_,
                [&](const auto& entry) { return !watch_.rollouts.all().contains(entry.first); });
}

void NoticeSource::tell_of_rollout(const KnownRollout& known) {
  const rollout::RolloutStatus& status = known.status;
  Notice notice;
  notice.at = loop_.now();
  notice.severity = severity_of(status.phase);
  notice.event = status.phase == Phase::held ? "RolloutHeld" : "PhaseChanged";
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
    notice.event = now.busy ? "UpgradeBegan" : "UpgradeEnded";
    notice.severity = !now.busy && counts.failed > 0 ? Severity::warning : Severity::info;
    notice.state = now.busy ? "upgrading" : "at rest";
    notice.reason = notice.event;
    notice.text =
        fmt::format("{} nodes: {} done, {} under way, {} waiting, {} failed", counts.total,
                    counts.done, counts.active, counts.waiting, counts.failed);
    notifier_.notify(notice);
  }
  if (before.held == now.held || now.held.empty()) return;
  auto held = held_for_a_person(watch_, pool);
  if (!held) return;
  notice.event = "PoolHeld";
  notice.severity = held->name == "Paused" ? Severity::info : Severity::critical;
  notice.state = "held";
  notice.reason = held->name;
  notice.text = held->text;
  notice.remedy = held->remedy;
  notifier_.notify(std::move(notice));
}

}  // namespace lockstep::controller
