#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_pod_test {
namespace {

// READY, STATUS and RESTARTS of a pod.
std::string summary(std::string_view rest, std::string_view metadata = "") {
  std::string text = "{\"metadata\":{\"name\":\"x\"," + std::string(metadata) +
                     std::string(created) + "}," + std::string(rest) + "}";
  const Result<Json> pod = parse_json(text);
  EXPECT_TRUE(pod.has_value()) << text;
  const Json row = table_row(info_of("", "Pod"), *pod, IncludeObject::none, table_now);
  const JsonArray& cells = find(row, "cells")->as_array();
  return std::string(as_text(&cells[1])) + " " + std::string(as_text(&cells[2])) + " " +
         std::string(as_text(&cells[3]));
}

TEST(TablePod, Columns) {
  const std::vector<ColumnCase> cases = {
      {"", "Pod", "Name,Ready,Status,Restarts,Age|IP,Node,Nominated Node,Readiness Gates"},
      {"", "PodTemplate", "Name,Containers,Images,Pod Labels"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TablePod, Status) {
  struct Case {
    std::string_view name, pod, expected;
  };
  const Case cases[] = {
      {"nothing but a phase", R"("status":{"phase":"Pending"})", "0/0 Pending 0"},
      {"a reason beats the phase", R"("status":{"phase":"Failed","reason":"Evicted"})",
       "0/0 Evicted 0"},
      {"held back by a gate",
       R"("status":{"phase":"Pending","conditions":[{"type":"PodScheduled","reason":"SchedulingGated"}]})",
       "0/0 SchedulingGated 0"},
      {"runs",
       R"("spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","containerStatuses":[
         {"name":"a","ready":true,"restartCount":0,"state":{"running":{}}},
         {"name":"b","ready":false,"restartCount":2,"state":{"running":{}}}]})",
       "1/2 Running 2"},
      {"crashes, and when last",
       R"("spec":{"containers":[{"name":"a"}]},"status":{"phase":"Running","containerStatuses":[
         {"name":"a","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},
          "lastState":{"terminated":{"finishedAt":"2026-03-02T11:55:00Z"}}}]})",
       "0/1 CrashLoopBackOff 3 (5m ago)"},
      {"the first container's reason wins",
       R"("spec":{"containers":[{},{}]},"status":{"phase":"Pending","containerStatuses":[
         {"state":{"waiting":{"reason":"ImagePullBackOff"}}},
         {"state":{"waiting":{"reason":"ContainerCreating"}}}]})",
       "0/2 ImagePullBackOff 0"},
      {"exit code without a reason",
       R"("spec":{"containers":[{}]},"status":{"phase":"Failed","containerStatuses":[
         {"state":{"terminated":{"exitCode":3}}}]})",
       "0/1 ExitCode:3 0"},
      {"signal without a reason",
       R"("spec":{"containers":[{}]},"status":{"phase":"Failed","containerStatuses":[
         {"state":{"terminated":{"exitCode":137,"signal":9}}}]})",
       "0/1 Signal:9 0"},
      {"completed",
       R"("spec":{"containers":[{}]},"status":{"phase":"Succeeded","containerStatuses":[
         {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})",
       "0/1 Completed 0"},
      {"one done, one serves, ready",
       R"("spec":{"containers":[{},{}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
         "containerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
         {"ready":true,"state":{"running":{}}}]})",
       "1/2 Running 0"},
      {"one done, one serves, not ready",
       R"("spec":{"containers":[{},{}]},"status":{"phase":"Running",
         "containerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
         {"ready":true,"state":{"running":{}}}]})",
       "1/2 NotReady 0"},
  };
  for (const Case& one : cases) EXPECT_EQ(summary(one.pod), one.expected) << one.name;
}

