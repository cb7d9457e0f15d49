#include "controller/gate_questions.h"

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::gate_questions_test {
namespace {

using rollout::Outcome;

// Gives the prepared answer, a second later.
class FakeAsker final : public GateAsker {
 public:
  explicit FakeAsker(Loop& loop) : loop_(loop) {}
  void ask(rollout::Question question, std::function<void(Result<GateAnswer>)> done) override {
    questions.push_back(std::move(question));
    loop_.after(seconds(1), [answer = answer, done = std::move(done)] { done(answer); });
  }
  std::vector<rollout::Question> questions;
  Result<GateAnswer> answer = GateAnswer{200, R"({"outcome":"Passed","text":"fine"})"};

 private:
  Loop& loop_;
};

class GateQuestionsTest : public ::testing::Test {
 protected:
  GateQuestionsTest() {
    one.base_options.fleet.rollouts.enabled = true;
    one.restart();
    fleet.loop.run_for(seconds(30));
    run.rollout = "driver";
    run.wave_name = "canary";
    run.revision = "a/b=new";
    run.nodes = {"gpu-1"};
    run.gates = {{"driver", rollout::GateKind::built_in, false, nullptr},
                 {"ours", rollout::GateKind::webhook, false,
                  json_of(R"({"address":"http://hook.example/x"})")}};
  }
  void ask() {
    questions().ask(run, [this](kube::Reply reply) {
      EXPECT_TRUE(reply && reply->ok());
      ++written;
    });
    fleet.loop.run_for(seconds(5));
  }
  GateQuestions& questions() {
    if (!made) {
      made = std::make_unique<GateQuestions>(one.api, fleet.loop, one.controller->watch(), &asker);
    }
    return *made;
  }
  rollout::Verdict verdict() {
    auto verdicts = questions().verdicts(run);
    EXPECT_EQ(verdicts.size(), 1U) << "those that run on nodes are not its business";
    return verdicts.empty() ? rollout::Verdict{} : verdicts[0];
  }

  TestFleet fleet{{1, 1}};
  TestController one{fleet};
  FakeAsker asker{fleet.loop};
  std::unique_ptr<GateQuestions> made;
  GateRun run;
  int written = 0;
};

TEST_F(GateQuestionsTest, AsksAndWritesTheAnswerDown) {
  EXPECT_EQ(verdict().outcome, Outcome::running);
  EXPECT_EQ(questions().due_in(run), Duration(0));
  ask();
  EXPECT_EQ(written, 1);
  ASSERT_EQ(asker.questions.size(), 1U);
  EXPECT_EQ(asker.questions[0].address, "http://hook.example/x");
  EXPECT_EQ(verdict().outcome, Outcome::passed);
  EXPECT_EQ(verdict().text, "fine");
  EXPECT_EQ(questions().due_in(run), std::nullopt);
  // It is stored in the cluster, for the next controller.
  made.reset();
  one.restart();
  fleet.loop.run_for(seconds(30));
  EXPECT_EQ(verdict().outcome, Outcome::passed);
}

TEST_F(GateQuestionsTest, AnErrorIsAskedAgainAfterTheIntervalAndThenInconclusive) {
  asker.answer = fail(ErrorKind::unreachable, "nobody is there");
  for (int tries = 1; tries <= 3; ++tries) {
    EXPECT_EQ(verdict().outcome, Outcome::running);
    ask();
    EXPECT_EQ(asker.questions.size(), static_cast<size_t>(tries));
    // Before its time it is not asked again.
    ask();
    EXPECT_EQ(asker.questions.size(), static_cast<size_t>(tries));
    fleet.loop.run_for(minutes(1));
  }
  EXPECT_EQ(verdict().outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict().text, "nobody is there (3 of 3 tries)");
}

TEST_F(GateQuestionsTest, AnotherRunIsAskedAnew) {
  ask();
  EXPECT_EQ(verdict().outcome, Outcome::passed);
  GateRun before = run;
  run.round = 1;
  EXPECT_EQ(verdict().outcome, Outcome::running);
  run = before;
  run.revision = "a/b=newer";
  EXPECT_EQ(verdict().outcome, Outcome::running);
  run = before;
  run.started = fleet.loop.now();
  EXPECT_EQ(verdict().outcome, Outcome::running);
  ask();
  EXPECT_EQ(asker.questions.size(), 2U);
  EXPECT_EQ(verdict().outcome, Outcome::passed);
}

TEST_F(GateQuestionsTest, WithoutAnybodyToAskItIsInconclusive) {
  GateQuestions nobody(one.api, fleet.loop, one.controller->watch(), nullptr);
  auto verdicts = nobody.verdicts(run);
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].outcome, Outcome::inconclusive);
  EXPECT_EQ(nobody.due_in(run), std::nullopt);
}

}  // namespace
}  // namespace lockstep::controller::gate_questions_test
