#include "sim/oracle/invariant_bake.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/keys.h"
#include "rollout/bake_record.h"
#include "sim/actors/health_reporter.h"
#include "sim/oracle/rollout_truth.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view bake_prefix = "lockstep-bake-";

// By itself: a user may let pass what they like.
bool passes_its_bake(const rollout::RolloutStatus& before, const rollout::RolloutStatus& after) {
  if (before.phase != rollout::Phase::baking || after.open_waves < 1) return false;
  const auto index = static_cast<size_t>(after.open_waves - 1);
  return index < after.waves.size() && after.open_waves == before.open_waves &&
         (after.phase == rollout::Phase::promoting ||
          after.phase == rollout::Phase::awaiting_approval) &&
         after.waves[index].verdict == rollout::Outcome::passed &&
         after.last_command == before.last_command;
}

}  // namespace

void EventsCount::on_node(const NodeStep& step) {
  if (step.after == nullptr) {
    reports_.erase(step.name);
    return;
  }
  auto health =
      parse_json(text_at(*step.after->object, "metadata", "annotations", health_annotation));
  const Json* count = health ? find(*health, "FatalXid") : nullptr;
  if (count == nullptr) return;
  const int64_t now = as_integer(count);
  auto [reports, is_first] = reports_.try_emplace(step.name);
  Reports& of_node = reports->second;
  if (is_first) {
    of_node.first = truth().uptime();
  } else if (now != of_node.last) {
    of_node.events.push_back({truth().uptime(), now > of_node.last ? now - of_node.last : now});
  }
  of_node.last = now;
}

int64_t EventsCount::events_since(const std::string& node, Duration first) const {
  auto reports = reports_.find(node);
  // What a node says first is its zero.
  if (reports == reports_.end() || reports->second.first >= first - truth().blindness) return 0;
  int64_t count = 0;
  for (const Event& event : reports->second.events) {
    if (event.at > first + truth().blindness && !truth().may_be_unknown(event.at)) {
      count += event.count;
    }
  }
  return count;
}

bool EventsCount::is_upgraded_since(const std::string& node, Duration first) const {
  const NodeTruth* known = truth().node(node);
  if (known == nullptr || known->state != fleet::State::done || known->state_changed >= first) {
    return false;
  }
  const PodTruth* pod = truth().driver_pod(node);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  return driver != nullptr && pod->changed < first &&
         label_of(*pod->object, fleet::revision_label) == driver->newest;
}

void EventsCount::on_change(const std::string& storage, const apiserver::Change& change,
                            bool ours) {
  if (!ours) return;
  const std::string name = change.object->key().name;
  if (storage == resource::config_maps.full_name() && name.starts_with(bake_prefix)) {
    return look_at_record(name, change.object->json());
  }
  if (!is_rollout(storage) || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
  if (!passes_its_bake(before, after)) return;
  const auto index = static_cast<size_t>(after.open_waves - 1);
  look_at_pass(name, after.waves[index], index);
}

void EventsCount::look_at_record(const std::string& name, const Json& map) {
  // What was recorded before the wave's upgrade is not part of the bake.
  if (text_at(map, "data", "until").empty()) return;
  auto record = rollout::BakeRecord::parse(text_at(map, "data", "record"));
  if (!record) return accuse(fmt::format("{} cannot be read: {}", name, record.error().text()));
  Bake& bake = bakes_[name];
  if (bake.began != format_rfc3339(record->began)) {
    bake = {format_rfc3339(record->began), truth().uptime()};
  }
  std::map<std::string, int64_t> recorded;
  for (const rollout::BakeStep& step : record->steps) {
    if (step.earlier) continue;
    for (const rollout::ModelStep& model : step.models) {
      for (const auto& [node, counts] : model.upgraded_events) {
        for (const auto& [kind, count] : counts) recorded[node] += count;
      }
    }
  }
  for (const auto& [node, reports] : reports_) {
    if (!is_upgraded_since(node, bake.first)) continue;
    const int64_t events = events_since(node, bake.first);
    if (recorded[node] >= events) continue;
    return accuse(fmt::format("{} had {} events since its bake began, and {} counts {}", node,
                              events, name, recorded[node]));
  }
}

void EventsCount::look_at_pass(const std::string& name, const rollout::WaveStatus& wave,
                               size_t index) {
  auto bake = bakes_.find(fmt::format("{}{}-{}", bake_prefix, name, index));
  if (bake == bakes_.end()) {
    return accuse(fmt::format("wave {} passed its bake, and nothing was written down", wave.name));
  }
  const Duration first = bake->second.first;
  const Duration middle = first + (truth().uptime() - first) / 2;
  bool any = false;
  for (const auto& [node, known] : truth().nodes()) {
    // A node whose driver others restarted in the first half shows enough in the second.
    if (is_upgraded_since(node, middle) && events_since(node, first) == 0) return;
    any = any || is_upgraded_since(node, first);
  }
  if (any) {
    accuse(fmt::format("wave {} passed its bake, and all its nodes had fatal errors", wave.name));
  }
}

void BakeTakesItsTime::on_change(const std::string& storage, const apiserver::Change& change,
                                 bool ours) {
  if (!ours || !is_rollout(storage) || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
  const std::string& name = change.object->key().name;
  // After a change of the spec that was reverted, the same bake continues.
  const bool continues = before.held_from == rollout::Phase::baking;
  const bool begins =
      after.phase == rollout::Phase::baking && before.phase != after.phase && !continues;
  if (begins) began_[name] = truth().uptime();
  if (!passes_its_bake(before, after) || !began_.contains(name)) return;
  const Json* waves = find(change.object->json(), "spec", "waves");
  const auto index = static_cast<size_t>(after.open_waves - 1);
  if (waves == nullptr || !waves->is_array() || index >= waves->get_array().size()) return;
  auto length =
      parse_duration(text_at(waves->get_array()[index], "bake", "duration")).value_or(hours(48));
  const Duration lasted = truth().uptime() - began_[name];
  // A controller that restarts may count an interval in which no controller ran.
  if (lasted >= length - length / 10) return;
  accuse(fmt::format("the bake of wave {} was over after {}, and its duration is {}",
                     after.waves[index].name, human_duration(lasted), format_duration(length)));
}

}  // namespace lockstep::sim
