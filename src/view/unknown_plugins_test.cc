#include "view/unknown_plugins.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::unknown_plugins_test {
namespace {

TEST(UnknownPlugins, APluginThatPublishesGpusAndIsNotKnownIsNamed) {
  FleetWatchOptions options;
  options.clients.named = {"team-a/known"};
  WatchedFleet scene(options);
  scene.add_usual();
  scene.add_node("gpu-2");
  scene.add_set("team-a", "known", R"({})");
  scene.add_set("team-a", "other-kubelet-plugin", R"({})");
  for (std::string_view node : {"gpu-1", "gpu-2"}) {
    scene.put(resource::resource_slices, {"", fmt::format("slice-{}", node)},
              json_of(fmt::format(R"({{"spec":{{"driver":"gpu.nvidia.com","nodeName":"{}",
                                   "pool":{{"name":"p","generation":1,"resourceSliceCount":1}},
                                   "devices":[]}}}})",
                                  node)));
  }
  scene.add_pod("team-a", "known", "known-1", "gpu-1");
  scene.add_pod("team-a", "other-kubelet-plugin", "other-2", "gpu-2");
  scene.start();
  auto unknown = find_unknown_plugins(*scene.watch);
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].dra_driver, "gpu.nvidia.com");
  EXPECT_EQ(unknown[0].nodes, std::vector<std::string>{"gpu-2"});
  EXPECT_EQ(unknown[0].perhaps, std::vector<std::string>{"team-a/other-kubelet-plugin"});
}

}  // namespace
}  // namespace lockstep::view::unknown_plugins_test
