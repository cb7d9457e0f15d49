// The small kinds of the core group, and events.
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

void config_map_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(count_of(find(object, "data")) + count_of(find(object, "binaryData")));
  cells.push_back(age_cell(object, now));
}

void secret_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(text_at(object, "type")));
  cells.push_back(count_of(find(object, "data")));
  cells.push_back(age_cell(object, now));
}

void service_account_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(count_of(find(object, "secrets")));
  cells.push_back(age_cell(object, now));
}

void namespace_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(text_at(object, "status", "phase")));
  cells.push_back(age_cell(object, now));
}

// An event under whichever of its two names the field has: core's, or that of events.k8s.io.
const Json* either(const Json& event, std::string_view core, std::string_view modern) {
  const Json* found = find(event, core);
  return found != nullptr ? found : find(event, modern);
}

bool is_set(const Json* timestamp) {
  const Result<Time> time = parse_rfc3339(as_text(timestamp));
  return time && time->is_set();
}

struct EventTimes {
  std::string first, last;
  int64_t count = 0;
};

EventTimes event_times(const Json& event, Time now) {
  EventTimes times;
  const Json* first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
  const Json* last = either(event, "lastTimestamp", "deprecatedLastTimestamp");
  times.first = age_of(is_set(first) ? first : find(event, "eventTime"), now);
  times.last = is_set(last) ? age_of(last, now) : times.first;
  times.count = as_integer(either(event, "count", "deprecatedCount"));
  const Json* series = find(event, "series");
  if (series != nullptr && !series->is_null()) {
    times.last = age_of(find(*series, "lastObservedTime"), now);
    times.count = as_integer(find(*series, "count"));
  } else if (times.count == 0) {
    times.count = 1;
  }
  return times;
}

std::string event_target(const Json& event) {
  const Json* target = either(event, "involvedObject", "regarding");
  if (target == nullptr) return "";
  const std::string kind = lower(text_at(*target, "kind"));
  const std::string_view name = text_at(*target, "name");
  return name.empty() ? kind : fmt::format("{}/{}", kind, name);
}

std::string event_source(const Json& event) {
  const Json* source = either(event, "source", "deprecatedSource");
  const auto of_source = [&](std::string_view field) {
    return source == nullptr ? std::string_view() : text_at(*source, field);
  };
  std::string_view component = of_source("component");
  if (component.empty())
    component = as_text(either(event, "reportingComponent", "reportingController"));
  std::string_view host = of_source("host");
  if (host.empty()) host = text_at(event, "reportingInstance");
  return host.empty() ? std::string(component) : fmt::format("{}, {}", component, host);
}

void event_cells(const Json& event, Time now, JsonArray& cells) {
  const EventTimes times = event_times(event, now);
  const Json* target = either(event, "involvedObject", "regarding");
  cells.push_back(text_cell(times.last));
  cells.push_back(text_cell(text_at(event, "type")));
  cells.push_back(text_cell(text_at(event, "reason")));
  cells.push_back(text_cell(event_target(event)));
  cells.push_back(text_cell(target == nullptr ? "" : text_at(*target, "fieldPath")));
  cells.push_back(text_cell(event_source(event)));
  cells.push_back(text_cell(trim(as_text(either(event, "message", "note")))));
  cells.push_back(text_cell(times.first));
  cells.push_back(times.count);
  cells.push_back(name_cell(event));
}

// "cpu: 1/4, memory: 2Gi/8Gi": used of allowed. Limits have a column of their own.
std::string quota_text(const Json& quota, bool limits) {
  std::vector<std::string> parts;
  const Json* hard = find(quota, "status", "hard");
  if (hard == nullptr || !hard->is_object()) return "";
  for (const auto& [resource, allowed] : hard->get_object()) {
    const std::string_view name = resource;
    if (name.starts_with("limits.") != limits) continue;
    std::string_view used = text_at(quota, "status", "used", name);
    if (used.empty()) used = "0";
    parts.push_back(fmt::format("{}: {}/{}", name, used, as_text(&allowed)));
  }
  std::sort(parts.begin(), parts.end());
  return join(parts, ", ");
}

void resource_quota_cells(const Json& quota, Time now, JsonArray& cells) {
  cells.push_back(name_cell(quota));
  cells.push_back(text_cell(quota_text(quota, false)));
  cells.push_back(text_cell(quota_text(quota, true)));
  cells.push_back(age_cell(quota, now));
}

void priority_class_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(as_integer(find(object, "value")));
  cells.push_back(as_bool(find(object, "globalDefault")));
  cells.push_back(age_cell(object, now));
  cells.push_back(text_or(text_at(object, "preemptionPolicy"), "PreemptLowerPriority"));
}

std::vector<Column> event_columns() {
  Column name = name_column();
  name.priority = 1;
  return {text_column("Last Seen", "How long ago it last happened."),
          text_column("Type", "Normal or Warning."),
          text_column("Reason", "What happened, in one word."),
          text_column("Object", "The object that it is about."),
          text_column("Subobject", "The part of that object.", 1),
          text_column("Source", "Who reports it, and from where.", 1),
          text_column("Message", "What happened, for users."),
          text_column("First Seen", "How long ago it first happened.", 1),
          text_column("Count", "How often it happened.", 1),
          name};
}

}  // namespace

std::vector<Printer> core_printers() {
  std::vector<Column> priority_columns =
      name_and_age({integer_column("Value", "Higher goes first."),
                    boolean_column("Global-Default", "Whether pods without a class get this one.")},
                   {text_column("PreemptionPolicy", "Whether its pods push out lesser ones.")});
  return {
      {"", "ConfigMap", name_and_age({text_column("Data", "How many entries it has.")}),
       config_map_cells},
      {"", "Secret",
       name_and_age({text_column("Type", "What the secret is for."),
                     text_column("Data", "How many entries it has.")}),
       secret_cells},
      {"", "ServiceAccount", name_and_age({text_column("Secrets", "How many secrets it names.")}),
       service_account_cells},
      {"", "Namespace", name_and_age({text_column("Status", "Active, or being removed.")}),
       namespace_cells},
      {"", "Event", event_columns(), event_cells},
      {"events.k8s.io", "Event", event_columns(), event_cells},
      {"", "ResourceQuota",
       name_and_age({text_column("Request", "Used of allowed requests."),
                     text_column("Limit", "Used of allowed limits.")}),
       resource_quota_cells},
      {"scheduling.k8s.io", "PriorityClass", std::move(priority_columns), priority_class_cells},
  };
}

}  // namespace lockstep::apiserver
