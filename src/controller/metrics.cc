#include "controller/metrics.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "http/prometheus.h"
#include "upgrade/slots.h"

namespace lockstep::controller {

namespace {

using fleet::Reason;
using fleet::ReasonName;
using fleet::State;

double as_value(bool yes) { return yes ? 1 : 0; }
double as_value(int64_t count) { return static_cast<double>(count); }
double as_value(uint64_t count) { return static_cast<double>(count); }
double as_value(Time time) { return in_seconds(Duration(time.unix_nanoseconds)); }

class Metrics {
 public:
  Metrics(const UpgradeController& controller, Time now)
      : controller_(controller), watch_(controller.watch()), now_(now), pools_(pools()) {}

  void write_operator_names();
  void write_pools();
  void write_policies();
  void write_reasons();
  void write_work();
  void write_health();
  void write_api(const kube::CountingApi& api);
  const std::string& text() const { return out_.text(); }

 private:
  std::vector<std::string> pools() const {
    auto names = watch_.tally().pools();
    // There is no pool yet, but the policy may be invalid already.
    if (names.empty()) names.emplace_back();
    return names;
  }
  const fleet::PoolCounts& counts(const std::string& pool) const {
    return watch_.tally().counts(pool);
  }
  bool any_auto_upgrade() const {
    return std::any_of(pools_.begin(), pools_.end(),
                       [&](const std::string& pool) { return watch_.policy(pool).auto_upgrade; });
  }
  int64_t can_start(const std::string& pool) const {
    if (watch_.conflicting_controller()) return 0;
    return static_cast<int64_t>(
        upgrade::choose_starts(watch_.tally(), pool, watch_.policy(pool)).size());
  }
  template <typename Count>
  double sum(Count count) const {
    int64_t total = 0;
    for (const auto& pool : pools_) total += count(pool);
    return as_value(total);
  }
  // A gauge with one sample for each pool.
  template <typename Value>
  void by_pool(std::string_view name, std::string_view help, Value value) {
    out_.gauge(name, help);
    for (const auto& pool : pools_) out_.sample(as_value(value(pool)), {{"pool", pool}});
  }
  ReasonName waits_for(const std::string& pool, const std::string& node,
                       const fleet::NodeFacts& facts) const;

