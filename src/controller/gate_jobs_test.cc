#include "controller/gate_jobs.h"

#include <gtest/gtest.h>

#include "controller/fleet_test_util.h"

namespace lockstep::controller {
namespace {

class GateJobsTest : public testing::Test {
 protected:
  GateJobsTest() {
    one.lead();
    gates.start();
    fleet.loop.run_for(seconds(30));
    run.rollout = "driver";
    run.revision = "a/b=new";
    run.nodes = {"gpu-1", "gpu-2"};
    run.gates = {{"driver", rollout::GateKind::built_in, false, nullptr}};
  }
  // All Jobs that are missing are made.
  void begin() {
    gates.begin(run, [this] { ++begun; });
    fleet.loop.run_for(seconds(5));
  }
  std::vector<Document> jobs() { return fleet.list(resource::jobs, "lockstep-system"); }
  // Those of the node that have not ended come to an end.
  void end(const std::string& node, const char* condition) {
    for (const Document& job : jobs()) {
      bool ended = find(*job, "status", "conditions") != nullptr;
      if (ended || text_at(*job, "metadata", "annotations", "lockstep.dev/node") != node) continue;
      kube::Request request = kube::patch(
          resource::jobs, {"lockstep-system", std::string(text_at(*job, "metadata", "name"))},
          kube::PatchType::merge,
          json_of(fmt::format(R"({{"status":{{"conditions":[{{"type":"{}","status":"True"}}]}}}})",
                              condition)));
      request.subresource = "status";
      fleet.must(request);
    }
    fleet.loop.run_for(seconds(5));
  }
  rollout::Outcome outcome() {
    auto verdicts = gates.verdicts(run);
    return verdicts.size() == 1 ? verdicts[0].outcome : rollout::Outcome::error;
  }

  TestFleet fleet{{1, 2}};
  TestController one{fleet};
  SeededRandom random{3};
  GateJobs gates{one.api, fleet.loop, random, one.log, one.controller->watch(), {}};
  GateRun run;
  int begun = 0;
};

TEST_F(GateJobsTest, RunsOneJobForEachNodeWithAllItsGpus) {
  EXPECT_TRUE(gates.verdicts(run).empty());
  begin();
  EXPECT_EQ(begun, 1);
  ASSERT_EQ(jobs().size(), 2U);
  const Json& spec = jobs()[0]->at("spec");
  EXPECT_EQ(as_integer(find(spec, "backoffLimit"), -1), 0);
  const Json& pod = spec.at("template").at("spec");
  EXPECT_EQ(text_at(pod, "nodeName"),
            text_at(*jobs()[0], "metadata", "annotations", "lockstep.dev/node"));
  EXPECT_EQ(text_at(pod.at("containers").at(0).at("env").at(0), "value"), "all");
  EXPECT_EQ(outcome(), rollout::Outcome::running);
  // Asked again, it makes no more.
  begin();
  EXPECT_EQ(jobs().size(), 2U);
}

TEST_F(GateJobsTest, PassesWhenEveryNodeHas) {
  begin();
  end("gpu-1", "Complete");
  EXPECT_EQ(outcome(), rollout::Outcome::running);
  end("gpu-2", "Complete");
  EXPECT_EQ(outcome(), rollout::Outcome::passed);
}

TEST_F(GateJobsTest, AnErrorOfItsOwnIsTriedAgainAndThenInconclusive) {
  begin();
  end("gpu-2", "Complete");
  for (int tries = 1; tries <= 3; ++tries) {
    EXPECT_EQ(jobs().size(), static_cast<size_t>(1 + tries));
    end("gpu-1", "Failed");
    if (tries == 3) break;
    // The next try is missing, and is made when the gates are begun again.
    EXPECT_TRUE(gates.verdicts(run).empty());
    begin();
  }
  EXPECT_EQ(outcome(), rollout::Outcome::inconclusive);
  EXPECT_NE(gates.verdicts(run)[0].text.find("gpu-1"), std::string::npos);
}

TEST_F(GateJobsTest, AnotherRevisionRunsThemAnew) {
  begin();
  end("gpu-1", "Complete");
  end("gpu-2", "Complete");
  run.revision = "a/b=newer";
  EXPECT_TRUE(gates.verdicts(run).empty());
}

TEST_F(GateJobsTest, EachTimeThatTheyAreToBeTriedAgainTheyAre) {
  begin();
  end("gpu-1", "Complete");
  end("gpu-2", "Complete");
  GateRun before = run;
  run.round = 1;
  EXPECT_TRUE(gates.verdicts(run).empty());
  // The same version again, a while later.
  run = before;
  run.started = fleet.loop.now();
  EXPECT_TRUE(gates.verdicts(run).empty());
}

TEST_F(GateJobsTest, KindsThatAskSomebodyAreNotItsBusiness) {
  run.gates = {{"latency", rollout::GateKind::prometheus, false, JsonObject{}}};
  EXPECT_TRUE(gates.verdicts(run).empty());
  begin();
  EXPECT_TRUE(jobs().empty());
}

}  // namespace
}  // namespace lockstep::controller
