#include "sim/oracle/end_state.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "fleet/state.h"
#include "sim/actors/pod_run.h"
#include "sim/oracle/free_room.h"
#include "sim/oracle/truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::ReasonName;
using fleet::State;

constexpr size_t most_differences = 20;

// Nothing that the controller does would end it. In this world, machines come back and DaemonSets
// are made again.
bool may_rest(State state, const ReasonName& reason) {
  if (reason == Reason::in_sync) return state == State::done;
  return reason.row().may_last && reason != Reason::node_lost && reason != Reason::orphan;
}

std::string_view in_words(bool value) { return value ? "yes" : "no"; }

// Values are times, or repeat other fields: what counts is that they exist.
void add_memory(const Json& node, const fleet::Keys& keys,
                std::map<std::string, std::string>& facts) {
  const std::string_view keys_of_memory[] = {keys.requested,
                                             keys.safe_load,
                                             keys.initially_unschedulable,
                                             keys.wait_start,
                                             keys.validation_start,
                                             fleet::cordon_annotation,
                                             fleet::began_with_annotation,
                                             fleet::retried_with_annotation,
                                             fleet::requested_with_annotation,
                                             fleet::unvalidated_annotation,
                                             fleet::waiting_since_annotation};
  for (std::string_view key : keys_of_memory) {
    if (has_annotation(node, key)) facts[std::string(key)] = "is there";
  }
}

void add_machine(Cluster& cluster, const std::string& node,
                 std::map<std::string, std::string>& facts) {
  if (!cluster.kubelets().has_node(node)) return;
  const Machine& machine = cluster.kubelets().machine(node);
  facts["driver"] = machine.loaded() ? machine.version() : "not loaded";
}

// "DaemonSet ns/name" or "ReplicaSet ns/name"; empty: no owner.
std::string owner_of(const Json& pod) {
  const Json* owner = controller_of(pod);
  if (owner == nullptr) return {};
  return fmt::format("{} {}/{}", text_at(*owner, "kind"), text_at(pod, "metadata", "namespace"),
                     text_at(*owner, "name"));
}

// Nodes that were registered later than the first. Their machine may have had a driver all
// along. A client from before its pod was replaced is then stale, and recovers when it
// fails.
std::set<std::string> newcomers(Cluster& cluster) {
  std::map<std::string, std::string> created;
  std::string first;
  for (const Document& node : cluster.list(resource::nodes)) {
    std::string at(text_at(*node, "metadata", "creationTimestamp"));
    if (first.empty() || at < first) first = at;
    created[std::string(text_at(*node, "metadata", "name"))] = std::move(at);
  }
  std::set<std::string> found;
  for (const auto& [name, at] : created) {
    if (at != first) found.insert(name);
  }
  return found;
}

// Nodes that failed or are cordoned may leave less than all work needs. Whose pods get what is left
// is the scheduler's choice, and a question of who came first.
bool finds_no_room(const FreeRoom& room, const Json& pod) {
  bool waits = text_at(pod, "spec", "nodeName").empty() && !is_terminating(pod) && !has_ended(pod);
  return waits && !room.has_place_for(pod);
}

