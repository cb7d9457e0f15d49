#include "apiserver/door/route.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::route_test {
namespace {

TEST(Route, EveryFormOfPath) {
  TestCluster cluster;
  struct Case {
    const char* method;
    const char* target;
    const char* described;
    bool watch = false;
  };
  for (const Case& test : {
           Case{"GET", "/api/v1/nodes", "list nodes"},
           Case{"GET", "/api/v1/nodes/gpu-7", "get nodes/gpu-7"},
           Case{"GET", "/api/v1/nodes?watch=true", "list nodes", true},
           Case{"GET", "/api/v1/nodes?watch=1", "list nodes", true},
           Case{"GET", "/api/v1/nodes?watch=false", "list nodes"},
           Case{"PUT", "/api/v1/nodes/gpu-7/status", "update nodes/gpu-7/status"},
           Case{"PATCH", "/api/v1/nodes/gpu-7", "patch nodes/gpu-7"},
           Case{"DELETE", "/api/v1/nodes/gpu-7", "delete nodes/gpu-7"},
           Case{"DELETE", "/api/v1/nodes", "deletecollection nodes"},
           Case{"GET", "/api/v1/pods", "list pods"},
           Case{"POST", "/api/v1/namespaces/a/pods", "create pods.a"},
           Case{"POST", "/api/v1/namespaces/a/pods/p/eviction", "create pods.a/p/eviction"},
           Case{"GET", "/api/v1/namespaces/a", "get namespaces/a"},
           Case{"GET", "/api/v1/namespaces", "list namespaces"},
           Case{"PUT", "/api/v1/namespaces/a/status", "update namespaces/a/status"},
           Case{"GET", "/apis/apps/v1/namespaces/a/daemonsets/d", "get daemonsets.a/d"},
       }) {
    auto target = parse_target(test.target);
    ASSERT_TRUE(target) << test.target;
    auto route = route_resource(cluster.backend.table, test.method, *target);
    ASSERT_TRUE(route) << test.target << ": " << route.error().message;
    EXPECT_EQ(route->request.describe(), test.described);
    EXPECT_EQ(route->watch, test.watch) << test.target;
  }
}

TEST(Route, WhatDoesNotFitIsRefused) {
  TestCluster cluster;
  struct Case {
    const char* method;
    const char* target;
    int code;
  };
  for (const Case& test : {
           Case{"GET", "/api/v1/nothings", 404},
           Case{"GET", "/apis/apps/v9/daemonsets", 404},
           Case{"GET", "/api/v1/pods/p", 404},
           Case{"GET", "/api/v1/namespaces/a/nodes", 404},
           Case{"GET", "/api/v1/namespaces/a/pods/p/log/more", 404},
           Case{"PUT", "/api/v1/nodes", 405},
           Case{"POST", "/api/v1/nodes/n", 405},
           Case{"BREW", "/api/v1/nodes", 405},
       }) {
    auto target = parse_target(test.target);
    ASSERT_TRUE(target);
    auto route = route_resource(cluster.backend.table, test.method, *target);
    ASSERT_FALSE(route) << test.target;
    EXPECT_EQ(route.error().code, test.code) << test.method << " " << test.target;
  }
}

TEST(Route, EscapesAreDecodedAndBrokenOnesRefused) {
  auto target = parse_target("/api/v1/nodes?labelSelector=a%3Db%2Cc&fieldSelector=x+y");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->query[0].second, "a=b,c");
  EXPECT_EQ(target->query[1].second, "x y");
  EXPECT_FALSE(parse_target("/api/%zz"));
  EXPECT_FALSE(parse_target("/api?x=%2"));
  EXPECT_FALSE(parse_target("/api/%ff")) << "no UTF-8";
  EXPECT_FALSE(parse_target("/api?x=%ff")) << "no UTF-8";
}

TEST(Route, AWatchOfOneObjectIsANarrowedWatchOfAll) {
  TestCluster cluster;
  auto target = parse_target("/api/v1/nodes/gpu-7?watch=true");
  auto route = route_resource(cluster.backend.table, "GET", *target);
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->watch);
  EXPECT_EQ(*route->request.find_query("fieldSelector"), "metadata.name=gpu-7");
}

}  // namespace
}  // namespace lockstep::apiserver::route_test
