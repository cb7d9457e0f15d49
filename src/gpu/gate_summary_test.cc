#include "gpu/gate_summary.h"

#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::gpu::gate_summary_test {
namespace {

// As a node of eight GPUs gives it, in the order of the checks.
GateOutcome eight_gpus(size_t failing = 0) {
  GateOutcome outcome;
  outcome.seconds = 12.5;
  outcome.results.push_back({"driver", "", Verdict::passed, "driver 580", {}, {}, 0});
  for (const GateCheck& check : gate_checks) {
    if (check.name == "driver") continue;
    for (size_t i = 0; i < 8; ++i) {
      CheckResult result;
      result.check = check.name;
      result.gpu = fmt::format("GPU-00000000-0000-0000-0000-00000000000{}", i);
      result.verdict = i < failing ? Verdict::failed : Verdict::passed;
      result.text = std::string(120, 'x');
      result.measured = {{"gigabytes_per_second", 4000.0 - static_cast<double>(i)},
                         {"list", JsonArray{1, 2, 3}},
                         {"wrong_cells", 0}};
      result.limit = {{"GB/s", 3000.0}};
      outcome.results.push_back(std::move(result));
    }
  }
  return outcome;
}

Json parsed(const std::string& text) {
  EXPECT_LE(text.size(), termination_message_limit);
  auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *json : Json(JsonObject{});
}

TEST(GateSummary, IsReadBackAsTheResultThatItWas) {
  for (size_t failing : {0u, 2u, 8u}) {
    GateOutcome outcome = eight_gpus(failing);
    auto read = read_summary(summary_text(outcome));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(overall(*read), overall(outcome)) << failing;
    EXPECT_EQ(read->seconds, outcome.seconds);
    EXPECT_EQ(exit_code_of(*read), exit_code_of(outcome));
    std::set<std::string> checks;
    for (const CheckResult& result : read->results) checks.insert(result.check);
    EXPECT_EQ(checks.size(), gate_checks.size());
  }
  auto none = read_summary(summary_text(Error{ErrorKind::not_found, "no libcuda.so.1", ""}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no libcuda.so.1");
  EXPECT_FALSE(read_summary("Killed"));
}

TEST(GateSummary, HasEveryResultWithItsNumbersWhereItFits) {
  GateOutcome outcome;
  outcome.results = {
      {"memory", "GPU-a", Verdict::failed, "slow", {{"x", 1.5}, {"y", JsonArray{}}}, {{"x", 2}}, 1},
      {"rdma", "", Verdict::skipped, "none", {}, {}, 0}};
  const Json json = parsed(summary_text(outcome));
  EXPECT_EQ(text_at(json, "verdict"), "Failed");
  EXPECT_EQ(find(json, "shortened"), nullptr);
  const JsonArray& results = find(json, "results")->as_array();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(text_at(results[0], "gpu"), "GPU-a");
  EXPECT_EQ(print_json(*find(results[0], "measured")), R"({"x":1.5})");
  EXPECT_EQ(as_integer(find(results[0], "limit", "x")), 2);
  EXPECT_EQ(find(results[1], "measured"), nullptr);
}

TEST(GateSummary, GpusThatPassedAreOneEntryWithTheNumbersOfTheNearestToItsLimit) {
  const Json json = parsed(summary_text(eight_gpus()));
  EXPECT_TRUE(as_bool(find(json, "shortened")));
  const JsonArray& results = find(json, "results")->as_array();
  ASSERT_EQ(results.size(), gate_checks.size());
  EXPECT_EQ(as_integer(find(results[1], "gpus")), 8);
  EXPECT_TRUE(text_at(results[1], "gpu").ends_with("7"));
  EXPECT_EQ(as_number(*find(results[1], "measured", "gigabytes_per_second")), 3993);
}

TEST(GateSummary, WhatFailedIsKeptBeforeWhatPassed) {
  GateOutcome outcome = eight_gpus();
  outcome.results[9].verdict = Verdict::failed;  // the first GPU of the second check
  const Json json = parsed(summary_text(outcome));
  EXPECT_EQ(text_at(json, "verdict"), "Failed");
  const JsonArray& results = find(json, "results")->as_array();
  ASSERT_EQ(results.size(), gate_checks.size() + 1);
  EXPECT_EQ(text_at(results[2], "verdict"), "Failed");
  EXPECT_EQ(find(results[2], "gpus"), nullptr);
  EXPECT_EQ(as_integer(find(results[3], "gpus")), 7);
}

TEST(GateSummary, HoldsItsLimitWhateverHappened) {
  GateOutcome outcome = eight_gpus(8);
  for (CheckResult& result : outcome.results) result.text = std::string(5000, '\x01');
  for (size_t limit : {4096U, 2000U, 900U, 300U, 80U}) {
    const std::string text = summary_text(outcome, limit);
    EXPECT_LE(text.size(), limit);
    EXPECT_EQ(text_at(parsed(text), "verdict"), "Failed");
  }
}

TEST(GateSummary, CutsBetweenLetters) {
  GateOutcome outcome;
  std::string text;
  while (text.size() < 1000) text += "\xe2\x82\xac";
  outcome.results = {{"xid", "", Verdict::error, text, {}, {}, 0}};
  const Json json = parsed(summary_text(outcome));
  const JsonArray& results = find(json, "results")->as_array();
  EXPECT_TRUE(is_valid_utf8(text_at(results[0], "text")));
  EXPECT_EQ(text_at(results[0], "text").size(), 399U);
}

TEST(GateSummary, AGateThatCouldNotBeMadeSaysWhy) {
  const Json json =
      parsed(summary_text(Error{ErrorKind::not_found, "no driver" + std::string(9000, '"'), ""}));
  EXPECT_EQ(text_at(json, "verdict"), "Error");
  EXPECT_EQ(text_at(json, "kind"), "not found");
  EXPECT_TRUE(text_at(json, "error").starts_with("no driver"));
}

}  // namespace
}  // namespace lockstep::gpu::gate_summary_test
