#include "gpu/gate_summary.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::gpu {

namespace {

// How much is reported of each check, from everything to next to nothing.
struct Detail {
  bool fold_passed = true;  // GPUs that passed a check are one entry
  bool fold_all = true;     // and so are those that did not
  bool numbers = true;
  size_t longest_text = 0;
};

constexpr size_t whole_text = 400;
constexpr size_t short_text = 100;
constexpr Detail details[] = {{false, false, true, whole_text}, {true, false, true, whole_text},
                              {true, true, true, whole_text},   {true, true, true, short_text},
                              {true, true, false, short_text},  {true, true, false, 0}};

// Without the rest of a letter that was cut in two.
std::string cut(std::string_view text, size_t length) {
  if (text.size() <= length) return std::string(text);
  std::string_view kept = text.substr(0, length);
  while (!kept.empty() && !is_valid_utf8(kept)) kept.remove_suffix(1);
  return std::string(kept);
}

// Lists and tables stay in `-o json`.
JsonObject plain_values(const JsonObject& from) {
  JsonObject values;
  for (const JsonMember& member : from) {
    if (member.value().is_number() || member.value().is_bool())
      values[member.key()] = member.value();
  }
  return values;
}

// How far above its limit a GPU is, at its worst; nothing: it has none that can be compared.
std::optional<double> distance(const CheckResult& result) {
  std::optional<double> nearest;
  // A speed has its unit as the name of its limit; the measured number has a name of its own.
  const std::string_view names[][2] = {{"TFLOP/s", "tflops"},
                                       {"GB/s", "gigabytes_per_second"},
                                       {"GB/s to the GPU", "to_gpu_gigabytes_per_second"},
                                       {"GB/s to the host", "to_host_gigabytes_per_second"}};
  for (const auto& [limit_name, measured_name] : names) {
    const Json* limit = result.limit.if_contains(limit_name);
    const Json* is = result.measured.if_contains(measured_name);
    if (limit == nullptr || is == nullptr || as_number(*limit) <= 0) continue;
    const double ratio = as_number(*is) / as_number(*limit);
    nearest = std::min(nearest.value_or(ratio), ratio);
  }
  return nearest;
}

struct Entry {
  const CheckResult* shown;
  size_t gpus = 1;
};

bool is_fine(const CheckResult& result) {
  return result.verdict == Verdict::passed || result.verdict == Verdict::skipped;
}

bool belong_together(const CheckResult& a, const CheckResult& b, const Detail& detail) {
  if (a.check != b.check) return false;
  if (detail.fold_all) return true;
  return detail.fold_passed && is_fine(a) && is_fine(b) && a.verdict == b.verdict;
}

bool tells_more(const CheckResult& a, const CheckResult& b) {
  if (a.verdict != b.verdict) return a.verdict > b.verdict;
  constexpr double far = std::numeric_limits<double>::max();
  return distance(a).value_or(far) < distance(b).value_or(far);
}

std::vector<Entry> entries_of(const GateOutcome& outcome, const Detail& detail) {
  std::vector<Entry> entries;
  for (const CheckResult& result : outcome.results) {
    auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return belong_together(*entry.shown, result, detail);
    });
    if (known == entries.end()) {
      entries.push_back({&result});
      continue;
    }
    ++known->gpus;
    if (tells_more(result, *known->shown)) known->shown = &result;
  }
  return entries;
}

JsonObject entry_json(const Entry& entry, const Detail& detail) {
  const CheckResult& result = *entry.shown;
  JsonObject json{{"check", result.check}, {"verdict", to_string(result.verdict)}};
  if (!result.gpu.empty()) json["gpu"] = result.gpu;
  if (entry.gpus > 1) json["gpus"] = entry.gpus;
  if (detail.longest_text > 0) json["text"] = cut(result.text, detail.longest_text);
  if (!detail.numbers) return json;
  JsonObject measured = plain_values(result.measured);
  JsonObject limit = plain_values(result.limit);
  if (!measured.empty()) json["measured"] = std::move(measured);
  if (!limit.empty()) json["limit"] = std::move(limit);
  return json;
}

std::string text_of(const GateOutcome& outcome, const Detail& detail, bool is_whole) {
  JsonArray results;
  for (const Entry& entry : entries_of(outcome, detail))
    results.emplace_back(entry_json(entry, detail));
  JsonObject document{{"verdict", to_string(overall(outcome))},
                      {"seconds", outcome.seconds},
                      {"overBudget", outcome.over_budget}};
  if (!is_whole) document["shortened"] = true;
  document["results"] = std::move(results);
  return print_json(Json(std::move(document)));
}

}  // namespace

std::string summary_text(const GateOutcome& outcome, size_t limit) {
  bool is_whole = true;
  for (const Detail& detail : details) {
    std::string text = text_of(outcome, detail, is_whole);
    if (text.size() <= limit) return text;
    is_whole = false;
  }
  return print_json(
      Json(JsonObject{{"verdict", to_string(overall(outcome))}, {"shortened", true}}));
}

std::string summary_text(const Error& error, size_t limit) {
  // A letter takes six bytes at most in JSON.
  constexpr size_t widest = 6;
  constexpr size_t frame = 100;
  const size_t room = limit > frame ? (limit - frame) / widest : 0;
  return print_json(Json(JsonObject{{"verdict", to_string(Verdict::error)},
                                    {"error", cut(error.text(), room)},
                                    {"kind", to_string(error.kind)}}));
}

Result<GateOutcome> read_summary(std::string_view text) {
  auto json = parse_json(text);
  const Json* list = json ? find(*json, "results") : nullptr;
  if (list == nullptr || !list->is_array()) {
    std::string said(json ? text_at(*json, "error") : "");
    return fail(said.empty() ? ErrorKind::internal : ErrorKind::not_found,
                said.empty() ? "the gate left no result" : std::move(said));
  }
  GateOutcome outcome;
  const Json* seconds = find(*json, "seconds");
  outcome.seconds = seconds == nullptr ? 0 : as_number(*seconds);
  outcome.over_budget = as_bool(find(*json, "overBudget"));
  for (const Json& entry : list->get_array()) {
    CheckResult& result = outcome.results.emplace_back();
    result.check = text_at(entry, "check");
    result.gpu = text_at(entry, "gpu");
    result.text = text_at(entry, "text");
    result.verdict = Verdict::error;
    for (Verdict verdict :
         {Verdict::passed, Verdict::skipped, Verdict::inconclusive, Verdict::failed}) {
      if (text_at(entry, "verdict") == to_string(verdict)) result.verdict = verdict;
    }
    const Json* measured = find(entry, "measured");
    const Json* limit = find(entry, "limit");
    if (measured != nullptr && measured->is_object()) result.measured = measured->get_object();
    if (limit != nullptr && limit->is_object()) result.limit = limit->get_object();
    // Several GPUs that passed are one entry.
    if (int64_t gpus = as_integer(find(entry, "gpus")); gpus > 1) {
      result.text = fmt::format("{} GPUs; {}", gpus, result.text);
    }
  }
  return outcome;
}

}  // namespace lockstep::gpu
