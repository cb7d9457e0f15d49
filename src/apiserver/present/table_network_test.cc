#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_network_test {
namespace {

TEST(TableNetwork, Columns) {
  const std::vector<ColumnCase> cases = {
      {"", "Service", "Name,Type,Cluster-IP,External-IP,Port(s),Age|Selector"},
      {"", "Endpoints", "Name,Endpoints,Age"},
      {"discovery.k8s.io", "EndpointSlice", "Name,AddressType,Ports,Endpoints,Age"},
      {"networking.k8s.io", "NetworkPolicy", "Name,Pod-Selector,Age"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TableNetwork, Services) {
  const std::vector<RowCase> cases = {
      {"plain", "", "Service",
       R"("spec":{"type":"ClusterIP","clusterIPs":["10.0.0.1","fd00::1"],"ports":[{"port":80,"protocol":"TCP"}],"selector":{"a":"b"}})",
       R"(["x","ClusterIP","10.0.0.1","<none>","80/TCP","24h","a=b"])"},
      {"node ports and an external address", "", "Service",
       R"("spec":{"type":"NodePort","clusterIP":"10.0.0.1","externalIPs":["1.1.1.1","2.2.2.2"],
          "ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]})",
       R"(["x","NodePort","10.0.0.1","1.1.1.1,2.2.2.2","80:30080/TCP,53/UDP","24h","<none>"])"},
      {"waits for a balancer", "", "Service", R"("spec":{"type":"LoadBalancer"})",
       R"(["x","LoadBalancer","<none>","<pending>","<none>","24h","<none>"])"},
      {"balanced", "", "Service",
       R"("spec":{"type":"LoadBalancer","externalIPs":["3.3.3.3"]},
          "status":{"loadBalancer":{"ingress":[{"hostname":"lb.example"},{"ip":"2.2.2.2"}]}})",
       R"(["x","LoadBalancer","<none>","2.2.2.2,lb.example,3.3.3.3","<none>","24h","<none>"])"},
      {"a name elsewhere", "", "Service",
       R"("spec":{"type":"ExternalName","externalName":"example.com"})",
       R"(["x","ExternalName","<none>","example.com","<none>","24h","<none>"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

TEST(TableNetwork, Endpoints) {
  const std::vector<RowCase> cases = {
      {"none", "", "Endpoints", "", R"(["x","<none>","24h"])"},
      {"some", "", "Endpoints",
       R"("subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"fd00::1"}],"ports":[{"port":80}]}])",
       R"(["x","1.1.1.1:80,[fd00::1]:80","24h"])"},
      {"many", "", "Endpoints",
       R"("subsets":[{"addresses":[{"ip":"a"},{"ip":"b"}],"ports":[{"port":1},{"port":2}]},{"addresses":[{"ip":"c"}]}])",
       R"(["x","a:1,b:1,a:2 + 2 more...","24h"])"},
      {"slice", "discovery.k8s.io", "EndpointSlice",
       R"("addressType":"IPv4","ports":[{"port":80},{"name":"web"},{}],
          "endpoints":[{"addresses":["a","b"]},{"addresses":["c","d"]}])",
       R"(["x","IPv4","80,web,","a,b,c + 1 more...","24h"])"},
      {"empty slice", "discovery.k8s.io", "EndpointSlice", R"("addressType":"IPv4")",
       R"(["x","IPv4","<unset>","<unset>","24h"])"},
      {"all pods", "networking.k8s.io", "NetworkPolicy", R"("spec":{"podSelector":{}})",
       R"(["x","<none>","24h"])"},
      {"some pods", "networking.k8s.io", "NetworkPolicy",
       R"("spec":{"podSelector":{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]},{"key":"c","operator":"Exists"}]}})",
       R"(["x","a notin (b),c","24h"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

}  // namespace
}  // namespace lockstep::apiserver::table_network_test
