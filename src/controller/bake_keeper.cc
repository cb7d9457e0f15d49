#include "controller/bake_keeper.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/driver.h"
#include "rollout/rollout_spec.h"

namespace lockstep::controller {

namespace {

constexpr std::string_view version_label = "nvidia.com/cuda.driver-version.full";
constexpr std::string_view count_label = "nvidia.com/gpu.count";

// What a node says: counts by kind; nothing: it says nothing.
std::optional<std::map<std::string, int64_t>> health_of(const Node& node) {
  std::string_view text = node.meta.annotations.get(health_annotation);
  if (text.empty()) return std::nullopt;
  auto json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  std::map<std::string, int64_t> counts;
  for (const auto& [kind, count] : json->get_object()) {
    if (count.is_int64()) counts[std::string(kind)] = count.get_int64();
  }
  return counts;
}

int64_t gpus_of(const Node& node) {
  return parse_integer(node.meta.labels.get(count_label)).value_or(0);
}

void add_breaches(const BakeNode& entry, const std::map<std::string, int64_t>& health,
                  rollout::BakeStep& step) {
  const Node& node = *entry.node;
  auto& breaches = entry.upgraded ? step.upgraded_breaches : step.control_breaches;
  std::string name = node.meta.name.str();
  std::string_view version = node.meta.labels.get(version_label);
  if (!entry.version.empty() && !version.empty() && version != entry.version) {
    breaches.push_back(
        {"WrongVersion", name, fmt::format("{} is loaded instead of {}", version, entry.version)});
  }
  for (const std::string& published : entry.published) {
    // The label may lag behind: whoever tells of what is meant to run is right, too.
    if (version.empty() || fleet::is_same_version(published, version) ||
        fleet::is_same_version(published, entry.version)) {
      continue;
    }
    breaches.push_back(
        {"PluginDisagrees", name,
         fmt::format("its DRA plugin tells of {}, and {} is loaded", published, version)});
  }
  auto gpus = health.find("gpus");
  if (gpus != health.end() && gpus->second < gpus_of(node)) {
    breaches.push_back(
        {"GpuMissing", name, fmt::format("{} of {} GPUs", gpus->second, gpus_of(node))});
  }
  for (const char* kind : {"linksDown", "rowRemapFailures"}) {
    auto at = health.find(kind);
    if (at == health.end() || at->second == 0) continue;
    breaches.push_back({std::string_view(kind) == "linksDown" ? "LinkDown" : "RowRemapFailure",
                        name, std::to_string(at->second)});
  }
}

bool is_state(const std::string& kind) {
  return kind == "gpus" || kind == "linksDown" || kind == "rowRemapFailures";
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
void merge(rollout::BakeStep& into, const rollout::BakeStep& step) {
  into.at = step.at;
  for (const rollout::ModelStep& model : step.models) {
    auto at = std::find_if(into.models.begin(), into.models.end(),
                           [&](const auto& each) { return each.model == model.model; });
    if (at == into.models.end()) {
      into.models.push_back(model);
      continue;
    }
    at->upgraded_hours += model.upgraded_hours;
    at->control_hours += model.control_hours;
    for (const auto& [kind, events] : model.upgraded_events) at->upgraded_events[kind] += events;
    for (const auto& [kind, events] : model.control_events) at->control_events[kind] += events;
  }
}

// Steps in which nothing happened only add exposure: they are kept as one.
void append(rollout::BakeRecord& record, rollout::BakeStep step) {
  bool merges = !has_news(step) && !record.steps.empty() && !record.steps.back().earlier &&
                !has_news(record.steps.back());
  if (merges) {
    merge(record.steps.back(), step);
  } else {
    record.steps.push_back(std::move(step));
  }
}

}  // namespace

std::string bake_name(const std::string& rollout, size_t wave) {
  return fmt::format("lockstep-bake-{}-{}", rollout, wave);
}

Json KeptBake::to_json(const ObjectKey& key, const std::string& rollout,
                       const std::string& resource_version) const {
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"},
                                            {fleet::rollout_label, rollout}}}};
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  JsonObject counts;
  for (const auto& [node, kinds] : seen) {
    JsonObject of_node;
    for (const auto& [kind, count] : kinds) of_node[kind] = count;
    counts[node] = std::move(of_node);
  }
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", std::move(metadata)},
                    {"data", JsonObject{{"record", record.text()},
                                        {"until", format_rfc3339(until)},
                                        {"seen", print_json(Json(std::move(counts)))},
                                        {"silent", std::to_string(silent)},
                                        {"upgraded", std::to_string(upgraded)}}}};
}

