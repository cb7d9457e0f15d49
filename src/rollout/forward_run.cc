#include "rollout/forward_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/tally.h"
#include "rollout/forward_node.h"
#include "rollout/forward_rollout.h"
#include "upgrade/decide.h"
#include "upgrade/deciding.h"
#include "upgrade/slots.h"

namespace lockstep::rollout {

namespace {

using fleet::State;

// The plan ends here.
constexpr Duration horizon = hours(24 * 365);
// Windows that open and close while nothing else happens.
constexpr Duration longest_idle = hours(24 * 15);
// A node never needs as many steps at one moment; if it does, the run ends anyway.
constexpr int most_steps = 30;

class ForwardRun final : public ForwardFleet {
 public:
  ForwardRun(Snapshot snapshot, const Pace& pace)
      : snapshot_(std::move(snapshot)),
        pace_(pace),
        now_(snapshot_.now),
        budgets_(snapshot_.budgets, pace.pod) {
    plan_.now = now_;
    nodes_.reserve(snapshot_.nodes.size());
    for (ForwardNode& node : snapshot_.nodes) {
      nodes_.emplace_back(std::move(node), snapshot_.rules.keys, now_);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) index_[nodes_[i].name()] = i;
    for (auto& [name, rollout] : snapshot_.rollouts) {
      rollouts_.emplace(std::piecewise_construct, std::forward_as_tuple(name),
                        std::forward_as_tuple(std::move(rollout), snapshot_.zones, pace_, now_));
    }
    for (const auto& [name, pool] : snapshot_.pools) {
      pools_[name] = {{name, nullptr, {}, pool.frozen}, pool.policy, pool.rollout};
    }
    for (const ForwardNodeRun& node : nodes_) active_ += fleet::is_active(node.state()) ? 1 : 0;
    most_active_ = active_;
  }

  Plan run() {
    solve_pools();
    update_policies();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      refresh(i);
      due_.emplace(now_, i);
    }
    while (true) {
      settle();
      const std::optional<Time> next = next_time();
      if (!next) break;
      if (*next - snapshot_.now > horizon) {
        plan_.is_cut = true;
        break;
      }
      now_ = *next;
    }
    return finish();
  }

 private:
  struct Pool {
    upgrade::PoolView view;
    upgrade::Policy before_waves;
    std::string rollout;
  };

  // What refuses every start of a pool is named, and taken as solved.
  void solve_pools() {
    std::set<std::string> wanting;
    for (const ForwardNodeRun& node : nodes_) {
      const fleet::NodeView& view = node.view();
      const bool wants = node.state() == State::required || fleet::is_active(node.state()) ||
                         view.driver.is_out_of_sync() ||
                         fleet::is_requested(*view.node, snapshot_.rules.keys);
      if (wants) wanting.insert(view.pool);
    }
    for (const std::string& name : wanting) {
      Pool& pool = pool_of(name);
      upgrade::Policy& policy = pool.before_waves;
      if (pool.view.frozen) refuse(*std::exchange(pool.view.frozen, std::nullopt));
      while (auto held = upgrade::held_by_switch(policy)) {
        refuse(std::move(*held));
        if (!policy.auto_upgrade) {
          policy.auto_upgrade = true;
        } else if (!policy.problems.empty()) {
          policy.problems.clear();
        } else {
          policy.paused.reset();
        }
      }
    }
  }

  void refuse(Reason reason) {
    if (std::find(plan_.refused.begin(), plan_.refused.end(), reason) == plan_.refused.end()) {
      plan_.refused.push_back(std::move(reason));
    }
  }

  // A pool without rules of its own goes by the ClusterPolicy's.
  Pool& pool_of(const std::string& name) {
    auto at = pools_.find(name);
    if (at != pools_.end()) return at->second;
    auto common = pools_.find("");
    Pool pool;
    if (common != pools_.end()) pool = common->second;
    pool.view.name = name;
    return pools_.emplace(name, std::move(pool)).first->second;
  }

  // A rollout's open wave has a say in its pool's limits.
  void update_policies() {
    for (auto& [name, pool] : pools_) {
      upgrade::Policy policy = pool.before_waves;
      auto rollout = rollouts_.find(pool.rollout);
      if (rollout != rollouts_.end()) {
        const RolloutView& view = rollout->second.view();
        limit_to_wave(view.spec, view.status, policy);
      }
      pool.view.policy = std::make_shared<const upgrade::Policy>(std::move(policy));
    }
  }

