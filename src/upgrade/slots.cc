#include "upgrade/slots.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/deciding.h"
#include "upgrade/pod_names.h"

namespace lockstep::upgrade {

Limits limits_of(const Policy& policy, int64_t total) {
  Limits limits;
  limits.unavailable = policy.max_unavailable.of(total, Rounding::up);
  limits.parallel = policy.max_parallel;
  limits.failures = std::max<int64_t>(1, policy.max_failures.of(total, Rounding::up));
  return limits;
}

std::optional<Reason> held_by_switch(const Policy& policy) {
  if (!policy.auto_upgrade) return auto_upgrade_off(policy);
  if (!policy.problems.empty()) {
    return Reason{Reason::invalid_policy,
                  fmt::format("{} is invalid: {}; nothing new starts", policy.source,
                              join(policy.problems, "; ")),
                  "correct the policy"};
  }
  if (policy.paused) {
    return Reason{Reason::paused,
                  fmt::format("{} is paused{}; nodes in flight finish", policy.source,
                              policy.paused->empty() ? "" : ": " + *policy.paused),
                  "lockstep resume"};
  }
  return std::nullopt;
}

namespace {

std::optional<Reason> held_by_node(const fleet::NodeView& view, const Policy& policy,
                                   const Rules& rules) {
  const Node& node = *view.node;
  if (std::string_view label = fleet::skip_label_of(node, rules.keys); !label.empty()) {
    return Reason{Reason::skipped, fmt::format("the node has the label {}=true", label),
                  fmt::format("lockstep unskip {}", node.meta.name.view())};
  }
  if (view.driver.is_rolled_by_kubernetes()) return rolling_update_driver(view);
  if (!node.ready()) {
    const Condition* ready = find_condition(node.conditions, "Ready");
    return Reason{Reason::node_not_ready,
                  fmt::format("the node is not Ready{}{}", ready == nullptr ? "" : ": ",
                              ready == nullptr ? "" : ready->reason.view()),
                  "repair the node, or skip it"};
  }
  if (view.held_by_rollout) return view.held_by_rollout;
  if (view.driver.pod == nullptr) {
    return Reason{Reason::driver_pod_missing, "the node has no driver pod now",
                  "check the driver's DaemonSet"};
  }
  if (policy.cordoned_nodes == CordonedNodes::ignore && node.unschedulable &&
      fleet::was_cordoned_by_others(node, rules.keys)) {
    return Reason{Reason::cordoned_ignored, "a user cordoned the node, and cordonedNodes is ignore",
                  fmt::format("kubectl uncordon {}", node.meta.name.view())};
  }
  return std::nullopt;
}

// What a start takes out of service.
enum class Place {
  in_service,
  cordoned_by_person,
  cordoned_by_us,  // by an earlier try, which failed
  recovering,      // failed, and out of service
  recovering_in_service,
};

bool takes_out_of_service(Place place) {
  return place == Place::in_service || place == Place::recovering_in_service;
}

bool is_recovery(Place place) {
  return place == Place::recovering || place == Place::recovering_in_service;
}

Place place_of(const Node& node, const Rules& rules) {
  if (!node.unschedulable) return Place::in_service;
  return fleet::was_cordoned_by_others(node, rules.keys) ? Place::cordoned_by_person
                                                         : Place::cordoned_by_us;
}

// A pool as it would be after some of its nodes have started.
struct Filled {
  const Policy& policy;
  fleet::PoolCounts counts;
};

std::optional<Reason> held_by_limits(const Filled& pool, Place place, bool retry = false) {
  const Policy& policy = pool.policy;
  const fleet::PoolCounts& counts = pool.counts;
  Limits limits = limits_of(policy, counts.total);
  // Each node that recovers is a failure less; and a repaired node need not wait for the others.
  if (counts.failed >= limits.failures && !is_recovery(place) && !retry) {
    return Reason{
        Reason::failure_budget,
        fmt::format("{} of {} nodes failed and maxFailures is {} ({}); nothing new starts",
                    counts.failed, counts.total, limits.failures, policy.max_failures.text()),
        "lockstep status lists the failed nodes; repair and retry them"};
  }
  if (limits.parallel > 0 && counts.active >= limits.parallel) {
    return Reason{
        Reason::parallel_limit,
        fmt::format("{} in progress, and maxParallelUpgrades is {}",
                    counted(static_cast<size_t>(counts.active), "upgrade"), limits.parallel),
        "wait, or raise maxParallelUpgrades"};
  }
  // It is out of service because of us: were it to wait for itself, nothing would ever end.
  if (place == Place::cordoned_by_us || place == Place::recovering) return std::nullopt;
  if (place == Place::cordoned_by_person && policy.cordoned_nodes == CordonedNodes::upgrade) {
    return std::nullopt;
  }
  if (counts.unavailable >= limits.unavailable) {
    return Reason{Reason::unavailable_limit,
                  fmt::format("{} of {} nodes are unavailable (cordoned or not Ready) and "
                              "maxUnavailable is {} ({})",
                              counts.unavailable, counts.total, limits.unavailable,
                              policy.max_unavailable.text()),
                  "wait, return nodes to service, or raise maxUnavailable"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> held_back(const PoolView& pool, bool cordoned) {
  if (auto reason = held_by_switch(*pool.policy)) return reason;
  return held_by_limits({*pool.policy, pool.counts},
                        cordoned ? Place::cordoned_by_person : Place::in_service);
}

std::optional<Reason> held_back(const fleet::NodeView& view, const PoolView& pool,
                                const Rules& rules) {
  if (auto reason = held_by_switch(*pool.policy)) return reason;
  if (auto reason = held_by_node(view, *pool.policy, rules)) return reason;
  if (view.held_by_group) return view.held_by_group;
  return held_by_limits({*pool.policy, pool.counts}, place_of(*view.node, rules),
                        is_users_retry(view));
}

bool is_users_retry(const fleet::NodeView& view) {
  // A newer revision sends failed nodes into the line by itself.
  return view.node->meta.annotations.contains(fleet::failure_annotation) && is_retry(view);
}

std::optional<Reason> holds_recovery(const fleet::NodeView& view, const PoolView& pool) {
  if (auto reason = held_by_switch(*pool.policy)) return reason;
  return held_by_limits({*pool.policy, pool.counts}, view.node->unschedulable
                                                         ? Place::recovering
                                                         : Place::recovering_in_service);
}

bool is_startable(const fleet::NodeView& view, const Policy& policy, const Rules& rules) {
  if (fleet::state_of(*view.node, rules.keys) == State::failed) return has_recovered(view, rules);
  return fleet::state_of(*view.node, rules.keys) == State::required &&
         !is_no_longer_needed(view, rules) && !held_by_node(view, policy, rules);
}

fleet::NodeFacts facts_of(const fleet::NodeView& view, const Policy& policy, const Rules& rules) {
  fleet::NodeFacts facts;
  facts.pool = view.pool;
  facts.state = fleet::state_of(*view.node, rules.keys);
  facts.unschedulable = view.node->unschedulable;
  facts.ready = view.node->ready();
  facts.group = view.group;
  facts.cordoned_by_others =
      view.node->unschedulable && fleet::was_cordoned_by_others(*view.node, rules.keys);
  if (facts.state != State::required && facts.state != State::failed) return facts;
  facts.startable = is_startable(view, policy, rules);
  if (facts.state == State::failed) return facts;
  facts.retry = is_users_retry(view);
  facts.gpu_pods = static_cast<int>(fleet::gpu_pods_on(view));
  return facts;
}

namespace {

Place place_of(const fleet::NodeFacts& facts) {
  if (!facts.unschedulable) return Place::in_service;
  return facts.cordoned_by_others ? Place::cordoned_by_person : Place::cordoned_by_us;
}

void count_start(Filled& pool, Place place) {
  ++pool.counts.active;
  if (takes_out_of_service(place)) ++pool.counts.unavailable;
}

// Those of a group that wait and have no slot yet.
std::vector<std::string> waiting_members(const fleet::Tally& tally, const std::string& pool,
                                         const std::string& group) {
  std::vector<std::string> members;
  for (const std::string& name : tally.group(pool, group)) {
    if (tally.facts(name)->state == State::required && !tally.is_reserved(name)) {
      members.push_back(name);
    }
  }
  return members;
}

// The first rule that keeps one of them back when they start one after another.
std::optional<Reason> held_together(const fleet::Tally& tally,
                                    const std::vector<std::string>& members, Filled pool) {
  for (const std::string& name : members) {
    const fleet::NodeFacts& facts = *tally.facts(name);
    Place place = place_of(facts);
    if (auto reason = held_by_limits(pool, place, facts.retry)) return reason;
    count_start(pool, place);
  }
  return std::nullopt;
}

enum class GroupStart { now, later, not_by_itself };

GroupStart group_start(const fleet::Tally& tally, const std::vector<std::string>& members,
                       const Filled& pool) {
  for (const std::string& name : members) {
    if (!tally.facts(name)->startable) return GroupStart::not_by_itself;
  }
  if (!held_together(tally, members, pool)) return GroupStart::now;
  Filled empty = pool;
  empty.counts.active = empty.counts.unavailable = empty.counts.failed = 0;
  // What would not fit into an empty pool is not worth waiting for.
  return held_together(tally, members, empty) ? GroupStart::not_by_itself : GroupStart::later;
}

}  // namespace

std::optional<Reason> holds_group(const fleet::Tally& tally, const std::string& pool_name,
                                  const std::string& group, const Policy& policy) {
  Filled pool{policy, tally.counts(pool_name)};
  std::vector<std::string> members = waiting_members(tally, pool_name, group);
  for (const std::string& name : members) {
    if (tally.facts(name)->startable) continue;
    return Reason{Reason::group_incomplete,
                  fmt::format("group {} is upgraded together or not at all, and {} cannot start",
                              group, name),
                  fmt::format("see lockstep why {}", name)};
  }
  GroupStart start = group_start(tally, members, pool);
  if (start == GroupStart::now) return std::nullopt;
  Reason limit = *held_together(tally, members, pool);
  if (start == GroupStart::later) {
    return Reason{
        Reason::group_waits,
        fmt::format("group {} needs {} slots at once: {}", group, members.size(), limit.text),
        limit.remedy};
  }
  return Reason{Reason::group_too_large,
                fmt::format("group {} needs {} slots at once, which the limits never allow: "
                            "{}",
                            group, members.size(), limit.text),
                "raise maxParallelUpgrades and maxUnavailable to the size of the group"};
}

std::vector<std::string> choose_starts(const fleet::Tally& tally, const std::string& pool_name,
                                       const Policy& policy) {
  std::vector<std::string> chosen;
  Filled pool{policy, tally.counts(pool_name)};
  if (held_by_switch(policy)) return chosen;
  struct Line {
    const std::set<fleet::Waiting>& nodes;
    Place place;
    bool retry;
    std::set<fleet::Waiting>::const_iterator next = nodes.begin();
  };
  std::vector<Line> lines{
      {tally.recovering(pool_name), Place::recovering, false},
      {tally.recovering_in_service(pool_name), Place::recovering_in_service, false}};
  for (bool retry : {true, false}) {
    lines.push_back({tally.startable(pool_name, retry), Place::in_service, retry});
    lines.push_back({tally.startable_again(pool_name, retry), Place::cordoned_by_us, retry});
    if (policy.cordoned_nodes == CordonedNodes::ignore) continue;
    lines.push_back({tally.startable_cordoned(pool_name, retry), Place::cordoned_by_person, retry});
  }
  std::set<std::string> groups_done;
  while (true) {
    // A cordoned node may go where one in service may not.
    Line* first = nullptr;
    for (Line& line : lines) {
      if (line.next == line.nodes.end()) continue;
      if (held_by_limits(pool, line.place, line.retry)) continue;
      if (first == nullptr || *line.next < *first->next) first = &line;
    }
    if (first == nullptr) break;
    const std::string& name = first->next->name;
    const std::string& group = tally.facts(name)->group;
    ++first->next;
    if (group.empty() || is_recovery(first->place)) {
      chosen.push_back(name);
      count_start(pool, first->place);
      continue;
    }
    if (!groups_done.insert(group).second) continue;
    std::vector<std::string> members = waiting_members(tally, pool_name, group);
    GroupStart start = group_start(tally, members, pool);
    if (start == GroupStart::later) break;
    if (start == GroupStart::not_by_itself) continue;
    for (const std::string& member : members) {
      chosen.push_back(member);
      count_start(pool, place_of(*tally.facts(member)));
    }
  }
  return chosen;
}

namespace {

// A slot that was given and is not used yet.
Place place_of_slot(const fleet::NodeFacts& facts) {
  if (facts.state != State::failed) return place_of(facts);
  return facts.unschedulable ? Place::recovering : Place::recovering_in_service;
}

// All given slots fit at once, and so does this one: no order has to be decided. This is the usual
// case, and it avoids a comparison of each of thousands of slots with all others.
bool all_slots_fit(const fleet::Tally& tally, const std::string& pool_name, Place place,
                   const Policy& policy) {
  const fleet::PoolCounts& counts = tally.counts(pool_name);
  const Limits limits = limits_of(policy, counts.total);
  if (limits.parallel > 0 && counts.active > limits.parallel) return false;
  const int64_t unavailable = counts.unavailable + tally.reserved_not_ready(pool_name);
  return takes_out_of_service(place) ? unavailable <= limits.unavailable
                                     : unavailable < limits.unavailable;
}

}  // namespace

std::optional<Reason> holds_slot(const fleet::Tally& tally, const std::string& pool_name,
                                 const std::string& node, const Policy& policy) {
  const fleet::NodeFacts* asking = tally.facts(node);
  if (asking != nullptr && asking->pool == pool_name &&
      all_slots_fit(tally, pool_name, place_of_slot(*asking), policy)) {
    return std::nullopt;
  }
  Filled pool{policy, tally.counts(pool_name)};
  std::vector<std::pair<std::string, Place>> given;
  for (const std::string& name : tally.reserved()) {
    const fleet::NodeFacts* facts = tally.facts(name);
    if (facts == nullptr || facts->pool != pool_name || fleet::is_active(facts->state)) continue;
    given.emplace_back(name, place_of_slot(*facts));
    --pool.counts.active;
    if (!facts->unschedulable && facts->ready) --pool.counts.unavailable;
  }
  // A node with a slot does not wait for failed nodes: those may wait for a slot
  // themselves.
  pool.counts.failed = 0;
  for (const auto& [name, place] : given) {
    std::optional<Reason> reason = held_by_limits(pool, place);
    if (name == node) return reason;
    if (!reason) count_start(pool, place);
  }
  return std::nullopt;
}

}  // namespace lockstep::upgrade
