#include "rollout/bake_record.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/json_lines.h"

namespace lockstep::rollout {

namespace {

double number_at(const Json& json, std::string_view key, double otherwise = 0) {
  const Json* value = find(json, key);
  if (value == nullptr || !value->is_number()) return otherwise;
  return as_number(*value);
}

Duration duration_at(const Json& json, std::string_view key, Duration otherwise) {
  auto length = parse_duration(text_at(json, key));
  return length ? *length : otherwise;
}

constexpr int64_t record_format = 2;

EventCounts counts_from_json(const Json& json) {
  EventCounts counts;
  if (!json.is_object()) return counts;
  for (const auto& [kind, count] : json.get_object()) {
    counts[std::string(kind)] = as_integer(&count);
  }
  return counts;
}

Json events_to_json(const NodeEvents& events) {
  JsonObject json;
  for (const auto& [node, counts] : events) json[node] = counts_to_json(counts);
  return json;
}

NodeEvents events_from_json(const Json& json, std::string_view key) {
  NodeEvents events;
  const Json* nodes = find(json, key);
  if (nodes == nullptr || !nodes->is_object()) return events;
  for (const auto& [node, counts] : nodes->get_object()) {
    events[std::string(node)] = counts_from_json(counts);
  }
  return events;
}

template <typename Each>
void for_each_in(const Json& json, std::string_view key, Each each) {
  const Json* list = find(json, key);
  if (list == nullptr || !list->is_array()) return;
  for (const Json& entry : list->get_array()) each(entry);
}

void put_hours(JsonObject& json, std::string_view key, const RepeatHours& hours) {
  if (std::all_of(hours.begin(), hours.end(), [](double each) { return each == 0; })) return;
  JsonArray list;
  for (double each : hours) list.push_back(each);
  json[key] = std::move(list);
}

RepeatHours hours_from_json(const Json& json, std::string_view key) {
  RepeatHours hours = {};
  size_t index = 0;
  for_each_in(json, key, [&](const Json& each) {
    if (index < hours.size() && each.is_number()) hours[index++] = as_number(each);
  });
  return hours;
}

bool has_negative(const RepeatHours& hours) {
  return std::any_of(hours.begin(), hours.end(), [](double each) { return each < 0; });
}

bool is_negative(const ModelStep& model) {
  bool negative = model.upgraded_hours < 0 || model.control_hours < 0 ||
                  has_negative(model.upgraded_repeat_hours) ||
                  has_negative(model.control_repeat_hours);
  for (const auto* events : {&model.upgraded_events, &model.control_events}) {
    for (const auto& [node, counts] : *events) {
      for (const auto& [kind, count] : counts) negative |= count < 0;
    }
  }
  return negative;
}

Json model_to_json(const ModelStep& model) {
  JsonObject json{{"model", model.model},
                  {"upgradedHours", model.upgraded_hours},
                  {"controlHours", model.control_hours}};
  put_hours(json, "upgradedRepeatHours", model.upgraded_repeat_hours);
  put_hours(json, "controlRepeatHours", model.control_repeat_hours);
  if (!model.upgraded_events.empty()) {
    json["upgradedEvents"] = events_to_json(model.upgraded_events);
  }
  if (!model.control_events.empty()) json["controlEvents"] = events_to_json(model.control_events);
  return json;
}

ModelStep model_from_json(const Json& json) {
  ModelStep model;
  model.model = string_at(json, "model");
  model.upgraded_hours = number_at(json, "upgradedHours");
  model.control_hours = number_at(json, "controlHours");
  model.upgraded_repeat_hours = hours_from_json(json, "upgradedRepeatHours");
  model.control_repeat_hours = hours_from_json(json, "controlRepeatHours");
  model.upgraded_events = events_from_json(json, "upgradedEvents");
  model.control_events = events_from_json(json, "controlEvents");
  return model;
}

Json breaches_to_json(const std::vector<Breach>& breaches) {
  JsonArray list;
  for (const Breach& breach : breaches) {
    list.push_back(
        JsonObject{{"rule", breach.rule.view()}, {"node", breach.node}, {"text", breach.text}});
  }
  return list;
}

std::vector<Breach> breaches_from_json(const Json& json, std::string_view key) {
  std::vector<Breach> breaches;
  for_each_in(json, key, [&](const Json& entry) {
    breaches.push_back({ReasonName::read(text_at(entry, "rule")), string_at(entry, "node"),
                        string_at(entry, "text")});
  });
  return breaches;
}

}  // namespace

Json to_json(const BakeStep& step) {
  JsonObject json{{"at", format_rfc3339(step.at)}};
  if (step.earlier) json["earlier"] = true;
  json["elapsedSeconds"] = in_seconds(step.elapsed);
  json["upgradedNodes"] = step.upgraded_nodes;
  if (step.silent_nodes > 0) json["silentNodes"] = step.silent_nodes;
  JsonArray models;
  for (const ModelStep& model : step.models) models.push_back(model_to_json(model));
  json["models"] = std::move(models);
  if (!step.upgraded_breaches.empty()) {
    json["upgradedBreaches"] = breaches_to_json(step.upgraded_breaches);
  }
  if (!step.control_breaches.empty()) {
    json["controlBreaches"] = breaches_to_json(step.control_breaches);
  }
  JsonArray speeds;
  for (const SpeedPair& pair : step.speeds) {
    speeds.push_back(JsonObject{
        {"node", pair.node}, {"what", pair.what}, {"before", pair.before}, {"after", pair.after}});
  }
  if (!speeds.empty()) json["speeds"] = std::move(speeds);
  return json;
}

Result<BakeStep> step_from_json(const Json& json) {
  BakeStep step;
  auto at = parse_rfc3339(text_at(json, "at"));
  if (!at) return fail(ErrorKind::invalid, "has no time", "at");
  step.at = *at;
  const Json* earlier = find(json, "earlier");
  step.earlier = earlier != nullptr && earlier->is_bool() && earlier->get_bool();
  const double elapsed = number_at(json, "elapsedSeconds");
  constexpr double longest = 1e9;
  if (!(elapsed >= 0 && elapsed < longest)) {
    return fail(ErrorKind::invalid, "must be a number of seconds", "elapsedSeconds");
  }
  step.elapsed = nanoseconds(std::llround(elapsed * 1e9));
  step.upgraded_nodes = as_integer(find(json, "upgradedNodes"));
  step.silent_nodes = as_integer(find(json, "silentNodes"));
  bool negative = false;
  for_each_in(json, "models", [&](const Json& entry) {
    step.models.push_back(model_from_json(entry));
    negative |= is_negative(step.models.back());
  });
  if (negative) return fail(ErrorKind::invalid, "hours and events cannot be negative", "models");
  step.upgraded_breaches = breaches_from_json(json, "upgradedBreaches");
  step.control_breaches = breaches_from_json(json, "controlBreaches");
  for_each_in(json, "speeds", [&](const Json& entry) {
    step.speeds.push_back({string_at(entry, "node"), string_at(entry, "what"),
                           number_at(entry, "before"), number_at(entry, "after")});
  });
  return step;
}

Json to_json(const BakeVerdict& verdict) {
  JsonArray kinds;
  for (const KindEvidence& kind : verdict.kinds) {
    kinds.push_back(JsonObject{{"kind", kind.kind},
                               {"upgradedEvents", kind.upgraded_events},
                               {"controlEvents", kind.control_events},
                               {"evidence", kind.evidence}});
  }
  return JsonObject{{"outcome", to_string(verdict.outcome)},
                    {"reason", verdict.reason.view()},
                    {"text", verdict.text},
                    {"gpuHours", verdict.gpu_hours},
                    {"minGpuHours", verdict.min_gpu_hours},
                    {"incidents", verdict.incidents},
                    {"controlGpuHours", verdict.control_gpu_hours},
                    {"evidence", verdict.evidence},
                    {"limit", verdict.limit},
                    {"kinds", std::move(kinds)},
                    {"detectable", verdict.detectable}};
}

Json to_json(const BakeRules& rules) {
  return JsonObject{{"duration", format_duration(rules.duration)},
                    {"minGpuHours", rules.min_gpu_hours},
                    {"maxDuration", format_duration(rules.max_duration)},
                    {"alpha", rules.alpha},
                    {"toleratedRatio", rules.tolerated_ratio},
                    {"speedMargin", rules.speed_margin},
                    {"together", format_duration(rules.together)},
                    {"expectedPerGpuHour", rules.expected_per_gpu_hour},
                    {"power", rules.power}};
}

BakeRules rules_from_json(const Json& json) {
  BakeRules rules;
  rules.duration = duration_at(json, "duration", rules.duration);
  rules.min_gpu_hours = number_at(json, "minGpuHours", rules.min_gpu_hours);
  rules.max_duration = duration_at(json, "maxDuration", rules.max_duration);
  rules.alpha = number_at(json, "alpha", rules.alpha);
  rules.tolerated_ratio = number_at(json, "toleratedRatio", rules.tolerated_ratio);
  rules.speed_margin = number_at(json, "speedMargin", rules.speed_margin);
  rules.together = duration_at(json, "together", rules.together);
  rules.expected_per_gpu_hour = number_at(json, "expectedPerGpuHour", rules.expected_per_gpu_hour);
  rules.power = number_at(json, "power", rules.power);
  return rules;
}

std::string BakeRecord::text() const {
  std::string lines = json_line(JsonObject{
      {"format", record_format}, {"began", format_rfc3339(began)}, {"rules", to_json(rules)}});
  for (const BakeStep& step : steps) lines += json_line(to_json(step));
  return lines;
}

Result<BakeRecord> BakeRecord::parse(std::string_view text) {
  BakeRecord record;
  auto read_header = [&](const Json& json) -> Result<void> {
    auto began = parse_rfc3339(text_at(json, "began"));
    if (!began) return fail(ErrorKind::invalid, "a recorded bake must begin with its rules");
    if (as_integer(find(json, "format"), 1) != record_format) {
      return fail(ErrorKind::invalid,
                  "recorded by another version of Lockstep in another format: replay it with the "
                  "version that recorded it");
    }
    record.began = *began;
    if (const Json* rules = find(json, "rules")) record.rules = rules_from_json(*rules);
    return {};
  };
  LOCKSTEP_CHECK(read_json_lines(text, read_header, [&](const Json& json) -> Result<void> {
    LOCKSTEP_TRY(record.steps.emplace_back(), step_from_json(json));
    return {};
  }));
  return record;
}

BakeVerdict BakeRecord::judge() const {
  BakeJudge judge(rules);
  for (const BakeStep& step : steps) judge.add(step);
  return judge.verdict();
}

}  // namespace lockstep::rollout
