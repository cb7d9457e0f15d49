#include "view/fleet_watch.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::fleet_watch_test {
namespace {

using fleet::State;

TEST(FleetWatch, SeesTheDriverItsSetAndItsNewestRevision) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_revision("r2", 2);
  scene.start();
  ASSERT_TRUE(scene.watch->synced());
  auto view = scene.view();
  EXPECT_EQ(view.driver.pod->meta.name.view(), "driver-1");
  EXPECT_EQ(view.driver.set->meta.name.view(), driver_set);
  EXPECT_EQ(view.driver.newest_revision.view(), "r2");
  EXPECT_TRUE(view.driver.is_out_of_sync());
  EXPECT_FALSE(scene.watch->view("no-such-node"));
}

TEST(FleetWatch, ANewRevisionIsNewsForEveryNode) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_node("gpu-2");
  scene.start();
  scene.looked_at.clear();
  scene.add_revision("r2", 2);
  scene.settle();
  EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U);
  EXPECT_EQ(scene.looked_at.count("gpu-2"), 1U);
  EXPECT_EQ(scene.view().driver.newest_revision.view(), "r2");
  // A rollback makes the old revision the newest again, under a higher number.
  scene.add_revision("r1", 3);
  scene.settle();
  EXPECT_EQ(scene.view().driver.newest_revision.view(), "r1");
}

// With a new revision beside the old template, every change seems not to affect the driver, and the
// driver would be restarted under running work.
TEST(FleetWatch, ARevisionThatIsNewerThanTheDaemonSetSeenIsNotKnownYet) {
  auto with_digest = [](std::string_view digest) {
    return fmt::format(R"({{"spec":{{"template":{{"spec":{{"initContainers":[{{"name":"manager",
             "env":[{{"name":"DRIVER_CONFIG_DIGEST","value":"{}"}}]}}]}}}}}}}})",
                       digest);
  };
  WatchedFleet scene;
  scene.add_usual();
  ObjectKey set{std::string(operator_ns), std::string(driver_set)};
  int64_t generation = 1;
  // As the API server does it: a new template is a new generation.
  auto set_digest = [&](std::string_view digest) {
    Json changed = merged(*scene.api.objects(resource::daemon_sets).at(set), with_digest(digest));
    scene.put(resource::daemon_sets, set,
              merged(changed, fmt::format(R"({{"metadata":{{"generation":{}}}}})", ++generation)));
  };
  auto add_revision = [&](std::string_view hash, int64_t number, std::string_view digest) {
    scene.put(resource::controller_revisions,
              {std::string(operator_ns), fmt::format("{}-{}", driver_set, hash)},
              merged(revision_json(driver_set, fmt::format("uid-{}", driver_set), hash, number),
                     fmt::format(R"({{"data":{}}})", with_digest(digest))));
  };
  set_digest("old");
  add_revision("r1", 1, "old");
  scene.start();
  EXPECT_EQ(scene.view().driver.newest_revision.view(), "r1");
  add_revision("r2", 2, "new");
  scene.settle();
  EXPECT_EQ(scene.view().driver.newest_revision.view(), "");
  EXPECT_FALSE(scene.view().driver.is_in_sync());
  EXPECT_FALSE(scene.view().driver.is_out_of_sync());
  scene.looked_at.clear();
  set_digest("new");
  scene.settle();
  EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U) << "the node is looked at again";
  EXPECT_EQ(scene.view().driver.newest_revision.view(), "r2");
}

TEST(FleetWatch, AChangeOfADaemonSetsStatusIsNoNews) {
  WatchedFleet scene;
  scene.add_usual();
  scene.start();
  scene.looked_at.clear();
  ObjectKey key{std::string(operator_ns), std::string(driver_set)};
  scene.put(
      resource::daemon_sets, key,
      merged(*scene.api.objects(resource::daemon_sets).at(key), R"({"status":{"numberReady":1}})"));
  scene.settle();
  EXPECT_TRUE(scene.looked_at.empty());
}

