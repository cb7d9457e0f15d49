#include "sim/oracle/invariant_answers.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_answers_test {
namespace {

using OneAnswerTest = InvariantTest;

TEST_F(OneAnswerTest, TheSameReasonInOtherWordsIsOneAnswer) {
  start();
  witness->compare_answers(
      {{"gpu-1", {fleet::Reason::waits_for_jobs, "2m left", "delete them"}}},
      {{"gpu-1", {fleet::Reason::waits_for_jobs, "1m59s left", "delete them"}}});
  expect_innocent();
}

TEST_F(OneAnswerTest, AnotherReasonIsSeen) {
  start();
  witness->compare_answers(
      {{"gpu-1", {fleet::Reason::blocked_by_disruption_budget, "", "scale it up"}}},
      {{"gpu-1", {fleet::Reason::evicts_pods, "", ""}}});
  expect_violation(
      "the controller says BlockedByDisruptionBudget (scale it up) of gpu-1, and an observer "
      "EvictsPods ()");
}

TEST_F(OneAnswerTest, AMissingRemedyIsSeen) {
  start();
  witness->compare_answers({{"gpu-1", {fleet::Reason::in_sync, "", "repair it"}}},
                           {{"gpu-1", {fleet::Reason::in_sync, "", ""}}});
  expect_violation("OneAnswer");
}

TEST_F(OneAnswerTest, NoAnswerIsSeen) {
  start();
  witness->compare_answers({{"gpu-1", {fleet::Reason::in_sync, "", ""}}}, {});
  expect_violation("the controller says InSync of gpu-1, and an observer nothing");
}

}  // namespace
}  // namespace lockstep::sim::invariant_answers_test
