#include "gpu/gate_report.h"

#include <algorithm>
#include <map>

namespace lockstep::gpu {

namespace {

// Results of one check, in the order in which they came.
std::vector<std::pair<std::string, std::vector<const CheckResult*>>> by_check(
    const GateOutcome& outcome) {
  std::vector<std::pair<std::string, std::vector<const CheckResult*>>> groups;
  for (const CheckResult& result : outcome.results) {
    if (groups.empty() || groups.back().first != result.check) groups.push_back({result.check, {}});
    groups.back().second.push_back(&result);
  }
  return groups;
}

std::string name_of(const GateOutcome& outcome, const std::string& uuid) {
  const Json* index = find(outcome.facts, "gpus", uuid, "identity", "index");
  return index == nullptr ? uuid : fmt::format("GPU {} {}", as_integer(index), uuid);
}

void add_line(std::string& text, std::string_view check, std::string_view verdict_text,
              double seconds, std::string_view words) {
  text += fmt::format("{:<10} {}  {:>6}  {}\n", check, verdict_text,
                      seconds > 0 ? fmt::format("{:.2f}s", seconds) : "", words);
}

std::string_view ctrf_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::skipped:
      return "skipped";
    case Verdict::inconclusive:
      return "pending";
    case Verdict::error:
      break;
  }
  return "other";
}

}  // namespace

std::string table_text(const GateOutcome& outcome, const Paint& paint) {
  std::string text =
      fmt::format("{:<10} {:<12}  {:>6}  {}\n", "CHECK", "VERDICT", "TIME", "MEASURED");
  for (const auto& [check, results] : by_check(outcome)) {
    const CheckResult* worst = results.front();
    double seconds = 0;
    for (const CheckResult* result : results) {
      if (result->verdict > worst->verdict) worst = result;
      seconds = std::max(seconds, result->seconds);
    }
    const std::string word =
        paint(fmt::format("{:<12}", to_string(worst->verdict)), worst->verdict);
    if (worst->verdict == Verdict::passed || worst->verdict == Verdict::skipped ||
        results.size() == 1) {
      const std::string all =
          results.size() > 1 ? fmt::format("all {} GPUs; first: ", results.size()) : "";
      add_line(text, check, word, seconds, all + worst->text);
      continue;
    }
    size_t count = 0;
    for (const CheckResult* result : results) count += result->verdict == worst->verdict ? 1 : 0;
    add_line(text, check, word, seconds, fmt::format("{} of {} GPUs", count, results.size()));
    for (const CheckResult* result : results) {
      if (result->verdict != Verdict::passed && result->verdict != Verdict::skipped)
        text += fmt::format("{:>34} {}: {}\n", "", name_of(outcome, result->gpu), result->text);
    }
  }
  const Verdict verdict = overall(outcome);
  text += fmt::format("\n{} in {:.2f}s{}\n", paint(to_string(verdict), verdict), outcome.seconds,
                      outcome.over_budget ? ", the time budget was over" : "");
  return text;
}

std::string json_text(const GateOutcome& outcome) {
  JsonArray results;
  for (const CheckResult& result : outcome.results) {
    JsonObject entry{
        {"check", result.check}, {"verdict", to_string(result.verdict)}, {"text", result.text}};
    if (!result.gpu.empty()) entry["gpu"] = result.gpu;
    if (!result.measured.empty()) entry["measured"] = result.measured;
    if (!result.limit.empty()) entry["limit"] = result.limit;
    entry["seconds"] = result.seconds;
    results.emplace_back(std::move(entry));
  }
  JsonObject document{{"verdict", to_string(overall(outcome))},
                      {"seconds", outcome.seconds},
                      {"overBudget", outcome.over_budget},
                      {"results", std::move(results)}};
  if (const Json* gpus = find(outcome.facts, "all_gpus")) document["gpus"] = *gpus;
  if (const Json* node = find(outcome.facts, "node")) document["node"] = *node;
  return print_json_pretty(Json(std::move(document))) + "\n";
}

std::string ctrf_text(const GateOutcome& outcome, Time started, std::string_view version) {
  std::map<std::string_view, int> counts;
  JsonArray tests;
  for (const CheckResult& result : outcome.results) {
    ++counts[ctrf_status(result.verdict)];
    JsonObject test{{"name", result.gpu.empty() ? result.check : result.check + " " + result.gpu},
                    {"status", ctrf_status(result.verdict)},
                    {"duration", static_cast<int64_t>(result.seconds * 1000)},
                    {"message", result.text},
                    {"suite", JsonArray{Json("lockstep gate"), Json(result.check)}}};
    test["extra"] = JsonObject{{"verdict", to_string(result.verdict)},
                               {"measured", result.measured},
                               {"limit", result.limit}};
    tests.emplace_back(std::move(test));
  }
  const int64_t begin = unix_milliseconds(started);
  JsonObject summary{{"tests", outcome.results.size()}};
  for (std::string_view status : {"passed", "failed", "pending", "skipped", "other"})
    summary[status] = counts[status];
  summary["start"] = begin;
  summary["stop"] = begin + static_cast<int64_t>(outcome.seconds * 1000);
  JsonObject results{{"tool", JsonObject{{"name", "lockstep gate"}, {"version", version}}}};
  results["summary"] = std::move(summary);
  results["tests"] = std::move(tests);
  JsonObject document{{"reportFormat", "CTRF"}, {"specVersion", "0.0.0"}};
  document["results"] = std::move(results);
  return print_json_pretty(Json(std::move(document))) + "\n";
}

std::string list_text() {
  std::string text = fmt::format("{:<10} {:<68} {}\n", "CHECK", "WHAT IT DOES", "FAILS WHEN");
  for (const GateCheck& check : gate_checks)
    text += fmt::format("{:<10} {:<68} {}\n", check.name, check.about, check.fails_when);
  return text;
}

}  // namespace lockstep::gpu