void add_pods(Cluster& cluster, EndFacts& end) {
  const std::set<std::string> registered_later = newcomers(cluster);
  const FreeRoom room(cluster);
  std::map<std::string, int> working;
  for (const Document& pod : cluster.list(resource::pods)) {
    // A gate's Job has a name of its own in every run, and goes after a while.
    if (!label_of(*pod, "lockstep.dev/gate").empty()) continue;
    std::string owner = owner_of(*pod);
    if (owner.empty()) owner = "pod " + std::string(text_at(*pod, "metadata", "name"));
    std::string node(text_at(*pod, "spec", "nodeName"));
    if (!owner.starts_with("DaemonSet")) {
      bool runs = text_at(*pod, "status", "phase") == "Running";
      working[owner] += runs || finds_no_room(room, *pod) ? 1 : 0;
      continue;
    }
    if (node.empty()) continue;
    auto& facts = end.things["node " + node];
    facts["pod of " + owner] = is_terminating(*pod) ? "ending"
                               : is_ready_pod(*pod) ? "ready"
                                                    : "not ready";
    const PodRun* run =
        cluster.kubelets().find_run(node, {std::string(text_at(*pod, "metadata", "namespace")),
                                           std::string(text_at(*pod, "metadata", "name"))});
    if (run == nullptr || run->role != Role::dra_plugin) continue;
    if (registered_later.contains(node)) continue;
    const Machine& machine = cluster.kubelets().machine(node);
    facts["client fits the driver"] =
        in_words(run->nvml.generation == machine.generation() && !run->nvml.opened_in_migration);
  }
  for (const auto& [owner, count] : working) {
    end.things[owner][std::string(fact_of_work)] = std::to_string(count);
  }
}

}  // namespace

bool is_controller(std::string_view user) { return user.starts_with("lockstep"); }

std::vector<std::string> missing_to_goal(Cluster& cluster,
                                         const std::map<std::string, fleet::Reason>& reasons,
                                         const fleet::Keys& keys) {
  std::vector<std::string> missing;
  for (const Document& node : cluster.list(resource::nodes)) {
    const std::string name(text_at(*node, "metadata", "name"));
    auto shown = reasons.find(name);
    const ReasonName reason = shown == reasons.end() ? ReasonName() : shown->second.name;
    const State state = fleet::state_of(label_of(*node, keys.state));
    if (state == State::failed) {
      if (!failure_of(*node)) missing.push_back(name + " failed, and does not say why");
    } else if (!may_rest(state, reason)) {
      missing.push_back(fmt::format("{} is in {} ({}), and no controller works on it", name,
                                    fleet::display_name(state),
                                    reason.empty() ? "no reason shown" : reason.view()));
    }
  }
  return missing;
}

EndFacts end_facts(Cluster& cluster, const fleet::Keys& keys) {
  EndFacts end;
  for (const Document& node : cluster.list(resource::nodes)) {
    std::string name(text_at(*node, "metadata", "name"));
    auto& facts = end.things["node " + name];
    facts["state"] = fleet::display_name(fleet::state_of(label_of(*node, keys.state)));
    facts["cordoned"] = in_words(as_bool(find(*node, "spec", "unschedulable")));
    if (auto failure = failure_of(*node)) facts["failure"] = failure->name.str();
    add_memory(*node, keys, facts);
    add_machine(cluster, name, facts);
  }
  add_pods(cluster, end);
  return end;
}

std::vector<std::string> differences(const EndFacts& seen, const EndFacts& expected) {
  std::vector<std::string> found;
  std::set<std::string> things;
  for (const auto* side : {&seen, &expected}) {
    for (const auto& [thing, facts] : side->things) things.insert(thing);
  }
  static const std::map<std::string, std::string> nothing;
  auto of = [](const EndFacts& side, const std::string& thing) -> const auto& {
    auto at = side.things.find(thing);
    return at == side.things.end() ? nothing : at->second;
  };
  auto value = [](const std::map<std::string, std::string>& facts, const std::string& fact) {
    auto at = facts.find(fact);
    return at == facts.end() ? std::string("not there") : at->second;
  };
  for (const auto& thing : things) {
    const auto& here = of(seen, thing);
    const auto& there = of(expected, thing);
    std::set<std::string> names;
    for (const auto* facts : {&here, &there}) {
      for (const auto& [fact, text] : *facts) names.insert(fact);
    }
    for (const auto& fact : names) {
      if (value(here, fact) == value(there, fact)) continue;
      if (found.size() == most_differences) {
        found.push_back("and more");
        return found;
      }
      found.push_back(fmt::format("{}: {} is {}, and was {} in the other run", thing, fact,
                                  value(here, fact), value(there, fact)));
    }
  }
  return found;
}

}  // namespace lockstep::sim
