#include "apiserver/door/front.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::front_test {
namespace {

constexpr const char* table_accept =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

struct FrontTest : ::testing::Test {
  TestCluster cluster;
  Front front{cluster.backend};

  HttpAnswer ask(std::string method, std::string target, std::string body = {},
                 std::string content_type = {}, std::string accept = {}) {
    HttpRequest request{std::move(method), std::move(target),
                        std::move(accept), std::move(content_type),
                        std::move(body),   Caller{"tester", {}, "kubectl/v1.36.3"}};
    HttpAnswer answer = front.answer(request);
    if (answer.more) {
      while (answer.more(answer.body)) {
      }
    }
    return answer;
  }
  void add_node(const std::string& name) {
    auto answer = ask("POST", "/api/v1/nodes", R"({"metadata":{"name":")" + name + R"("}})",
                      "application/json");
    ASSERT_EQ(answer.code, 201) << answer.body;
  }
};

TEST_F(FrontTest, AboutPages) {
  for (const char* target : {"/healthz", "/livez", "/readyz", "/version", "/", "/api", "/apis",
                             "/api/v1", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3",
                             "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1", "/metrics"}) {
    auto answer = ask("GET", target);
    EXPECT_EQ(answer.code, 200) << target << ": " << answer.body;
    EXPECT_FALSE(answer.body.empty()) << target;
  }
  EXPECT_EQ(ask("GET", "/apis/nothing/v1").code, 404);
  EXPECT_EQ(ask("GET", "/nothing").code, 404);
  for (const char* target : {"/nothing", "/api/v1/nothings", "/apis/example.com/v1/things"}) {
    auto answer = ask("GET", target);
    EXPECT_EQ(answer.body, "404 page not found\n") << target;
    EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8") << target;
  }
  EXPECT_NE(ask("GET", "/api/v1/nodes/nobody").body.find("nodes \\\"nobody\\\" not found"),
            std::string::npos)
      << "of a kind that is served, a Status";
  EXPECT_EQ(ask("POST", "/version").code, 405);
}

TEST_F(FrontTest, ADocumentIsKeptOnceHoweverItsPathIsWritten) {
  ask("GET", "/openapi/v2");
  const size_t kept = front.documents();
  for (const char* target : {"/%6fpenapi/v2", "//openapi/v2", "/openapi//v2", "/openapi/v%32",
                             "/openapi/v2/", "/openapi/v2?x=1", "/openapi/v2#a"}) {
    ask("GET", target);
    EXPECT_EQ(front.documents(), kept) << target;
  }
}

// What a client that does not read keeps of our memory is one piece, however much there is.
TEST_F(FrontTest, EventsOfAWatchComeInPieces) {
  for (int i = 0; i < 30; ++i) {
    ask("POST", "/api/v1/namespaces/default/configmaps",
        R"({"metadata":{"name":"c)" + std::to_string(i) + R"("},"data":{"k":")" +
            std::string(20'000, 'x') + R"("}})",
        "application/json");
  }
  HttpAnswer answer = front.answer(
      {"GET", "/api/v1/namespaces/default/configmaps?watch=true", "", "", "", Caller{}});
  ASSERT_TRUE(answer.watch);
  EXPECT_GE(answer.watch->initial_objects(), 30U);
  size_t all = 0;
  while (answer.watch->ready()) {
    auto piece = front.next_events(*answer.watch);
    ASSERT_TRUE(piece);
    EXPECT_LE(piece->size(), 128U << 10);
    all += piece->size();
  }
  EXPECT_GT(all, 600'000U);
}

TEST_F(FrontTest, AggregatedDiscoveryWhenAskedFor) {
  auto answer =
      ask("GET", "/apis", "", "",
          "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json");
  EXPECT_NE(answer.body.find("APIGroupDiscoveryList"), std::string::npos);
  EXPECT_NE(answer.content_type.find("as=APIGroupDiscoveryList"), std::string::npos);
}

TEST_F(FrontTest, ALongListIsStreamedAndWhole) {
  for (int i = 0; i < 50; ++i) add_node("n" + std::to_string(i));
  auto answer = ask("GET", "/api/v1/nodes");
  Json list = from_text(answer.body);
  EXPECT_EQ(text_at(list, "kind"), "NodeList");
  EXPECT_EQ(find(list, "items")->as_array().size(), 50U);
  Json empty = from_text(ask("GET", "/api/v1/pods").body);
  EXPECT_TRUE(find(empty, "items")->as_array().empty());
}

TEST_F(FrontTest, TablesForKubectl) {
  add_node("gpu-1");
  Json table = from_text(ask("GET", "/api/v1/nodes", "", "", table_accept).body);
  EXPECT_EQ(text_at(table, "kind"), "Table");
  EXPECT_EQ(find(table, "rows")->as_array().size(), 1U);
  Json one = from_text(ask("GET", "/api/v1/nodes/gpu-1", "", "", table_accept).body);
  EXPECT_EQ(text_at(one, "kind"), "Table");
}

TEST_F(FrontTest, MetadataAlone) {
  add_node("gpu-1");
  Json list = from_text(ask("GET", "/api/v1/nodes", "", "",
                            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
                            .body);
  EXPECT_EQ(text_at(list, "kind"), "PartialObjectMetadataList");
  EXPECT_EQ(find(find(list, "items")->as_array()[0], "spec"), nullptr);
}

TEST_F(FrontTest, BadInputGetsAStatusWithTheRightCode) {
  struct Case {
    const char* method;
    const char* target;
    const char* body;
    const char* type;
    int code;
  };
  for (const Case& test : {
           Case{"POST", "/api/v1/nodes", "{", "application/json", 400},
           Case{"POST", "/api/v1/nodes", "[]", "application/json", 400},
           Case{"POST", "/api/v1/nodes", "", "application/json", 400},
           Case{"POST", "/api/v1/nodes", "a: [", "application/yaml", 400},
           Case{"POST", "/api/v1/nodes", "x", "application/vnd.kubernetes.protobuf", 400},
           Case{"POST", "/api/v1/nodes", "x", "application/cbor", 415},
           Case{"PATCH", "/api/v1/nodes/n", "{}", "application/json", 415},
           Case{"PATCH", "/api/v1/nodes/n", "{}", "application/merge-patch+json", 404},
           Case{"GET", "/api/v1/nodes?labelSelector=%21%21", "", "", 400},
           Case{"GET", "/api/v1/nodes?resourceVersion=x", "", "", 400},
           Case{"GET", "/api/v1/nodes?watch=true&resourceVersion=x", "", "", 400},
           Case{"GET", "/api/v1/nodes?limit=-1", "", "", 400},
           Case{"POST", "/api/v1/nodes", R"({"metadata":{"name":"Bad_Name"}})", "application/json",
                422},
       }) {
    auto answer = ask(test.method, test.target, test.body, test.type);
    EXPECT_EQ(answer.code, test.code)
        << test.method << " " << test.target << " " << test.body << ": " << answer.body;
    Json status = from_text(answer.body);
    EXPECT_EQ(text_at(status, "kind"), "Status");
    EXPECT_EQ(as_integer(find(status, "code")), test.code);
    EXPECT_FALSE(text_at(status, "message").empty());
  }
}

TEST_F(FrontTest, WarningsAreHeaders) {
  auto answer = ask("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"},"spec":{"junk":1}})",
                    "application/json");
  ASSERT_EQ(answer.headers.size(), 1U);
  EXPECT_EQ(answer.headers[0].second, "299 - \"unknown field \\\"spec.junk\\\"\"");
}

