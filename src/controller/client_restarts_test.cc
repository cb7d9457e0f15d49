#include "controller/client_restarts.h"

#include <optional>

#include "view/watched_fleet_test_util.h"

namespace lockstep::controller::client_restarts_test {
namespace {

using namespace view;

view::FleetWatchOptions with_rollouts() {
  view::FleetWatchOptions options;
  options.rollouts.enabled = true;
  return options;
}

class ClientRestartsTest : public ::testing::Test {
 protected:
  ClientRestartsTest() {
    auto object = std::make_shared<GenericObject>();
    object->meta.name = "driver";
    known.object = object;
    rollout = object;
    fleet.add_usual();
    fleet.add_set(plugin_ns, plugin_set);
    fleet.start();
    restarts.emplace(fleet.api, fleet.log, *fleet.watch);
  }
  // The pod of the DRA plugin, which starts now.
  void add_plugin(const std::string& name) { fleet.add_pod(plugin_ns, plugin_set, name, "gpu-1"); }
  void add_new_driver() {
    fleet.api.erase(resource::pods, {std::string(operator_ns), "driver-1"});
    fleet.add_driver("driver-2", "gpu-1", "r1",
                     fmt::format(R"({{"metadata":{{"creationTimestamp":"{}"}}}})",
                                 format_rfc3339(fleet.loop.now())));
  }
  void look() {
    fleet.settle();
    fleet.watch->count_changed();
    restarts->look_at(known);
    fleet.settle();
  }
  bool is_there(const std::string& plugin) {
    return fleet.api.objects(resource::pods).contains({std::string(plugin_ns), plugin});
  }
  std::string noted() {
    const Json& node = *fleet.api.objects(resource::nodes).at({"", "gpu-1"});
    return std::string(text_at(node, "metadata", "annotations", fleet::driver_pod_annotation));
  }
  std::string uid_of_driver() { return fleet.view().driver.pod->meta.uid.str(); }

  WatchedFleet fleet{with_rollouts()};
  view::KnownRollout known;
  std::shared_ptr<GenericObject> rollout;
  std::optional<ClientRestarts> restarts;
};

TEST_F(ClientRestartsTest, ClientsFromBeforeTheDriverAreRestartedOnceForEachDriverPod) {
  add_plugin("plugin-1");
  fleet.loop.run_for(minutes(1));
  add_new_driver();
  look();
  EXPECT_FALSE(is_there("plugin-1"));
  look();
  EXPECT_EQ(noted(), "") << "its next pod is not there yet";
  fleet.loop.run_for(minutes(1));
  add_plugin("plugin-2");
  look();
  EXPECT_TRUE(is_there("plugin-2"));
  EXPECT_EQ(noted(), uid_of_driver());
  const size_t calls = fleet.api.calls.size();
  look();
  EXPECT_EQ(fleet.api.calls.size(), calls) << "it is done";
}

// One that arrives late would name a driver pod that is gone.
TEST_F(ClientRestartsTest, TheNoteIsWrittenOnTheVersionThatWasSeen) {
  std::string version;
  fleet.api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (request.verb == kube::Verb::patch) {
      version = text_at(*request.body, "metadata", "resourceVersion");
    }
    return std::nullopt;
  };
  add_new_driver();
  fleet.loop.run_for(minutes(1));
  add_plugin("plugin-1");
  fleet.settle();
  const std::string seen = fleet.view().node->meta.resource_version.str();
  look();
  EXPECT_EQ(noted(), uid_of_driver());
  EXPECT_EQ(version, seen);
  EXPECT_FALSE(version.empty());
}

TEST_F(ClientRestartsTest, ADriverThatIsOlderThanTheRolloutIsNobodysUpgrade) {
  rollout->meta.created = fleet.loop.now() + hours(1);
  add_plugin("plugin-1");
  fleet.loop.run_for(minutes(1));
  add_new_driver();
  look();
  EXPECT_TRUE(is_there("plugin-1"));
}

TEST_F(ClientRestartsTest, NothingIsRestartedWhileTheDriverIsNotReady) {
  add_plugin("plugin-1");
  fleet.loop.run_for(minutes(1));
  fleet.api.erase(resource::pods, {std::string(operator_ns), "driver-1"});
  fleet.add_driver("driver-2", "gpu-1", "r1",
                   R"({"status":{"phase":"Pending","conditions":[],"containerStatuses":[]}})");
  look();
  EXPECT_TRUE(is_there("plugin-1"));
}

}  // namespace
}  // namespace lockstep::controller::client_restarts_test
