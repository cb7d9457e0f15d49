#include "rollout/asked_gate.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::rollout::asked_gate_test {
namespace {

struct Read {
  AskedGate gate;
  std::vector<std::string> problems;
};

Read read(GateKind kind, const std::string& yaml) {
  Read result;
  auto json = parse_yaml(yaml, "test");
  EXPECT_TRUE(json) << yaml;
  Reading reading("gate");
  reading.map(*json, [&](StrictReader& details) { result.gate = read_asked_gate(kind, details); });
  result.problems = reading.texts();
  return result;
}

AskedGate prometheus(const std::string& more) {
  Read made = read(GateKind::prometheus, "{address: 'http://p:9090/', query: up, " + more + "}");
  EXPECT_TRUE(made.problems.empty()) << made.problems.front();
  return made.gate;
}

std::string vector_of(const std::vector<std::string>& samples) {
  std::string series;
  for (const std::string& sample : samples) {
    series +=
        std::string(series.empty() ? "" : ",") + R"({"metric":{},"value":[1.5,")" + sample + "\"]}";
  }
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + series + "]}}";
}

Outcome outcome(const AskedGate& gate, const std::string& body) {
  return read_answer(gate, 200, body).outcome;
}

TEST(AskedGate, SaysWhatIsWrongWithIt) {
  auto problems = read(GateKind::prometheus, "{}").problems;
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0], "gate.address: must begin with http:// or https://");
  EXPECT_EQ(problems[1], "gate: must have a successCondition or a failureCondition");
  EXPECT_EQ(problems[2], "gate.query: is missing");
  const std::string base = "address: 'http://p', query: up, successCondition: 'result < 1'";
  EXPECT_TRUE(read(GateKind::prometheus, "{" + base + "}").problems.empty());
  EXPECT_EQ(read(GateKind::prometheus, "{" + base + ", count: 2, failureLimit: 2}").problems.size(),
            1U);
  EXPECT_EQ(read(GateKind::prometheus, "{" + base + ", interval: 10ms}").problems.size(), 1U);
  EXPECT_EQ(read(GateKind::prometheus, "{" + base + ", quary: up}").problems.front(),
            "gate.quary: unknown field; did you mean \"query\"?");
  EXPECT_TRUE(read(GateKind::webhook, "{address: 'https://h/x?sig=1'}").problems.empty());
  EXPECT_EQ(read(GateKind::webhook, "{address: 'https://h', query: up}").problems.size(), 1U);
}

TEST(AskedGate, AsksPrometheusAboutTheNodesOfTheWave) {
  AskedGate gate = prometheus("successCondition: 'result < 1'");
  gate.query = "sum(errors{node=~\"${nodes}\", v=\"${version}\"})";
  Question question = question_of(gate, {"driver", "canary", "errors", "580", {"a.b", "c"}});
  EXPECT_EQ(question.address, "http://p:9090/api/v1/query");
  EXPECT_EQ(question.content_type, "application/x-www-form-urlencoded");
  EXPECT_EQ(question.body,
            "query="
            "sum%28errors%7Bnode%3D~%22a%5B.%5Db%7Cc%22%2C%20v%3D%22580%22%7D%29");
}

TEST(AskedGate, AsksAWebhookWithEverythingAboutTheWave) {
  AskedGate gate = read(GateKind::webhook, "{address: 'https://h/x?sig=1'}").gate;
  Question question = question_of(gate, {"driver", "canary", "ours", "580", {"a"}});
  EXPECT_EQ(question.address, "https://h/x?sig=1");
  EXPECT_EQ(question.body, R"({"rollout":"driver","wave":"canary","gate":"ours","version":"580",)"
                           R"("nodes":["a"]})");
}

TEST(AskedGate, EverySampleMustPassAndOneFailsAll) {
  AskedGate gate = prometheus("successCondition: 'result < 1'");
  EXPECT_EQ(outcome(gate, vector_of({"0.5"})), Outcome::passed);
  EXPECT_EQ(outcome(gate, vector_of({"0.5", "2"})), Outcome::failed);
  EXPECT_EQ(outcome(gate, R"({"status":"success","data":{"resultType":"scalar",)"
                          R"("result":[1,"0.5"]}})"),
            Outcome::passed);
  Measurement failed = read_answer(gate, 200, vector_of({"0.5", "2"}));
  EXPECT_EQ(failed.text, "2 (one of 2 series), to pass: result < 1");
}

TEST(AskedGate, BetweenTheTwoConditionsNobodyKnows) {
  AskedGate both = prometheus("successCondition: 'result < 1', failureCondition: 'result > 5'");
  EXPECT_EQ(outcome(both, vector_of({"0"})), Outcome::passed);
  EXPECT_EQ(outcome(both, vector_of({"3"})), Outcome::inconclusive);
  EXPECT_EQ(outcome(both, vector_of({"0", "6"})), Outcome::failed);
  AskedGate failure = prometheus("failureCondition: 'result > 5'");
  EXPECT_EQ(outcome(failure, vector_of({"5"})), Outcome::passed);
  EXPECT_EQ(outcome(failure, vector_of({"6"})), Outcome::failed);
}

TEST(AskedGate, NoDataIsInconclusiveAndNeverAPass) {
  for (const char* condition :
       {"successCondition: 'result < 1'", "failureCondition: 'result > 1'"}) {
    AskedGate gate = prometheus(condition);
    EXPECT_EQ(outcome(gate, vector_of({})), Outcome::inconclusive);
    EXPECT_EQ(outcome(gate, vector_of({"NaN"})), Outcome::inconclusive);
    EXPECT_EQ(outcome(gate, vector_of({"0", "NaN"})), Outcome::inconclusive);
  }
}

