#include "kube/api.h"

#include <gtest/gtest.h>

namespace lockstep::kube::api_test {
namespace {

TEST(RequestTest, PathNamesGroupNamespaceAndSubresource) {
  EXPECT_EQ(get(resource::nodes, {"", "gpu-7"}).path(), "/api/v1/nodes/gpu-7");
  EXPECT_EQ(list(resource::pods).path(), "/api/v1/pods");
  EXPECT_EQ(list(resource::pods, "team-a").path(), "/api/v1/namespaces/team-a/pods");
  Request request = get(resource::daemon_sets, {"a", "b"});
  request.subresource = "status";
  EXPECT_EQ(request.path(), "/apis/apps/v1/namespaces/a/daemonsets/b/status");
  request.subresource = "proxy/metrics";
  EXPECT_EQ(request.path(), "/apis/apps/v1/namespaces/a/daemonsets/b/proxy/metrics");
}

TEST(RequestTest, PathCannotBeBrokenOutOfByAName) {
  EXPECT_EQ(get(resource::nodes, {"", "a/b?x=1#y"}).path(), "/api/v1/nodes/a%2Fb%3Fx%3D1%23y");
}

TEST(RequestTest, ClusterScopedTypesHaveNoNamespaceInTheirPath) {
  EXPECT_EQ(get(resource::nodes, {"stray", "gpu-7"}).path(), "/api/v1/nodes/gpu-7");
}

TEST(RequestTest, DescribeSaysVerbAndObject) {
  EXPECT_EQ(get(resource::nodes, {"", "gpu-7"}).describe(), "get nodes/gpu-7");
  EXPECT_EQ(list(resource::pods, "default").describe(), "list pods.default");
  EXPECT_EQ(remove(resource::pods, {"a", "b"}).describe(), "delete pods.a/b");
  Request eviction = create(resource::pods, "a", Json());
  eviction.name = "b";
  eviction.subresource = "eviction";
  EXPECT_EQ(eviction.describe(), "create pods.a/b/eviction");
}

TEST(RequestTest, FindQuery) {
  Request request = list(resource::pods);
  request.with("limit", "500").with("labelSelector", "a=b");
  ASSERT_NE(request.find_query("limit"), nullptr);
  EXPECT_EQ(*request.find_query("limit"), "500");
  EXPECT_EQ(request.find_query("continue"), nullptr);
}

TEST(RequestTest, ShorthandsFillVerbAndBody) {
  EXPECT_EQ(create(resource::pods, "a", Json(1)).verb, Verb::create);
  EXPECT_EQ(update(resource::pods, {"a", "b"}, Json(1)).verb, Verb::update);
  const Request change = patch(resource::pods, {"a", "b"}, PatchType::json, Json(JsonArray()));
  EXPECT_EQ(change.verb, Verb::patch);
  EXPECT_EQ(change.patch_type, PatchType::json);
  EXPECT_EQ(*change.body, Json(JsonArray()));
  EXPECT_EQ(remove(resource::pods, {"a", "b"}).body, nullptr);
  EXPECT_NE(remove(resource::pods, {"a", "b"}, Json(JsonObject())).body, nullptr);
}

TEST(WatchRequestTest, BecomesAListWithWatch) {
  WatchRequest watch;
  watch.type = resource::pods;
  watch.ns = "a";
  watch.resource_version = "17";
  watch.query = {{"labelSelector", "x=y"}};
  watch.limit = milliseconds(1500);
  const Request request = watch.as_request();
  EXPECT_EQ(request.path(), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(*request.find_query("watch"), "true");
  EXPECT_EQ(*request.find_query("allowWatchBookmarks"), "true");
  EXPECT_EQ(*request.find_query("resourceVersion"), "17");
  EXPECT_EQ(*request.find_query("labelSelector"), "x=y");
  EXPECT_EQ(*request.find_query("timeoutSeconds"), "2");
  watch.bookmarks = false;
  watch.resource_version = "";
  watch.limit = Duration(0);
  EXPECT_EQ(watch.as_request().find_query("allowWatchBookmarks"), nullptr);
  EXPECT_EQ(watch.as_request().find_query("resourceVersion"), nullptr);
  EXPECT_EQ(watch.as_request().find_query("timeoutSeconds"), nullptr);
}

TEST(PatchTypeTest, ContentTypes) {
  EXPECT_EQ(content_type(PatchType::json), "application/json-patch+json");
  EXPECT_EQ(content_type(PatchType::merge), "application/merge-patch+json");
  EXPECT_EQ(content_type(PatchType::strategic), "application/strategic-merge-patch+json");
  EXPECT_EQ(content_type(PatchType::apply), "application/apply-patch+yaml");
}

struct ErrorCase {
  int code;
  std::string reason;
  ErrorKind kind;
};

TEST(ResponseTest, ErrorKindComesFromReasonThenCode) {
  const std::vector<ErrorCase> cases = {
      {409, "AlreadyExists", ErrorKind::exists},
      {409, "Conflict", ErrorKind::conflict},
      {404, "NotFound", ErrorKind::not_found},
      {401, "Unauthorized", ErrorKind::unauthorized},
      {403, "Forbidden", ErrorKind::forbidden},
      {410, "Expired", ErrorKind::expired},
      {410, "Gone", ErrorKind::expired},
      {429, "TooManyRequests", ErrorKind::throttled},
      {422, "Invalid", ErrorKind::invalid},
      {500, "ServerTimeout", ErrorKind::timed_out},
      {500, "InternalError", ErrorKind::internal},
      {503, "ServiceUnavailable", ErrorKind::unreachable},
      {409, "SomethingNew", ErrorKind::conflict},
      {404, "", ErrorKind::not_found},
      {400, "", ErrorKind::invalid},
      {413, "", ErrorKind::too_large},
      {415, "", ErrorKind::unsupported},
      {502, "", ErrorKind::unreachable},
      {504, "", ErrorKind::timed_out},
      {500, "", ErrorKind::internal},
  };
  for (const ErrorCase& c : cases) {
    Response response;
    response.code = c.code;
    response.body = fmt::format(R"({{"kind":"Status","reason":"{}","message":"why"}})", c.reason);
    EXPECT_EQ(response.error().kind, c.kind) << c.code << " " << c.reason;
    EXPECT_EQ(response.error().message, "why");
  }
}

TEST(ResponseTest, AServerThatHasJustStartedForbidsNothingItIsNotReady) {
  Response response;
  response.code = 403;
  response.body = std::string(
      R"({"kind":"Status","reason":"Forbidden","message":"nodes \"gpu-1\" is forbidden: not yet ready to handle request"})");
  EXPECT_EQ(response.error().kind, ErrorKind::unreachable);
  response.body = std::string(
      R"({"kind":"Status","reason":"Forbidden","message":"nodes \"gpu-1\" is forbidden: User \"x\" cannot patch"})");
  EXPECT_EQ(response.error().kind, ErrorKind::forbidden);
}

TEST(ResponseTest, ErrorOfAProxyShowsItsFirstLine) {
  Response response;
  response.code = 502;
  response.body = std::string("\n<html>Bad Gateway</html>\nmore");
  EXPECT_EQ(response.error().message, "HTTP 502: <html>Bad Gateway</html>");
  response.body = std::string(1000, 'x');
  EXPECT_LT(response.error().message.size(), 300U);
  response.body = std::monostate();
  EXPECT_EQ(response.error().message, "HTTP 502");
}

TEST(ResponseTest, DocumentFromEveryKindOfBody) {
  Response response;
  response.code = 200;
  EXPECT_TRUE((*response.document())->is_null());
  response.body = std::string(R"({"a":1})");
  EXPECT_EQ(as_integer(find(**response.document(), "a")), 1);
  response.body = std::string("{");
  EXPECT_FALSE(response.document().has_value());
  ListBody list;
  list.resource_version = "9";
  list.continue_token = "next";
  list.remaining = 3;
  list.items.push_back(std::make_shared<const Json>("one"));
  response.body = list;
  const Document document = *response.document();
  EXPECT_EQ(text_at(*document, "kind"), "List");
  EXPECT_EQ(text_at(*document, "metadata", "resourceVersion"), "9");
  EXPECT_EQ(text_at(*document, "metadata", "continue"), "next");
  EXPECT_EQ(as_integer(find(*document, "metadata", "remainingItemCount")), 3);
  EXPECT_EQ(find(*document, "items")->as_array().size(), 1U);
}

TEST(ResponseTest, DocumentOfMakesErrorsOfRefusals) {
  Response response;
  response.code = 404;
  EXPECT_EQ(document_of(response).error().kind, ErrorKind::not_found);
  response.code = 200;
  EXPECT_TRUE(document_of(response).has_value());
  EXPECT_EQ(document_of(fail(ErrorKind::unreachable, "x")).error().kind, ErrorKind::unreachable);
}

}  // namespace
}  // namespace lockstep::kube::api_test
