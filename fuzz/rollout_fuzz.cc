// What a rollout reads of others: its spec and status, what gates answer and how their pods end,
// conditions, records of bakes, the version matrix, time zones. Whatever the bytes are: no crash,
// an error has words, and what was read and is written again reads the same.
//
// The first byte chooses what the rest is read as: 'a' is the first of `readers`.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "document_from_bytes.h"
#include "rollout/asked_gate.h"
#include "rollout/bake_record.h"
#include "rollout/condition.h"
#include "rollout/gate_end.h"
#include "rollout/matrix_edit.h"
#include "rollout/matrix_file.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"
#include "rollout/time_zone.h"

namespace {

using namespace lockstep;
using namespace lockstep::rollout;
using lockstep::fuzz::require;

template <typename T>
bool is_good(const Result<T>& result) {
  if (!result) require(!result.error().message.empty(), "an error has words");
  return result.has_value();
}

void check_spec(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return;
  const RolloutSpec spec = read_rollout_spec(*json);
  require(!spec.waves.empty(), "there is a wave");
  for (const std::string& problem : spec.problems) require(!problem.empty(), "a problem has words");
  (void)read_rollout_status(*json);
}

void check_condition(std::string_view text) {
  const auto condition = Condition::parse(text);
  if (!is_good(condition)) return;
  const auto again = Condition::parse(condition->text());
  require(is_good(again), "a condition can be read again");
  for (double value : {-1.0, 0.0, 0.5, 1e300}) {
    require(again->holds(value) == condition->holds(value), "and means the same");
  }
  require(!condition->holds(std::nan("")), "no number is no pass");
}

// The first line is what the gate is, the rest its answer.
void check_answer(std::string_view text) {
  const size_t line = text.find('\n');
  const auto details = parse_json(text.substr(0, line));
  const std::string_view body = line == std::string_view::npos ? "" : text.substr(line + 1);
  for (GateKind kind : {GateKind::prometheus, GateKind::webhook}) {
    AskedGate gate;
    Reading reading("gate");
    reading.map(details ? *details : Json(JsonObject{}),
                [&](StrictReader& reader) { gate = read_asked_gate(kind, reader); });
    if (!reading.mistakes().empty()) continue;
    GateRecord record;
    for (int code : {200, 202, 404, 500}) {
      const Measurement answer = read_answer(gate, code, body);
      if (code >= 400) require(answer.outcome != Outcome::passed, "a failure is no pass");
      take_answer(gate, answer, Time::from_unix(60), record);
    }
    const auto again = GateRecord::parse(print_json(record.to_json()));
    require(again.has_value(), "a record can be read again");
    (void)next_question(gate, &record, Time::from_unix(120));
  }
  if (const auto record = GateRecord::parse(body)) {
    const auto again = GateRecord::parse(print_json(record->to_json()));
    require(again && *again == *record, "and is the same");
  }
}

void check_end(std::string_view text) {
  const auto pod = parse_json(text);
  if (pod) {
    if (const auto end = gate_end_of(*pod)) (void)word_of(*end);
  }
  for (int64_t code : {1, 2, 3, 137}) {
    require(word_of({code, std::string(text)}).outcome != Outcome::passed, "a bad end is no pass");
  }
}

void check_record(std::string_view text) {
  const auto record = BakeRecord::parse(text);
  if (!is_good(record)) return;
  const auto again = BakeRecord::parse(record->text());
  require(is_good(again), "a record that was read can be written and read");
  require(again->text() == record->text(), "and is the same");
}

void check_matrix(std::string_view text) {
  const auto matrix = parse_matrix(text, "matrix.yaml");
  if (!is_good(matrix)) return;
  for (const std::string& key : matrix->keys()) require(!key.empty(), "a key has a name");
  const auto set = set_versions(text, "matrix.yaml", Slot::canary, {{"driver", "580.1"}});
  if (is_good(set)) {
    const auto after = parse_matrix(set->text, "matrix.yaml");
    require(is_good(after), "what was edited can be read");
    require(after->value(Slot::canary, "driver") == "580.1", "and says what was set");
    require(after->current == matrix->current, "and nothing else");
  }
  (void)is_good(promote_canary(text, "matrix.yaml"));
  (void)is_good(empty_canary(text, "matrix.yaml"));
  (void)is_good(parse_assignment(text));
}

void check_zone(std::string_view bytes) {
  constexpr int64_t farthest = 8 * 24 * 3600;
  for (const auto& zone : {TimeZone::from_tzif(bytes), TimeZone::from_rule(bytes)}) {
    if (!is_good(zone)) continue;
    for (int64_t second :
         {int64_t{0}, int64_t{1'700'000'000}, int64_t{-2'000'000'000}, int64_t{9'000'000'000}}) {
      const Time time = Time::from_unix(second);
      require(std::llabs(zone->offset_seconds(time)) <= farthest, "an offset is hours");
      const LocalTime local = zone->local(time);
      require(local.hour >= 0 && local.hour < 24 && local.weekday >= 0 && local.weekday < 7,
              "a time of day is one");
    }
  }
}

constexpr std::array<void (*)(std::string_view), 7> readers = {
    check_spec, check_condition, check_answer, check_end, check_record, check_matrix, check_zone};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t choice = (data[0] + readers.size() * 100 - 'a') % readers.size();
  readers[choice](std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
