#include "dashboard/node_card.h"

#include <algorithm>
#include <string>

#include "operate/fleet_status.h"
#include "rollout/command_rules.h"
#include "upgrade/evicting.h"
#include "upgrade/pod_names.h"
#include "view/kept_bake.h"

namespace lockstep::dashboard {

namespace {

constexpr size_t most_events = 40;
constexpr size_t most_pods = 50;

// What becomes of a pod that uses a GPU, in a word, and why.
JsonObject pod_card(const fleet::PodOnNode& entry, const upgrade::Policy& policy) {
  upgrade::Verdict verdict = upgrade::judge_gpu_pod(entry, policy.pod_deletion);
  std::string_view fate = verdict.fate == upgrade::Fate::leaves       ? "moves"
                          : verdict.fate == upgrade::Fate::protected_ ? "blocks"
                                                                      : "stays";
  JsonObject card{{"name", upgrade::name_pod(*entry.pod)}, {"fate", fate}};
  std::string because = verdict.because;
  for (const std::string& budget : entry.blocking_budgets) {
    because += (because.empty() ? "" : "; ") + ("budget " + budget + " allows no disruption now");
  }
  if (entry.tries && !entry.tries->message.empty()) {
    because += (because.empty() ? "" : "; ") + entry.tries->message;
  }
  if (!because.empty()) card["because"] = because;
  return card;
}

JsonObject driver_card(const fleet::DriverView& driver) {
  JsonObject card{{"version", driver.version()},
                  {"target", driver.newest_version()},
                  {"inSync", driver.is_in_sync()},
                  {"ready", driver.pod && fleet::is_running_and_ready(*driver.pod)}};
  if (driver.pod) card["pod"] = upgrade::name_pod(*driver.pod);
  return card;
}

JsonArray condition_cards(const Node& node) {
  JsonArray cards;
  for (const Condition& condition : node.conditions) {
    // A condition with its expected value needs no text.
    bool expected = condition.type == "Ready" ? condition.is_true() : condition.status == "False";
    if (expected && condition.type != "Ready") continue;
    cards.push_back(JsonObject{{"type", condition.type.view()},
                               {"status", condition.status.view()},
                               {"reason", condition.reason.view()},
                               {"message", condition.message.view()}});
  }
  return cards;
}

}  // namespace

Json node_card(const fleet::NodeView& view, const upgrade::Decision& decision,
               const upgrade::PoolView& pool, const fleet::Keys& keys) {
  const Node& node = *view.node;
  JsonArray pods;
  int64_t gpu_pods = 0;
  for (const auto& entry : view.pods) {
    if (!entry.uses_gpu || entry.pod->is_finished()) continue;
    if (++gpu_pods <= static_cast<int64_t>(most_pods)) {
      pods.push_back(pod_card(entry, *pool.policy));
    }
  }
  JsonObject card{{"name", view.name()},
                  {"pool", view.pool},
                  {"state", fleet::display_name(fleet::state_of(node, keys))},
                  {"reason", fleet::to_json(decision.reason)},
                  {"acts", decision.writes()},
                  {"cordoned", node.unschedulable},
                  {"cordonedByUs", fleet::is_cordoned_by_us(node)},
                  {"ready", node.ready()},
                  {"skipped", fleet::is_skipped(node, keys)},
                  {"driver", driver_card(view.driver)},
                  {"gpuPods", gpu_pods},
                  {"pods", std::move(pods)},
                  {"conditions", condition_cards(node)},
                  {"kernel", node.info.kernel_version.view()},
                  {"os", node.info.os_image.view()},
                  {"kubelet", node.info.kubelet_version.view()}};
  Time since = fleet::state_since(node);
  if (since.is_set()) card["since"] = unix_milliseconds(since);
  if (decision.look_again) card["looksAgainSeconds"] = in_seconds(*decision.look_again);
  struct Said {
    std::string_view name;
    std::string_view annotation;
  };
  for (const Said& said :
       {Said{"failure", fleet::failure_annotation}, Said{"steered", rollout::steered_annotation},
        Said{"health", view::health_annotation}}) {
    std::string_view value = node.meta.annotations.get(said.annotation);
    if (!value.empty()) card[said.name] = value;
  }
  return card;
}

Json event_cards(std::vector<Event> events) {
  auto time_of = [](const Event& event) {
    return event.last.is_set() ? event.last : event.at.is_set() ? event.at : event.meta.created;
  };
  std::stable_sort(events.begin(), events.end(),
                   [&](const Event& a, const Event& b) { return time_of(a) > time_of(b); });
  if (events.size() > most_events) events.resize(most_events);
  JsonArray cards;
  for (const Event& event : events) {
    cards.push_back(JsonObject{{"at", unix_milliseconds(time_of(event))},
                               {"type", event.type.view()},
                               {"reason", event.reason.view()},
                               {"message", event.message.view()},
                               {"count", event.count}});
  }
  return cards;
}

}  // namespace lockstep::dashboard
