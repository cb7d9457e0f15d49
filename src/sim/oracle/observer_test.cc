#include "sim/oracle/observer.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::observer_test {
namespace {

struct ObserverTest : InvariantTest {
  std::optional<Answers> ask() {
    SeededRandom random(1);
    return ask_observer(cluster->api("observer"), cluster->loop, cluster->loop, random, {});
  }
};

TEST_F(ObserverTest, SaysOfEachNodeWhatFollowsFromTheApi) {
  start();
  auto answers = ask();
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 4U);
  for (const auto& [node, reason] : *answers) EXPECT_EQ(reason.name, "InSync") << node;
  change_driver();
  go("gpu-1", {State::required});
  answers = ask();
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->at("gpu-1").name, "NextInLine");
  EXPECT_EQ(answers->at("gpu-2").name, "OutOfSync");
}

}  // namespace
}  // namespace lockstep::sim::observer_test
