#include "bundle/scheduling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::bundle::scheduling_test {
namespace {

Component entry_with_all_paths() {
  Component entry;
  entry.name = "tuner";
  entry.place = "registry.yaml:3:5";
  entry.node_count_paths = {"estimatedNodeCount"};
  entry.system.node_selectors = {"controller.nodeSelector"};
  entry.system.tolerations = {"controller.tolerations"};
  entry.accelerated.node_selectors = {"agent.nodeSelector", "nodeSelector"};
  entry.accelerated.tolerations = {"agent.tolerations"};
  entry.accelerated.taints = {"agent.taint"};
  entry.accelerated.taint_texts = {"agent.env.taint"};
  entry.workload_selector_paths = {"workloadSelector"};
  return entry;
}

std::string after_flags(const SchedulingFlags& flags, std::string_view values = "{}",
                        const Component& entry = entry_with_all_paths()) {
  JsonObject object = parse_json(values)->get_object();
  auto applied = apply_scheduling(entry, flags, object);
  return applied ? print_json(object) : applied.error().text();
}

TEST(Scheduling, WithoutFlagsEveryTaintIsToleratedAndNothingElseWritten) {
  EXPECT_EQ(after_flags({}), R"({"controller":{"tolerations":[{"operator":"Exists"}]},)"
                             R"("agent":{"tolerations":[{"operator":"Exists"}]}})");
}

TEST(Scheduling, AComponentWithoutPathsIsLeftAlone) {
  SchedulingFlags flags;
  flags.system_node_selector = {{"a", "b"}};
  flags.nodes = 3;
  EXPECT_EQ(after_flags(flags, R"({"x":1})", Component{}), R"({"x":1})");
}

TEST(Scheduling, SelectorsAreWrittenAtEveryPathOfTheirKind) {
  SchedulingFlags flags;
  flags.system_node_selector = {{"role", "system"}};
  flags.accelerated_node_selector = {{"z", "1"}, {"gpu", "true"}};
  Component entry = entry_with_all_paths();
  entry.system.tolerations.clear();
  entry.accelerated.tolerations.clear();
  EXPECT_EQ(
      after_flags(flags, "{}", entry),
      R"({"controller":{"nodeSelector":{"role":"system"}},)"
      R"("agent":{"nodeSelector":{"gpu":"true","z":"1"}},"nodeSelector":{"gpu":"true","z":"1"}})");
}

TEST(Scheduling, TolerationsThatWereGivenReplaceWhatStandsThere) {
  SchedulingFlags flags;
  flags.system_tolerations = {*parse_toleration("-", "dedicated=system:NoSchedule"),
                              *parse_toleration("-", "spot:NoExecute")};
  EXPECT_EQ(after_flags(flags, R"({"controller":{"tolerations":[{"key":"old"}],"x":1}})"),
            R"({"controller":{"tolerations":[)"
            R"({"key":"dedicated","operator":"Equal","value":"system","effect":"NoSchedule"},)"
            R"({"key":"spot","operator":"Exists","effect":"NoExecute"}],"x":1},)"
            R"("agent":{"tolerations":[{"operator":"Exists"}]}})");
}

TEST(Scheduling, TheWorkloadGateIsWrittenAsObjectAndAsText) {
  SchedulingFlags flags;
  flags.workload_gate = *parse_taint("--workload-gate", "ready.io/gate=closed:NoSchedule");
  Component entry = entry_with_all_paths();
  entry.system.tolerations.clear();
  entry.accelerated.tolerations.clear();
  EXPECT_EQ(after_flags(flags, "{}", entry),
            R"({"agent":{"taint":{"key":"ready.io/gate","value":"closed","effect":"NoSchedule"},)"
            R"("env":{"taint":"ready.io/gate=closed:NoSchedule"}}})");
  flags.workload_gate = *parse_taint("--workload-gate", "gate:NoExecute");
  EXPECT_EQ(
      after_flags(flags, "{}", entry),
      R"({"agent":{"taint":{"key":"gate","effect":"NoExecute"},"env":{"taint":"gate:NoExecute"}}})");
}

TEST(Scheduling, WorkloadSelectorAndNodeCountAreWrittenWhenGiven) {
  SchedulingFlags flags;
  flags.workload_selector = {{"job", "training"}};
  flags.nodes = 16;
  Component entry = entry_with_all_paths();
  entry.system.tolerations.clear();
  entry.accelerated.tolerations.clear();
  EXPECT_EQ(after_flags(flags, "{}", entry),
            R"({"workloadSelector":{"job":"training"},"estimatedNodeCount":16})");
}

TEST(Scheduling, APathThroughAScalarIsRefused) {
  EXPECT_EQ(after_flags({}, R"({"controller":"none"})"),
            "scheduling of tuner: controller.tolerations leads through a value that is not a map: "
            "controller is \"none\"");
}

TEST(Scheduling, ABrokenPathOfTheRegistryIsRefusedWithItsPlace) {
  Component entry = entry_with_all_paths();
  entry.system.tolerations = {"a..b"};
  EXPECT_TRUE(after_flags({}, "{}", entry).starts_with("registry.yaml:3:5: the path \"a..b\""));
}

std::string label_error(std::string_view text, NodeLabels labels = {}) {
  auto added = add_label("--system-node-selector", text, labels);
  return added ? "" : added.error().text();
}

TEST(Scheduling, ALabelIsKeyAndValue) {
  NodeLabels labels;
  EXPECT_TRUE(add_label("-", "node.io/group=system", labels));
  EXPECT_TRUE(add_label("-", "empty=", labels));
  EXPECT_TRUE(add_label("-", "empty=", labels)) << "the same again is no conflict";
  EXPECT_EQ(labels, (NodeLabels{{"empty", ""}, {"node.io/group", "system"}}));
}

TEST(Scheduling, ALabelThatKubernetesWouldRefuseIsRefused) {
  EXPECT_EQ(label_error("system"), "--system-node-selector system: must be key=value");
  for (std::string_view bad : {"=v", "a b=v", "Big.io/a=v", "a/b/c=v", "/a=v", "a/=v", "-a=v"}) {
    EXPECT_NE(label_error(bad).find("is no key of a label"), std::string::npos) << bad;
  }
  for (std::string_view bad : {"a=b=c", "a=b,c=d", "a=-"}) {
    EXPECT_NE(label_error(bad).find("is no value of a label"), std::string::npos) << bad;
  }
  EXPECT_NE(label_error("a=" + std::string(64, 'x')), "");
  EXPECT_EQ(label_error("a=" + std::string(63, 'x')), "");
}

TEST(Scheduling, OneKeyWithTwoValuesIsRefused) {
  EXPECT_EQ(label_error("a=2", {{"a", "1"}}),
            "--system-node-selector a=2: a was given as \"1\" before: no node has both");
}

TEST(Scheduling, ATolerationHasAnEffect) {
  auto error = [](std::string_view text) {
    auto parsed = parse_toleration("--accelerated-node-toleration", text);
    return parsed ? "" : parsed.error().text();
  };
  EXPECT_EQ(error("a=b"),
            "--accelerated-node-toleration a=b: no effect: must be key=value:Effect or key:Effect");
  EXPECT_EQ(
      error("a=b:NoSchedul"),
      "--accelerated-node-toleration a=b:NoSchedul: unknown effect \"NoSchedul\"; did you mean "
      "\"NoSchedule\"?");
  EXPECT_NE(error("a=b:").find("expected one of: NoExecute, NoSchedule, PreferNoSchedule"),
            std::string::npos);
  EXPECT_NE(error(":NoSchedule").find("is no key"), std::string::npos);
  EXPECT_NE(error("a=b:c:NoSchedule").find("is no value"), std::string::npos);
}

RC_GTEST_PROP(Scheduling, ATaintReadsBackAsItIsPrinted, ()) {
  Taint taint{*rc::gen::element<std::string>("a", "x.io/y-z"),
              *rc::gen::element<std::string>("", "v", "true"),
              *rc::gen::element<std::string>("NoExecute", "NoSchedule", "PreferNoSchedule")};
  RC_ASSERT(*parse_taint("-", print_taint(taint)) == taint);
}

}  // namespace
}  // namespace lockstep::bundle::scheduling_test
