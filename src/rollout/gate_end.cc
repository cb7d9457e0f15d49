#include "rollout/gate_end.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

constexpr int64_t exit_failed = 1;
constexpr size_t most_words = 200;

// Not in the middle of a letter.
std::string bounded(std::string_view text) {
  std::string_view kept = text.substr(0, most_words);
  while (!kept.empty() && !is_valid_utf8(kept)) kept.remove_suffix(1);
  return std::string(kept);
}

std::string last_line(std::string_view text) {
  std::string_view last;
  for (std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return bounded(last);
}

// "memory on GPU-1: too slow; {"gigabytes_per_second":812.5}, limit {"GB/s":3582.7}"
std::string describe(const Json& result) {
  std::string_view gpu = text_at(result, "gpu");
  std::string text = fmt::format("{}{}{}: {}", text_at(result, "check"), gpu.empty() ? "" : " on ",
                                 gpu, bounded(text_at(result, "text")));
  const Json* measured = find(result, "measured");
  const Json* limit = find(result, "limit");
  if (measured != nullptr) text += "; " + bounded(print_json(*measured));
  if (limit != nullptr) text += ", limit " + bounded(print_json(*limit));
  return text;
}

std::optional<Outcome> outcome_named(std::string_view name) {
  for (Outcome outcome : {Outcome::failed, Outcome::inconclusive, Outcome::error}) {
    if (name == to_string(outcome)) return outcome;
  }
  return std::nullopt;
}

// What `lockstep gate` left behind; nothing: it was another program.
std::optional<GateWord> read_verdict(const GateEnd& end) {
  auto json = parse_json(end.message);
  if (!json || !json->is_object()) return std::nullopt;
  std::string_view verdict = text_at(*json, "verdict");
  auto outcome = outcome_named(verdict);
  if (!outcome) return std::nullopt;
  GateWord word{*outcome, bounded(text_at(*json, "error"))};
  const Json* results = find(*json, "results");
  if (results != nullptr && results->is_array()) {
    for (const Json& result : results->get_array()) {
      if (text_at(result, "verdict") != verdict) continue;
      word.text = describe(result);
      break;
    }
  }
  if (word.text.empty()) word.text = fmt::format("exit code {}", end.exit_code);
  return word;
}

}  // namespace

std::optional<GateEnd> gate_end_of(const Json& pod) {
  const Json* statuses = find(pod, "status", "containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) return std::nullopt;
  std::optional<GateEnd> end;
  for (const Json& status : statuses->get_array()) {
    const Json* terminated = find(status, "state", "terminated");
    if (terminated == nullptr) continue;
    GateEnd one{as_integer(find(*terminated, "exitCode")),
                std::string(text_at(*terminated, "message"))};
    if (!end || end->exit_code == 0) end = std::move(one);
  }
  return end;
}

GateWord word_of(const GateEnd& end) {
  if (auto verdict = read_verdict(end)) return *verdict;
  GateWord word;
  word.outcome = end.exit_code == exit_failed ? Outcome::failed : Outcome::error;
  std::string words = last_line(end.message);
  word.text = fmt::format("exit code {}{}{}", end.exit_code, words.empty() ? "" : ": ", words);
  return word;
}

}  // namespace lockstep::rollout
