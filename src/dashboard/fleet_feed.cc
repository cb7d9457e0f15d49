#include "dashboard/fleet_feed.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "dashboard/node_card.h"
#include "dashboard/rollout_card.h"
#include "operate/fleet_status.h"
#include "rollout/membership.h"
#include "upgrade/decide.h"
#include "view/live_status.h"

namespace lockstep::dashboard {

namespace {

using fleet::State;

constexpr std::string_view gpu_count_label = "nvidia.com/gpu.count";

int64_t gpus_of(const Node& node) {
  int64_t gpus = amount_of(node.capacity, "nvidia.com/gpu");
  return gpus > 0 ? gpus : parse_integer(node.meta.labels.get(gpu_count_label)).value_or(0);
}

}  // namespace

FleetFeed::FleetFeed(view::FleetWatch& watch, Loop& loop, FleetModel& model,
                     std::function<void()> changed, FeedOptions options)
    : watch_(watch),
      loop_(loop),
      model_(model),
      changed_(std::move(changed)),
      options_(std::move(options)) {
  watch_.on_node(scope_.bind([this](const std::string& node) { touch(node); }));
  watch_.rollouts().on_change(scope_.bind([this] {
    rollouts_changed_ = true;
    schedule(options_.delay);
  }));
  loop_.post(scope_.bind([this] { tick(); }));
}

void FleetFeed::touch(const std::string& node) {
  touched_.insert(node);
  schedule(options_.delay);
}

void FleetFeed::touch_all() {
  for (const std::string& node : watch_.nodes()) touched_.insert(node);
  for (const std::string& node : model_.names()) touched_.insert(node);
  schedule(Duration::zero());
}

void FleetFeed::schedule(Duration delay) {
  if (std::exchange(scheduled_, true)) return;
  loop_.after(delay, scope_.bind([this] {
    scheduled_ = false;
    work();
  }));
}

void FleetFeed::work() {
  Time now = loop_.now();
  if (!watch_.synced()) return;
  watch_.count_changed();
  if (rollouts_changed_) foresee_waves();
  for (size_t i = 0; i < options_.nodes_a_turn && !touched_.empty(); ++i) {
    std::string node = *touched_.begin();
    touched_.erase(touched_.begin());
    look_at(node, now);
  }
  if (listed_ && touched_.empty() && !std::exchange(began_, true)) model_.begin_history(now);
  if (std::exchange(rollouts_changed_, false)) judge_bakes();
  // Its waves count the nodes.
  show_rollouts();
  show_attention();
  show_pools(now);
  changed_();
  if (!touched_.empty()) schedule(milliseconds(1));
}

void FleetFeed::look_at(const std::string& node, Time now) {
  auto view = watch_.view(node);
  if (!view || (!view->driver.wanted() && watch_.tally().facts(node) == nullptr)) {
    attention_.erase(node);
    return model_.remove(node, now);
  }
  fleet::Reason reason =
      upgrade::decide(*view, watch_.pool(view->pool), watch_.rules(), now).reason;
  NodeRow row = row_of(*view, reason);
  if (row.is_out()) {
    JsonObject card = fleet::to_json(reason).as_object();
    card["node"] = row.name;
    card["state"] = static_cast<int>(row.state);
    attention_[node] = std::move(card);
  } else {
    attention_.erase(node);
  }
  std::string target = view->driver.newest_version();
  if (!target.empty()) targets_[view->pool] = target;
  model_.put(std::move(row), now);
}

NodeRow FleetFeed::row_of(const fleet::NodeView& view, const fleet::Reason& reason) const {
  const Node& node = *view.node;
  const fleet::Keys& keys = watch_.rules().keys;
  NodeRow row;
  row.name = std::string(view.name());
  row.state = fleet::state_of(node, keys);
  Time since = fleet::state_since(node);
  if (since.is_set()) row.since = since.unix_seconds();
  row.cordoned = node.unschedulable;
  row.ready = node.ready();
  row.skipped = fleet::is_skipped(node, keys);
  row.in_sync = view.driver.is_in_sync();
  row.runs_newest = view.driver.is_settled();
  row.reason = reason.name.str();
  row.pool = view.pool;
  row.wave = wave_of(view);
  row.zone = std::string(node.meta.labels.get(options_.zone_label));
  row.rack = std::string(node.meta.labels.get(options_.rack_label));
  row.version = view.driver.version();
  row.model = std::string(node.meta.labels.get(rollout::gpu_model_label));
  row.gpus = gpus_of(node);
  row.gpu_pods = static_cast<int>(fleet::gpu_pods_on(view));
  return row;
}

std::string FleetFeed::wave_of(const fleet::NodeView& view) const {
  if (watch_.rollouts().all().empty() || !view.driver.set) return {};
  const view::KnownRollout* known =
      watch_.rollouts().governing(view.pool, view.driver.set->meta.key().text());
  if (known == nullptr) return {};
  std::string name(view.name());
  auto at = known->gate.wave_of.find(name);
  if (at != known->gate.wave_of.end() && at->second < known->gate.wave_names.size()) {
    return known->gate.wave_names[at->second];
  }
  auto foreseen = foreseen_.find(known->name());
  if (foreseen == foreseen_.end()) return {};
  auto wave = foreseen->second.waves.find(name);
  return wave == foreseen->second.waves.end() ? std::string() : wave->second;
}

void FleetFeed::tick() {
  loop_.after(options_.interval, scope_.bind([this] { tick(); }));
  show_contact();
  if (!watch_.synced()) return changed_();
  if (!std::exchange(listed_, true)) return touch_all();
  Time now = loop_.now();
  if (began_) model_.sample(now);
  if (watched_) look_after_others();
  if (touched_.empty()) {
    show_pools(now);
    changed_();
  } else {
    schedule(Duration::zero());
  }
}

void FleetFeed::look_after_others() {
  std::vector<std::string> names = model_.names();
  if (names.empty()) return;
  auto at = std::upper_bound(names.begin(), names.end(), last_looked_after_);
  for (size_t i = 0; i < std::min(options_.nodes_looked_after, names.size()); ++i) {
    if (at == names.end()) at = names.begin();
    touched_.insert(*at);
    last_looked_after_ = *at++;
  }
}

void FleetFeed::show_attention() {
  JsonArray failed;
  JsonArray active;
  for (const auto& [node, card] : attention_) {
    bool is_failed = as_integer(find(card, "state")) == static_cast<int>(State::failed);
    JsonArray& list = is_failed ? failed : active;
    if (list.size() < options_.most_attention / 2) list.push_back(card);
  }
  for (const Json& card : std::as_const(active)) failed.push_back(card);
  model_.set_part("attention", std::move(failed));
}

void FleetFeed::show_pools(Time now) {
  std::map<std::string, operate::PoolSums> sums;
  model_.for_each([&](const NodeRow& row) {
    const Duration in_state = row.since > 0 ? now - Time::from_unix(row.since) : Duration::zero();
    sums[row.pool].add(row.runs_newest, row.state == State::done && row.in_sync, in_state);
  });
  JsonArray pools;
  for (const std::string& name : watch_.tally().pools()) {
    sums[name].target = targets_[name];
    const operate::PoolStatus pool = operate::look_at_pool(watch_, name, std::move(sums[name]));
    JsonObject card{{"name", name},
                    {"policy", pool.source},
                    {"target", pool.target},
                    {"total", pool.counts.total},
                    {"upgraded", pool.upgraded},
                    {"running", pool.running},
                    {"waiting", pool.counts.waiting},
                    {"active", pool.counts.active},
                    {"unavailable", pool.counts.unavailable},
                    {"failed", pool.counts.failed},
                    {"maxUnavailable", pool.limits.unavailable},
                    {"maxParallel", pool.limits.parallel},
                    {"maxFailures", pool.limits.failures}};
    if (!pool.paused.empty()) card["paused"] = pool.paused;
    if (pool.held) card["held"] = fleet::to_json(*pool.held);
    if (pool.time_left) {
      card["secondsLeft"] = static_cast<int64_t>(in_seconds(*pool.time_left));
    }
    pools.push_back(std::move(card));
  }
  model_.set_part("pools", std::move(pools));
  model_.set_part("frozen", watch_.conflicting_controller()
                                ? fleet::to_json(*watch_.conflicting_controller())
                                : Json(nullptr));
}

void FleetFeed::judge_bakes() {
  bakes_.clear();
  for (const auto& [name, known] : watch_.rollouts().all()) {
    bakes_[name] = operate::bakes_of(watch_.rollouts(), known);
  }
}

void FleetFeed::show_rollouts() {
  JsonArray cards;
  for (const auto& [name, known] : watch_.rollouts().all()) {
    cards.push_back(rollout_card(
        operate::report_rollout(name, known.spec, view::live_status(watch_, known), bakes_[name])));
  }
  model_.set_part("rollouts", std::move(cards));
}

void FleetFeed::show_contact() {
  const kube::ReflectorStatus& status = watch_.caches().contact();
  const bool lost = watch_.caches().has_lost_contact();
  JsonObject contact{{"ok", !lost}, {"listed", watch_.synced()}};
  if (lost) {
    contact["since"] = status.last_success.is_set()
                           ? Json(status.last_success.unix_nanoseconds / 1'000'000)
                           : Json(nullptr);
    contact["error"] = status.last_error->text();
  }
  model_.set_part("contact", std::move(contact));
}

void FleetFeed::foresee_waves() {
  bool changed = false;
  std::map<std::string, Foreseen> all;
  for (const auto& [name, known] : watch_.rollouts().all()) {
    auto open = std::count_if(known.recorded.begin(), known.recorded.end(),
                              [](const auto& wave) { return wave.has_value(); });
    Foreseen next;
    next.from =
        fmt::format("{} {} {}", known.object->meta.generation, open, watch_.driver_facts().size());
    auto last = foreseen_.find(name);
    if (last != foreseen_.end() && last->second.from == next.from) {
      next = std::move(last->second);
    } else {
      next.waves = foresee_waves(known);
      changed = true;
    }
    all.emplace(name, std::move(next));
  }
  changed = changed || all.size() != foreseen_.size();
  foreseen_ = std::move(all);
  if (changed) touch_all();
}

std::map<std::string, std::string> FleetFeed::foresee_waves(
    const view::KnownRollout& rollout) const {
  std::vector<rollout::Candidate> free;
  int64_t total = 0;
  for (const auto& [name, facts] : watch_.driver_facts()) {
    const fleet::NodeFacts* node = watch_.tally().facts(name);
    if (node == nullptr || !rollout.covers(node->pool, facts.set)) continue;
    ++total;
    auto object = watch_.node(name);
    if (object && !rollout.gate.wave_of.contains(name)) free.push_back({name, object->meta.labels});
  }
  std::map<std::string, std::string> waves;
  for (size_t i = 0; i < rollout.spec.waves.size(); ++i) {
    bool is_written = i < rollout.recorded.size() && rollout.recorded[i] &&
                      rollout::is_of_rollout(*rollout.recorded[i], rollout.status);
    if (is_written) continue;
    const rollout::WaveSpec& wave = rollout.spec.waves[i];
    for (const std::string& node :
         rollout::choose_wave(wave, rollout.spec.group_by, free, total).nodes) {
      waves[node] = wave.name;
    }
    std::erase_if(free, [&](const auto& candidate) { return waves.contains(candidate.name); });
  }
  return waves;
}

}  // namespace lockstep::dashboard