TEST(TablePod, InitContainers) {
  struct Case {
    std::string_view name, pod, expected;
  };
  const Case cases[] = {
      {"the second of three runs",
       R"("spec":{"initContainers":[{},{},{}],"containers":[{}]},"status":{"phase":"Pending","initContainerStatuses":[
         {"state":{"terminated":{"exitCode":0}}},{"state":{"running":{}}},{"state":{"waiting":{}}}]})",
       "0/1 Init:1/3 0"},
      {"waiting for its turn says nothing",
       R"("spec":{"initContainers":[{}]},"status":{"phase":"Pending","initContainerStatuses":[
         {"state":{"waiting":{"reason":"PodInitializing"}}}]})",
       "0/0 Init:0/1 0"},
      {"crashes",
       R"("spec":{"initContainers":[{}]},"status":{"phase":"Pending","initContainerStatuses":[
         {"restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},
          "lastState":{"terminated":{"finishedAt":"2026-03-02T11:59:00Z"}}}]})",
       "0/0 Init:CrashLoopBackOff 4 (60s ago)"},
      {"failed without a reason",
       R"("spec":{"initContainers":[{}]},"status":{"phase":"Failed","initContainerStatuses":[
         {"state":{"terminated":{"exitCode":2}}}]})",
       "0/0 Init:ExitCode:2 0"},
      {"restarts before the pod ran do not count",
       R"("spec":{"initContainers":[{"name":"i"}],"containers":[{}]},"status":{"phase":"Running",
         "initContainerStatuses":[{"name":"i","restartCount":7,"state":{"terminated":{"exitCode":0}}}],
         "containerStatuses":[{"ready":true,"restartCount":1,"state":{"running":{}}}]})",
       "1/1 Running 1"},
      {"a sidecar counts as a container",
       R"("spec":{"initContainers":[{"name":"s","restartPolicy":"Always"}],"containers":[{}]},"status":{"phase":"Running",
         "initContainerStatuses":[{"name":"s","started":true,"ready":true,"restartCount":2,"state":{"running":{}}}],
         "containerStatuses":[{"ready":true,"restartCount":1,"state":{"running":{}}}]})",
       "2/2 Running 3"},
      {"a sidecar that has not started holds the pod up",
       R"("spec":{"initContainers":[{"name":"s","restartPolicy":"Always"}],"containers":[{}]},"status":{"phase":"Pending",
         "initContainerStatuses":[{"name":"s","started":false,"state":{"running":{}}}]})",
       "0/2 Init:0/1 0"},
      {"initialized once, an init container runs again",
       R"("spec":{"initContainers":[{}],"containers":[{}]},"status":{"phase":"Running",
         "conditions":[{"type":"Initialized","status":"True"}],
         "initContainerStatuses":[{"state":{"running":{}}}],
         "containerStatuses":[{"ready":true,"state":{"running":{}}}]})",
       "1/1 Init:0/1 0"},
  };
  for (const Case& one : cases) EXPECT_EQ(summary(one.pod), one.expected) << one.name;
}

TEST(TablePod, Deletion) {
  const std::string_view deleted = R"("deletionTimestamp":"2026-03-02T11:00:00Z",)";
  EXPECT_EQ(summary(R"("status":{"phase":"Running"})", deleted), "0/0 Terminating 0");
  EXPECT_EQ(summary(R"("status":{"phase":"Running","reason":"NodeLost"})", deleted),
            "0/0 Unknown 0");
  EXPECT_EQ(summary(R"("status":{"phase":"Succeeded"})", deleted), "0/0 Succeeded 0");
  EXPECT_EQ(summary(R"("status":{"phase":"Running","reason":"NodeLost"})"), "0/0 NodeLost 0");
}

TEST(TablePod, Wide) {
  const std::vector<RowCase> cases = {
      {"nothing known", "", "Pod", R"("status":{"phase":"Pending"})",
       R"(["x","0/0","Pending","0","24h","<none>","<none>","<none>","<none>"])"},
      {"placed", "", "Pod",
       R"("spec":{"nodeName":"n1","readinessGates":[{"conditionType":"a"},{"conditionType":"b"}]},
          "status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}],"nominatedNodeName":"n2",
          "conditions":[{"type":"a","status":"True"},{"type":"b","status":"False"}]})",
       R"(["x","0/0","Running","0","24h","10.0.0.1","n1","n2","1/2"])"},
      {"one address only", "", "Pod", R"("status":{"phase":"Running","podIP":"10.0.0.2"})",
       R"(["x","0/0","Running","0","24h","10.0.0.2","<none>","<none>","<none>"])"},
      {"a template", "", "PodTemplate",
       R"("template":{"metadata":{"labels":{"b":"2","a":"1"}},"spec":{"containers":[
          {"name":"c","image":"i"},{"name":"d","image":"j"}]}})",
       R"(["x","c,d","i,j","a=1,b=2"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

TEST(TablePod, CompletedRowsSayso) {
  const auto condition = [](std::string_view phase) {
    const Json pod = object_of("\"status\":{\"phase\":\"" + std::string(phase) + "\"}");
    const Json row = table_row(info_of("", "Pod"), pod, IncludeObject::none, table_now);
    const Json* conditions = find(row, "conditions");
    return conditions == nullptr ? std::string("none") : print_json(*conditions);
  };
  EXPECT_EQ(condition("Running"), "none");
  EXPECT_EQ(condition("Succeeded"), R"([{"type":"Completed","status":"True","reason":"Succeeded",)"
                                    R"("message":"The pod has completed successfully."}])");
  EXPECT_EQ(
      condition("Failed"),
      R"([{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}])");
}

}  // namespace
}  // namespace lockstep::apiserver::table_pod_test
