#include "rollout/rollout_status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/driver.h"

namespace lockstep::rollout {

namespace {

constexpr std::array<std::pair<Phase, std::string_view>, 10> phases = {{
    {Phase::pending, "Pending"},
    {Phase::upgrading, "Upgrading"},
    {Phase::gating, "Gating"},
    {Phase::baking, "Baking"},
    {Phase::awaiting_approval, "AwaitingApproval"},
    {Phase::promoting, "Promoting"},
    {Phase::complete, "Complete"},
    {Phase::held, "Held"},
    {Phase::rolling_back, "RollingBack"},
    {Phase::rolled_back, "RolledBack"},
}};

constexpr std::array<std::pair<Outcome, std::string_view>, 5> outcomes = {{
    {Outcome::running, "Running"},
    {Outcome::passed, "Passed"},
    {Outcome::failed, "Failed"},
    {Outcome::inconclusive, "Inconclusive"},
    {Outcome::error, "Error"},
}};

// Users read a status and etcd stores it: one long message must not fill it, nor must fifty waves
// with all their gates. It has as many messages as fit.
constexpr size_t most_bytes = size_t{60} * 1024;
struct Detail {
  size_t longest_text;
  bool all_gates;  // or those of the current wave alone
};
constexpr std::array<Detail, 4> details = {{{500, true}, {500, false}, {150, false}, {40, false}}};
// What is compared later is never cut.
constexpr size_t whole = std::string_view::npos;

// Not in the middle of a letter.
std::string bounded(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  std::string_view kept = std::string_view(text).substr(0, most);
  while (!kept.empty() && !is_valid_utf8(kept)) kept.remove_suffix(1);
  return std::string(kept) + "…";
}

void put(JsonObject& into, std::string_view key, const std::string& text, size_t most) {
  if (!text.empty()) into[key] = bounded(text, most);
}
void put(JsonObject& into, std::string_view key, Time time) {
  if (time.is_set()) into[key] = format_rfc3339(time);
}

Time time_at(const Json& json, std::string_view key) {
  auto time = parse_rfc3339(text_at(json, key));
  return time ? *time : Time{};
}
Json revision_to_json(const DriverRevision& revision) {
  JsonObject revisions;
  for (const auto& [set, hash] : revision.revisions) revisions[set] = hash;
  JsonObject json{{"revisions", std::move(revisions)}};
  put(json, "version", revision.version, whole);
  if (revision.fields) json["fields"] = revision.fields->values;
  return json;
}

DriverRevision read_revision(const Json* json) {
  DriverRevision revision;
  if (json == nullptr) return revision;
  revision.version = string_at(*json, "version");
  revision.fields = read_driver_fields(find(*json, "fields"));
  const Json* revisions = find(*json, "revisions");
  if (revisions == nullptr || !revisions->is_object()) return revision;
  for (const auto& [set, hash] : revisions->get_object()) {
    revision.revisions[std::string(set)] = std::string(as_text(&hash));
  }
  return revision;
}

std::map<std::string, int64_t> read_counts(const Json* json) {
  std::map<std::string, int64_t> counts;
  if (json == nullptr || !json->is_object()) return counts;
  for (const auto& [name, count] : json->get_object()) {
    counts[std::string(name)] = as_integer(&count);
  }
  return counts;
}

std::map<ReasonName, int64_t> read_reasons(const Json* json) {
  std::map<ReasonName, int64_t> counts;
  for (const auto& [name, count] : read_counts(json)) counts[ReasonName::read(name)] = count;
  return counts;
}

// Of a status without a reason: the rollout has not been reconciled.
std::string reason_of(const RolloutStatus& status) {
  return (status.reason.empty() ? ReasonName(Reason::pending) : status.reason).str();
}

Json wave_to_json(const WaveStatus& wave, size_t most, bool with_gates) {
  JsonObject json{{"name", wave.name},
                  {"nodes", wave.nodes},
                  {"done", wave.done},
                  {"failed", wave.failed},
                  {"verdict", to_string(wave.verdict)}};
  if (wave.pending > 0) json["pending"] = wave.pending;
  put(json, "verdictText", wave.verdict_text, most);
  put(json, "opened", wave.opened);
  put(json, "bakeBegan", wave.bake_began);
  put(json, "bake", wave.bake, most);
  put(json, "detectable", wave.detectable, most);
  put(json, "approvedBy", wave.approved_by, most);
  put(json, "approvedAt", wave.approved_at);
  JsonArray gates;
  for (const Verdict& gate : with_gates ? wave.gates : std::vector<Verdict>{}) {
    JsonObject entry{{"name", gate.name}, {"outcome", to_string(gate.outcome)}};
    put(entry, "text", gate.text, most);
    if (gate.dry_run) entry["dryRun"] = true;
    gates.push_back(std::move(entry));
  }
  if (!gates.empty()) json["gates"] = std::move(gates);
  if (wave.gate_round > 0) json["gateRound"] = wave.gate_round;
  return json;
}

WaveStatus read_wave(const Json& json) {
  WaveStatus wave;
  wave.name = string_at(json, "name");
  wave.nodes = as_integer(find(json, "nodes"));
  wave.done = as_integer(find(json, "done"));
  wave.failed = as_integer(find(json, "failed"));
  wave.pending = as_integer(find(json, "pending"));
  wave.verdict = outcome_of(text_at(json, "verdict"));
  wave.verdict_text = string_at(json, "verdictText");
  wave.opened = time_at(json, "opened");
  wave.bake_began = time_at(json, "bakeBegan");
  wave.bake = string_at(json, "bake");
  wave.detectable = string_at(json, "detectable");
  wave.approved_by = string_at(json, "approvedBy");
  wave.approved_at = time_at(json, "approvedAt");
  wave.gate_round = as_integer(find(json, "gateRound"));
  const Json* gates = find(json, "gates");
  if (gates == nullptr || !gates->is_array()) return wave;
  for (const Json& entry : gates->get_array()) {
    wave.gates.push_back({string_at(entry, "name"), outcome_of(text_at(entry, "outcome")),
                          string_at(entry, "text"), as_bool(find(entry, "dryRun"))});
  }
  return wave;
}

Json history_to_json(const HistoryEntry& entry, size_t most) {
  JsonObject json{{"at", format_rfc3339(entry.at)}, {"phase", to_string(entry.phase)}};
  put(json, "wave", entry.wave, whole);
  put(json, "reason", entry.reason.str(), whole);
  put(json, "text", entry.text, most);
  put(json, "by", entry.by, most);
  return json;
}

Json rejected_to_json(const RejectedDriver& rejected) {
  Json json = revision_to_json(rejected.driver);
  put(json.as_object(), "at", rejected.at);
  put(json.as_object(), "reason", rejected.reason.str(), whole);
  return json;
}

Json condition(std::string_view type, bool holds, const RolloutStatus& status, size_t most) {
  JsonObject json{{"type", type},
                  {"status", holds ? "True" : "False"},
                  {"reason", reason_of(status)},
                  {"message", bounded(status.message, most)}};
  json["lastTransitionTime"] =
      format_rfc3339(status.phase_since.is_set() ? status.phase_since : Time::from_unix(0));
  return json;
}

Json to_json(const RolloutStatus& status, const Detail& detail);

}  // namespace

std::string_view to_string(Phase phase) {
  for (const auto& [value, name] : phases) {
    if (value == phase) return name;
  }
  return "";
}

std::optional<Phase> phase_of(std::string_view name) {
  for (const auto& [value, known] : phases) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool DriverRevision::is_same_driver(const DriverRevision& other) const {
  if (same_as(other)) return true;
  if (fields && other.fields) return *fields == *other.fields;
  return !version.empty() && version == other.version;
}

bool is_over(Phase phase) { return phase == Phase::complete || phase == Phase::rolled_back; }

std::string_view to_string(Outcome outcome) {
  for (const auto& [value, name] : outcomes) {
    if (value == outcome) return name;
  }
  return "";
}

Outcome outcome_of(std::string_view name) {
  for (const auto& [value, known] : outcomes) {
    if (known == name) return value;
  }
  return Outcome::running;
}

bool has_opened_waves(const RolloutSpec& spec, const RolloutStatus& status) {
  auto opened = static_cast<size_t>(std::max(status.open_waves, status.waves_to_return));
  if (opened > spec.waves.size() || opened > status.waves.size()) return false;
  for (size_t i = 0; i < opened; ++i) {
    if (status.waves[i].name != spec.waves[i].name) return false;
  }
  return true;
}

std::string name_opened_waves(const RolloutStatus& status) {
  std::vector<std::string> names;
  auto opened = static_cast<size_t>(std::max(status.open_waves, status.waves_to_return));
  for (size_t i = 0; i < opened && i < status.waves.size(); ++i) {
    names.push_back(status.waves[i].name);
  }
  return join(names, ", ");
}

std::optional<bool> is_image_of(const DriverRevision& driver, std::string_view image) {
  if (image.empty()) return std::nullopt;
  if (driver.fields) return fits(*driver.fields, image);
  const std::string version = fleet::version_of_image(image);
  if (version.empty() || driver.version.empty()) return std::nullopt;
  return version == driver.version;
}

bool runs_rejected(const RolloutStatus& status, const std::string& set, std::string_view revision,
                   std::string_view image) {
  if (revision.empty() || status.from.is_of(set, revision)) return false;
  if (status.to.is_of(set, revision)) return true;
  return !is_image_of(status.from, image).value_or(true);
}

RolloutStatus read_rollout_status(const Json& object) {
  RolloutStatus status;
  const Json* json = find(object, "status");
  if (json == nullptr || !json->is_object()) return status;
  status.phase = phase_of(text_at(*json, "phase")).value_or(Phase::pending);
  status.phase_since = time_at(*json, "phaseSince");
  status.generation = as_integer(find(*json, "observedGeneration"));
  status.reason = ReasonName::read(text_at(*json, "reason"));
  status.message = string_at(*json, "message");
  status.stable = read_revision(find(*json, "stable"));
  status.from = read_revision(find(*json, "from"));
  status.before = read_revision(find(*json, "before"));
  status.to = read_revision(find(*json, "to"));
  status.open_for = read_revision(find(*json, "openFor"));
  status.started = time_at(*json, "started");
  status.open_waves = as_integer(find(*json, "openWaves"));
  status.closed = as_bool(find(*json, "closed"));
  status.held_from = phase_of(text_at(*json, "heldFrom"));
  status.waves_to_return = as_integer(find(*json, "wavesToReturn"));
  status.total = as_integer(find(*json, "total"));
  status.by_state = read_counts(find(*json, "nodesByState"));
  status.by_reason = read_reasons(find(*json, "nodesByReason"));
  status.promote_commit = string_at(*json, "promoteCommit");
  status.revert_commit = string_at(*json, "revertCommit");
  status.last_command = string_at(*json, "lastCommand");
  status.restored = as_bool(find(*json, "restored"));
  if (const Json* list = find(*json, "rejected"); list != nullptr && list->is_array()) {
    for (const Json& entry : list->get_array()) {
      status.rejected.push_back({read_revision(&entry), time_at(entry, "at"),
                                 ReasonName::read(text_at(entry, "reason"))});
    }
  }
  if (const Json* waves = find(*json, "waves"); waves != nullptr && waves->is_array()) {
    for (const Json& wave : waves->get_array()) status.waves.push_back(read_wave(wave));
  }
  // Whatever was written there by hand: waves that are not listed have not opened.
  auto listed = static_cast<int64_t>(status.waves.size());
  status.open_waves = std::clamp<int64_t>(status.open_waves, 0, listed);
  status.waves_to_return = std::clamp<int64_t>(status.waves_to_return, 0, listed);
  if (const Json* history = find(*json, "history"); history != nullptr && history->is_array()) {
    for (const Json& entry : history->get_array()) {
      status.history.push_back(
          {time_at(entry, "at"), phase_of(text_at(entry, "phase")).value_or(Phase::pending),
           string_at(entry, "wave"), ReasonName::read(text_at(entry, "reason")),
           string_at(entry, "text"), string_at(entry, "by")});
    }
  }
  return status;
}

Json rollout_status_to_json(const RolloutStatus& status) {
  Json json;
  for (const Detail& detail : details) {
    json = to_json(status, detail);
    if (print_json(json).size() <= most_bytes) break;
  }
  return json;
}

namespace {

Json to_json(const RolloutStatus& status, const Detail& detail) {
  const size_t most = detail.longest_text;
  JsonObject json{
      {"phase", to_string(status.phase)},        {"observedGeneration", status.generation},
      {"openWaves", status.open_waves},          {"closed", status.closed},
      {"wavesToReturn", status.waves_to_return}, {"total", status.total}};
  put(json, "phaseSince", status.phase_since);
  put(json, "reason", status.reason.str(), whole);
  put(json, "message", status.message, most);
  if (status.held_from) json["heldFrom"] = to_string(*status.held_from);
  put(json, "started", status.started);
  put(json, "promoteCommit", status.promote_commit, whole);
  put(json, "revertCommit", status.revert_commit, whole);
  put(json, "lastCommand", status.last_command, whole);
  json["stable"] = revision_to_json(status.stable);
  json["from"] = revision_to_json(status.from);
  if (status.before.is_set()) json["before"] = revision_to_json(status.before);
  json["to"] = revision_to_json(status.to);
  json["openFor"] = revision_to_json(status.open_for);
  if (status.restored) json["restored"] = true;
  JsonArray rejected;
  for (const RejectedDriver& each : status.rejected) rejected.push_back(rejected_to_json(each));
  if (!rejected.empty()) json["rejected"] = std::move(rejected);
  json["nodesByState"] = counts_to_json(status.by_state);
  json["nodesByReason"] = to_json(status.by_reason);
  JsonArray waves;
  int64_t done = 0;
  int64_t current = status.current_wave();
  for (const WaveStatus& wave : status.waves) {
    bool is_current = static_cast<int64_t>(waves.size()) == current;
    waves.push_back(wave_to_json(wave, most, detail.all_gates || is_current));
    done += wave.done;
  }
  json["waves"] = std::move(waves);
  json["progress"] = fmt::format("{}/{}", done, status.total);
  bool has_wave = current >= 0 && current < static_cast<int64_t>(status.waves.size());
  json["wave"] = has_wave ? status.waves[static_cast<size_t>(current)].name : std::string();
  JsonArray history;
  size_t skip = status.history.size() > most_history ? status.history.size() - most_history : 0;
  for (size_t i = skip; i < status.history.size(); ++i) {
    history.push_back(history_to_json(status.history[i], most));
  }
  json["history"] = std::move(history);
  bool progresses =
      status.phase != Phase::pending && status.phase != Phase::held && !is_over(status.phase);
  json["conditions"] =
      JsonArray{condition("Complete", status.phase == Phase::complete, status, most),
                condition("Progressing", progresses, status, most),
                condition("Held", status.phase == Phase::held, status, most),
                condition("RolledBack", status.phase == Phase::rolled_back, status, most)};
  return json;
}

}  // namespace

}  // namespace lockstep::rollout
