#include "controller/gate_jobs.h"

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::gate_jobs_test {
namespace {

class GateJobsTest : public ::testing::Test {
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
    gates.begin(run, [this](const std::string& said) {
      ++begun;
      refusal = said;
    });
    fleet.loop.run_for(seconds(5));
  }
  std::vector<Document> jobs() { return fleet.list(resource::jobs, "lockstep-gates"); }
  // Those of the node that have not ended come to an end.
  void end(const std::string& node, const char* condition, Time at = {}) {
    for (const Document& job : jobs()) {
      bool ended = find(*job, "status", "conditions") != nullptr;
      if (ended || text_at(*job, "metadata", "annotations", "lockstep.dev/node") != node) continue;
      kube::Request request = kube::patch(
          resource::jobs, {"lockstep-gates", std::string(text_at(*job, "metadata", "name"))},
          kube::PatchType::merge,
          json_of(fmt::format(
              R"({{"status":{{{}"conditions":[{{"type":"{}","status":"True"}}]}}}})",
              at.is_set() ? fmt::format(R"("completionTime":"{}",)", format_rfc3339(at)) : "",
              condition)));
      request.subresource = "status";
      fleet.must(request);
    }
    fleet.loop.run_for(seconds(5));
  }
  // A pod of each Job of the node that has none, as it ended.
  void leave(const std::string& node, int exit_code, const std::string& message) {
    for (const Document& job : jobs()) {
      std::string name(text_at(*job, "metadata", "name"));
      bool is_of_node = text_at(*job, "metadata", "annotations", "lockstep.dev/node") == node;
      if (!is_of_node || !left.insert(name).second) continue;
      JsonObject owner{{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"name", name},
                       {"uid", text_at(*job, "metadata", "uid")},
                       {"controller", true}};
      JsonObject metadata{{"name", name + "-pod"},
                          {"namespace", "lockstep-gates"},
                          {"labels", job->at("metadata").at("labels")},
                          {"ownerReferences", JsonArray{std::move(owner)}}};
      fleet.must(kube::create(
          resource::pods, "lockstep-gates",
          JsonObject{{"metadata", std::move(metadata)},
                     {"spec", JsonObject{{"restartPolicy", "Never"},
                                         {"nodeName", node},
                                         {"containers", JsonArray{JsonObject{{"name", "gate"},
                                                                             {"image", "i"}}}}}}}));
      JsonObject terminated{{"exitCode", exit_code}, {"message", message}};
      JsonObject status{{"name", "gate"},
                        {"state", JsonObject{{"terminated", std::move(terminated)}}}};
      kube::Request request = kube::patch(
          resource::pods, {"lockstep-gates", name + "-pod"}, kube::PatchType::merge,
          JsonObject{{"status", JsonObject{{"containerStatuses", JsonArray{std::move(status)}}}}});
      request.subresource = "status";
      fleet.must(request);
    }
    fleet.loop.run_for(seconds(5));
  }
  static Json own_template() {
    return json_of(R"({"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}})");
  }
  static std::string speed(double tflops) {
    return fmt::format(
        R"({{"verdict":"Passed","results":[{{"check":"inference","measured":{{"tflops":{}}}}}]}})",
        tflops);
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
  std::string refusal;
  std::set<std::string> left;  // Jobs whose pods have been made
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

// Neither kind has a token, and neither runs where the controller does.
TEST_F(GateJobsTest, ItsPodsRunUnderAnAccountWithoutRightsInTheirOwnNamespace) {
  run.nodes = {"gpu-1"};
  run.gates.push_back({"mine", rollout::GateKind::job, false, own_template()});
  begin();
  EXPECT_EQ(refusal, "");
  EXPECT_TRUE(fleet.list(resource::jobs, "lockstep-system").empty());
  ASSERT_EQ(jobs().size(), 2U);
  for (const Document& job : jobs()) {
    const Json& pod = job->at("spec").at("template").at("spec");
    EXPECT_EQ(text_at(pod, "serviceAccountName"), "lockstep-gate");
    EXPECT_FALSE(as_bool(find(pod, "automountServiceAccountToken"), true));
  }
}

TEST_F(GateJobsTest, ATemplateThatAsksForTheNodeMakesNoJob) {
  Json details = own_template();
  details.as_object()["template"].as_object()["spec"].as_object()["hostPID"] = true;
  run.gates = {{"mine", rollout::GateKind::job, false, details}};
  begin();
  EXPECT_EQ(refusal, "gate mine: job.template.spec.hostPID: must be false in a Job gate, not true");
  EXPECT_TRUE(jobs().empty());
}

TEST_F(GateJobsTest, WhereJobGatesAreOffNoneIsMade) {
  GateJobsOptions options;
  options.allows_job_gates = false;
  GateJobs built_in_only{one.api, fleet.loop, random, one.log, one.controller->watch(), options};
  built_in_only.start();
  fleet.loop.run_for(seconds(30));
  run.nodes = {"gpu-1"};
  run.gates.push_back({"mine", rollout::GateKind::job, false, own_template()});
  std::string said;
  built_in_only.begin(run, [&](const std::string& why) { said = why; });
  fleet.loop.run_for(seconds(5));
  EXPECT_EQ(said, "gate mine: " + std::string(view::job_gates_are_off));
  ASSERT_EQ(jobs().size(), 1U);
  EXPECT_EQ(text_at(*jobs()[0], "metadata", "labels", gate_label), "driver");
}

TEST_F(GateJobsTest, WithoutANodeItIsInconclusive) {
  run.nodes.clear();
  begin();
  EXPECT_EQ(outcome(), rollout::Outcome::inconclusive);
}

TEST_F(GateJobsTest, TellsWhatTheApiServerRefused) {
  run.gates.front().name = "Not A Label Value!";
  begin();
  EXPECT_NE(refusal, "");
  EXPECT_TRUE(gates.verdicts(run).empty());
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

TEST_F(GateJobsTest, WhatABaselineMeasuresIsReadFromThePodsOnceAllHaveEnded) {
  run.gates = {{"inference", rollout::GateKind::built_in, false, nullptr}};
  run.is_baseline = true;
  EXPECT_FALSE(gates.measured(run));
  begin();
  EXPECT_EQ(as_integer(find(*jobs()[0], "spec", "activeDeadlineSeconds")), 300);
  leave("gpu-1", 0, speed(800));
  end("gpu-1", "Complete");
  EXPECT_FALSE(gates.measured(run)) << "the other one runs";
  // It is tried once: the rollout does not wait for long.
  leave("gpu-2", 3, "no driver");
  end("gpu-2", "Failed");
  auto measured = gates.measured(run);
  ASSERT_TRUE(measured);
  EXPECT_EQ((*measured)["gpu-1"]["inference"].speeds["inference tflops"], 800);
  EXPECT_TRUE((*measured)["gpu-2"]["inference"].empty());
  EXPECT_EQ((*measured)["gpu-2"]["inference"].none, "exit code 3: no driver");
  EXPECT_EQ(jobs().size(), 2U);
}

TEST_F(GateJobsTest, IsHeldAgainstWhatWasBefore) {
  run.gates = {{"inference", rollout::GateKind::built_in, false, nullptr}};
  run.compared = {"gpu-1", "gpu-2"};
  begin();
  leave("gpu-1", 0, speed(790));
  leave("gpu-2", 0, speed(700));
  end("gpu-1", "Complete");
  end("gpu-2", "Complete");
  EXPECT_EQ(outcome(), rollout::Outcome::inconclusive) << "nothing was kept";
  auto before = std::make_shared<rollout::WaveBaseline>();
  for (const char* node : {"gpu-1", "gpu-2"}) {
    before->nodes[node].gates["inference"].speeds["inference tflops"] = 800;
  }
  run.before = before;
  EXPECT_EQ(outcome(), rollout::Outcome::failed);
  EXPECT_EQ(gates.verdicts(run)[0].text,
            "gpu-2: inference tflops: 700.0, less than 760.0 (0.95 x before the upgrade)");
  EXPECT_EQ(gates.speed_pairs(run).size(), 2U);
  // Pods came back on it meanwhile.
  run.in_use = {"gpu-2"};
  EXPECT_EQ(outcome(), rollout::Outcome::inconclusive);
  EXPECT_EQ(gates.speed_pairs(run).size(), 1U);
  // It came after the wave had opened.
  run.compared = {"gpu-1"};
  EXPECT_EQ(outcome(), rollout::Outcome::passed);
}

// The Job's end arrives before its pod's: there is no result until the numbers are there, and never
// a pass without them.
TEST_F(GateJobsTest, WaitsForTheNumbersAndThenDoesWithoutThem) {
  run.gates = {{"inference", rollout::GateKind::built_in, false, nullptr}};
  run.nodes = {"gpu-1"};
  run.compared = {"gpu-1"};
  auto before = std::make_shared<rollout::WaveBaseline>();
  before->nodes["gpu-1"].gates["inference"].speeds["inference tflops"] = 800;
  run.before = before;
  begin();
  end("gpu-1", "Complete", fleet.loop.now());
  EXPECT_EQ(outcome(), rollout::Outcome::running);
  fleet.loop.run_for(minutes(6));
  EXPECT_EQ(outcome(), rollout::Outcome::inconclusive);
}

TEST_F(GateJobsTest, KindsThatAskSomebodyAreNotItsBusiness) {
  run.gates = {{"latency", rollout::GateKind::prometheus, false, JsonObject{}}};
  EXPECT_TRUE(gates.verdicts(run).empty());
  begin();
  EXPECT_TRUE(jobs().empty());
}

}  // namespace
}  // namespace lockstep::controller::gate_jobs_test
