// The upgrade controller at the size of a large fleet: what it keeps in memory for 10,000 nodes and
// 100,000 pods, what one change costs until its decision is made, what it asks of the API while
// nothing happens, and how near to the ideal an upgrade of 1,000 nodes comes.
//
// The API is a canned one that answers with the text of realistic objects: what is measured is the
// controller alone. Processor time is this thread's own. Exit code 1 when a target is missed.

#include <malloc.h>
#include <map>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

#include <fmt/format.h>

#include "controller/upgrade_controller.h"
#include "fleet_json.h"
#include "kube/counting_api.h"
#include "measure.h"
#include "sim/scenario/scenario_run.h"
#include "world/virtual_loop.h"

namespace lockstep::bench {
namespace {

constexpr size_t nodes = 10'000;
constexpr size_t pods = nodes * pods_per_node;

// Answers lists with text made on demand, and lets events be sent by hand.
class CannedApi final : public kube::Api {
 public:
  explicit CannedApi(Loop& loop) : loop_(loop) {}

  void call(kube::Request request, kube::ReplyCallback done) override {
    loop_.post([this, request = std::move(request), done = std::move(done)] {
      kube::Response response;
      response.code = 200;
      auto at = lists.find(request.type.plural);
      response.body = at == lists.end() ? list_json(request.type.kind, "v1", 0, {}) : at->second();
      done(std::move(response));
    });
  }

  class Held final : public kube::Watch {
   public:
    Held(CannedApi& api, std::string plural) : api_(api), plural_(std::move(plural)) {}
    ~Held() override { api_.handlers_.erase(plural_); }

   private:
    CannedApi& api_;
    std::string plural_;
  };
  std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                     kube::WatchHandler handler) override {
    handlers_[request.type.plural] = std::move(handler);
    return std::make_unique<Held>(*this, request.type.plural);
  }
  void send(const std::string& plural, std::string object) {
    handlers_.at(plural).on_event({kube::WatchEventType::modified, std::move(object)});
  }

  std::map<std::string, std::function<std::string()>> lists;

 private:
  Loop& loop_;
  std::map<std::string, kube::WatchHandler> handlers_;
};

std::string one(std::string_view kind, const std::string& item) {
  return list_json(kind, "v1", 1, [&](size_t) { return item; });
}

std::string with_version(std::string text, const std::string& old_version, size_t version) {
  std::string key = "\"resourceVersion\":\"";
  size_t at = text.find(key + old_version);
  return text.replace(at + key.size(), old_version.size(), std::to_string(version));
}

void load(CannedApi& api) {
  Json driver_pod = *parse_json(pod_json(0));
  std::string owner(text_at(driver_pod.at("metadata").at("ownerReferences").at(0), "uid"));
  api.lists["nodes"] = [] {
    return list_json("Node", "v1", nodes, [](size_t i) { return node_json(i, {10, true}); });
  };
  api.lists["pods"] = [] {
    return list_json("Pod", "v1", pods,
                     [](size_t i) { return pod_json(pod_in_list_order(i, nodes)); });
  };
  api.lists["daemonsets"] = [owner] {
    return one("DaemonSet",
               fmt::format(R"({{"metadata":{{"name":"nvidia-driver-daemonset","namespace":)"
                           R"("gpu-operator","uid":"{}","resourceVersion":"5","generation":3,)"
                           R"("labels":{{"app":"nvidia-driver-daemonset"}}}},"spec":{{"selector":)"
                           R"({{"matchLabels":{{"app":"nvidia-driver-daemonset"}}}},"template":)"
                           R"({{"metadata":{{"labels":{{"app":"nvidia-driver-daemonset"}}}},)"
                           R"("spec":{{"nodeSelector":{{"nvidia.com/gpu.deploy.driver":"true"}},)"
                           R"("containers":[{{"name":"main","image":"d:580.65.06-u"}}]}}}},)"
                           R"("updateStrategy":{{"type":"OnDelete"}}}}}})",
                           owner));
  };
  api.lists["controllerrevisions"] = [owner] {
    return one("ControllerRevision",
               fmt::format(R"({{"metadata":{{"name":"r","namespace":"gpu-operator","uid":"u1",)"
                           R"("resourceVersion":"6","labels":{{"controller-revision-hash":)"
                           R"("6f7c9d8b5d"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":)"
                           R"("DaemonSet","name":"nvidia-driver-daemonset","uid":"{}",)"
                           R"("controller":true}}]}},"revision":3}})",
                           owner));
  };
  api.lists["clusterpolicies"] = [] {
    return one("ClusterPolicy",
               R"({"metadata":{"name":"cluster-policy","uid":"u2","resourceVersion":"7"},)"
               R"("spec":{"driver":{"upgradePolicy":{"autoUpgrade":true,)"
               R"("maxParallelUpgrades":50}}}})");
  };
}

