#include "upgrade/reroll.h"

#include <fmt/format.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::reroll_test {
namespace {

constexpr Time driver_time = test_time - minutes(10);

std::shared_ptr<const GenericObject> policy_object(std::string_view driver,
                                                   std::string_view state = "ready") {
  auto document = parse_json(
      fmt::format(R"({{"spec":{{"driver":{}}},"status":{{"state":"{}"}}}})", driver, state));
  EXPECT_TRUE(document);
  GenericObject object;
  object.meta.name = "cluster-policy";
  object.document = std::make_shared<const Json>(std::move(*document));
  return std::make_shared<const GenericObject>(std::move(object));
}

// Nodes whose driver is ready since ten minutes and whose plugin is younger, unless changed.
struct Fleet {
  explicit Fleet(int count) {
    driver_set.meta.name = "nvidia-driver-daemonset";
    driver_set.meta.ns = "gpu-operator";
    driver_set.meta.uid = "uid-driver-set";
    driver_set.meta.generation = driver_set.observed_generation = 2;
    driver_set.meta.labels = {{"app", "nvidia-driver-daemonset"}};
    driver_set.pod_template.node_selector = {{"gpu", "yes"}};
    driver_set.desired = driver_set.current = driver_set.updated = count;
    plugin_set.meta.name = "nvidia-dra-driver-gpu-kubelet-plugin";
    plugin_set.meta.ns = "nvidia-dra-driver";
    plugin_set.meta.uid = "uid-plugin-set";
    plugin_set.pod_template.labels = {{"nvidia-dra-driver-gpu-component", "kubelet-plugin"}};
    plugin_set.desired = plugin_set.current = count;
    for (int i = 1; i <= count; ++i) {
      Node node;
      node.meta.name = Text(fmt::format("gpu-{}", i));
      node.meta.labels = {{"gpu", "yes"}};
      nodes.push_back(node);
      Pod driver = make_driver_pod("new", driver_time);
      driver.meta.uid = Text(fmt::format("uid-driver-{}", i));
      driver.node_name = node.meta.name;
      drivers.push_back(driver);
      Pod plugin = make_daemon_pod(fmt::format("plugin-{}", i), driver_time + seconds(20));
      plugin.meta.ns = "nvidia-dra-driver";
      plugin.meta.owners = {{"apps/v1", "DaemonSet", "plugin", "uid-plugin-set", true}};
      plugin.node_name = node.meta.name;
      plugins.push_back(plugin);
    }
  }

  RerollView look() const {
    RerollWorld world;
    for (const auto& node : nodes) world.nodes.push_back(std::make_shared<const Node>(node));
    if (policy) world.cluster_policies = {policy};
    if (has_driver_set) world.driver_sets = {std::make_shared<const DaemonSet>(driver_set)};
    for (const auto& pod : drivers) world.driver_pods.push_back(share(pod));
    if (has_plugin_set) world.plugin_sets = {std::make_shared<const DaemonSet>(plugin_set)};
    for (const auto& pod : plugins) world.plugin_pods.push_back(share(pod));
    world.rerolled = rerolled;
    return look_at_reroll(world, rules);
  }
  std::vector<std::string> stale() const {
    std::vector<std::string> names;
    for (const auto& plugin : look().stale) names.push_back(plugin.pod->meta.name.str());
    return names;
  }
  void start_plugin(size_t index, Time at) { plugins[index].container_statuses[0].started = at; }
  void label(size_t index, std::string_view state) {
    nodes[index].meta.labels.set(Text(rules.keys.state), Text(state));
  }