TEST(FleetWatch, OfTwoDriverPodsTheOneThatStaysCounts) {
  constexpr std::string_view ending =
      R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:05Z",
                      "creationTimestamp":"2026-01-01T00:00:09Z"}})";
  constexpr std::string_view staying =
      R"({"metadata":{"creationTimestamp":"2026-01-01T00:00:01Z"}})";
  // By name the one or the other comes first.
  for (auto [old_name, new_name] : {std::pair("a-driver", "b-driver"), {"b-driver", "a-driver"}}) {
    WatchedFleet scene;
    scene.add_usual();
    scene.api.erase(resource::pods, {std::string(operator_ns), "driver-1"});
    scene.add_driver(old_name, "gpu-1", "r1", ending);
    scene.start();
    EXPECT_EQ(scene.view().driver.pod->meta.name.view(), old_name);
    scene.add_driver(new_name, "gpu-1", "r1", staying);
    scene.settle();
    EXPECT_EQ(scene.view().driver.pod->meta.name.view(), new_name);
  }
  // Of two that stay the newer.
  WatchedFleet scene;
  scene.add_usual();
  scene.add_driver("younger", "gpu-1", "r1",
                   R"({"metadata":{"creationTimestamp":"2026-01-01T00:00:07Z"}})");
  scene.add_driver("zolder", "gpu-1", "r1", staying);
  scene.start();
  EXPECT_EQ(scene.view().driver.pod->meta.name.view(), "younger");
}

TEST(FleetWatch, APodWithAClaimOfAGpuUsesAGpu) {
  WatchedFleet scene;
  scene.add_usual();
  auto claim = [&](const std::string& name, std::string_view driver) {
    scene.put(resource::resource_claims, {"ml", name},
              json_of(fmt::format(
                  R"({{"spec":{{"devices":{{"requests":[{{"name":"r"}}]}}}},
                       "status":{{"allocation":{{"devices":{{"results":[{{"request":"r",
                         "driver":"{}","pool":"p","device":"d"}}]}}}},
                         "reservedFor":[{{"resource":"pods","name":"{}","uid":"u"}}]}}}})",
                  driver, name)));
  };
  auto pod = [&](const std::string& name) {
    scene.put(resource::pods, {"ml", name},
              json_of(fmt::format(R"({{"spec":{{"nodeName":"gpu-1","containers":[{{"name":"c"}}],
                    "resourceClaims":[{{"name":"x","resourceClaimName":"{}"}}]}},
                    "status":{{"phase":"Running"}}}})",
                                  name)));
  };
  pod("gpu");
  pod("net");
  pod("unreadable");
  claim("gpu", "gpu.nvidia.com");
  claim("net", "dra.net");
  scene.start();
  std::map<std::string, bool> uses;
  for (const auto& entry : scene.view().pods) uses[entry.pod->meta.name.str()] = entry.uses_gpu;
  EXPECT_EQ(uses,
            (std::map<std::string, bool>{{"gpu", true}, {"net", false}, {"unreadable", true}}));
  // The claim itself is news for the node of the pod that holds it.
  scene.looked_at.clear();
  claim("net", "gpu.nvidia.com");
  scene.settle();
  EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U);
}

