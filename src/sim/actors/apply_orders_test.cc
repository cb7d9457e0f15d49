// An upgrade as each deployer delivers it: the operator's release, the DRA driver's with its
// derived annotation, and the post-install hook, in that deployer's order and with its waits. The
// truth is what the machines say: whether a plugin's handle still prepares a claim.
#include <memory>

#include "controller/reroller.h"
#include "controller/upgrade_controller.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::apply_orders_test {
namespace {

using controller::Reroller;
using controller::RerollOptions;
using controller::RerollOutcome;

constexpr auto new_chart = "v26.3.1";

class Delivery {
 public:
  explicit Delivery(ClusterOptions options) : cluster(options) {
    EXPECT_TRUE(cluster.start());
    // Upgrades the nodes as NVIDIA's controller would, and leaves the plugins to others.
    controller::UpgradeOptions upgrade;
    upgrade.fleet.restarts_clients = false;
    controller_ = std::make_unique<controller::UpgradeController>(
        cluster.api("lockstep"), cluster.loop, controller_random_, log_, std::move(upgrade));
    controller_->start();
    controller_->lead();
    cluster.loop.run_for(minutes(2));
    EXPECT_EQ(stale(), std::vector<std::string>{});
  }

  void apply_operator() { EXPECT_TRUE(cluster.set_driver_version(new_version, new_chart)); }
  void apply_dra_driver() {
    JsonObject metadata{
        {"annotations", JsonObject{{"aicr.nvidia.com/gpu-operator-chart-version", new_chart}}}};
    EXPECT_TRUE(cluster.call(merge_patch(
        resource::daemon_sets, {std::string(dra_namespace), std::string(dra_daemon_set_name)},
        JsonObject{
            {"spec", JsonObject{{"template", JsonObject{{"metadata", std::move(metadata)}}}}}})));
  }
  // helm --wait.
  void wait_for_dra_driver() {
    EXPECT_TRUE(run_until(
        cluster,
        [&] {
          Document set = cluster.get(resource::daemon_sets, {std::string(dra_namespace),
                                                             std::string(dra_daemon_set_name)});
          auto status = [&](std::string_view name) {
            return as_integer(find(*set, "status", name));
          };
          return status("observedGeneration") == as_integer(find(*set, "metadata", "generation")) &&
                 status("updatedNumberScheduled") == status("desiredNumberScheduled") &&
                 status("numberReady") == status("desiredNumberScheduled");
        },
        minutes(30)));
  }

  void start_hook(RerollOptions options) {
    hook_.reset();
    hook_ = std::make_unique<Reroller>(cluster.api("hook"), cluster.loop, hook_random_, log_,
                                       std::move(options), [](const std::string&) {});
    hook_->start();
  }
  RerollOutcome finish_hook() {
    EXPECT_TRUE(run_until(cluster, [&] { return hook_->outcome().has_value(); }, hours(3)));
    return hook_->outcome().value_or(RerollOutcome());
  }
  RerollOutcome run_hook(RerollOptions options) {
    start_hook(std::move(options));
    return finish_hook();
  }

  // Nodes on which no claim can be prepared.
  std::vector<std::string> stale() {
    std::vector<std::string> nodes;
    for (const auto& node : cluster.kubelets().node_names()) {
      Pod plugin = pod_of(cluster, dra_daemon_set_name, node);
      const PodRun* run = cluster.kubelets().find_run(node, plugin.meta.key());
      bool prepares =
          run != nullptr && cluster.kubelets().machine(node).prepare(run->nvml, "claim", 0);
      if (!prepares) nodes.push_back(node);
    }
    return nodes;
  }
  bool is_upgraded() {
    for (const auto& node : cluster.kubelets().node_names()) {
      if (!has_driver(cluster, node, new_version)) return false;
    }
    return true;
  }

  Cluster cluster;

