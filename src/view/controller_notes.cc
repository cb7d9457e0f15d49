#include "view/controller_notes.h"

#include <algorithm>
#include <utility>

namespace lockstep::view {

namespace {

// Times are written in whole seconds.
constexpr Duration notable = seconds(2);
// And a watch takes a moment.
constexpr Duration late = seconds(5);
constexpr size_t longest_message = 300;
// A ConfigMap holds a megabyte.
constexpr size_t most_nodes = 1000;

bool is_near(Time one, Time other) {
  if (!one.is_set() || !other.is_set()) return one.is_set() == other.is_set();
  return one - other < notable && other - one < notable;
}

bool is_near(Duration one, Duration other) {
  return one - other < notable && other - one < notable;
}

std::string since_of(const fleet::NodeView& view) {
  return std::string(view.node->meta.annotations.get(fleet::since_annotation));
}

// By its times alone it might be from before the driver was ready.
bool is_in_doubt(const fleet::NodeView& view, const Text& uid) {
  const auto& driver = view.driver.pod;
  if (driver == nullptr || !driver->ready_since.is_set()) return false;
  return std::any_of(view.pods.begin(), view.pods.end(), [&](const fleet::PodOnNode& entry) {
    if (entry.pod->meta.uid != uid) return false;
    const auto& statuses = entry.pod->container_statuses;
    return std::any_of(statuses.begin(), statuses.end(), [&](const ContainerStatus& status) {
      return status.running() &&
             status.started.unix_seconds() <= driver->ready_since.unix_seconds();
    });
  });
}

// Not in the middle of a character.
std::string first_part(const std::string& text) {
  if (text.size() <= longest_message) return text;
  size_t end = longest_message;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

Json json_of(const NodeNote& note) {
  JsonObject object;
  if (!note.since.empty()) object["since"] = note.since;
  if (note.seen_since.is_set()) object["seenSince"] = format_rfc3339(note.seen_since);
  if (note.clock_gained != Duration::zero()) {
    object["clockGainedSeconds"] = static_cast<int64_t>(in_seconds(note.clock_gained));
  }
  if (!note.renewed.empty()) {
    JsonArray uids;
    for (const Text& uid : note.renewed) uids.emplace_back(uid.view());
    object["renewed"] = std::move(uids);
  }
  if (!note.evictions.empty()) {
    JsonObject evictions;
    for (const auto& [uid, eviction] : note.evictions) {
      JsonObject entry;
      if (eviction.by_budget) entry["byBudget"] = true;
      if (eviction.forced_until.is_set()) {
        entry["forcedUntil"] = format_rfc3339(eviction.forced_until);
      }
      if (!eviction.message.empty()) entry["message"] = eviction.message;
      evictions[uid] = std::move(entry);
    }
    object["evictions"] = std::move(evictions);
  }
  if (note.delay) {
    object["delay"] = JsonObject{{"name", note.delay->name.view()},
                                 {"text", note.delay->text},
                                 {"remedy", note.delay->remedy}};
  }
  return object;
}

Time time_at(const Json& object, std::string_view key) {
  return parse_rfc3339(text_at(object, key)).value_or(Time());
}

NodeNote note_of_json(const Json& object) {
  NodeNote note;
  note.since = text_at(object, "since");
  note.seen_since = time_at(object, "seenSince");
  note.clock_gained = seconds(as_integer(find(object, "clockGainedSeconds")));
  if (const Json* uids = find(object, "renewed"); uids != nullptr && uids->is_array()) {
    for (const Json& uid : uids->get_array()) note.renewed.emplace_back(as_text(&uid));
  }
  const Json* evictions = find(object, "evictions");
  if (evictions != nullptr && evictions->is_object()) {
    for (const auto& [uid, entry] : evictions->get_object()) {
      note.evictions[std::string(uid)] = {as_bool(find(entry, "byBudget")),
                                          time_at(entry, "forcedUntil"),
                                          std::string(text_at(entry, "message"))};
    }
  }
  if (const Json* delay = find(object, "delay"); delay != nullptr && delay->is_object()) {
    note.delay =
        fleet::Reason{fleet::ReasonName::read(text_at(*delay, "name")),
                      std::string(text_at(*delay, "text")), std::string(text_at(*delay, "remedy"))};
  }
  return note;
}

bool is_about_same(const NodeNote& one, const NodeNote& other) {
  NodeNote same = other;
  if (is_near(one.seen_since, same.seen_since)) same.seen_since = one.seen_since;
  if (is_near(one.clock_gained, same.clock_gained)) same.clock_gained = one.clock_gained;
  for (auto& [uid, eviction] : same.evictions) {
    auto at = one.evictions.find(uid);
    if (at == one.evictions.end()) return false;
    if (is_near(at->second.forced_until, eviction.forced_until)) {
      eviction.forced_until = at->second.forced_until;
    }
  }
  return one == same;
}

}  // namespace

bool NodeNote::is_empty() const {
  return !seen_since.is_set() && clock_gained == Duration::zero() && renewed.empty() &&
         evictions.empty() && !delay;
}

Json ControllerNotes::to_json(const ObjectKey& key) const {
  JsonObject data;
  if (scheduler_sees_from.is_set()) data["schedulerSeesFrom"] = format_rfc3339(scheduler_sees_from);
  JsonObject entries;
  for (const auto& [name, note] : nodes) {
    if (entries.size() < most_nodes) entries[name] = json_of(note);
  }
  data["nodes"] = print_json(entries);
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"}}}};
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", std::move(metadata)},
                    {"data", std::move(data)}};
}

ControllerNotes ControllerNotes::from_map(const ConfigMap& map) {
  ControllerNotes notes;
  notes.scheduler_sees_from = parse_rfc3339(map.data.get("schedulerSeesFrom")).value_or(Time());
  auto nodes = parse_json(map.data.get("nodes"));
  if (!nodes || !nodes->is_object()) return notes;
  for (const auto& [name, entry] : std::as_const(*nodes).get_object()) {
    notes.nodes[std::string(name)] = note_of_json(entry);
  }
  return notes;
}

NodeNote note_of(const fleet::NodeView& view, Time now) {
  NodeNote note;
  note.since = since_of(view);
  const Time entered = fleet::state_since(*view.node);
  const fleet::NodeKnowledge& known = view.known;
  if (entered.is_set() && known.seen_since - entered > late) note.seen_since = known.seen_since;
  if (!is_near(known.clock_gained, Duration::zero())) note.clock_gained = known.clock_gained;
  for (const Text& uid : known.renewed) {
    if (is_in_doubt(view, uid)) note.renewed.push_back(uid);
  }
  for (const auto& entry : view.pods) {
    if (!entry.tries || (entry.tries->refusals == 0 && !entry.tries->forced)) continue;
    NodeNote::Eviction& eviction = note.evictions[entry.pod->meta.uid.str()];
    eviction.by_budget = entry.tries->by_budget;
    eviction.message = first_part(entry.tries->message);
    if (entry.tries->forced) eviction.forced_until = now + entry.pause;
  }
  note.delay = known.delay;
  return note;
}

void add_note(const NodeNote& note, fleet::NodeView& view) {
  view.known.delay = note.delay;
  if (note.since != since_of(view)) return;
  if (note.seen_since.is_set()) view.known.seen_since = note.seen_since;
  view.known.clock_gained = note.clock_gained;
  view.known.renewed = note.renewed;
}

bool is_about_same(const ControllerNotes& one, const ControllerNotes& other) {
  if (!is_near(one.scheduler_sees_from, other.scheduler_sees_from)) return false;
  return std::equal(one.nodes.begin(), one.nodes.end(), other.nodes.begin(), other.nodes.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && is_about_same(a.second, b.second);
                    });
}

}  // namespace lockstep::view
