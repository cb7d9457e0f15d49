#include "rollout/rollout_status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

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

// A status is read by people and kept by etcd: one long message must not fill it.
constexpr size_t most_text = 500;

std::string bounded(const std::string& text) {
  return text.size() <= most_text ? text : text.substr(0, most_text) + "…";
}

void put(JsonObject& into, std::string_view key, const std::string& text) {
  if (!text.empty()) into[key] = bounded(text);
}
void put(JsonObject& into, std::string_view key, Time time) {
  if (time.is_set()) into[key] = format_rfc3339(time);
}

Time time_at(const Json& json, std::string_view key) {
  auto time = parse_rfc3339(text_at(json, key));
  return time ? *time : Time{};
}
std::string string_at(const Json& json, std::string_view key) {
  return std::string(text_at(json, key));
}

Json revision_to_json(const DriverRevision& revision) {
  JsonObject revisions;
  for (const auto& [set, hash] : revision.revisions) revisions[set] = hash;
  JsonObject json{{"revisions", std::move(revisions)}};
  put(json, "version", revision.version);
  return json;
}

DriverRevision read_revision(const Json* json) {
  DriverRevision revision;
  if (json == nullptr) return revision;
  revision.version = string_at(*json, "version");
  const Json* revisions = find(*json, "revisions");
  if (revisions == nullptr || !revisions->is_object()) return revision;
  for (const auto& [set, hash] : revisions->get_object()) {
    revision.revisions[std::string(set)] = std::string(as_text(&hash));
  }
  return revision;
}

Json counts_to_json(const std::map<std::string, int64_t>& counts) {
  JsonObject json;
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

std::map<std::string, int64_t> read_counts(const Json* json) {
  std::map<std::string, int64_t> counts;
  if (json == nullptr || !json->is_object()) return counts;
  for (const auto& [name, count] : json->get_object()) {
    counts[std::string(name)] = as_integer(&count);
  }
  return counts;
}

Json wave_to_json(const WaveStatus& wave) {
  JsonObject json{{"name", wave.name},
                  {"nodes", wave.nodes},
                  {"done", wave.done},
                  {"failed", wave.failed},
                  {"verdict", to_string(wave.verdict)}};
  put(json, "verdictText", wave.verdict_text);
  put(json, "opened", wave.opened);
  put(json, "bakeBegan", wave.bake_began);
  put(json, "bake", wave.bake);
  put(json, "detectable", wave.detectable);
  put(json, "approvedBy", wave.approved_by);
  put(json, "approvedAt", wave.approved_at);
  JsonArray gates;
  for (const Verdict& gate : wave.gates) {
    JsonObject entry{{"name", gate.name}, {"outcome", to_string(gate.outcome)}};
    put(entry, "text", gate.text);
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

Json history_to_json(const HistoryEntry& entry) {
  JsonObject json{{"at", format_rfc3339(entry.at)}, {"phase", to_string(entry.phase)}};
  put(json, "wave", entry.wave);
  put(json, "reason", entry.reason);
  put(json, "text", entry.text);
  put(json, "by", entry.by);
  return json;
}

Json condition(std::string_view type, bool holds, const RolloutStatus& status) {
  JsonObject json{{"type", type},
                  {"status", holds ? "True" : "False"},
                  {"reason", status.reason.empty() ? "Pending" : status.reason},
                  {"message", bounded(status.message)}};
  json["lastTransitionTime"] =
      format_rfc3339(status.phase_since.is_set() ? status.phase_since : Time::from_unix(0));
  return json;
}

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

RolloutStatus read_rollout_status(const Json& object) {
  RolloutStatus status;
  const Json* json = find(object, "status");
  if (json == nullptr || !json->is_object()) return status;
  status.phase = phase_of(text_at(*json, "phase")).value_or(Phase::pending);
  status.phase_since = time_at(*json, "phaseSince");
  status.generation = as_integer(find(*json, "observedGeneration"));
  status.reason = string_at(*json, "reason");
  status.message = string_at(*json, "message");
  status.stable = read_revision(find(*json, "stable"));
  status.from = read_revision(find(*json, "from"));
  status.to = read_revision(find(*json, "to"));
  status.open_for = read_revision(find(*json, "openFor"));
  status.started = time_at(*json, "started");
  status.open_waves = as_integer(find(*json, "openWaves"));
  status.closed = as_bool(find(*json, "closed"));
  status.waves_to_return = as_integer(find(*json, "wavesToReturn"));
  status.total = as_integer(find(*json, "total"));
  status.by_state = read_counts(find(*json, "nodesByState"));
  status.by_reason = read_counts(find(*json, "nodesByReason"));
  status.promote_commit = string_at(*json, "promoteCommit");
  status.revert_commit = string_at(*json, "revertCommit");
  status.last_command = string_at(*json, "lastCommand");
  if (const Json* waves = find(*json, "waves"); waves != nullptr && waves->is_array()) {
    for (const Json& wave : waves->get_array()) status.waves.push_back(read_wave(wave));
  }
  if (const Json* history = find(*json, "history"); history != nullptr && history->is_array()) {
    for (const Json& entry : history->get_array()) {
      status.history.push_back({time_at(entry, "at"),
                                phase_of(text_at(entry, "phase")).value_or(Phase::pending),
                                string_at(entry, "wave"), string_at(entry, "reason"),
                                string_at(entry, "text"), string_at(entry, "by")});
    }
  }
  return status;
}

Json rollout_status_to_json(const RolloutStatus& status) {
  JsonObject json{
      {"phase", to_string(status.phase)},        {"observedGeneration", status.generation},
      {"openWaves", status.open_waves},          {"closed", status.closed},
      {"wavesToReturn", status.waves_to_return}, {"total", status.total}};
  put(json, "phaseSince", status.phase_since);
  put(json, "reason", status.reason);
  put(json, "message", status.message);
  put(json, "started", status.started);
  put(json, "promoteCommit", status.promote_commit);
  put(json, "revertCommit", status.revert_commit);
  put(json, "lastCommand", status.last_command);
  json["stable"] = revision_to_json(status.stable);
  json["from"] = revision_to_json(status.from);
  json["to"] = revision_to_json(status.to);
  json["openFor"] = revision_to_json(status.open_for);
  json["nodesByState"] = counts_to_json(status.by_state);
  json["nodesByReason"] = counts_to_json(status.by_reason);
  JsonArray waves;
  int64_t done = 0;
  for (const WaveStatus& wave : status.waves) {
    waves.push_back(wave_to_json(wave));
    done += wave.done;
  }
  json["waves"] = std::move(waves);
  json["progress"] = fmt::format("{}/{}", done, status.total);
  int64_t current = status.current_wave();
  bool has_wave = current >= 0 && current < static_cast<int64_t>(status.waves.size());
  json["wave"] = has_wave ? status.waves[static_cast<size_t>(current)].name : std::string();
  JsonArray history;
  size_t skip = status.history.size() > most_history ? status.history.size() - most_history : 0;
  for (size_t i = skip; i < status.history.size(); ++i) {
    history.push_back(history_to_json(status.history[i]));
  }
  json["history"] = std::move(history);
  bool progresses =
      status.phase != Phase::pending && status.phase != Phase::held && !is_over(status.phase);
  json["conditions"] =
      JsonArray{condition("Complete", status.phase == Phase::complete, status),
                condition("Progressing", progresses, status),
                condition("Held", status.phase == Phase::held, status),
                condition("RolledBack", status.phase == Phase::rolled_back, status)};
  return json;
}

}  // namespace lockstep::rollout
