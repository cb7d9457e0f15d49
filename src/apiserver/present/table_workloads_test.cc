#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_workloads_test {
namespace {

TEST(TableWorkloads, Columns) {
  const std::vector<ColumnCase> cases = {
      {"apps", "DaemonSet",
       "Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age|Containers,Images,"
       "Selector"},
      {"apps", "Deployment", "Name,Ready,Up-to-date,Available,Age|Containers,Images,Selector"},
      {"apps", "ReplicaSet", "Name,Desired,Current,Ready,Age|Containers,Images,Selector"},
      {"apps", "StatefulSet", "Name,Ready,Age|Containers,Images"},
      {"apps", "ControllerRevision", "Name,Controller,Revision,Age"},
      {"", "ReplicationController", "Name,Desired,Current,Ready,Age|Containers,Images,Selector"},
      {"batch", "Job", "Name,Status,Completions,Duration,Age|Containers,Images,Selector"},
      {"batch", "CronJob",
       "Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age|Containers,Images,Selector"},
      {"policy", "PodDisruptionBudget",
       "Name,Min Available,Max Unavailable,Allowed Disruptions,Age"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TableWorkloads, Apps) {
  constexpr std::string_view pods =
      R"("selector":{"matchLabels":{"app":"w","a":"b"},"matchExpressions":[
         {"key":"tier","operator":"In","values":["y","x"]},{"key":"old","operator":"DoesNotExist"}]},
         "template":{"spec":{"nodeSelector":{"gpu":"yes"},
         "containers":[{"name":"c","image":"i:1"},{"name":"d","image":"j"}]}})";
  const std::string spec = "\"spec\":{\"replicas\":3," + std::string(pods) + "},";
  const std::string daemon_set =
      spec + R"("status":{"desiredNumberScheduled":5,"currentNumberScheduled":4,"numberReady":3,
                "updatedNumberScheduled":2,"numberAvailable":1})";
  const std::string replicas =
      spec +
      R"("status":{"replicas":3,"readyReplicas":2,"updatedReplicas":1,"availableReplicas":2})";
  const std::vector<RowCase> cases = {
      {"driver", "apps", "DaemonSet", daemon_set,
       R"~(["x",5,4,3,2,1,"gpu=yes","24h","c,d","i:1,j","a=b,app=w,!old,tier in (x,y)"])~"},
      {"empty", "apps", "DaemonSet", "", R"(["x",0,0,0,0,0,"<none>","24h","","","<none>"])"},
      {"web", "apps", "Deployment", replicas,
       R"~(["x","2/3",1,2,"24h","c,d","i:1,j","a=b,app=w,!old,tier in (x,y)"])~"},
      {"nothing said", "apps", "Deployment", "", R"(["x","0/1",0,0,"24h","","",""])"},
      {"web", "apps", "ReplicaSet", replicas,
       R"~(["x",3,3,2,"24h","c,d","i:1,j","a=b,app=w,!old,tier in (x,y)"])~"},
      {"web", "apps", "StatefulSet", replicas, R"(["x","2/3","24h","c,d","i:1,j"])"},
      {"labels only", "", "ReplicationController", R"("spec":{"replicas":0,"selector":{"a":"b"}})",
       R"(["x",0,0,0,"24h","","","a=b"])"},
      {"of a DaemonSet", "apps", "ControllerRevision",
       R"({"metadata":{"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n"},
          {"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","controller":true}]},"revision":7})",
       R"(["x","daemonset.apps/driver",7,"<unknown>"])"},
      {"of nobody", "apps", "ControllerRevision", R"("revision":1)", R"(["x","<none>",1,"24h"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

TEST(TableWorkloads, Batch) {
  const std::vector<RowCase> cases = {
      {"runs", "batch", "Job",
       R"("spec":{"completions":3},"status":{"succeeded":1,"startTime":"2026-03-02T11:50:00Z"})",
       R"(["x","Running","1/3","10m","24h","","","<none>"])"},
      {"took an hour", "batch", "Job",
       R"("status":{"conditions":[{"type":"Complete","status":"True"}],"succeeded":1,
          "startTime":"2026-03-02T10:00:00Z","completionTime":"2026-03-02T11:00:00Z"})",
       R"(["x","Complete","1/1","60m","24h","","","<none>"])"},
      {"many at once", "batch", "Job", R"("spec":{"parallelism":4})",
       R"(["x","Running","0/1 of 4","","24h","","","<none>"])"},
      {"failed", "batch", "Job",
       R"("status":{"conditions":[{"type":"Suspended","status":"False"},{"type":"Failed","status":"True"}]})",
       R"(["x","Failed","0/1","","24h","","","<none>"])"},
      {"suspended", "batch", "Job",
       R"("status":{"conditions":[{"type":"Suspended","status":"True"}]})",
       R"(["x","Suspended","0/1","","24h","","","<none>"])"},
      {"going", "batch", "Job",
       R"({"metadata":{"name":"x","deletionTimestamp":"2026-03-02T11:00:00Z"},
          "status":{"conditions":[{"type":"Suspended","status":"True"}]}})",
       R"(["x","Terminating","0/1","","<unknown>","","","<none>"])"},
      {"hourly", "batch", "CronJob",
       R"("spec":{"schedule":"0 * * * *","timeZone":"Etc/UTC","suspend":false,"jobTemplate":{"spec":{"template":{
          "spec":{"containers":[{"name":"c","image":"i"}]}}}}},
          "status":{"active":[{}],"lastScheduleTime":"2026-03-02T11:00:00Z"})",
       R"(["x","0 * * * *","Etc/UTC","False",1,"60m","24h","c","i","<none>"])"},
      {"never ran", "batch", "CronJob", R"("spec":{"schedule":"@daily"})",
       R"(["x","@daily","<none>","False",0,"<none>","24h","","","<none>"])"},
      {"percent", "policy", "PodDisruptionBudget",
       R"("spec":{"maxUnavailable":"20%"},"status":{"disruptionsAllowed":2})",
       R"(["x","N/A","20%",2,"24h"])"},
      {"number", "policy", "PodDisruptionBudget", R"("spec":{"minAvailable":1})",
       R"(["x","1","N/A",0,"24h"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

}  // namespace
}  // namespace lockstep::apiserver::table_workloads_test
