#include "sim/oracle/event_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::event_log_test {
namespace {

class EventLogTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster.start()); }

  void patch(std::string_view who, Json patch) {
    apiserver::Caller caller{std::string(who), {}, std::string(who)};
    auto request = merge_patch(resource::nodes, {"", "gpu-1"}, std::move(patch));
    EXPECT_TRUE(apiserver::handle(cluster.backend, request, caller));
  }
  static std::string without_time(const std::string& line) { return line.substr(14); }
  static void expect_line(const std::string& line, std::string_view who, std::string_view verb,
                          std::string_view object, std::string_view what) {
    EXPECT_EQ(without_time(line),
              fmt::format("{:<15}  {:<7}  {:<52}  {}", who, verb, object, what));
  }

  Cluster cluster{fleet_of(1)};
};

TEST_F(EventLogTest, SaysWhoDidWhatToWhichObjectInFixedColumns) {
  EventLog log(cluster);
  cluster.loop.run_for(seconds(90));
  auto before = log.lines().size();
  Json both = JsonObject{
      {"metadata",
       JsonObject{{"labels", JsonObject{{fleet::Keys().state, "wait-for-jobs-required"}}}}},
      {"spec", JsonObject{{"unschedulable", true}}}};
  patch("lockstep", both);
  patch("simulation", JsonObject{{"spec", JsonObject{{"unschedulable", nullptr}}}});
  auto lines = log.lines();
  ASSERT_EQ(lines.size(), before + 2);
  expect_line(lines[before], "lockstep", "patch", "nodes/gpu-1",
              "unknown -> wait-for-jobs-required, cordoned");
  expect_line(lines[before + 1], "simulation", "patch", "nodes/gpu-1", "uncordoned");
}

TEST_F(EventLogTest, KeepsOnlyTheLast) {
  EventLog log(cluster, 3);
  for (int i = 0; i < 5; ++i) {
    patch("simulation",
          JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"n", std::to_string(i)}}}}}});
  }
  auto lines = log.lines();
  ASSERT_EQ(lines.size(), 3);
  expect_line(lines[2], "simulation", "patch", "nodes/gpu-1", "metadata.labels.n");
}

TEST_F(EventLogTest, APodsLifeIsShown) {
  EventLog log(cluster, 100);
  add_gpu_pod(cluster, "work", "gpu-1");
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "work"})));
  cluster.loop.run_for(minutes(1));
  std::string text = log.text();
  for (const char* what :
       {"created on gpu-1", "Pending -> Running", "deletion begins", "gone from gpu-1"}) {
    EXPECT_NE(text.find(what), std::string::npos) << what << " is missing in\n" << text;
  }
  EXPECT_EQ(text.find("        time  who"), 0) << text;
}

TEST_F(EventLogTest, FaultsAndNotesStandAmongTheChanges) {
  EventLog log(cluster);
  kube::ScriptedFaults script;
  script.on_call(kube::ScriptedFaults::calls(kube::Verb::get, resource::nodes),
                 {kube::Fault::reply_lost, {}, {}, {}, {}});
  kube::WatchPlan silent;
  silent.silent_after = seconds(3);
  script.on_watch([](const kube::WatchRequest&) { return true; }, silent);
  LoggedFaults faults(script, log, "lockstep");
  kube::Request request = kube::get(resource::nodes, {"", "gpu-1"});
  EXPECT_EQ(faults.plan_call(request).fault, kube::Fault::reply_lost);
  EXPECT_EQ(faults.plan_call(request).fault, kube::Fault::none);
  kube::WatchRequest watch;
  watch.type = resource::pods;
  EXPECT_EQ(faults.plan_watch(watch).silent_after, seconds(3));
  log.note("scenario", "restart", "controller", "the second time");
  auto lines = log.lines();
  ASSERT_EQ(lines.size(), 3);
  expect_line(lines[0], "lockstep", "get", request.describe(),
              fmt::format("FAULT {}", to_string(kube::Fault::reply_lost)));
  expect_line(lines[1], "lockstep", "watch", "pods", "FAULT goes silent after 3s");
  expect_line(lines[2], "scenario", "restart", "controller", "the second time");
}

TEST(DescribeChange, NamesTheFieldsWhereItKnowsNoBetter) {
  Json before = JsonObject{{"metadata", JsonObject{{"resourceVersion", "1"}}},
                           {"spec", JsonObject{{"a", 1}, {"b", JsonObject{{"c", 2}, {"d", 3}}}}}};
  Json after = JsonObject{{"metadata", JsonObject{{"resourceVersion", "2"}}},
                          {"spec", JsonObject{{"b", JsonObject{{"c", 4}, {"d", 3}}}}}};
  EXPECT_EQ(describe_change("things", &before, &after, fleet::Keys()), "spec.a, spec.b.c");
  EXPECT_EQ(describe_change("things", &before, &before, fleet::Keys()), "nothing");
  EXPECT_EQ(describe_change("things", nullptr, &after, fleet::Keys()), "created");
  EXPECT_EQ(describe_change("things", &before, nullptr, fleet::Keys()), "gone");
}

TEST(DescribeChange, AFailureIsNamed) {
  fleet::Keys keys;
  Json before = JsonObject{
      {"metadata", JsonObject{{"labels", JsonObject{{keys.state, "pod-restart-required"}}}}}};
  Json after = JsonObject{
      {"metadata",
       JsonObject{{"labels", JsonObject{{keys.state, "upgrade-failed"}}},
                  {"annotations", JsonObject{{fleet::failure_annotation, "DriverCrashLoop: …"}}}}}};
  EXPECT_EQ(describe_change("nodes", &before, &after, keys),
            "pod-restart-required -> upgrade-failed, DriverCrashLoop");
}

TEST(DescribeChange, TheLedgerSaysWhoHasASlot) {
  Json ledger = JsonObject{{"metadata", JsonObject{{"name", "lockstep-slots"}}},
                           {"data", JsonObject{{"gpu-1", "7"}, {"gpu-2", "8"}}}};
  EXPECT_EQ(describe_change("configmaps", nullptr, &ledger, fleet::Keys()),
            "slots of gpu-1, gpu-2");
}

}  // namespace
}  // namespace lockstep::sim::event_log_test
