#include "rollout/gate_end.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::gate_end_test {
namespace {

std::optional<GateEnd> end_of(const std::string& statuses) {
  auto pod = parse_json(R"({"status":{"containerStatuses":[)" + statuses + "]}}");
  EXPECT_TRUE(pod) << statuses;
  return pod ? gate_end_of(*pod) : std::nullopt;
}

TEST(GateEnd, IsOfTheContainerThatEndedBadly) {
  EXPECT_FALSE(gate_end_of(JsonObject{}));
  EXPECT_FALSE(end_of(R"({"state":{"running":{}}})"));
  EXPECT_EQ(end_of(R"({"state":{"terminated":{"exitCode":0,"message":"a"}}})"), (GateEnd{0, "a"}));
  EXPECT_EQ(end_of(R"({"state":{"terminated":{"exitCode":0}}},)"
                   R"({"state":{"terminated":{"exitCode":1,"message":"b"}}})"),
            (GateEnd{1, "b"}));
}

TEST(GateEnd, OfAnyProgramTheExitCodeCountsAndItsLastLineIsShown) {
  EXPECT_EQ(word_of({1, ""}).outcome, Outcome::failed);
  EXPECT_EQ(word_of({1, ""}).text, "exit code 1");
  EXPECT_EQ(word_of({1, "one\n12 GB/s, limit 40\n\n"}).text, "exit code 1: 12 GB/s, limit 40");
  EXPECT_EQ(word_of({137, ""}).outcome, Outcome::error);
  EXPECT_EQ(word_of({1, R"({"verdict":"Perhaps"})"}).outcome, Outcome::failed);
  EXPECT_LT(word_of({1, std::string(5000, 'x')}).text.size(), 300U);
}

TEST(GateEnd, OurOwnGateSaysWhichCheckAndWithWhichNumbers) {
  GateWord word = word_of(
      {1, R"({"verdict":"Failed","results":[{"check":"driver","verdict":"Passed","text":"580"},)"
          R"({"check":"memory","verdict":"Failed","gpu":"GPU-7","text":"too slow",)"
          R"("measured":{"gigabytes_per_second":812.5},"limit":{"GB/s":3582.7}}]})"});
  EXPECT_EQ(word.outcome, Outcome::failed);
  EXPECT_EQ(word.text,
            R"(memory on GPU-7: too slow; {"gigabytes_per_second":812.5}, limit {"GB/s":3582.7})");
}

TEST(GateEnd, WhatOurOwnGateCouldNotTellIsNoFailure) {
  // It ends with 1, as if something had failed.
  EXPECT_EQ(word_of({1, R"({"verdict":"Inconclusive","results":[]})"}).outcome,
            Outcome::inconclusive);
  GateWord error = word_of({3, R"({"verdict":"Error","error":"no driver","kind":"not found"})"});
  EXPECT_EQ(error.outcome, Outcome::error);
  EXPECT_EQ(error.text, "no driver");
}

}  // namespace
}  // namespace lockstep::rollout::gate_end_test
