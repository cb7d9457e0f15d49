#include "rollout/asked_gate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

constexpr int64_t most_measurements = 10'000;
constexpr int64_t most_errors = 3;
constexpr size_t most_text = 300;
constexpr Duration shortest_interval = seconds(1);

std::string excerpt_of(std::string_view text) {
  std::string kept(text.substr(0, most_text));
  return is_valid_utf8(kept) ? kept : std::string("(not valid UTF-8)");
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

void replace_all(std::string& text, std::string_view word, std::string_view value) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size()) {
    text.replace(at, word.size(), value);
  }
}

// Names of nodes have letters, digits, dashes and dots; a dot means any character.
std::string as_expression(const std::vector<std::string>& nodes) {
  std::string text = join(nodes, "|");
  replace_all(text, ".", "[.]");
  return text;
}

double parse_sample(const Json& pair) {
  if (!pair.is_array() || pair.get_array().size() != 2) return std::nan("");
  std::string text(as_text(&pair.get_array()[1]));
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nan("") : value;
}

// The samples of an instant query; an error when there cannot be any.
Result<std::vector<double>> samples_of(int code, std::string_view body) {
  auto json = parse_json(body);
  if (!json || !json->is_object() || text_at(*json, "status").empty()) {
    return failf(ErrorKind::internal, "answered with {} and no JSON of Prometheus", code);
  }
  // Something between here and Prometheus may answer with an old body and a code of its own.
  if (text_at(*json, "status") != "success" || code < 200 || code > 299) {
    return failf(ErrorKind::internal, "answered with {}: {}", code,
                 excerpt_of(text_at(*json, "error")));
  }
  const Json* result = find(*json, "data", "result");
  std::string_view type = text_at(*json, "data", "resultType");
  std::vector<double> samples;
  if (result != nullptr && type == "scalar") {
    samples.push_back(parse_sample(*result));
    return samples;
  }
  if (result == nullptr || type != "vector" || !result->is_array()) {
    return failf(ErrorKind::invalid, "the query gives a {}, and must give a vector or a scalar",
                 type.empty() ? "text without a type" : type);
  }
  for (const Json& series : result->get_array()) {
    const Json* value = find(series, "value");
    samples.push_back(value == nullptr ? std::nan("") : parse_sample(*value));
  }
  return samples;
}

Measurement measure(const AskedGate& gate, const std::vector<double>& samples) {
  if (samples.empty()) return {Outcome::inconclusive, "no data"};
  if (!gate.success && !gate.failure) return {Outcome::inconclusive, "no condition"};
  auto among = [&](double sample) {
    return samples.size() == 1
               ? number_text(sample)
               : fmt::format("{} (one of {} series)", number_text(sample), samples.size());
  };
  for (double sample : samples) {
    if (gate.failure && gate.failure->holds(sample)) {
      return {Outcome::failed, fmt::format("{}, fails at {}", among(sample), gate.failure->text())};
    }
  }
  for (double sample : samples) {
    if (std::isnan(sample)) return {Outcome::inconclusive, "no data: NaN"};
    if (!gate.success || gate.success->holds(sample)) continue;
    std::string text = fmt::format("{}, to pass: {}", among(sample), gate.success->text());
    // The gate does not say what a value between the two means.
    return {gate.failure ? Outcome::inconclusive : Outcome::failed, std::move(text)};
  }
  const Condition& limit = gate.success ? *gate.success : *gate.failure;
  return {Outcome::passed, fmt::format("{}, {}: {}", among(samples.front()),
                                       gate.success ? "passes at" : "would fail at", limit.text())};
}

Measurement read_webhook(int code, std::string_view body) {
  constexpr int ok = 200;
  if (code != ok) return {Outcome::error, fmt::format("answered with {}", code)};
  auto json = parse_json(body);
  if (!json || !json->is_object()) return {Outcome::error, "answered with no JSON map"};
  std::string_view name = text_at(*json, "outcome");
  for (Outcome outcome : {Outcome::running, Outcome::passed, Outcome::failed, Outcome::inconclusive,
                          Outcome::error}) {
    if (name == to_string(outcome)) return {outcome, excerpt_of(text_at(*json, "text"))};
  }
  return {Outcome::error,
          fmt::format("its outcome is \"{}\", and must be Passed, Failed, Inconclusive or Running",
                      excerpt_of(name))};
}

void read_condition(StrictReader& details, const std::string& key, std::optional<Condition>& into) {
  std::string text;
  details.text(key, text);
  if (text.empty()) return;
  auto condition = Condition::parse(text);
  if (!condition) return details.refuse(key, condition.error().text());
  into = std::move(*condition);
}

}  // namespace

