#include "sim/scenario/step_times.h"

#include <gtest/gtest.h>

namespace lockstep::sim::step_times_test {
namespace {

Interference step(const char* action, const char* value) {
  Interference made;
  made.action = action;
  made.value = parse_json(value).value();
  return made;
}

TEST(StepTimes, AStepIsInForceUntilItsEnd) {
  Scenario scenario;
  scenario.steps = {step("outage", "\"2m\""), step("pause", "{}")};
  StepTimes times(scenario);
  EXPECT_FALSE(times.all_taken());
  EXPECT_FALSE(times.end_of_blinding()) << "the outage hides changes, and is still to come";
  times.note_taken(0, minutes(3));
  EXPECT_EQ(times.taken(0), minutes(3));
  EXPECT_EQ(times.last_end(), minutes(5));
  EXPECT_EQ(times.end_of_blinding(), minutes(5));
  EXPECT_FALSE(times.all_taken());
  times.note_taken(1, minutes(4));
  EXPECT_TRUE(times.all_taken());
  EXPECT_EQ(times.last_end(), minutes(5));
}

}  // namespace
}  // namespace lockstep::sim::step_times_test