 private:
  SilentLog log_;
  SeededRandom controller_random_{17};
  SeededRandom hook_random_{19};
  std::unique_ptr<controller::UpgradeController> controller_;
  std::unique_ptr<Reroller> hook_;
};

// Nodes one after the other, the last one slow, and an operator that takes its time to begin, as
// one does that was just replaced and waits for its predecessor's lease.
ClusterOptions slow_fleet(uint64_t seed) {
  ClusterOptions options = fleet_of(4, seed);
  options.simulated.fleet.upgrade_policy =
      JsonObject{{"autoUpgrade", true}, {"maxParallelUpgrades", 2}, {"maxUnavailable", "50%"}};
  options.simulated.gpu_operator.reaction = seconds(17);
  options.simulated.kubelets.behaviours["gpu-4"].driver_load = minutes(6);
  return options;
}

RerollOptions hook_of_chart() {
  RerollOptions options;
  options.timeout = hours(1);
  options.driver_version = new_version;
  options.chart_version = new_chart;
  return options;
}

struct Order {
  std::string name;
  std::function<RerollOutcome(Delivery&)> deliver;
};

// One release after the other; the DRA driver's pods are waited for, the driver's are not.
RerollOutcome deliver_as_helm(Delivery& delivery) {
  delivery.apply_operator();
  delivery.cluster.loop.run_for(seconds(40));
  delivery.apply_dra_driver();
  delivery.wait_for_dra_driver();
  return delivery.run_hook(hook_of_chart());
}

// By its graph of needs, and without waits.
RerollOutcome deliver_as_helmfile(Delivery& delivery) {
  delivery.apply_operator();
  delivery.cluster.loop.run_for(seconds(3));
  delivery.apply_dra_driver();
  delivery.cluster.loop.run_for(seconds(3));
  return delivery.run_hook(hook_of_chart());
}

// A release that fails is tried again, and its hook with it.
RerollOutcome deliver_as_flux(Delivery& delivery) {
  delivery.apply_operator();
  delivery.cluster.loop.run_for(minutes(1));
  delivery.apply_dra_driver();
  delivery.wait_for_dra_driver();
  RerollOptions impatient = hook_of_chart();
  impatient.timeout = minutes(2);
  RerollOutcome outcome = delivery.run_hook(impatient);
  EXPECT_EQ(outcome.kind, RerollOutcome::Kind::failed);
  for (int tries = 0; tries < 20 && outcome.error; ++tries) {
    delivery.cluster.loop.run_for(seconds(30));
    outcome = delivery.run_hook(impatient);
  }
  return outcome;
}

// Every Application at about the same time, in no order that could be relied on.
RerollOutcome deliver_as_argo(Delivery& delivery) {
  delivery.start_hook(hook_of_chart());
  delivery.cluster.loop.run_for(seconds(45));
  delivery.apply_dra_driver();
  delivery.cluster.loop.run_for(minutes(1));
  delivery.apply_operator();
  return delivery.finish_hook();
}

TEST(ApplyOrders, AnUpgradeDeliveredByEachDeployerEndsWithNoStalePlugin) {
  for (const Order& order : std::vector<Order>{{"helm", deliver_as_helm},
                                               {"helmfile", deliver_as_helmfile},
                                               {"flux", deliver_as_flux},
                                               {"argo", deliver_as_argo}}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(order.name + ", seed " + std::to_string(seed));
      Delivery delivery(slow_fleet(seed));
      RerollOutcome outcome = order.deliver(delivery);
      EXPECT_EQ(outcome.kind, RerollOutcome::Kind::rerolled) << outcome.text;
      EXPECT_TRUE(delivery.is_upgraded());
      EXPECT_EQ(delivery.stale(), std::vector<std::string>{});
    }
  }
}

// The purpose of the hook: the same orders, without a check at the end.
TEST(ApplyOrders, WithoutTheHookTheAnnotationAloneLeavesStalePlugins) {
  Delivery delivery(slow_fleet(1));
  delivery.apply_operator();
  delivery.cluster.loop.run_for(seconds(3));
  delivery.apply_dra_driver();
  ASSERT_TRUE(run_until(delivery.cluster, [&] { return delivery.is_upgraded(); }, hours(2)));
  delivery.cluster.loop.run_for(minutes(5));
  EXPECT_NE(delivery.stale(), std::vector<std::string>{});
  RerollOutcome outcome = delivery.run_hook(hook_of_chart());
  EXPECT_EQ(outcome.kind, RerollOutcome::Kind::rerolled) << outcome.text;
  EXPECT_EQ(delivery.stale(), std::vector<std::string>{});
}

// No annotation, and a driver that is started once more while the plugins roll.
TEST(ApplyOrders, AnUpgradeInWhichNobodyRestartsThePluginsEndsWellByTheHookAlone) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Delivery delivery(slow_fleet(seed));
    delivery.apply_operator();
    delivery.start_hook(hook_of_chart());
    ASSERT_TRUE(run_until(delivery.cluster, [&] { return delivery.is_upgraded(); }, hours(2)));
    delivery.cluster.kubelets().crash_driver("gpu-2");
    RerollOutcome outcome = delivery.finish_hook();
    EXPECT_EQ(outcome.kind, RerollOutcome::Kind::rerolled) << outcome.text;
    EXPECT_EQ(delivery.stale(), std::vector<std::string>{});
  }
}

// Each with the right versions known: without them only as long a delay as the settling time is
// covered, and this test is what says so.
TEST(ApplyOrders, AHookThatKnowsNoVersionsCoversADelayOfItsSettlingTimeOnly) {
  Delivery early(slow_fleet(1));
  RerollOptions options;
  options.timeout = hours(1);
  early.start_hook(options);
  early.cluster.loop.run_for(seconds(5));
  early.apply_operator();
  EXPECT_EQ(early.finish_hook().kind, RerollOutcome::Kind::rerolled);
  EXPECT_TRUE(early.is_upgraded());
  EXPECT_EQ(early.stale(), std::vector<std::string>{});

  Delivery late(slow_fleet(1));
  late.start_hook(options);
  EXPECT_EQ(late.finish_hook().kind, RerollOutcome::Kind::rerolled);
  EXPECT_FALSE(late.is_upgraded());
}

}  // namespace
}  // namespace lockstep::sim::apply_orders_test