std::optional<KeptBake> KeptBake::from_map(const ConfigMap& map) {
  auto record = rollout::BakeRecord::parse(map.data.get("record"));
  auto until = parse_rfc3339(map.data.get("until"));
  if (!record || !until) return std::nullopt;
  KeptBake kept;
  kept.record = std::move(*record);
  kept.until = *until;
  kept.silent = parse_integer(map.data.get("silent")).value_or(0);
  kept.upgraded = parse_integer(map.data.get("upgraded")).value_or(0);
  auto seen = parse_json(map.data.get("seen"));
  if (!seen || !seen->is_object()) return kept;
  for (const auto& [node, kinds] : seen->get_object()) {
    if (!kinds.is_object()) continue;
    auto& counts = kept.seen[std::string(node)];
    for (const auto& [kind, count] : kinds.get_object()) {
      counts[std::string(kind)] = as_integer(&count);
    }
  }
  return kept;
}

namespace {

const ReadHealth& read_health(const std::shared_ptr<const Node>& node, const std::string& name,
                              HealthMemory& memory) {
  ReadHealth& read = memory[name];
  if (read.node == node) return read;
  read.node = node;
  read.counts = health_of(*node);
  read.has_events =
      read.counts && std::any_of(read.counts->begin(), read.counts->end(), [](const auto& each) {
        return !is_state(each.first) && each.second != 0;
      });
  return read;
}

void add_events(KeptBake& kept, const BakeNode& entry, const std::string& name,
                const std::map<std::string, int64_t>& health, bool is_first,
                rollout::ModelStep& model) {
  auto& seen = kept.seen[name];
  for (const auto& [kind, count] : health) {
    if (is_state(kind)) continue;
    int64_t& before = seen[kind];
    // A count that went back began anew.
    int64_t more = count >= before ? count - before : count;
    before = count;
    if (more == 0 || is_first) continue;
    (entry.upgraded ? model.upgraded_events : model.control_events)[kind] += more;
  }
  std::erase_if(seen, [](const auto& each) { return each.second == 0; });
  if (seen.empty()) kept.seen.erase(name);
}

}  // namespace

void look_at_bake(KeptBake& kept, const std::vector<BakeNode>& nodes, Time now,
                  HealthMemory* memory) {
  HealthMemory none;
  HealthMemory& known = memory == nullptr ? none : *memory;
  bool is_first = !kept.until.is_set();
  double hours_passed = is_first ? 0 : in_seconds(now - kept.until) / 3600;
  rollout::BakeStep step;
  step.at = now;
  std::map<std::string, rollout::ModelStep, std::less<>> models;
  kept.silent = kept.upgraded = 0;
  for (const BakeNode& entry : nodes) {
    const Node& node = *entry.node;
    std::string name = node.meta.name.str();
    if (entry.upgraded) ++kept.upgraded;
    const ReadHealth& health = read_health(entry.node, name, known);
    if (!health.counts) {
      // What a node does not tell is neither exposure nor peace.
      if (entry.upgraded) ++kept.silent;
      continue;
    }
    add_breaches(entry, *health.counts, step);
    std::string_view model_name = node.meta.labels.get(rollout::gpu_model_label);
    auto at = models.find(model_name);
    if (at == models.end()) {
      at = models.emplace(std::string(model_name), rollout::ModelStep{}).first;
      at->second.model = std::string(model_name);
    }
    rollout::ModelStep& model = at->second;
    if (entry.busy) {
      (entry.upgraded ? model.upgraded_hours : model.control_hours) +=
          hours_passed * static_cast<double>(gpus_of(node));
    }
    if (health.has_events || kept.seen.contains(name)) {
      add_events(kept, entry, name, *health.counts, is_first, model);
    }
  }
  for (auto& [name, model] : models) step.models.push_back(std::move(model));
  kept.until = now;
  append(kept.record, std::move(step));
}

std::vector<rollout::BakeStep> earlier_steps(const KeptBake& before) {
  std::vector<rollout::BakeStep> steps;
  if (judge_bake(before, before.until).outcome == rollout::Outcome::failed) return steps;
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

rollout::BakeView judge_bake(const KeptBake& kept, Time now) {
  rollout::BakeJudge judge(kept.record.rules, kept.record.began);
  for (const rollout::BakeStep& step : kept.record.steps) judge.add(step);
  rollout::BakeVerdict verdict = judge.verdict(now);
  rollout::BakeView view;
  view.text = verdict.text;
  view.detectable = verdict.detectable;
  switch (verdict.outcome) {
    case rollout::BakeOutcome::going_on:
      return view;
    case rollout::BakeOutcome::failed:
      view.outcome = rollout::Outcome::failed;
      return view;
    case rollout::BakeOutcome::held:
      view.outcome = rollout::Outcome::failed;
      view.hold = true;
      return view;
    case rollout::BakeOutcome::inconclusive:
      view.outcome = rollout::Outcome::inconclusive;
      return view;
    case rollout::BakeOutcome::passed:
      break;
  }
  view.outcome = rollout::Outcome::passed;
  // No data is never a pass.
  if (kept.silent > 0) {
    view.outcome = rollout::Outcome::inconclusive;
    view.text = fmt::format("NoData: {} of {} upgraded nodes say nothing of their GPUs' health",
                            kept.silent, kept.upgraded);
  }
  return view;
}

}  // namespace lockstep::controller
