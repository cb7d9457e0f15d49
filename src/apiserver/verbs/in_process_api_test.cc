#include "apiserver/verbs/in_process_api.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::in_process_api_test {
namespace {

struct Fixture : ::testing::Test {
  TestCluster cluster;
  InProcessApi api{cluster.backend, Caller{"tester", {}, "test"}};

  kube::Response call(kube::Request request) {
    kube::Response response;
    bool inside = true;
    api.call(std::move(request), [&](kube::Reply reply) {
      EXPECT_FALSE(inside) << "a callback ran inside call()";
      if (reply) response = *reply;
    });
    inside = false;
    cluster.settle();
    return response;
  }
};

using InProcess = Fixture;

TEST_F(InProcess, AnswersAreTheObjectsThemselves) {
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"gpu-1"}})");
  auto response = call(kube::get(resource::nodes, {"", "gpu-1"}));
  EXPECT_EQ(response.code, 200);
  EXPECT_EQ(std::get<Document>(response.body),
            cluster.backend.store.shelf("nodes").find({"", "gpu-1"})->document());
  auto list = call(kube::list(resource::nodes));
  EXPECT_EQ(std::get<kube::ListBody>(list.body).items.size(), 1U);
  auto missing = call(kube::get(resource::nodes, {"", "gpu-2"}));
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
}

TEST_F(InProcess, AWatchSeesChangesUntilItIsDestroyed) {
  std::string seen;
  kube::WatchRequest request;
  request.type = resource::nodes;
  kube::WatchHandler handler;
  handler.on_event = [&](kube::WatchEvent event) {
    seen += std::string(to_string(event.type)) + " ";
  };
  handler.on_end = [&](const Error&) { seen += "END "; };
  auto watch = api.watch(request, handler);
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"a"}})");
  cluster.settle();
  EXPECT_EQ(seen, "ADDED ");
  watch.reset();
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"b"}})");
  cluster.settle();
  EXPECT_EQ(seen, "ADDED ");
}

TEST_F(InProcess, AWatchEndsByItsTimeLimitAndByCompaction) {
  std::vector<ErrorKind> ends;
  kube::WatchHandler handler;
  handler.on_event = [](const kube::WatchEvent&) {};
  handler.on_end = [&](const Error& error) { ends.push_back(error.kind); };
  kube::WatchRequest request;
  request.type = resource::nodes;
  request.limit = seconds(10);
  auto timed = api.watch(request, handler);
  cluster.loop.run_for(seconds(11));
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"a"}})");
  cluster.backend.store.compact();
  request.resource_version = "1";
  auto expired_watch = api.watch(request, handler);
  cluster.settle();
  request.type.plural = "nothings";
  auto refused = api.watch(request, handler);
  cluster.settle();
  EXPECT_EQ(ends, (std::vector<ErrorKind>{ErrorKind::timed_out, ErrorKind::expired,
                                          ErrorKind::not_found}));
}

TEST_F(InProcess, AWatchMayBeDestroyedInItsOwnCallback) {
  int events = 0;
  std::unique_ptr<kube::Watch> watch;
  kube::WatchHandler handler;
  handler.on_event = [&](const kube::WatchEvent&) {
    ++events;
    watch.reset();
  };
  handler.on_end = [](const Error&) {};
  kube::WatchRequest request;
  request.type = resource::nodes;
  watch = api.watch(request, handler);
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"a"}})");
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"b"}})");
  cluster.settle();
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace lockstep::apiserver::in_process_api_test
