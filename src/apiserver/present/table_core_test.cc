#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_core_test {
namespace {

TEST(TableCore, Columns) {
  const std::vector<ColumnCase> cases = {
      {"", "ConfigMap", "Name,Data,Age"},
      {"", "Secret", "Name,Type,Data,Age"},
      {"", "ServiceAccount", "Name,Secrets,Age"},
      {"", "Namespace", "Name,Status,Age"},
      {"", "Event", "Last Seen,Type,Reason,Object,Message|Subobject,Source,First Seen,Count,Name"},
      {"", "ResourceQuota", "Name,Request,Limit,Age"},
      {"scheduling.k8s.io", "PriorityClass", "Name,Value,Global-Default,Age,PreemptionPolicy"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TableCore, Rows) {
  const std::vector<RowCase> cases = {
      {"", "", "ConfigMap", R"("data":{"a":"1","b":"2"},"binaryData":{"c":""})",
       R"(["x",3,"24h"])"},
      {"empty", "", "ConfigMap", "", R"(["x",0,"24h"])"},
      {"", "", "Secret", R"("type":"Opaque","data":{"a":""})", R"(["x","Opaque",1,"24h"])"},
      {"", "", "ServiceAccount", R"("secrets":[{},{}])", R"(["x",2,"24h"])"},
      {"", "", "Namespace", R"("status":{"phase":"Active"})", R"(["x","Active","24h"])"},
      {"", "", "ResourceQuota",
       R"("status":{"hard":{"pods":"10","limits.cpu":"4","cpu":"2"},"used":{"cpu":"1","limits.cpu":"3"}})",
       R"(["x","cpu: 1/2, pods: 0/10","limits.cpu: 3/4","24h"])"},
      {"", "scheduling.k8s.io", "PriorityClass",
       R"("value":1000,"globalDefault":true,"preemptionPolicy":"Never")",
       R"(["x",1000,true,"24h","Never"])"},
      {"by default", "scheduling.k8s.io", "PriorityClass", R"("value":1)",
       R"(["x",1,false,"24h","PreemptLowerPriority"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

TEST(TableCore, Events) {
  const std::vector<RowCase> cases = {
      {"of core, repeated", "", "Event",
       R"("type":"Warning","reason":"Failed","message":" no luck\n","count":4,
          "involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec.containers{c}"},
          "source":{"component":"kubelet","host":"n1"},
          "firstTimestamp":"2026-03-02T11:00:00Z","lastTimestamp":"2026-03-02T11:59:00Z")",
       R"(["60s","Warning","Failed","pod/p","spec.containers{c}","kubelet, n1","no luck","60m",4,"x"])"},
      {"once, with an event time only", "", "Event",
       R"("type":"Normal","reason":"Ok","message":"m","eventTime":"2026-03-02T11:55:00.000000Z",
          "firstTimestamp":null,"lastTimestamp":null,
          "involvedObject":{"kind":"Node"},"reportingComponent":"lockstep","reportingInstance":"l-0")",
       R"(["5m","Normal","Ok","node","","lockstep, l-0","m","5m",1,"x"])"},
      {"a series", "", "Event",
       R"("count":2,"eventTime":"2026-03-02T11:00:00Z","series":{"count":9,"lastObservedTime":"2026-03-02T11:58:00Z"},
          "involvedObject":{"kind":"Pod","name":"p"},"source":{"component":"c"})",
       R"(["2m","","","pod/p","","c","","60m",9,"x"])"},
      {"no time at all", "", "Event", R"("involvedObject":{"kind":"Pod","name":"p"})",
       R"(["<unknown>","","","pod/p","","","","<unknown>",1,"x"])"},
      {"of events.k8s.io", "events.k8s.io", "Event",
       R"("type":"Normal","reason":"Ok","note":"m","eventTime":"2026-03-02T11:55:00.000000Z",
          "regarding":{"kind":"Node","name":"n"},"reportingController":"c",
          "deprecatedFirstTimestamp":"2026-03-02T11:00:00Z","deprecatedLastTimestamp":"2026-03-02T11:30:00Z",
          "deprecatedCount":3,"deprecatedSource":{"component":"s"})",
       R"(["30m","Normal","Ok","node/n","","s","m","60m",3,"x"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

}  // namespace
}  // namespace lockstep::apiserver::table_core_test
