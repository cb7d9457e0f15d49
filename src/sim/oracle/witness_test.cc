// The invariant checker as a whole; each invariant has its own tests (invariant_*_test.cc).
#include "sim/oracle/witness.h"

#include <fmt/format.h>

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::witness_test {
namespace {

class WitnessTest : public InvariantTest {};

TEST_F(WitnessTest, HasNothingToSayOfAProperUpgrade) {
  start();
  go("gpu-1", {State::done});
  change_driver();
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  go("gpu-1", {State::validation});
  restart_client("gpu-1");
  EXPECT_EQ(remove(pod_on(validator_daemon_set_name, "gpu-1")), 200);
  cluster->loop.run_for(minutes(5));
  go("gpu-1", {State::uncordon, State::done});
  witness->look_at_machines();
  expect_innocent();
  EXPECT_EQ(witness->durations().size(), 1);
  EXPECT_TRUE(witness->began().contains("gpu-1"));
  EXPECT_TRUE(witness->returned().contains("gpu-1"));
}

TEST_F(WitnessTest, AViolationSaysWhen) {
  start();
  cluster->loop.run_for(minutes(2));
  go("gpu-1", {State::done, State::required});
  ASSERT_FALSE(witness->violations().empty());
  EXPECT_EQ(witness->violations()[0].find(
                fmt::format("at {}: gpu-1", format_duration(cluster->loop.uptime()))),
            0);
}

TEST_F(WitnessTest, CountsWhoHasBeenWhere) {
  start();
  go("gpu-1", {State::done, State::required});
  go("gpu-2", {State::done});
  EXPECT_EQ(witness->reached(State::done), 2);
  EXPECT_EQ(witness->reached(State::required), 1);
  EXPECT_EQ(witness->nodes_by_state().at(State::required), 1);
  EXPECT_EQ(witness->nodes_by_state().at(State::unknown), 2);
  witness->count_afresh();
  EXPECT_EQ(witness->reached(State::done), 0);
  go("gpu-2", {State::required});
  EXPECT_EQ(witness->reached(State::required), 1);
}

TEST_F(WitnessTest, ForgetsANodeThatIsGone) {
  start();
  go("gpu-1", {State::done});
  EXPECT_TRUE(cluster->call(kube::remove(resource::nodes, {"", "gpu-1"})));
  EXPECT_FALSE(witness->nodes_by_state().contains(State::done));
}

}  // namespace
}  // namespace lockstep::sim::witness_test
