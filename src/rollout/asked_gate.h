// Gates that query a server: Prometheus for a number, or a webhook for a result. What they ask
// for, what an answer means, and the outcome of all answers together. Nothing here uses the
// network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "data/strict_reader.h"
#include "rollout/condition.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"

namespace lockstep::rollout {

struct AskedGate {
  GateKind kind = GateKind::prometheus;
  std::string address;  // of the server; of a webhook the whole one
  std::string query;
  std::optional<Condition> success;
  std::optional<Condition> failure;
  Duration interval = minutes(1);
  int64_t count = 1;               // measurements
  int64_t failure_limit = 0;       // the number of failures that are tolerated
  Duration timeout = minutes(30);  // for so long a webhook may say that it is at it
};

AskedGate read_asked_gate(GateKind kind, StrictReader& details);

// The subject of a query.
struct AskedAbout {
  std::string rollout;
  std::string wave;
  std::string gate;
  std::string version;
  std::vector<std::string> nodes;
};

// What is sent: a POST.
struct Question {
  std::string address;
  std::string content_type;
  std::string body;
};
// In a query ${nodes} are the wave's nodes as a regular expression, ${rollout}, ${wave} and
// ${version} what they say.
Question question_of(const AskedGate& gate, const AskedAbout& about);

// What one answer says. `running`: ask again.
struct Measurement {
  Outcome outcome = Outcome::error;
  std::string text;
};
Measurement read_answer(const AskedGate& gate, int code, std::string_view body);

// All answers of one run so far: small, whatever their number.
struct GateRecord {
  std::string run;  // which one: answers for another run do not count
  Time began;
  Time at;  // of the last answer
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t inconclusive = 0;
  int64_t errors = 0;  // in a row
  Outcome outcome = Outcome::running;
  std::string text;

  Json to_json() const;
  static std::optional<GateRecord> parse(std::string_view text);
  bool operator==(const GateRecord&) const = default;
};

// No data is never a pass; an error is tried three times, and is then inconclusive.
void take_answer(const AskedGate& gate, const Measurement& answer, Time now, GateRecord& record);
// When to ask next; nothing: it is decided.
std::optional<Duration> next_question(const AskedGate& gate, const GateRecord* record, Time now);

}  // namespace lockstep::rollout
