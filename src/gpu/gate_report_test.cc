#include "gpu/gate_report.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::gate_report_test {
namespace {

GateOutcome two_gpus() {
  GateOutcome outcome;
  outcome.facts = JsonObject{
      {"gpus", JsonObject{{"GPU-b", JsonObject{{"identity", JsonObject{{"index", 1}}}}}}}};
  outcome.results = {{"driver", "", Verdict::passed, "driver 1", {}, {}, 0},
                     {"memory", "GPU-a", Verdict::passed, "fast", {}, {}, 0.25},
                     {"memory", "GPU-b", Verdict::failed, "slow", {{"x", 1}}, {{"x", 2}}, 0.5},
                     {"rdma", "", Verdict::skipped, "none", {}, {}, 0},
                     {"xid", "", Verdict::inconclusive, "no data", {}, {}, 0}};
  outcome.seconds = 1.5;
  return outcome;
}

std::string plain(std::string_view text, Verdict) { return std::string(text); }

TEST(GateReport, TheTableShowsTheWorstAndNamesTheGpu) {
  const std::string table = table_text(two_gpus(), plain);
  EXPECT_NE(table.find("memory     Failed         0.50s  1 of 2 GPUs\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("GPU 1 GPU-b: slow"), std::string::npos);
  EXPECT_EQ(table.find("GPU-a"), std::string::npos);
  EXPECT_NE(table.find("\nFailed in 1.50s\n"), std::string::npos);
}

TEST(GateReport, JsonHasEveryResultWithItsEvidence) {
  auto json = parse_json(json_text(two_gpus()));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(text_at(*json, "verdict"), "Failed");
  const JsonArray& results = find(*json, "results")->as_array();
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(text_at(results[2], "gpu"), "GPU-b");
  EXPECT_EQ(as_integer(find(results[2], "limit", "x")), 2);
}

TEST(GateReport, CtrfCountsEveryStatus) {
  auto json = parse_json(ctrf_text(two_gpus(), Time::from_unix(100), "1.2"));
  ASSERT_TRUE(json.has_value());
  const Json& summary = *find(*json, "results", "summary");
  EXPECT_EQ(as_integer(find(summary, "tests")), 5);
  EXPECT_EQ(as_integer(find(summary, "passed")), 2);
  EXPECT_EQ(as_integer(find(summary, "failed")), 1);
  EXPECT_EQ(as_integer(find(summary, "skipped")), 1);
  EXPECT_EQ(as_integer(find(summary, "pending")), 1);
  EXPECT_EQ(as_integer(find(summary, "start")), 100000);
  EXPECT_EQ(as_integer(find(summary, "stop")), 101500);
  EXPECT_EQ(text_at(find(*json, "results", "tests")->as_array()[2], "status"), "failed");
}

TEST(GateReport, TheListHasEveryCheck) {
  for (const GateCheck& check : gate_checks)
    EXPECT_NE(list_text().find(check.name), std::string::npos);
}

}  // namespace
}  // namespace lockstep::gpu::gate_report_test