AskedGate read_asked_gate(GateKind kind, StrictReader& details) {
  AskedGate gate;
  gate.kind = kind;
  details.text("address", gate.address);
  if (!gate.address.starts_with("http://") && !gate.address.starts_with("https://")) {
    details.refuse("address", "must begin with http:// or https://");
  }
  details.duration("interval", gate.interval);
  if (gate.interval < shortest_interval) details.refuse("interval", "must be 1s or longer");
  if (kind == GateKind::webhook) {
    details.duration("timeout", gate.timeout);
    return gate;
  }
  details.text("query", gate.query).required("query");
  read_condition(details, "successCondition", gate.success);
  read_condition(details, "failureCondition", gate.failure);
  if (!gate.success && !gate.failure) {
    details.refuse("must have a successCondition or a failureCondition");
  }
  details.number("count", gate.count, 1, most_measurements);
  details.number("failureLimit", gate.failure_limit, 0, most_measurements);
  if (gate.failure_limit >= gate.count) {
    details.refuse("failureLimit", "must be less than count: nothing could fail");
  }
  return gate;
}

Question question_of(const AskedGate& gate, const AskedAbout& about) {
  if (gate.kind == GateKind::webhook) {
    JsonArray nodes;
    for (const std::string& node : about.nodes) nodes.emplace_back(node);
    return {gate.address, "application/json",
            print_json(JsonObject{{"rollout", about.rollout},
                                  {"wave", about.wave},
                                  {"gate", about.gate},
                                  {"version", about.version},
                                  {"nodes", std::move(nodes)}})};
  }
  std::string query = gate.query;
  replace_all(query, "${nodes}", as_expression(about.nodes));
  replace_all(query, "${rollout}", about.rollout);
  replace_all(query, "${wave}", about.wave);
  replace_all(query, "${version}", about.version);
  std::string address = gate.address;
  while (address.ends_with('/')) address.pop_back();
  return {address + "/api/v1/query", "application/x-www-form-urlencoded",
          "query=" + url_encode(query)};
}

Measurement read_answer(const AskedGate& gate, int code, std::string_view body) {
  if (gate.kind == GateKind::webhook) return read_webhook(code, body);
  auto samples = samples_of(code, body);
  if (!samples) return {Outcome::error, samples.error().message};
  return measure(gate, *samples);
}

Json GateRecord::to_json() const {
  return JsonObject{{"run", run},
                    {"began", format_rfc3339(began)},
                    {"at", format_rfc3339(at)},
                    {"passed", passed},
                    {"failed", failed},
                    {"inconclusive", inconclusive},
                    {"errors", errors},
                    {"outcome", to_string(outcome)},
                    {"text", text}};
}

std::optional<GateRecord> GateRecord::parse(std::string_view text) {
  auto json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  GateRecord record;
  record.run = std::string(text_at(*json, "run"));
  auto began = parse_rfc3339(text_at(*json, "began"));
  auto at = parse_rfc3339(text_at(*json, "at"));
  if (!began || !at) return std::nullopt;
  record.began = *began;
  record.at = *at;
  record.passed = as_integer(find(*json, "passed"));
  record.failed = as_integer(find(*json, "failed"));
  record.inconclusive = as_integer(find(*json, "inconclusive"));
  record.errors = as_integer(find(*json, "errors"));
  record.outcome = outcome_of(text_at(*json, "outcome"));
  record.text = std::string(text_at(*json, "text"));
  return record;
}

void take_answer(const AskedGate& gate, const Measurement& answer, Time now, GateRecord& record) {
  if (!record.began.is_set()) record.began = now;
  record.at = now;
  std::string text = excerpt_of(answer.text);
  if (answer.outcome == Outcome::error) {
    ++record.errors;
    record.text = fmt::format("{} ({} of {} tries)", text, record.errors, most_errors);
    if (record.errors >= most_errors) record.outcome = Outcome::inconclusive;
    return;
  }
  record.errors = 0;
  if (answer.outcome == Outcome::running) {
    record.text = text;
    if (now - record.began < gate.timeout) return;
    record.outcome = Outcome::inconclusive;
    record.text = fmt::format("still Running after {}{}{}", format_duration(gate.timeout),
                              text.empty() ? "" : ": ", text);
    return;
  }
  int64_t& counter = answer.outcome == Outcome::passed   ? record.passed
                     : answer.outcome == Outcome::failed ? record.failed
                                                         : record.inconclusive;
  ++counter;
  int64_t taken = record.passed + record.failed + record.inconclusive;
  record.text = gate.count == 1
                    ? text
                    : fmt::format("{} of {} measurements, {} failed ({} may): {}", taken,
                                  gate.count, record.failed, gate.failure_limit, text);
  if (record.failed > gate.failure_limit) {
    record.outcome = Outcome::failed;
  } else if (taken >= gate.count) {
    record.outcome = record.inconclusive > 0 ? Outcome::inconclusive : Outcome::passed;
    if (record.inconclusive > 0 && answer.outcome != Outcome::inconclusive) {
      record.text += fmt::format("; {} said nothing", record.inconclusive);
    }
  }
}

std::optional<Duration> next_question(const AskedGate& gate, const GateRecord* record, Time now) {
  if (record == nullptr || !record->at.is_set()) return Duration(0);
  if (record->outcome != Outcome::running) return std::nullopt;
  // A clock that was set back does not make it wait for longer than that.
  return std::clamp<Duration>(gate.interval - (now - record->at), Duration(0), gate.interval);
}

}  // namespace lockstep::rollout