TEST(FleetWatch, ClientsAndSlicesAreLookedAtInValidation) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_set(plugin_ns, plugin_set, R"({})");
  scene.add_pod(plugin_ns, plugin_set, "plugin-old", "gpu-1", "",
                R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:05Z"}})");
  scene.add_pod(plugin_ns, plugin_set, "plugin-new", "gpu-1");
  scene.add_pod(operator_ns, validator_set, "validator-1", "gpu-1");
  scene.put(resource::resource_slices, {"", "slice-1"},
            json_of(R"({"spec":{"driver":"gpu.nvidia.com","nodeName":"gpu-1",
                        "pool":{"name":"p","generation":1,"resourceSliceCount":1},
                        "devices":[{"name":"gpu-0","attributes":{"driverVersion":{"version":"580.105.8"}}},
                                   {"name":"gpu-1","attributes":{"driverVersion":{"version":"580.105.8"}}}]}})"));
  scene.start();
  EXPECT_TRUE(scene.view().clients.empty());
  EXPECT_TRUE(scene.view().slice_versions.empty());
  scene.add_state("gpu-1", State::validation);
  scene.settle();
  auto view = scene.view();
  ASSERT_EQ(view.clients.size(), 1U);
  EXPECT_EQ(view.clients[0].daemon_set, fmt::format("{}/{}", plugin_ns, plugin_set));
  EXPECT_TRUE(view.clients[0].wanted);
  EXPECT_EQ(view.clients[0].pod->meta.name.view(), "plugin-new");
  EXPECT_EQ(view.slice_versions, std::vector<std::string>{"580.105.8"});
  ASSERT_EQ(view.validators.size(), 1U);
  EXPECT_EQ(view.validators[0]->meta.name.view(), "validator-1");
  FreshNode fresh;
  fresh.node = view.node;
  EXPECT_EQ(scene.watch->view(fresh).slice_versions, std::vector<std::string>{"580.105.8"})
      << "they were not read";
  fresh.slices.emplace();
  EXPECT_TRUE(scene.watch->view(fresh).slice_versions.empty()) << "as they were read";
}

TEST(FleetWatch, APluginOfTheRenamedChartIsAClientAndATenantsIsNot) {
  WatchedFleet scene;
  scene.add_usual();
  for (std::string_view ns : {"dra-driver-nvidia-gpu", "team-a"}) {
    scene.add_set(ns, "dra-driver-nvidia-gpu-kubelet-plugin", R"({})");
  }
  scene.start();
  scene.add_state("gpu-1", State::validation);
  scene.settle();
  auto view = scene.view();
  ASSERT_EQ(view.clients.size(), 1U);
  EXPECT_EQ(view.clients[0].daemon_set,
            "dra-driver-nvidia-gpu/dra-driver-nvidia-gpu-kubelet-plugin");
  scene.api.erase(resource::daemon_sets,
                  {"dra-driver-nvidia-gpu", "dra-driver-nvidia-gpu-kubelet-plugin"});
  scene.settle();
  EXPECT_TRUE(scene.view().clients.empty());
}

TEST(FleetWatch, BudgetsAndTriesAreShownWherePodsAreEvicted) {
  WatchedFleet scene;
  scene.add_usual();
  scene.put(resource::pods, {"default", "work"},
            merged(gpu_pod_json("work", "gpu-1"), R"({"status":{"phase":"Running"}})"));
  auto budget = [&](const std::string& ns, const std::string& name, std::string_view app,
                    int allowed) {
    scene.put(resource::pod_disruption_budgets, {ns, name},
              json_of(fmt::format(R"({{"spec":{{"selector":{{"matchLabels":{{"app":"{}"}}}}}},
                                       "status":{{"disruptionsAllowed":{}}}}})",
                                  app, allowed)));
  };
  budget("default", "strict", "work", 0);
  budget("default", "generous", "work", 1);
  budget("default", "of-others", "web", 0);
  budget("elsewhere", "strict", "work", 0);
  scene.start();
  auto uid = scene.view().pods.at(0).pod->meta.uid.str();
  ControllerNotes notes;
  notes.nodes["gpu-1"].evictions[uid].message = "no";
  const ObjectKey key{"lockstep-system", std::string(notes_name)};
  scene.put(resource::config_maps, key, notes.to_json(key));
  scene.settle();
  EXPECT_TRUE(scene.view().pods.at(0).blocking_budgets.empty());
  EXPECT_FALSE(scene.view().pods.at(0).tries);
  scene.add_state("gpu-1", State::pod_deletion);
  scene.settle();
  EXPECT_EQ(scene.view().pods.at(0).blocking_budgets, std::vector<std::string>{"strict"});
  EXPECT_EQ(scene.view().pods.at(0).tries->message, "no");
}