  // What the rollout says of the node, and what slots are given by.
  void refresh(size_t i) {
    ForwardNodeRun& node = nodes_[i];
    auto rollout = rollouts_.find(node.node().rollout);
    if (rollout != rollouts_.end()) apply_gate(rollout->second.gate(), node.view());
    const upgrade::Policy& policy = policy_of(node.view().pool);
    changed_ |= tally_.update(node.name(), upgrade::facts_of(node.view(), policy, snapshot_.rules));
  }

  // Everything that happens at this moment.
  void settle() {
    while (true) {
      bool went_on = false;
      while (!due_.empty() && due_.begin()->first <= now_) {
        const size_t i = due_.begin()->second;
        due_.erase(due_.begin());
        look_at(i);
        went_on = true;
      }
      went_on |= look_at_rollouts();
      if (std::exchange(changed_, false)) went_on |= give_slots();
      if (!went_on) return;
    }
  }

  upgrade::PoolView& view_of_pool(const std::string& name) {
    upgrade::PoolView& view = pool_of(name).view;
    view.counts = tally_.counts(name);
    return view;
  }

  void look_at(size_t i) {
    ForwardNodeRun& node = nodes_[i];
    for (int step = 0; step < most_steps; ++step) {
      const upgrade::PoolView& pool = view_of_pool(node.view().pool);
      if (auto busy = node.see_world(pool, snapshot_.rules, pace_, now_, budgets_)) {
        due_.emplace(*busy, i);
        return;
      }
      upgrade::Decision decision = upgrade::decide(node.view(), pool, snapshot_.rules, now_);
      if (!act(i, decision)) {
        if (decision.look_again) {
          due_.emplace(now_ + std::max<Duration>(*decision.look_again, seconds(1)), i);
        }
        return;
      }
    }
  }

  // False: nothing was written.
  bool act(size_t i, const upgrade::Decision& decision) {
    ForwardNodeRun& node = nodes_[i];
    if (const upgrade::PodRemovals* removals = decision.removals()) {
      node.remove(*removals, now_, budgets_);
      refresh(i);
      return true;
    }
    const upgrade::NodePatch* patch = decision.patch();
    if (patch == nullptr) return false;
    const State before = node.state();
    node.apply(*patch);
    refresh(i);
    if (patch->to) on_step(i, before, decision.reason);
    return true;
  }

  void on_step(size_t i, State before, const Reason& reason) {
    ForwardNodeRun& node = nodes_[i];
    PlannedNode& planned = node.planned;
    const State state = node.state();
    const bool is_active = fleet::is_active(state);
    if (is_active && !fleet::is_active(before)) {
      planned.start = now_ - snapshot_.now;
      planned.end.reset();
      started_.push_back(i);
      most_active_ = std::max(most_active_, ++active_);
    }
    if (!is_active && fleet::is_active(before)) --active_;
    if (state != State::done && state != State::failed) return;
    planned.outcome = state == State::done ? PlannedEnd::done : PlannedEnd::failed;
    if (state == State::failed) planned.reason = reason;
    if (planned.start) {
      planned.end = now_ - snapshot_.now;
      plan_.duration = std::max(plan_.duration, *planned.end);
    }
    planned.stays_cordoned = state == State::done && node.view().node->unschedulable;
    auto rollout = rollouts_.find(planned.rollout);
    if (rollout != rollouts_.end()) rollout->second.see_end(node.name(), state == State::failed);
  }

  bool give_slots() {
    bool gave = false;
    for (const std::string& name : tally_.pools()) {
      const upgrade::PoolView pool = view_of_pool(name);
      for (const std::string& node_name : upgrade::choose_starts(tally_, name, *pool.policy)) {
        const size_t i = index_.at(node_name);
        ForwardNodeRun& node = nodes_[i];
        node.view().known.granted = true;
        const upgrade::Decision decision =
            upgrade::decide(node.view(), pool, snapshot_.rules, now_);
        node.view().known.granted = false;
        const upgrade::NodePatch* patch = decision.patch();
        if (patch == nullptr || !patch->to) continue;
        node.planned.restart_only = *patch->to == State::pod_restart &&
                                    upgrade::is_restart_only(node.view(), snapshot_.rules);
        act(i, decision);
        due_.emplace(now_, i);
        gave = true;
      }
    }
    return gave;
  }