TEST_F(FrontTest, WatchesAtTheSamePlaceShareTheirText) {
  auto first = ask("GET", "/api/v1/nodes?watch=true").watch;
  auto second = ask("GET", "/api/v1/nodes?watch=true").watch;
  auto filtered = ask("GET", "/api/v1/nodes?watch=true&labelSelector=a").watch;
  ASSERT_TRUE(first && second && filtered);
  add_node("gpu-1");
  auto text = front.next_events(*first);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->substr(0, 16), R"({"type":"ADDED",)");
  EXPECT_EQ(text->back(), '\n');
  EXPECT_EQ(front.next_events(*second), text) << "made once";
  EXPECT_EQ(front.next_events(*filtered), nullptr);
  EXPECT_FALSE(first->ready());
  EXPECT_FALSE(second->ready());
}

TEST_F(FrontTest, RequestsAreCountedByClient) {
  add_node("gpu-1");
  (void)ask("GET", "/api/v1/nodes");
  (void)ask("GET", "/api/v1/nodes/none");
  std::string metrics = ask("GET", "/metrics").body;
  for (const char* line :
       {R"(client="kubectl",code="201",resource="nodes",subresource="",verb="POST"} 1)",
        R"(client="kubectl",code="200",resource="nodes",subresource="",verb="LIST"} 1)",
        R"(client="kubectl",code="404",resource="nodes",subresource="",verb="GET"} 1)",
        R"(apiserver_storage_objects{resource="nodes"} 1)"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line << "\n" << metrics;
  }
}

}  // namespace
}  // namespace lockstep::apiserver::front_test