void measure_controller() {
  VirtualLoop loop(1, Time::from_unix(1'794'000'000));
  SeededRandom random(1);
  SilentLog log;
  CannedApi canned(loop);
  load(canned);
  kube::CountingApi api(canned, loop);
  malloc_trim(0);
  size_t before = bytes_in_use();
  controller::UpgradeController controller(api, loop, random, log, {});
  double began = processor_seconds();
  controller.start();
  controller.lead();
  loop.run_for(seconds(30));
  double took = processor_seconds() - began;
  auto counts = controller.watch().tally().counts("");
  if (counts.total != static_cast<int64_t>(nodes) || counts.done != counts.total) {
    fmt::print("the fleet was not understood: {} nodes, {} done\n", counts.total, counts.done);
    ++missed;
  }
  report_at_most("memory of the controller, 10,000 nodes and 100,000 pods",
                 static_cast<double>(bytes_in_use() - before) / 1e6, "MB", 300);
  fmt::print("from nothing to a decision on every node: {:.2f} s (making the text included)\n",
             took);

  uint64_t asked = api.total("get") + api.total("list") + api.writes();
  loop.run_for(hours(1));
  uint64_t idle = api.total("get") + api.total("list") + api.writes() - asked;
  report_at_most("requests in an idle hour, besides watches and leases", static_cast<double>(idle),
                 "requests", 0);

  // Events as they come in: the status of a pod, the heartbeat of a node.
  constexpr size_t changes = 20'000;
  std::vector<std::string> pod_events;
  std::vector<std::string> node_events;
  for (size_t i = 0; i < changes; ++i) {
    size_t pod = i * 7919 % pods;
    pod_events.push_back(
        with_version(pod_json(pod), std::to_string(95'000'000 + pod * 3), 100'000'000 + i));
    size_t node = i * 7919 % nodes;
    node_events.push_back(with_version(node_json(node, {10, true}),
                                       std::to_string(90'000'000 + node * 7), 100'000'000 + i));
  }
  auto time = [&](const std::string& plural, std::vector<std::string>& events) {
    uint64_t decided = controller.counts().decisions;
    double start = processor_seconds();
    for (auto& event : events) {
      canned.send(plural, std::move(event));
      loop.run_for(milliseconds(1));
    }
    double spent = processor_seconds() - start;
    if (controller.counts().decisions - decided < events.size()) {
      fmt::print("only {} decisions\n", controller.counts().decisions - decided);
      ++missed;
    }
    return spent / static_cast<double>(events.size()) * 1e6;
  };
  double pod_cost = time("pods", pod_events);
  double node_cost = time("nodes", node_events);
  report_at_most("one change of a pod, from its text to the decision", pod_cost, "us", 100);
  report_at_most("one change of a node, from its text to the decision", node_cost, "us", 100);
}

void measure_upgrade() {
  constexpr std::string_view text = R"(
name: thousand nodes
nodes: 1000
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 50, maxUnavailable: "25%"}
latencies: {imagePull: 5s, initContainer: 2s, driverUnload: 5s, driverLoad: 90s, clientStart: 3s,
  validatorRun: 10s, podStop: 2s, workloadStart: 2s}
workloads: {deploymentReplicas: 500, claimPods: 300}
expect: {done: all, failed: 0}
)";
  auto scenario = sim::read_scenario(text, "bench");
  if (!scenario) {
    fmt::print("{}\n", scenario.error().text());
    ++missed;
    return;
  }
  double began = processor_seconds();
  sim::RunSummary summary = sim::run_scenario(*scenario, {});
  fmt::print("1,000 nodes, 50 at a time: {:.0f} virtual seconds in {:.1f} s of processor time\n",
             summary.virtual_seconds, processor_seconds() - began);
  for (const auto& problem : summary.violations) fmt::print("violation: {}\n", problem);
  for (const auto& problem : summary.disappointments) fmt::print("not met: {}\n", problem);
  if (!summary.ok()) ++missed;
  report_at_most("makespan against the ideal", summary.virtual_seconds / summary.ideal_seconds,
                 "times", 1.03);
  report_at_most("writes per node besides evictions and events",
                 static_cast<double>(summary.node_writes) / 1000, "writes", 12);
  uint64_t reads = 0;
  for (const char* verb : {"get", "list"}) {
    auto at = summary.api_calls.find(verb);
    if (at != summary.api_calls.end()) reads += at->second;
  }
  report_at_most("gets and lists during the upgrade", static_cast<double>(reads), "requests", 10);
}

}  // namespace
}  // namespace lockstep::bench

int main() {
  lockstep::bench::measure_controller();
  lockstep::bench::measure_upgrade();
  return lockstep::bench::missed == 0 ? 0 : 1;
}
