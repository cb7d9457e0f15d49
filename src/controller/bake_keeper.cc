#include "controller/bake_keeper.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/driver.h"
#include "rollout/rollout_spec.h"

namespace lockstep::controller {

namespace {

constexpr std::string_view version_label = "nvidia.com/cuda.driver-version.full";
constexpr std::string_view count_label = "nvidia.com/gpu.count";

int64_t labelled_gpus(const Node& node) {
  return parse_integer(node.meta.labels.get(count_label)).value_or(0);
}

// What breaks and stays so, as opposed to events, which are counted.
bool is_state(const std::string& kind) {
  return kind == "gpus" || kind == "linksDown" || kind == "rowRemapFailures";
}

struct CountedState {
  const char* kind;
  fleet::KnownReason rule;
};
constexpr std::array<CountedState, 2> counted_states = {
    {{"linksDown", fleet::Reason::link_down},
     {"rowRemapFailures", fleet::Reason::row_remap_failure}}};

std::vector<rollout::Breach> breaches_of(const BakeNode& entry,
                                         const std::map<std::string, int64_t>& health,
                                         const std::map<std::string, int64_t>& before) {
  const Node& node = *entry.node;
  std::vector<rollout::Breach> breaches;
  std::string name = node.meta.name.str();
  std::string_view version = node.meta.labels.get(version_label);
  if (!entry.version.empty() && !version.empty() && version != entry.version) {
    breaches.push_back({fleet::Reason::wrong_version, name,
                        fmt::format("{} is loaded instead of {}", version, entry.version)});
  }
  for (const std::string& published : entry.published) {
    // The label may lag behind: a source that reports the desired version counts too.
    if (version.empty() || fleet::is_same_version(published, version) ||
        fleet::is_same_version(published, entry.version)) {
      continue;
    }
    breaches.push_back(
        {fleet::Reason::plugin_disagrees, name,
         fmt::format("its DRA plugin reports {}, and {} is loaded", published, version)});
  }
  auto gpus = health.find("gpus");
  if (gpus != health.end() && gpus->second < labelled_gpus(node)) {
    breaches.push_back({fleet::Reason::gpu_missing, name,
                        fmt::format("{} of {} GPUs", gpus->second, labelled_gpus(node))});
  }
  for (const CountedState& state : counted_states) {
    auto at = health.find(state.kind);
    if (at == health.end()) continue;
    auto old = before.find(state.kind);
    const int64_t known = old == before.end() ? 0 : old->second;
    if (at->second <= known) continue;
    breaches.push_back({state.rule, name,
                        known == 0 ? std::to_string(at->second)
                                   : fmt::format("{}, and {} before", at->second, known)});
  }
  return breaches;
}

bool has_news(const rollout::BakeStep& step) {
  if (!step.upgraded_breaches.empty() || !step.control_breaches.empty() || !step.speeds.empty()) {
    return true;
  }
  return std::any_of(step.models.begin(), step.models.end(), [](const auto& model) {
    return !model.upgraded_events.empty() || !model.control_events.empty();
  });
}

// What happened in either, as one.
void add(rollout::NodeEvents& into, const rollout::NodeEvents& events) {
  for (const auto& [node, counts] : events) {
    for (const auto& [kind, count] : counts) into[node][kind] += count;
  }
}

void merge(rollout::BakeStep& into, const rollout::BakeStep& step) {
  into.at = step.at;
  into.elapsed = step.elapsed;
  into.upgraded_nodes = step.upgraded_nodes;
  into.silent_nodes = step.silent_nodes;
  for (const rollout::ModelStep& model : step.models) {
    auto at = std::find_if(into.models.begin(), into.models.end(),
                           [&](const auto& each) { return each.model == model.model; });
    if (at == into.models.end()) {
      into.models.push_back(model);
      continue;
    }
    at->upgraded_hours += model.upgraded_hours;
    at->control_hours += model.control_hours;
    for (size_t i = 0; i < rollout::compared_incidents; ++i) {
      at->upgraded_repeat_hours[i] += model.upgraded_repeat_hours[i];
      at->control_repeat_hours[i] += model.control_repeat_hours[i];
    }
    add(at->upgraded_events, model.upgraded_events);
    add(at->control_events, model.control_events);
  }
}

// Steps in which nothing happened only add exposure: they are stored as one.
void append(rollout::BakeRecord& record, rollout::BakeStep step) {
  bool merges = !has_news(step) && !record.steps.empty() && !record.steps.back().earlier &&
                !has_news(record.steps.back()) &&
                record.steps.back().upgraded_nodes == step.upgraded_nodes;
  if (merges) {
    merge(record.steps.back(), step);
  } else {
    record.steps.push_back(std::move(step));
  }
}

const ReadHealth& read_health(const std::shared_ptr<const Node>& node, const std::string& name,
                              HealthMemory& memory) {
  ReadHealth& read = memory[name];
  if (read.node != node) read = view::read_health(node);
  return read;
}

rollout::Incidents incidents_of(const rollout::BakeRecord& record) {
  rollout::Incidents incidents;
  Duration elapsed{0};
  for (const rollout::BakeStep& step : record.steps) {
    count_incidents(step, elapsed, incidents);
    if (!step.earlier) elapsed = step.elapsed;
  }
  return incidents;
}

// Puts the GPUs that were busy when the interval began down as hours of it.
void add_hours(const BusyGpus::BySide& gpus, double hours, double& all,
               rollout::RepeatHours& repeated) {
  for (size_t i = 0; i < gpus.size(); ++i) {
    const double more = hours * static_cast<double>(gpus[i]);
    all += more;
    if (i > 0) repeated[i - 1] += more;
  }
}

// What a node is known to have, beside counts of events: links that are down, and rules that it
// broke when it was first seen.
constexpr const char* old_prefix = "old:";

// Records a node's counts when it reports for the first time, and what is broken then.
void note_first(std::map<std::string, int64_t>& seen, const BakeNode& entry,
                const std::map<std::string, int64_t>& health) {
  for (const auto& [kind, count] : health) {
    if (kind != "gpus" && count != 0) seen[kind] = count;
  }
  if (entry.upgraded) return;
  for (const rollout::Breach& breach : breaches_of(entry, health, health)) {
    seen[old_prefix + breach.rule.str()] = 1;
  }
}

// What is repaired and breaks again is new.
void forget_repaired(std::map<std::string, int64_t>& seen,
                     const std::map<std::string, int64_t>& health,
                     const std::vector<rollout::Breach>& breaches) {
  for (const CountedState& state : counted_states) {
    auto at = health.find(state.kind);
    auto old = seen.find(state.kind);
    if (old != seen.end()) old->second = std::min(old->second, at == health.end() ? 0 : at->second);
  }
  std::erase_if(seen, [&](const auto& each) {
    if (!each.first.starts_with(old_prefix)) return each.second == 0;
    return std::none_of(breaches.begin(), breaches.end(), [&](const rollout::Breach& breach) {
      return each.first == old_prefix + breach.rule.str();
    });
  });
}

void add_breaches(KeptBake& kept, const BakeNode& entry, const std::string& name,
                  const ReadHealth& read, rollout::BakeStep& step) {
  static const std::map<std::string, int64_t> nothing;
  auto known = kept.seen.find(name);
  const bool has_reported = known != kept.seen.end();
  // Of the other nodes it has to be known what was broken before.
  if (!has_reported && !entry.upgraded) return;
  const auto& seen = has_reported ? known->second : nothing;
  std::vector<rollout::Breach> breaches =
      breaches_of(entry, read.counts ? *read.counts : nothing, seen);
  const std::vector<rollout::Breach> all = breaches;
  if (!entry.upgraded) {
    // What they have had for long says nothing of what happens now.
    std::erase_if(breaches, [&](const rollout::Breach& breach) {
      return seen.contains(old_prefix + breach.rule.str());
    });
  }
  if (has_reported && read.counts) forget_repaired(known->second, *read.counts, all);
  auto& into = entry.upgraded ? step.upgraded_breaches : step.control_breaches;
  into.insert(into.end(), breaches.begin(), breaches.end());
}

void add_events(std::map<std::string, int64_t>& seen, const std::string& name,
                const std::map<std::string, int64_t>& health, rollout::NodeEvents& events) {
  for (const auto& [kind, count] : health) {
    if (is_state(kind)) continue;
    auto at = seen.find(kind);
    const int64_t before = at == seen.end() ? 0 : at->second;
    // A count that decreased was reset.
    const int64_t more = count >= before ? count - before : count;
    if (count != before) seen[kind] = count;
    if (more > 0) events[name][kind] += more;
  }
}

rollout::ModelStep& step_of(std::map<std::string, rollout::ModelStep, std::less<>>& models,
                            std::string_view name) {
  auto at = models.find(name);
  if (at == models.end()) {
    at = models.emplace(std::string(name), rollout::ModelStep{}).first;
    at->second.model = std::string(name);
  }
  return at->second;
}

}  // namespace

void note_before(KeptBake& kept, const std::vector<BakeNode>& nodes, HealthMemory* memory) {
  HealthMemory none;
  for (const BakeNode& entry : nodes) {
    std::string name = entry.node->meta.name.str();
    const ReadHealth& read = read_health(entry.node, name, memory == nullptr ? none : *memory);
    if (read.counts) note_first(kept.seen[name], entry, *read.counts);
  }
}

void look_at_bake(KeptBake& kept, const std::vector<BakeNode>& nodes, Time now, Duration passed,
                  HealthMemory* memory) {
  HealthMemory none;
  HealthMemory& known = memory == nullptr ? none : *memory;
  const bool is_first = !kept.until.is_set();
  const double hours_passed = is_first ? 0 : in_seconds(passed) / 3600;
  rollout::BakeStep step;
  step.at = now;
  if (!is_first && !kept.record.steps.empty()) {
    step.elapsed = kept.record.steps.back().elapsed + passed;
  }
  std::map<std::string, rollout::ModelStep, std::less<>> models;
  for (const auto& [name, gpus] : kept.busy) {
    rollout::ModelStep& model = step_of(models, name);
    add_hours(gpus.upgraded, hours_passed, model.upgraded_hours, model.upgraded_repeat_hours);
    add_hours(gpus.control, hours_passed, model.control_hours, model.control_repeat_hours);
  }
  kept.busy.clear();
  struct Busy {
    std::string name;
    std::string model;
    bool upgraded;
    int64_t gpus;
  };
  std::vector<Busy> busy;
  for (const BakeNode& entry : nodes) {
    std::string name = entry.node->meta.name.str();
    if (entry.upgraded) ++step.upgraded_nodes;
    const ReadHealth& health = read_health(entry.node, name, known);
    if (health.counts) {
      auto [seen, is_new] = kept.seen.try_emplace(name);
      if (is_new) note_first(seen->second, entry, *health.counts);
    }
    add_breaches(kept, entry, name, health, step);
    // A counter that a node does not report is neither exposure nor absence of events.
    if (!health.counts) {
      if (entry.upgraded) ++step.silent_nodes;
      continue;
    }
    const std::string_view model_name = entry.node->meta.labels.get(rollout::gpu_model_label);
    rollout::ModelStep& model = step_of(models, model_name);
    rollout::NodeEvents none_yet;
    auto& events = entry.upgraded ? model.upgraded_events : model.control_events;
    add_events(kept.seen.at(name), name, *health.counts, is_first ? none_yet : events);
    if (entry.busy) busy.push_back({name, std::string(model_name), entry.upgraded, health.gpus});
  }
  for (auto& [name, model] : models) step.models.push_back(std::move(model));
  kept.until = now;
  append(kept.record, std::move(step));
  const rollout::Incidents incidents = incidents_of(kept.record);
  for (const Busy& node : busy) {
    BusyGpus& gpus = kept.busy[node.model];
    auto& side = node.upgraded ? gpus.upgraded : gpus.control;
    const auto before = static_cast<size_t>(incidents.count(node.name));
    side[std::min(before, rollout::compared_incidents)] += node.gpus;
  }
}

Duration next_look(const KeptBake& kept, Duration interval) {
  if (kept.record.steps.empty()) return interval;
  const Duration elapsed = kept.record.steps.back().elapsed;
  for (const Duration end : {kept.record.rules.duration, kept.record.rules.max_duration}) {
    if (elapsed < end) return std::min(interval, end - elapsed);
  }
  return interval;
}

double usual_gpu_hours(const std::vector<BakeNode>& nodes, Duration duration) {
  constexpr double share = 0.1;
  HealthMemory memory;
  int64_t gpus = 0;
  for (const BakeNode& entry : nodes) {
    if (!entry.upgraded) continue;
    gpus += read_health(entry.node, entry.node->meta.name.str(), memory).gpus;
  }
  return share * static_cast<double>(gpus) * in_seconds(duration) / 3600;
}

std::vector<rollout::BakeStep> earlier_steps(const KeptBake& before) {
  std::vector<rollout::BakeStep> steps;
  if (judge_bake(before).outcome == rollout::Outcome::failed) return steps;
  rollout::BakeStep own;
  for (const rollout::BakeStep& step : before.record.steps) {
    if (step.earlier) {
      steps.push_back(step);
    } else {
      merge(own, step);
    }
  }
  own.earlier = true;
  steps.push_back(std::move(own));
  return steps;
}

rollout::BakeView judge_bake(const KeptBake& kept) {
  rollout::BakeVerdict verdict = kept.record.judge();
  rollout::BakeView view;
  view.text = verdict.text;
  view.detectable = verdict.detectable;
  switch (verdict.outcome) {
    case rollout::BakeOutcome::going_on:
      break;
    case rollout::BakeOutcome::failed:
      view.outcome = rollout::Outcome::failed;
      break;
    case rollout::BakeOutcome::held:
      view.outcome = rollout::Outcome::failed;
      view.hold = true;
      break;
    case rollout::BakeOutcome::inconclusive:
      view.outcome = rollout::Outcome::inconclusive;
      break;
    case rollout::BakeOutcome::passed:
      view.outcome = rollout::Outcome::passed;
      break;
  }
  return view;
}

}  // namespace lockstep::controller