TEST(FleetWatch, PoolsFollowTheOwnerLabelAndFallBackToTheClusterPolicy) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_policy(R"({"autoUpgrade":true,"maxParallelUpgrades":7})");
  scene.put(nvidia_drivers, {"", "blue"},
            nvidia_driver_json("blue", R"({"upgradePolicy":{"autoUpgrade":true,
                                           "maxParallelUpgrades":3}})"));
  scene.put(nvidia_drivers, {"", "green"}, nvidia_driver_json("green", "{}"));
  for (std::string pool : {"blue", "green", "red"}) {
    scene.add_node("node-" + pool, fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}}}}}})",
                                               fleet::driver_owner_label, pool));
  }
  scene.start();
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->tally().pools(), (std::vector<std::string>{"", "blue", "green", "red"}));
  EXPECT_EQ(scene.view("node-blue").pool, "blue");
  EXPECT_EQ(scene.watch->policy("blue").max_parallel, 3);
  EXPECT_EQ(scene.watch->policy("green").max_parallel, 7);
  // Its NVIDIADriver is not there (any more).
  EXPECT_EQ(scene.watch->policy("red").max_parallel, 7);
  EXPECT_EQ(scene.watch->pool("blue").counts.total, 1);
}

TEST(FleetWatch, AChangeOfPolicyIsNewsForEveryNodeAndForSlots) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_node("gpu-2");
  scene.start();
  scene.looked_at.clear();
  scene.pools = 0;
  scene.add_policy(R"({"autoUpgrade":false})");
  scene.settle();
  EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U);
  EXPECT_EQ(scene.looked_at.count("gpu-2"), 1U);
  EXPECT_GT(scene.pools, 0);
  EXPECT_FALSE(scene.watch->policy("").auto_upgrade);
}

TEST(FleetWatch, CountsAreBroughtUpToDateBeforeSlotsAreGiven) {
  WatchedFleet scene;
  scene.add_usual();
  scene.start();
  EXPECT_EQ(scene.watch->tally().counts("").total, 0);
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->tally().counts("").total, 1);
  scene.patch_node("gpu-1", R"({"spec":{"unschedulable":true}})");
  scene.add_state("gpu-1", State::drain);
  scene.settle();
  EXPECT_EQ(scene.watch->tally().counts("").active, 0);
  scene.pools = 0;
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->tally().counts("").active, 1);
  EXPECT_EQ(scene.watch->tally().counts("").unavailable, 1);
  EXPECT_EQ(scene.pools, 1);
  scene.watch->count_changed();
  EXPECT_EQ(scene.pools, 1);
}

TEST(FleetWatch, NodesWithoutADriverAreNotCounted) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_node("cpu-1", R"({"metadata":{"labels":{"nvidia.com/gpu.deploy.driver":null}}})");
  scene.add_node("gpu-10");
  scene.add_node("gpu-9");
  scene.start();
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->nodes(), (std::vector<std::string>{"gpu-1", "gpu-9", "gpu-10"}));
  // Not wanted any more, and the pod is gone.
  scene.patch_node("gpu-9", R"({"metadata":{"labels":{"nvidia.com/gpu.deploy.driver":"false"}}})");
  scene.settle();
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->nodes(), (std::vector<std::string>{"gpu-1", "gpu-10"}));
}

// A DaemonSet that is deleted and created again is without pods for a moment.
TEST(FleetWatch, ANodeInTheMiddleOfItsUpgradeKeepsItsPlaceWithoutADriver) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_node("gpu-2");
  scene.add_driver("driver-2", "gpu-2");
  scene.add_state("gpu-1", State::pod_restart);
  scene.add_state("gpu-2", State::done);
  scene.start();
  scene.api.erase(resource::daemon_sets, {std::string(operator_ns), std::string(driver_set)});
  scene.api.erase(resource::pods, {std::string(operator_ns), "driver-1"});
  scene.api.erase(resource::pods, {std::string(operator_ns), "driver-2"});
  scene.settle();
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->nodes(), (std::vector<std::string>{"gpu-1", "gpu-2"}))
      << "out of service they would be all the same, and are to be counted";
  EXPECT_EQ(scene.watch->tally().counts("").active, 1);
  // Another DaemonSet, which does not want them.
  scene.add_set(operator_ns, driver_set, R"({"another":"pool"})");
  scene.settle();
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->nodes(), std::vector<std::string>{"gpu-1"}) << "in mid-upgrade";
}