TEST(AskedGate, WhatIsNoAnswerIsAnError) {
  AskedGate gate = prometheus("successCondition: 'result < 1'");
  EXPECT_EQ(outcome(gate, ""), Outcome::error);
  EXPECT_EQ(outcome(gate, "<html>"), Outcome::error);
  EXPECT_EQ(outcome(gate, R"({"status":"success","data":{"resultType":"matrix","result":[]}})"),
            Outcome::error);
  Measurement bad = read_answer(gate, 400, R"({"status":"error","error":"parse error"})");
  EXPECT_EQ(bad.outcome, Outcome::error);
  EXPECT_EQ(bad.text, "answered with 400: parse error");
}

TEST(AskedGate, AnHttpErrorIsNoPassWhateverItsBodySays) {
  const AskedGate gate = prometheus("successCondition: 'result > 0'");
  ASSERT_EQ(read_answer(gate, 200, vector_of({"1"})).outcome, Outcome::passed);
  for (int code : {0, 301, 404, 500, 503}) {
    EXPECT_EQ(read_answer(gate, code, vector_of({"1"})).outcome, Outcome::error) << code;
  }
}

TEST(AskedGate, AWebhookSaysItsOutcome) {
  AskedGate gate = read(GateKind::webhook, "{address: 'https://h'}").gate;
  EXPECT_EQ(outcome(gate, R"({"outcome":"Passed"})"), Outcome::passed);
  EXPECT_EQ(outcome(gate, R"({"outcome":"Failed","text":"slow"})"), Outcome::failed);
  EXPECT_EQ(outcome(gate, R"({"outcome":"Inconclusive"})"), Outcome::inconclusive);
  EXPECT_EQ(outcome(gate, R"({"outcome":"Running"})"), Outcome::running);
  EXPECT_EQ(outcome(gate, R"({"outcome":"ok"})"), Outcome::error);
  EXPECT_EQ(outcome(gate, "[]"), Outcome::error);
  EXPECT_EQ(read_answer(gate, 500, R"({"outcome":"Passed"})").outcome, Outcome::error);
}

class Answers : public ::testing::Test {
 protected:
  void answer(Outcome outcome) {
    now = now + gate.interval;
    take_answer(gate, {outcome, "said"}, now, record);
  }

  AskedGate gate = prometheus("successCondition: 'result < 1', count: 3, failureLimit: 1");
  GateRecord record;
  Time now = Time::from_unix(1'800'000'000);
};

TEST_F(Answers, PassAfterAsManyAsWereAskedFor) {
  answer(Outcome::passed);
  answer(Outcome::failed);
  EXPECT_EQ(record.outcome, Outcome::running);
  answer(Outcome::passed);
  EXPECT_EQ(record.outcome, Outcome::passed);
  EXPECT_EQ(record.text, "3 of 3 measurements, 1 failed (1 may): said");
  EXPECT_EQ(next_question(gate, &record, now), std::nullopt);
}

TEST_F(Answers, FailAsSoonAsMoreFailedThanMay) {
  answer(Outcome::failed);
  answer(Outcome::failed);
  EXPECT_EQ(record.outcome, Outcome::failed);
}

TEST_F(Answers, OneThatSaysNothingKeepsItFromPassing) {
  answer(Outcome::inconclusive);
  answer(Outcome::passed);
  answer(Outcome::passed);
  EXPECT_EQ(record.outcome, Outcome::inconclusive);
}

TEST_F(Answers, AnErrorIsTriedThreeTimesInARow) {
  answer(Outcome::error);
  answer(Outcome::error);
  answer(Outcome::passed);
  answer(Outcome::error);
  answer(Outcome::error);
  EXPECT_EQ(record.outcome, Outcome::running);
  answer(Outcome::error);
  EXPECT_EQ(record.outcome, Outcome::inconclusive);
  EXPECT_EQ(record.text, "said (3 of 3 tries)");
}

TEST_F(Answers, AWebhookThatIsAtItForTooLongIsInconclusive) {
  gate = read(GateKind::webhook, "{address: 'https://h', timeout: 3m}").gate;
  answer(Outcome::running);
  answer(Outcome::running);
  EXPECT_EQ(record.outcome, Outcome::running);
  answer(Outcome::running);
  answer(Outcome::running);
  EXPECT_EQ(record.outcome, Outcome::inconclusive);
  EXPECT_EQ(record.text, "still Running after 3m: said");
}

TEST_F(Answers, TheNextQuestionComesAfterTheInterval) {
  EXPECT_EQ(next_question(gate, nullptr, now), Duration(0));
  answer(Outcome::passed);
  EXPECT_EQ(next_question(gate, &record, now), minutes(1));
  EXPECT_EQ(next_question(gate, &record, now + seconds(50)), seconds(10));
  EXPECT_EQ(next_question(gate, &record, now + hours(1)), Duration(0));
  // A clock that was set back.
  EXPECT_EQ(next_question(gate, &record, now - hours(1)), minutes(1));
}

TEST_F(Answers, ComeBackAsTheyWereWritten) {
  answer(Outcome::passed);
  answer(Outcome::error);
  record.run = "this one";
  auto read_back = GateRecord::parse(print_json(record.to_json()));
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, record);
  EXPECT_FALSE(GateRecord::parse("{}"));
  EXPECT_FALSE(GateRecord::parse("nonsense"));
}

}  // namespace
}  // namespace lockstep::rollout::asked_gate_test