  RerollRules rules;
  std::vector<Node> nodes;
  DaemonSet driver_set;
  DaemonSet plugin_set;
  std::vector<Pod> drivers;
  std::vector<Pod> plugins;
  std::shared_ptr<const GenericObject> policy;
  bool has_driver_set = true;
  bool has_plugin_set = true;
  std::map<RerollKey, Reroll> rerolled;
};

using Names = std::vector<std::string>;

// The two namespaces may be one that tenants use too.
TEST(Reroll, APodOfADeploymentWithTheDriversLabelIsNotTheDriver) {
  Fleet fleet(1);
  Pod alike = fleet.drivers[0];
  alike.meta.uid = "uid-alike";
  alike.meta.created = test_time;
  alike.meta.owners = {{"apps/v1", "ReplicaSet", "work", "uid-work", true}};
  alike.ready_since = test_time;
  fleet.drivers.push_back(alike);
  EXPECT_TRUE(fleet.look().finished());
  fleet.rules.drivers.namespaces = {"other"};
  EXPECT_FALSE(fleet.look().nothing_to_do.empty())
      << "the driver is looked for in the namespaces of the rules";
}

TEST(Reroll, AFleetWhosePluginsAreAllNewerIsFinished) {
  Fleet fleet(3);
  RerollView view = fleet.look();
  EXPECT_TRUE(view.finished()) << describe_rollout(view);
  EXPECT_EQ(view.gpu_nodes, 3);
  EXPECT_EQ(view.plugin_pods, 3);
  EXPECT_EQ(view.nothing_to_do, "");
}

TEST(Reroll, APluginIsStaleWhenAContainerOfItStartedBeforeTheDriverWasReady) {
  struct Case {
    Duration after_ready;
    bool stale;
  };
  for (const Case& c : std::vector<Case>{{hours(-5), true},
                                         {seconds(-1), true},
                                         // Times have whole seconds.
                                         {seconds(0), true},
                                         {milliseconds(900), true},
                                         {seconds(1), false},
                                         {hours(1), false}}) {
    Fleet fleet(1);
    fleet.start_plugin(0, driver_time + c.after_ready);
    EXPECT_EQ(fleet.stale().size(), c.stale ? 1u : 0u) << format_duration(c.after_ready);
  }
  // The driver's container runs long before the module is loaded.
  Fleet loading(1);
  loading.drivers[0].container_statuses[0].started = driver_time - minutes(3);
  loading.start_plugin(0, driver_time - minutes(1));
  EXPECT_EQ(loading.stale(), (Names{"plugin-1"}));
}

TEST(Reroll, OneOldContainerOfSeveralMakesThePluginStale) {
  Fleet fleet(1);
  ContainerStatus old = fleet.plugins[0].container_statuses[0];
  old.started = driver_time - hours(1);
  fleet.plugins[0].container_statuses.push_back(old);
  EXPECT_EQ(fleet.stale(), (Names{"plugin-1"}));
}

TEST(Reroll, APluginThatHasNotStartedIsWaitedForAndNotStale) {
  Fleet fleet(1);
  fleet.plugins[0] = waiting_in(fleet.plugins[0], "ContainerCreating");
  fleet.plugins[0].container_statuses[0].started = Time();
  RerollView view = fleet.look();
  EXPECT_TRUE(view.stale.empty());
  EXPECT_EQ(view.starting,
            (std::vector<RerollWait>{{"gpu-1", "nvidia-dra-driver/plugin-1 is not ready"}}));
}

TEST(Reroll, ThereIsNothingToDoWithoutPluginDriverOrNode) {
  Fleet no_plugin(2);
  no_plugin.has_plugin_set = false;
  EXPECT_EQ(no_plugin.look().nothing_to_do, "no DaemonSet of a DRA plugin exists");

  Fleet no_driver(2);
  no_driver.has_driver_set = false;
  no_driver.drivers.clear();
  EXPECT_EQ(no_driver.look().nothing_to_do, "the operator manages no driver");
  no_driver.policy = policy_object(R"({"enabled":false})");
  EXPECT_EQ(no_driver.look().nothing_to_do, "the operator manages no driver");

  Fleet no_node(0);
  EXPECT_EQ(no_node.look().nothing_to_do, "no GPU node exists");
  Fleet other_node(1);
  other_node.nodes[0].meta.labels = {};
  other_node.drivers.clear();
  EXPECT_EQ(other_node.look().nothing_to_do, "no GPU node exists");
}

TEST(Reroll, ADriverThatThePolicyWantsAndNobodyHasMadeYetIsWaitedFor) {
  Fleet fleet(2);
  fleet.has_driver_set = false;
  fleet.drivers.clear();
  fleet.policy = policy_object(R"({"enabled":true})");
  EXPECT_EQ(fleet.look().nothing_to_do, "no GPU node exists");
  fleet.nodes[0].meta.labels.set("feature.node.kubernetes.io/pci-0302_10de.present", "true");
  RerollView view = fleet.look();
  EXPECT_EQ(view.nothing_to_do, "");
  ASSERT_EQ(view.migrating.size(), 1u);
  EXPECT_EQ(view.migrating[0].where, "ClusterPolicy cluster-policy");
  // Its own driver is on it.
  fleet.nodes[0].meta.labels.set("nvidia.com/gpu.deploy.driver", "pre-installed");
  EXPECT_EQ(fleet.look().nothing_to_do, "no GPU node exists");
}

TEST(Reroll, AMigrationIsNotOverWhileADaemonSetHasNotSeenItsNewestTemplate) {
  Fleet fleet(2);
  fleet.driver_set.meta.generation = 3;
  RerollView view = fleet.look();
  ASSERT_EQ(view.migrating.size(), 1u);
  EXPECT_EQ(view.migrating[0].where, "DaemonSet gpu-operator/nvidia-driver-daemonset");
  EXPECT_EQ(view.migrating[0].why, "its controller has not observed the newest template yet");
}

TEST(Reroll, AMigrationIsNotOverWhileAPodIsOfAnOlderRevision) {
  Fleet fleet(2);
  fleet.driver_set.updated = 1;
  RerollView unnamed = fleet.look();
  ASSERT_EQ(unnamed.migrating.size(), 1u);
  EXPECT_EQ(unnamed.migrating[0].why, "1 of 2 driver pods have an older revision");

  // With the number of the template the node can be named.
  fleet.driver_set.meta.annotations.set("deprecated.daemonset.template.generation", "7");
  fleet.drivers[0].meta.labels.set("pod-template-generation", "7");
  fleet.drivers[1].meta.labels.set("pod-template-generation", "6");
  fleet.drivers[1].meta.labels.set("controller-revision-hash", "old");
  EXPECT_EQ(fleet.look().migrating,
            (std::vector<RerollWait>{{"gpu-2", "its driver pod has an older revision"}}));

  // The same content under an older number, after a rollback.
  fleet.drivers[1].meta.labels.set("controller-revision-hash", "new");
  EXPECT_TRUE(fleet.look().migrated());
}

TEST(Reroll, AMigrationIsNotOverWhileADriverPodIsMissingOrNotReadyOrLeaving) {
  Fleet fleet(4);
  fleet.drivers[1] = not_ready(fleet.drivers[1]);
  fleet.drivers[2] = terminating(fleet.drivers[2]);
  fleet.drivers.pop_back();
  RerollView view = fleet.look();
  EXPECT_EQ(view.migrating, (std::vector<RerollWait>{{"gpu-2", "its driver pod is not ready"},
                                                     {"gpu-3", "its driver pod is terminating"},
                                                     {"gpu-4", "it has no driver pod"}}));
  EXPECT_EQ(describe_migration(view),
            "3 of 4 nodes are not done: gpu-2 (its driver pod is not ready), gpu-3 (its driver pod "
            "is terminating), gpu-4 (it has no driver pod)");
}

TEST(Reroll, WhereTheUpgradeLabelIsInUseEveryNodeMustSayDone) {
  Fleet fleet(3);
  EXPECT_TRUE(fleet.look().migrated());
  fleet.label(0, "upgrade-done");
  fleet.label(1, "pod-restart-required");
  EXPECT_EQ(fleet.look().migrating,
            (std::vector<RerollWait>{{"gpu-2", "pod-restart-required"},
                                     {"gpu-3", "it has no upgrade state"}}));
  fleet.label(1, "upgrade-done");
  fleet.label(2, "upgrade-done");
  EXPECT_TRUE(fleet.look().migrated());
}

TEST(Reroll, ANodeThatAPersonLeftOutIsNotWaitedForButSaid) {
  Fleet fleet(2);
  fleet.label(0, "upgrade-done");
  fleet.label(1, "upgrade-required");
  fleet.nodes[1].meta.labels.set(Text(fleet.rules.keys.skip), "true");
  RerollView view = fleet.look();
  EXPECT_TRUE(view.migrated());
  EXPECT_EQ(view.left, (std::vector<RerollWait>{{"gpu-2", "skipped by its label"}}));
  // Its pod may be old, and no other's.
  fleet.driver_set.updated = 1;
  EXPECT_TRUE(fleet.look().migrated());
  fleet.driver_set.updated = 0;
  EXPECT_FALSE(fleet.look().migrated());
}

// The spec's rule: the controller that holds the node restarts its clients when its turn comes.
TEST(RerollDuringARollout, ANodeThatARolloutOrAnAdministratorHoldsIsNotWaitedForAndIsNamed) {
  Fleet fleet(5);
  for (size_t i = 1; i < 5; ++i) fleet.label(i, "upgrade-required");
  fleet.label(0, "upgrade-done");
  fleet.nodes[1].meta.annotations.set(fleet::awaits_rollout_annotation, "driver");
  fleet.nodes[2].meta.labels.set(Text(fleet.rules.keys.skip), "true");
  fleet.nodes[2].meta.annotations.set(fleet::kept_back_annotation, "driver");
  fleet.nodes[3].unschedulable = true;
  RerollView view = fleet.look();
  EXPECT_EQ(view.migrating, (std::vector<RerollWait>{{"gpu-5", "upgrade-required"}}));
  EXPECT_EQ(describe_left(view),
            "gpu-2 (held by rollout driver), gpu-3 (held by rollout driver), gpu-4 (cordoned by an "
            "administrator)");
  // It has begun: its wave is open.
  fleet.label(1, "pod-restart-required");
  EXPECT_EQ(fleet.look().migrating.size(), 2u);
  // Our own cordon does not count as an administrator's.
  fleet.nodes[3].meta.annotations.set(fleet::cordon_annotation, fleet::our_cordon);
  EXPECT_EQ(fleet.look().migrating.size(), 3u);
}

TEST(RerollDuringARollout, APluginOfANodeThatIsHeldIsNotWaitedForEither) {
  Fleet fleet(2);
  fleet.label(0, "upgrade-done");
  fleet.label(1, "upgrade-required");
  fleet.nodes[1].unschedulable = true;
  fleet.plugins[1] = not_ready(fleet.plugins[1]);
  EXPECT_TRUE(fleet.look().finished()) << describe_rollout(fleet.look());
  fleet.plugins[1] = terminating(fleet.plugins[1]);
  EXPECT_TRUE(fleet.look().finished()) << describe_rollout(fleet.look());
  fleet.plugins.pop_back();
  fleet.plugin_set.current = 1;
  EXPECT_TRUE(fleet.look().finished()) << describe_rollout(fleet.look());
}

TEST(RerollNodeByNode, APluginIsStaleAsSoonAsItsOwnNodeIsDone) {
  Fleet fleet(3);
  for (size_t i = 0; i < 3; ++i) {
    fleet.start_plugin(i, driver_time - hours(1));
    fleet.label(i, "pod-restart-required");
  }
  EXPECT_EQ(fleet.stale(), Names{});
  fleet.label(1, "upgrade-done");
  EXPECT_EQ(fleet.stale(), (Names{"plugin-2"}));
  EXPECT_FALSE(fleet.look().migrated());
  // What holds for the DaemonSet holds for all of its nodes: another driver is to come.
  fleet.driver_set.meta.generation = 3;
  EXPECT_EQ(fleet.stale(), Names{});
}

TEST(Reroll, AReadyClusterPolicyFromBeforeTheUpgradeIsNotBelieved) {
  Fleet fleet(1);
  fleet.policy = policy_object(R"({"version":"580.126.20"})", "ready");
  Container container;
  container.image = "nvcr.io/nvidia/driver:580.105.08-ubuntu24.04";
  fleet.driver_set.pod_template.spec.containers = {container};
  RerollView view = fleet.look();
  ASSERT_EQ(view.migrating.size(), 1u);
  EXPECT_EQ(view.migrating[0].why, "it has driver 580.105.08; 580.126.20 is expected");
  // And one that is not ready does not hold up what is.
  fleet.policy = policy_object(R"({"version":"580.105.08"})", "notReady");
  EXPECT_TRUE(fleet.look().migrated());
  fleet.drivers[0] = not_ready(fleet.drivers[0]);
  EXPECT_NE(describe_migration(fleet.look()).find("; the ClusterPolicy says notReady"),
            std::string::npos);
}

TEST(Reroll, WhatIsKnownToComeIsWaitedForEvenBeforeThePolicySaysIt) {
  Fleet fleet(1);
  GenericObject policy = *policy_object(R"({"version":"580.105.08"})");
  policy.meta.labels = {{"helm.sh/chart", "gpu-operator-v25.10.1"}};
  fleet.policy = std::make_shared<const GenericObject>(policy);
  Container container;
  container.image = "nvcr.io/nvidia/driver:580.105.08-ubuntu24.04";
  fleet.driver_set.pod_template.spec.containers = {container};
  ASSERT_TRUE(fleet.look().migrated());
  fleet.rules.driver_version = "580.126.20";
  EXPECT_EQ(describe_migration(fleet.look()),
            "DaemonSet gpu-operator/nvidia-driver-daemonset (it has driver 580.105.08; 580.126.20 "
            "is expected)");
  fleet.rules.driver_version = "580.105.08";
  fleet.rules.chart_version = "v26.3.1";
  EXPECT_EQ(describe_migration(fleet.look()),
            "ClusterPolicy cluster-policy (it has gpu-operator-v25.10.1; v26.3.1 is expected)");
  fleet.rules.chart_version = "v25.10.1";
  EXPECT_TRUE(fleet.look().migrated());
  policy.meta.labels = {{"helm.sh/chart", "gpu-operator-v26.3.1_build.2"}};
  fleet.policy = std::make_shared<const GenericObject>(policy);
  fleet.rules.chart_version = "v26.3.1+build.2";
  EXPECT_TRUE(fleet.look().migrated());
}

TEST(Reroll, NoPluginIsStaleWhileItsNodesDriverIsNotReady) {
  Fleet fleet(1);
  fleet.start_plugin(0, driver_time - hours(1));
  ASSERT_EQ(fleet.stale(), (Names{"plugin-1"}));
  fleet.drivers[0] = not_ready(fleet.drivers[0]);
  EXPECT_EQ(fleet.stale(), Names{});
}

TEST(Reroll, ASuccessorUnderTheSameDriverIsNewWhateverTheClockSays) {
  Fleet fleet(1);
  fleet.start_plugin(0, driver_time - hours(1));
  RerollKey key{"uid-plugin-set", "gpu-1"};
  fleet.rerolled[key] = {"uid-earlier", "uid-driver-1", driver_time};
  EXPECT_TRUE(fleet.look().finished());
  // The pod that was to be deleted and was not.
  fleet.rerolled[key].old_uid = "uid-plugin-1";
  EXPECT_EQ(fleet.stale(), (Names{"plugin-1"}));
  // The driver was restarted once more.
  fleet.rerolled[key] = {"uid-earlier", "uid-driver-1", driver_time - seconds(5)};
  EXPECT_EQ(fleet.stale(), (Names{"plugin-1"}));
}

TEST(Reroll, ADeletedPodIsWaitedForUntilItsSuccessorIsReadyUnlessItsNodeHasGone) {
  Fleet fleet(2);
  fleet.rerolled[{"uid-plugin-set", "gpu-2"}] = {"uid-old", "uid-driver-2", driver_time};
  Pod successor = fleet.plugins.back();
  fleet.plugins.pop_back();
  RerollView gone = fleet.look();
  EXPECT_EQ(gone.starting,
            (std::vector<RerollWait>{{"gpu-2", "its new plugin pod does not exist yet"}}));
  EXPECT_EQ(gone.outstanding, 1);
  fleet.plugins.push_back(not_ready(successor));
  RerollView starting = fleet.look();
  EXPECT_EQ(starting.starting.size(), 1u);
  EXPECT_EQ(starting.outstanding, 1);
  fleet.plugins.back() = successor;
  EXPECT_TRUE(fleet.look().finished());
  fleet.plugins.pop_back();
  fleet.nodes.pop_back();
  EXPECT_TRUE(fleet.look().finished());
}

TEST(Reroll, APodThatAnEarlierRunDeletedIsMissedByTheDaemonSetsOwnCount) {
  Fleet fleet(2);
  fleet.plugins.pop_back();
  fleet.plugin_set.current = 1;
  RerollView view = fleet.look();
  ASSERT_EQ(view.starting.size(), 1u);
  EXPECT_EQ(view.starting[0].why, "1 of 2 pods do not exist yet");
}

TEST(Reroll, AsManyAsTheLimitSaysAreAwayAtATimeAndAtLeastOne) {
  struct Case {
    int nodes;
    int64_t outstanding;
    IntOrPercent parallel;
    size_t chosen;
  };
  for (const Case& c : std::vector<Case>{{8, 0, IntOrPercent::percentage(25), 2},
                                         {8, 1, IntOrPercent::percentage(25), 1},
                                         {8, 2, IntOrPercent::percentage(25), 0},
                                         {9, 0, IntOrPercent::percentage(25), 3},
                                         {2, 0, IntOrPercent::percentage(1), 1},
                                         {8, 0, IntOrPercent::count(5), 5},
                                         {8, 0, IntOrPercent::percentage(100), 8}}) {
    Fleet fleet(c.nodes);
    for (int i = 0; i < c.nodes; ++i) fleet.start_plugin(i, driver_time - hours(1));
    RerollView view = fleet.look();
    view.outstanding = c.outstanding;
    EXPECT_EQ(choose_rerolls(view, c.parallel).size(), c.chosen)
        << c.nodes << " " << c.outstanding << " " << c.parallel.text();
  }
}

TEST(Reroll, NodesAreRerolledInTheirNaturalOrderAndTenAreNamed) {
  Fleet fleet(12);
  for (int i = 0; i < 12; ++i) fleet.start_plugin(i, driver_time - hours(1));
  Names names = fleet.stale();
  EXPECT_EQ(names[1], "plugin-2");
  EXPECT_EQ(names[11], "plugin-12");
  std::string text = describe_rollout(fleet.look());
  EXPECT_NE(text.find("12 plugin pods are older than their node's driver: gpu-1 "
                      "(nvidia-dra-driver/plugin-1), gpu-2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(nvidia-dra-driver/plugin-10) and 2 more"), std::string::npos) << text;
}

TEST(Reroll, ThePluginIsKnownByTheChartsLabelsOrNameOrByTheSelector) {
  struct Case {
    std::string name;
    StringMap labels;
    std::string selector;
    bool is_plugin;
  };
  for (const Case& c : std::vector<Case>{
           {"x", {{"nvidia-dra-driver-gpu-component", "kubelet-plugin"}}, "", true},
           {"x", {{"dra-driver-nvidia-gpu-component", "kubelet-plugin"}}, "", true},
           {"x", {{"nvidia-dra-driver-gpu-component", "controller"}}, "", false},
           {"nvidia-dra-driver-gpu-kubelet-plugin", {{"app", "x"}}, "", true},
           {"x", {{"app", "mine"}}, "app=mine", true},
           {"nvidia-dra-driver-gpu-kubelet-plugin", {{"app", "x"}}, "app=mine", false}}) {
    DaemonSet set;
    set.meta.name = Text(c.name);
    set.pod_template.labels = c.labels;
    RerollRules rules;
    if (!c.selector.empty()) rules.plugin_selector = selector(c.selector);
    EXPECT_EQ(is_plugin_daemon_set(set, rules), c.is_plugin) << c.name << " " << c.selector;
  }
}

}  // namespace
}  // namespace lockstep::upgrade::reroll_test
