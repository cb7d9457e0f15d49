#include "sim/scenario/observed_api.h"

#include <fmt/format.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::observed_api_test {
namespace {

TEST(ObservedApi, TellsOfEveryCallAndOfItsReply) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  std::vector<std::string> seen;
  ObservedApi api(
      cluster.api("lockstep"),
      [&](const kube::Request& request) { seen.push_back(request.describe()); },
      [&](const kube::Request& request, const kube::Reply& reply) {
        seen.push_back(fmt::format("{}: {}", request.describe(), reply ? reply->code : 0));
      });
  int code = 0;
  kube::Request request = kube::get(resource::nodes, {"", "nobody"});
  api.call(request, [&](kube::Reply reply) { code = reply ? reply->code : 0; });
  cluster.loop.run_for(seconds(1));
  EXPECT_EQ(code, 404);
  EXPECT_EQ(seen, (std::vector<std::string>{request.describe(), request.describe() + ": 404"}));
}

TEST(ObservedApi, WatchesGoThrough) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  ObservedApi api(cluster.api("lockstep"), {});
  kube::WatchRequest request;
  request.type = resource::nodes;
  request.resource_version = std::to_string(cluster.backend.store.version());
  int events = 0;
  auto watch =
      api.watch(request, {[&](const kube::WatchEvent&) { ++events; }, [](const Error&) {}});
  cordon(cluster, "gpu-1");
  cluster.loop.run_for(seconds(1));
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace lockstep::sim::observed_api_test