  bool look_at_rollouts() {
    bool went_on = false;
    for (auto& [name, rollout] : rollouts_) {
      if (!rollout.look(*this, now_)) continue;
      went_on = true;
      update_policies();
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].node().rollout != name) continue;
        refresh(i);
        // Whether it is contained may depend on the waves.
        if (nodes_[i].view().outside_wave) due_.emplace(now_, i);
      }
      changed_ = true;
    }
    return went_on;
  }

  void fill(RolloutView& view) const override {
    view.nodes.clear();
    const upgrade::Policy* policy = nullptr;
    for (const ForwardNodeRun& node : nodes_) {
      if (node.node().rollout != view.name || node.view().driver.set == nullptr) continue;
      policy = &policy_of(node.view().pool);
      view.nodes.push_back(rollout_node_of(node.view(), *policy, snapshot_.rules.keys));
    }
    if (policy == nullptr) return;
    const auto total = static_cast<int64_t>(view.nodes.size());
    view.max_failures = upgrade::limits_of(*policy, total).failures;
  }

  ForwardExposure exposure(const std::string& rollout) const override {
    ForwardExposure seen;
    for (const ForwardNodeRun& run : nodes_) {
      const ForwardNode& node = run.node();
      if (node.rollout != rollout) continue;
      const State state = run.state();
      const bool is_upgraded = state == State::done && !node.view.driver.is_out_of_sync();
      const bool waits = state == State::required && node.view.driver.is_out_of_sync();
      if (!is_upgraded && !waits) continue;
      if (is_upgraded) {
        ++seen.upgraded_nodes;
        if (!node.reports_health) ++seen.silent_nodes;
        seen.upgraded_gpus += node.gpus;
      }
      if (!node.busy || !node.reports_health) continue;
      std::string model(node.view.node->meta.labels.get(gpu_model_label));
      (is_upgraded ? seen.busy_upgraded : seen.busy_control)[model] += node.gpus;
    }
    return seen;
  }

  // Nothing: nothing more happens.
  std::optional<Time> next_time() {
    std::optional<Time> next;
    auto consider = [&](std::optional<Time> time) {
      if (time && (!next || *time < *next)) next = time;
    };
    if (!due_.empty()) consider(due_.begin()->first);
    for (const auto& [name, rollout] : rollouts_) consider(rollout.next());
    if (next) {
      idle_since_ = *next;
      return next_with_windows(next);
    }
    // Only windows are left: they open and close indefinitely.
    next = next_with_windows(next);
    if (next && *next - std::max(idle_since_, snapshot_.now) > longest_idle) return std::nullopt;
    return next;
  }
  std::optional<Time> next_with_windows(std::optional<Time> next) const {
    for (const auto& [name, rollout] : rollouts_) {
      auto window = rollout.next_window();
      if (window && (!next || *window < *next)) next = window;
    }
    return next;
  }

  const upgrade::Policy& policy_of(const std::string& pool) const {
    auto at = pools_.find(pool);
    if (at == pools_.end()) at = pools_.find("");
    static const upgrade::Policy none = upgrade::Policy::none();
    return at == pools_.end() ? none : *at->second.view.policy;
  }

  Plan finish() {
    add_nodes();
    for (auto& [name, rollout] : rollouts_) add_rollout(rollout);
    std::stable_sort(plan_.events.begin(), plan_.events.end(),
                     [](const PlannedEvent& a, const PlannedEvent& b) { return a.at < b.at; });
    if (!plan_.events.empty()) {
      plan_.duration = std::max(plan_.duration, plan_.events.back().at);
    }
    plan_.most_at_once = most_active_;
    return std::move(plan_);
  }

  void add_nodes() {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      ForwardNodeRun& node = nodes_[i];
      PlannedNode& planned = node.planned;
      if (!planned.start) {
        if (node.state() == State::failed) plan_.failed.push_back(node.name());
        if (node.state() == State::required) waiting.push_back(i);
        continue;
      }
      const bool was_active = fleet::is_active(planned.state);
      if (was_active && *planned.start == Duration::zero()) in_flight_.push_back(i);
      if (fleet::is_active(node.state())) {
        planned.outcome = PlannedEnd::stuck;
        planned.reason = reason_of(node);
      }
    }
    for (size_t i : waiting) nodes_[i].planned.reason = reason_of(nodes_[i]);
    std::set<size_t> added;
    for (const auto* part : {&in_flight_, &started_, &waiting}) {
      for (size_t i : *part) {
        if (!added.insert(i).second) continue;
        add_wave(nodes_[i].planned);
        plan_.nodes.push_back(nodes_[i].planned);
      }
    }
  }

  // As `lockstep why` would say it then.
  Reason reason_of(ForwardNodeRun& node) {
    fleet::NodeView& view = node.view();
    const upgrade::PoolView& pool = view_of_pool(view.pool);
    if (!view.group.empty()) {
      view.held_by_group = upgrade::holds_group(tally_, view.pool, view.group, *pool.policy);
    }
    return upgrade::decide(view, pool, snapshot_.rules, now_).reason;
  }

  void add_wave(PlannedNode& planned) {
    auto rollout = rollouts_.find(planned.rollout);
    if (rollout == rollouts_.end()) return;
    const RolloutGate& gate = rollout->second.gate();
    auto at = gate.wave_of.find(planned.name);
    size_t index = at == gate.wave_of.end() ? gate.wave_names.size() - 1 : at->second;
    std::vector<PlannedWave>& waves = rollout->second.planned.waves;
    if (index >= waves.size() || (at == gate.wave_of.end() && !planned.start)) return;
    PlannedWave& wave = waves[index];
    planned.wave = wave.name;
    wave.nodes.push_back(planned.name);
    wave.gpus += planned.gpus;
    wave.moved_pods += static_cast<int64_t>(planned.moved.size());
    wave.jobs += planned.jobs;
    if (!planned.blocked.empty()) ++wave.blocked_nodes;
    if (planned.start && planned.end) {
      wave.gpu_hours_lost +=
          static_cast<double>(planned.gpus) * in_seconds(*planned.end - *planned.start) / 3600;
    }
  }

  void add_rollout(ForwardRolloutRun& rollout) {
    PlannedRollout& planned = rollout.planned;
    const RolloutStatus& status = rollout.view().status;
    planned.end_phase = status.phase;
    planned.from = status.from.version;
    planned.to = status.to.version;
    for (PlannedWave& wave : planned.waves) {
      std::sort(wave.nodes.begin(), wave.nodes.end(), natural_less);
    }
    for (const RolloutNode& node : rollout.view().nodes) {
      if (node.excluded.empty()) continue;
      planned.excluded.push_back(fmt::format("{} ({})", node.name(), node.excluded));
    }
    // What the nodes of its wave wait for is why it does not go on.
    if (status.phase == Phase::upgrading) {
      auto waits = std::find_if(plan_.nodes.begin(), plan_.nodes.end(), [&](const auto& node) {
        return node.rollout == planned.name && node.outcome != PlannedEnd::done &&
               node.outcome != PlannedEnd::failed && node.reason.name != Reason::wave_not_open;
      });
      if (waits != plan_.nodes.end()) planned.end = waits->reason;
    }
    plan_.events.insert(plan_.events.end(), rollout.events.begin(), rollout.events.end());
    plan_.rollouts.push_back(std::move(planned));
  }

  Snapshot snapshot_;
  Pace pace_;
  Time now_;
  ForwardBudgets budgets_;
  std::vector<ForwardNodeRun> nodes_;
  std::map<std::string, size_t> index_;
  std::map<std::string, ForwardRolloutRun> rollouts_;
  std::map<std::string, Pool> pools_;
  fleet::Tally tally_;
  std::set<std::pair<Time, size_t>> due_;
  bool changed_ = true;
  Time idle_since_;
  int64_t active_ = 0;
  int64_t most_active_ = 0;
  std::vector<size_t> in_flight_;
  std::vector<size_t> started_;  // in order
  Plan plan_;
};

}  // namespace

std::string_view to_string(PlannedEnd end) {
  switch (end) {
    case PlannedEnd::done:
      return "done";
    case PlannedEnd::failed:
      return "failed";
    case PlannedEnd::stuck:
      return "stuck";
    case PlannedEnd::not_started:
      return "not started";
  }
  return "";
}

Plan run_forward(Snapshot snapshot, const Pace& pace) {
  return ForwardRun(std::move(snapshot), pace).run();
}

}  // namespace lockstep::rollout