// One of two leaders may not have seen the newest revision: it must not take the pods of it for
// old.
TEST(FleetWatch, APodOfARevisionThatIsNotKnownAndLaterThanTheNewestIsNotOutOfDate) {
  WatchedFleet scene;
  scene.add_usual();
  scene.start();
  auto made_at = [](std::string_view time) {
    return fmt::format(R"({{"metadata":{{"creationTimestamp":"{}"}}}})", time);
  };
  auto with_times = [&](std::string_view revision_made, std::string_view pod_made) {
    ObjectKey key{std::string(operator_ns), fmt::format("{}-known", driver_set)};
    Json revision = revision_json(driver_set, fmt::format("uid-{}", driver_set), "known", 7);
    scene.put(resource::controller_revisions, key, merged(revision, made_at(revision_made)));
    scene.add_driver("driver-1", "gpu-1", "unknown", made_at(pod_made));
    scene.settle();
    return scene.view().driver;
  };
  fleet::DriverView later = with_times("2026-11-15T10:00:00Z", "2026-11-15T10:00:05Z");
  EXPECT_TRUE(later.newest_revision.empty());
  EXPECT_FALSE(later.is_out_of_sync());
  fleet::DriverView earlier = with_times("2026-11-15T10:00:00Z", "2026-11-15T09:00:00Z");
  EXPECT_EQ(earlier.newest_revision, "known");
  EXPECT_TRUE(earlier.is_out_of_sync());
}

TEST(FleetWatch, ANodeThatVanishesIsForgotten) {
  WatchedFleet scene;
  scene.add_usual();
  scene.start();
  scene.watch->count_changed();
  scene.watch->tally().reserve("gpu-1");
  EXPECT_EQ(scene.watch->tally().counts("").active, 1);
  scene.pools = 0;
  scene.api.erase(resource::nodes, {"", "gpu-1"});
  scene.settle();
  EXPECT_EQ(scene.watch->tally().counts("").total, 0);
  EXPECT_EQ(scene.watch->tally().counts("").active, 0);
  EXPECT_FALSE(scene.watch->tally().is_reserved("gpu-1"));
  EXPECT_EQ(scene.pools, 1);
  scene.watch->count_changed();
  EXPECT_TRUE(scene.watch->nodes().empty());
  EXPECT_FALSE(scene.watch->view("gpu-1"));
}

TEST(FleetWatch, ANodeIsNotCurrentWhileAWriteToItOrItsPodsDoesNotShow) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_node("gpu-2");
  scene.start();
  EXPECT_TRUE(scene.watch->is_current("gpu-1"));
  scene.watch->expect_node("gpu-1", std::to_string(scene.api.version() + 1));
  EXPECT_FALSE(scene.watch->is_current("gpu-1"));
  EXPECT_TRUE(scene.watch->is_current("gpu-2"));
  scene.patch_node("gpu-1", R"({"spec":{"unschedulable":true}})");
  scene.settle();
  EXPECT_TRUE(scene.watch->is_current("gpu-1"));
  auto pod = scene.view().driver.pod;
  scene.watch->expect_pod_gone(pod->meta.key(), pod->meta.uid);
  EXPECT_FALSE(scene.watch->is_current("gpu-1"));
  EXPECT_TRUE(scene.watch->is_current("gpu-2"));
  scene.looked_at.clear();
  scene.api.erase(resource::pods, pod->meta.key());
  scene.settle();
  EXPECT_TRUE(scene.watch->is_current("gpu-1"));
  EXPECT_EQ(scene.looked_at.count("gpu-1"), 1U);
}

}  // namespace
}  // namespace lockstep::view::fleet_watch_test