  const UpgradeController& controller_;
  const view::FleetWatch& watch_;
  Time now_;
  std::vector<std::string> pools_;
  http::PrometheusText out_;
};

void Metrics::write_operator_names() {
  constexpr std::string_view help = "1 if driver auto upgrade is enabled; 0 if not.";
  double enabled = as_value(any_auto_upgrade());
  out_.gauge("gpu_operator_auto_upgrade_enabled", help).sample(enabled);
  out_.gauge("gpu_operator_driver_auto_upgrade_enabled", help).sample(enabled);
  out_.gauge("gpu_operator_nodes_upgrades_in_progress",
             "Total number of nodes in which a driver pod is being upgraded on.")
      .sample(sum([&](const std::string& pool) { return counts(pool).active; }));
  out_.gauge("gpu_operator_nodes_upgrades_done",
             "Total number of nodes in which a driver pod has been successfully upgraded.")
      .sample(sum([&](const std::string& pool) { return counts(pool).done; }));
  out_.gauge("gpu_operator_nodes_upgrades_failed",
             "Total number of nodes in which a driver pod upgrade has failed.")
      .sample(sum([&](const std::string& pool) { return counts(pool).failed; }));
  out_.gauge("gpu_operator_nodes_upgrades_available",
             "Total number of nodes in which a driver pod upgrade can start on.")
      .sample(sum([&](const std::string& pool) { return can_start(pool); }));
  out_.gauge("gpu_operator_nodes_upgrades_pending",
             "Total number of nodes in which driver pod upgrades are pending.")
      .sample(sum([&](const std::string& pool) { return counts(pool).waiting; }));
}

void Metrics::write_pools() {
  out_.gauge("lockstep_nodes", "Nodes that have a driver or need one, by state.");
  for (const auto& pool : pools_) {
    const auto& by_state = counts(pool).by_state;
    for (State state : fleet::all_states) {
      auto at = by_state.find(state);
      out_.sample(as_value(at == by_state.end() ? int64_t{0} : at->second),
                  {{"pool", pool}, {"state", std::string(fleet::display_name(state))}});
    }
  }
  by_pool("lockstep_nodes_unavailable",
          "Nodes that are cordoned, not Ready, or about to be cordoned.",
          [&](const std::string& pool) { return counts(pool).unavailable; });
  by_pool("lockstep_nodes_unavailable_limit", "maxUnavailable as a number of nodes.",
          [&](const std::string& pool) {
            return upgrade::limits_of(watch_.policy(pool), counts(pool).total).unavailable;
          });
  by_pool("lockstep_nodes_active",
          "Nodes whose upgrade is in progress, including slots that were just given.",
          [&](const std::string& pool) { return counts(pool).active; });
  by_pool("lockstep_nodes_active_limit", "maxParallelUpgrades; 0 means no limit.",
          [&](const std::string& pool) { return watch_.policy(pool).max_parallel; });
}

void Metrics::write_policies() {
  by_pool("lockstep_policy_invalid", "1 if the policy is invalid: no upgrade starts.",
          [&](const std::string& pool) { return !watch_.policy(pool).problems.empty(); });
  by_pool("lockstep_paused", "1 if a user paused the upgrade.",
          [&](const std::string& pool) { return watch_.policy(pool).paused.has_value(); });
  out_.gauge("lockstep_pause_age_seconds", "Seconds since the pause began; 0 if not paused.");
  for (const auto& pool : pools_) {
    out_.sample(in_seconds(age_of_pause(watch_.policy(pool), now_)), {{"pool", pool}});
  }
}

// What was decided of a waiting node is from when the node last changed. What holds it now is the
// pool's business, which changes with every other node.
ReasonName Metrics::waits_for(const std::string& pool, const std::string& node,
                              const fleet::NodeFacts& facts) const {
  bool cordoned_by_us = facts.unschedulable && !facts.cordoned_by_others;
  if (watch_.conflicting_controller()) return watch_.conflicting_controller()->name;
  if (!facts.startable || cordoned_by_us) {
    const ReasonName said = controller_.reason_of(node);
    return said.empty() ? ReasonName(Reason::unknown) : said;
  }
  auto held = upgrade::held_back(watch_.pool(pool), facts.cordoned_by_others);
  return held ? held->name : ReasonName(Reason::next_in_line);
}

void Metrics::write_reasons() {
  std::map<std::tuple<std::string, ReasonName>, int64_t> waiting;
  std::map<std::tuple<std::string, std::string, ReasonName>, int64_t> busy;
  // Of startable nodes the answer is the same for all that are cordoned and all that are not.
  std::map<std::tuple<std::string, bool>, ReasonName> known;
  for (const auto& [node, reason] : controller_.reasons()) {
    const fleet::NodeFacts* facts = watch_.tally().facts(node);
    if (facts == nullptr) continue;
    if (facts->state == State::required) {
      bool shared = facts->startable && (!facts->unschedulable || facts->cordoned_by_others);
      if (!shared) {
        ++waiting[{facts->pool, waits_for(facts->pool, node, *facts)}];
        continue;
      }
      ReasonName& name = known[{facts->pool, facts->cordoned_by_others}];
      if (name.empty()) name = waits_for(facts->pool, node, *facts);
      ++waiting[{facts->pool, name}];
    } else if (fleet::is_active(facts->state) || facts->state == State::failed) {
      ++busy[{facts->pool, std::string(fleet::display_name(facts->state)), reason.name}];
    }
  }
  out_.gauge("lockstep_nodes_waiting", "Nodes that wait for their upgrade to start, by reason.");
  for (const auto& [key, count] : waiting) {
    out_.sample(as_value(count), {{"pool", std::get<0>(key)}, {"reason", std::get<1>(key).str()}});
  }
  out_.gauge("lockstep_nodes_by_reason",
             "Nodes in progress or failed, by the reason of their state.");
  for (const auto& [key, count] : busy) {
    out_.sample(as_value(count), {{"pool", std::get<0>(key)},
                                  {"state", std::get<1>(key)},
                                  {"reason", std::get<2>(key).str()}});
  }
}

void Metrics::write_work() {
  const UpgradeCounts& counts = controller_.counts();
  out_.histogram("lockstep_state_duration_seconds",
                 "Time that nodes spent in a state before they left it.");
  for (const auto& [state, times] : counts.time_in_state) {
    std::string name(fleet::display_name(state));
    uint64_t below = 0;
    for (size_t i = 0; i < TimeHistogram::bounds.size(); ++i) {
      below += times.counts[i];
      out_.sample("_bucket", as_value(below),
                  {{"state", name}, {"le", std::to_string(TimeHistogram::bounds[i])}});
    }
    out_.sample("_bucket", as_value(times.total()), {{"state", name}, {"le", "+Inf"}});
    out_.sample("_sum", times.sum_seconds, {{"state", name}});
    out_.sample("_count", as_value(times.total()), {{"state", name}});
  }
  out_.counter("lockstep_pod_removals_total", "Attempts to remove pods, by method and result.");
  for (const auto& [key, count] : counts.removals) {
    out_.sample(as_value(count), {{"how", key.first}, {"outcome", key.second}});
  }
  out_.counter("lockstep_fresh_views_total",
               "Reads of a node and its pods before an irreversible step, and whether they "
               "confirmed the watches.");
  for (const auto& [outcome, count] : counts.fresh_views) {
    out_.sample(as_value(count), {{"outcome", outcome}});
  }
  out_.counter("lockstep_transitions_total", "Changes of a node's state that were written.")
      .sample(as_value(counts.transitions));
  out_.counter("lockstep_failures_total", "Upgrades of a node that failed.")
      .sample(as_value(counts.failures));
  out_.counter("lockstep_node_conflicts_total",
               "Writes of nodes that conflicted with another change.")
      .sample(as_value(counts.conflicts));
  out_.counter("lockstep_node_errors_total", "Writes of nodes that failed and are retried.")
      .sample(as_value(counts.errors));
  const kube::EventCounts& events = controller_.event_counts();
  out_.counter("lockstep_events_written_total", "Kubernetes Events that were written.")
      .sample(as_value(events.created + events.patched));
  out_.counter(
          "lockstep_events_dropped_total",
          "Kubernetes Events that were not written, by cause: limited (too many on one object), "
          "overflow (too many waiting), rejected (by the server), gave_up.")
      .sample(as_value(events.limited), {{"why", "limited"}})
      .sample(as_value(events.overflow), {{"why", "overflow"}})
      .sample(as_value(events.rejected), {{"why", "rejected"}})
      .sample(as_value(events.gave_up), {{"why", "gave_up"}});
  out_.counter("lockstep_decisions_total", "Reconciliations of nodes.")
      .sample(as_value(counts.decisions));
  out_.counter("lockstep_decision_seconds_total", "Time that a reconciliation took.")
      .sample(in_seconds(counts.decision_time));
}

void Metrics::write_health() {
  out_.gauge("lockstep_leader", "1 if this process is the leader.")
      .sample(as_value(controller_.leading()));
  out_.gauge("lockstep_synced", "1 if everything in the cluster has been listed once.")
      .sample(as_value(watch_.synced()));
  out_.gauge("lockstep_last_successful_sync_timestamp_seconds",
             "Time of the last news from the cluster, for the kind of object that is furthest "
             "behind; 0 before all kinds were listed.")
      .sample(as_value(watch_.caches().last_heard()));
  out_.gauge("lockstep_last_decision_timestamp_seconds",
             "Time of the last reconciliation of a node.")
      .sample(as_value(controller_.counts().last_sync));
  out_.gauge("lockstep_conflicting_controller",
             "1 if NVIDIA's controller would upgrade the same nodes.")
      .sample(as_value(watch_.conflicting_controller().has_value()));
  out_.gauge("lockstep_rival", "Deprecated: lockstep_conflicting_controller.")
      .sample(as_value(watch_.conflicting_controller().has_value()));
  out_.gauge("lockstep_slots_reserved",
             "Slots that were given and are not visible on the node yet.")
      .sample(static_cast<double>(watch_.tally().reserved().size()));
  out_.gauge("lockstep_ledger_failing", "1 if slots cannot be recorded: no upgrade starts.")
      .sample(as_value(controller_.ledger().last_error().has_value()));
}

void Metrics::write_api(const kube::CountingApi& api) {
  auto labels_of = [](const kube::CallLabels& labels) {
    return http::MetricLabels{{"verb", labels.verb},
                              {"resource", labels.resource},
                              {"subresource", labels.subresource},
                              {"code", std::to_string(labels.code)}};
  };
  out_.counter("lockstep_api_calls_total", "Calls of the Kubernetes API; code 0 means no answer.");
  for (const auto& [labels, counts] : api.counts()) {
    out_.sample(as_value(counts.calls), labels_of(labels));
  }
  out_.counter("lockstep_api_call_seconds_total", "Time from these calls to their answers.");
  for (const auto& [labels, counts] : api.counts()) {
    out_.sample(in_seconds(counts.total_time), labels_of(labels));
  }
  out_.gauge("lockstep_api_calls_in_flight", "Calls in progress.")
      .sample(static_cast<double>(api.in_flight()));
  out_.counter("lockstep_watch_events_total", "Events of watches.");
  for (const auto& [resource, counts] : api.watches()) {
    out_.sample(as_value(counts.events), {{"resource", resource}});
  }
  out_.counter("lockstep_watches_ended_total", "Watches that the server ended.");
  for (const auto& [resource, counts] : api.watches()) {
    out_.sample(as_value(counts.ended), {{"resource", resource}});
  }
}

}  // namespace

Duration age_of_pause(const upgrade::Policy& policy, Time now) {
  if (!policy.paused) return Duration::zero();
  std::string_view text = *policy.paused;
  auto began = parse_rfc3339(text.substr(0, text.find(' ')));
  if (!began || !began->is_set()) return Duration::zero();
  return std::max(now - *began, Duration::zero());
}

std::string render_metrics(const UpgradeController& controller, const kube::CountingApi* api,
                           Time now) {
  Metrics metrics(controller, now);
  metrics.write_operator_names();
  metrics.write_pools();
  metrics.write_policies();
  metrics.write_reasons();
  metrics.write_work();
  metrics.write_health();
  if (api != nullptr) metrics.write_api(*api);
  return metrics.text();
}

}  // namespace lockstep::controller
