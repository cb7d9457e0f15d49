#include "dashboard/rollout_card.h"

#include <algorithm>
#include <cmath>

#include "rollout/headline.h"
#include "rollout/pace.h"

namespace lockstep::dashboard {

namespace {

// Pages show no more of the past than this.
constexpr size_t most_history = 12;

Json time_of(Time time) {
  return time.is_set() ? Json(time.unix_nanoseconds / 1'000'000) : Json(nullptr);
}

// Few enough digits that what has hardly changed is the same text.
double rounded(double number) {
  constexpr double places = 100;
  return std::isfinite(number) ? std::round(number * places) / places : 0;
}

JsonObject bake_card(const rollout::BakeSpec& spec, const rollout::WaveStatus& wave,
                     const std::optional<rollout::BakeVerdict>& seen, bool is_baking) {
  JsonObject card{{"seconds", 0},
                  {"targetSeconds", in_seconds(spec.duration)},
                  {"longestSeconds", in_seconds(spec.max_duration)},
                  {"gpuHours", 0},
                  {"targetGpuHours", seen ? seen->min_gpu_hours : spec.min_gpu_hours.value_or(0)},
                  {"began", time_of(wave.bake_began)},
                  {"runs", is_baking},
                  {"text", wave.bake},
                  {"detectable", wave.detectable}};
  if (!seen) return card;
  card["seconds"] = std::floor(in_seconds(seen->passed));
  card["gpuHours"] = rounded(seen->gpu_hours);
  card["controlGpuHours"] = rounded(seen->control_gpu_hours);
  card["evidence"] = rounded(seen->evidence);
  card["limit"] = rounded(seen->limit);
  card["outcome"] = to_string(seen->outcome);
  if (const auto left = rollout::bake_left(spec, *seen); left && is_baking) {
    card["secondsLeft"] = std::floor(in_seconds(*left));
  }
  if (wave.bake.empty()) card["text"] = seen->text;
  if (wave.detectable.empty()) card["detectable"] = seen->detectable;
  JsonArray kinds;
  for (const rollout::KindEvidence& kind : seen->kinds) {
    kinds.push_back(JsonObject{{"kind", kind.kind},
                               {"upgraded", kind.upgraded_events},
                               {"control", kind.control_events},
                               {"evidence", rounded(kind.evidence)}});
  }
  card["kinds"] = std::move(kinds);
  return card;
}

JsonObject wave_card(const rollout::RolloutSpec& spec, const rollout::RolloutStatus& status,
                     size_t index, const std::optional<rollout::BakeVerdict>& bake) {
  const rollout::WaveStatus& wave = status.waves[index];
  JsonArray gates;
  for (const rollout::Verdict& gate : wave.gates) {
    gates.push_back(JsonObject{{"name", gate.name},
                               {"outcome", to_string(gate.outcome)},
                               {"text", gate.text},
                               {"dryRun", gate.dry_run}});
  }
  JsonObject card{{"name", wave.name},
                  {"state", rollout::wave_state(status, index)},
                  {"nodes", wave.nodes},
                  {"done", wave.done},
                  {"failed", wave.failed},
                  {"opened", time_of(wave.opened)},
                  {"verdict", to_string(wave.verdict)},
                  {"verdictText", wave.verdict_text},
                  {"gates", std::move(gates)},
                  {"approvedBy", wave.approved_by},
                  {"approvedAt", time_of(wave.approved_at)}};
  if (index >= spec.waves.size()) return card;
  const rollout::WaveSpec& asked = spec.waves[index];
  card["asks"] = asked.nodes.text();
  card["needsApproval"] =
      asked.needs_approval && (!wave.approved_by.empty() || needs_approval(spec, status, index));
  JsonArray planned;
  for (const rollout::GateSpec& gate : asked.gates) planned.emplace_back(gate.name);
  card["plannedGates"] = std::move(planned);
  if (asked.bake) card["bake"] = bake_card(*asked.bake, wave, bake, is_baking(status, index));
  return card;
}

// Waves that no status has yet are shown as they are asked for.
rollout::RolloutStatus with_all_waves(const rollout::RolloutSpec& spec,
                                      rollout::RolloutStatus status) {
  for (size_t i = status.waves.size(); i < spec.waves.size(); ++i) {
    rollout::WaveStatus wave;
    wave.name = spec.waves[i].name;
    status.waves.push_back(std::move(wave));
  }
  return status;
}

JsonArray history_of(const rollout::RolloutStatus& status) {
  JsonArray history;
  size_t first = status.history.size() - std::min(status.history.size(), most_history);
  for (size_t i = first; i < status.history.size(); ++i) {
    const rollout::HistoryEntry& entry = status.history[i];
    history.push_back(JsonObject{{"at", time_of(entry.at)},
                                 {"phase", to_string(entry.phase)},
                                 {"wave", entry.wave},
                                 {"reason", entry.reason},
                                 {"text", entry.text},
                                 {"by", entry.by}});
  }
  return history;
}

}  // namespace

Json rollout_card(const std::string& name, const rollout::RolloutSpec& spec,
                  const rollout::RolloutStatus& status, const WaveBakes& bakes) {
  rollout::RolloutStatus whole = with_all_waves(spec, status);
  JsonArray waves;
  for (size_t i = 0; i < whole.waves.size(); ++i) {
    waves.push_back(wave_card(spec, whole, i, i < bakes.size() ? bakes[i] : std::nullopt));
  }
  JsonArray problems;
  for (const std::string& problem : spec.problems) problems.emplace_back(problem);
  JsonObject reasons;
  for (const auto& [reason, count] : status.by_reason) reasons[reason] = count;
  const rollout::Direction direction = rollout::direction_of(status);
  return JsonObject{
      {"name", name},
      {"phase", to_string(status.phase)},
      {"since", time_of(status.phase_since)},
      {"over", rollout::is_over(status.phase)},
      {"started", time_of(status.started)},
      {"reason", status.reason},
      {"message", status.message},
      {"paused", spec.paused},
      {"from", direction.from},
      {"to", direction.to},
      {"total", status.total},
      {"onFailure", spec.on_failure == rollout::OnFailure::hold ? "hold" : "roll back"},
      {"problems", std::move(problems)},
      {"byReason", std::move(reasons)},
      {"waves", std::move(waves)},
      {"history", history_of(status)}};
}

}  // namespace lockstep::dashboard
