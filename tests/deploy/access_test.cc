// The controller runs with exactly the rights that the chart gives it: every call that it makes in
// any scenario is allowed, and every right is needed by some call.
#include "access.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"
#include "data/yaml.h"
#include "dra/plugin_scene_test_util.h"
#include "kube/leader_election.h"
#include "node/manager_scene_test_util.h"
#include "sim/actors/cluster.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::deploy::access_test {
namespace {

constexpr const char* our_namespace = "lockstep-system";

std::set<Access> chart_grants() {
  ProcessOutput printed =
      commands::run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run"});
  auto manifests = parse_yaml_stream(printed.output);
  if (!manifests) throw std::runtime_error(manifests.error().text());
  return granted_by(*manifests, our_namespace, "lockstep-controller");
}

std::string list(const std::set<Access>& all) {
  std::string text;
  for (const Access& access : all) text += "\n  " + describe(access);
  return text;
}

// All scenarios of the project, one seed each. Where a scenario has hundreds of nodes, fewer make
// the same calls.
std::set<Access> calls_in_scenarios() {
  std::set<Access> calls;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SCENARIO_DIR)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    auto scenario = sim::read_scenario(text.str(), entry.path().filename().string());
    if (!scenario) throw std::runtime_error(scenario.error().text());
    sim::RunOptions options;
    constexpr int enough = 12;
    if (scenario->fleet.nodes > enough && sim::check_nodes(*scenario, enough))
      options.nodes = enough;
    options.wrap = [&](kube::Api& inner) { return std::make_unique<RecordingApi>(inner, calls); };
    sim::run_scenario(*scenario, options);
  }
  return calls;
}

// Of two that elect: one takes the lease, renews it, gives it back, and the other takes it over.
std::set<Access> calls_of_elections() {
  std::set<Access> calls;
  sim::Cluster cluster(sim::ClusterOptions{});
  SilentLog log;
  RecordingApi api(cluster.api("lockstep"), calls);
  auto options = [](const std::string& identity) {
    kube::LeaderElectionOptions election;
    election.lease = {our_namespace, "lockstep-controller"};
    election.identity = identity;
    return election;
  };
  (void)cluster.call(kube::create(resource::namespaces, "",
                                  JsonObject{{"apiVersion", "v1"},
                                             {"kind", "Namespace"},
                                             {"metadata", JsonObject{{"name", our_namespace}}}}));
  kube::LeaderElection first(api, cluster.loop, cluster.random, log, options("a"));
  kube::LeaderElection second(api, cluster.loop, cluster.random, log, options("b"));
  first.start();
  cluster.loop.run_until([&] { return first.is_leading(); }, minutes(1));
  second.start();
  cluster.loop.run_for(minutes(1));
  first.stop();
  if (!cluster.loop.run_until([&] { return second.is_leading(); }, minutes(1))) {
    throw std::runtime_error("nobody took over");
  }
  return calls;
}

TEST(Access, IsReadFromRolesThatAreBound) {
  auto manifests = parse_yaml_stream(R"(
kind: ClusterRole
metadata: {name: a}
rules: [{apiGroups: [""], resources: [pods, pods/eviction], verbs: [list]}]
---
kind: ClusterRole
metadata: {name: of-another}
rules: [{apiGroups: [""], resources: [secrets], verbs: [list]}]
---
kind: Role
metadata: {name: r, namespace: here}
rules: [{apiGroups: [apps], resources: [daemonsets], resourceNames: [one, two], verbs: [get]}]
---
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {kind: ClusterRole, name: a}
subjects: [{kind: ServiceAccount, name: me, namespace: home}]
---
kind: ClusterRoleBinding
metadata: {name: c}
roleRef: {kind: ClusterRole, name: of-another}
subjects: [{kind: ServiceAccount, name: me, namespace: away}]
---
kind: RoleBinding
metadata: {name: d, namespace: here}
roleRef: {kind: Role, name: r}
subjects: [{kind: ServiceAccount, name: me, namespace: home}]
)");
  ASSERT_TRUE(manifests) << manifests.error().text();
  EXPECT_EQ(granted_by(*manifests, "home", "me"),
            (std::set<Access>{{"list", "pods", "", ""},
                              {"list", "pods/eviction", "", ""},
                              {"get", "daemonsets.apps", "here", "one"},
                              {"get", "daemonsets.apps", "here", "two"}}));
}

TEST(Access, AGrantAllowsNoMoreThanItSays) {
  Access everywhere{"get", "pods", "", ""};
  EXPECT_TRUE(allows(everywhere, {"get", "pods", "a", "b"}));
  EXPECT_FALSE(allows(everywhere, {"get", "pods/log", "a", "b"}));
  EXPECT_FALSE(allows(everywhere, {"list", "pods", "a", ""}));
  Access named{"get", "leases", "a", "x"};
  EXPECT_TRUE(allows(named, {"get", "leases", "a", "x"}));
  EXPECT_FALSE(allows(named, {"get", "leases", "a", "y"}));
  EXPECT_FALSE(allows(named, {"get", "leases", "b", "x"}));
  EXPECT_FALSE(allows({"create", "leases", "a", "x"}, {"create", "leases", "a", "x"}))
      << "as Kubernetes has it";
}

// What this suite is for: it must see a right too few, and a right too many.
TEST(Access, ADifferenceIsFoundInEitherDirection) {
  std::set<Access> calls{{"get", "pods", "a", "b"}, {"list", "nodes", "", ""}};
  std::set<Access> grants{{"get", "pods", "", ""}, {"list", "nodes", "", ""}};
  EXPECT_TRUE(compare(grants, calls).missing.empty());
  EXPECT_TRUE(compare(grants, calls).superfluous.empty());
  grants.erase({"list", "nodes", "", ""});
  EXPECT_EQ(compare(grants, calls).missing, (std::set<Access>{{"list", "nodes", "", ""}}));
  grants.insert({"delete", "nodes", "", ""});
  EXPECT_EQ(compare(grants, calls).superfluous, (std::set<Access>{{"delete", "nodes", "", ""}}));
}

// The account of gates is in no binding: what runs under it has no rights.
TEST(GatesAccess, IsNone) {
  for (const char* more : {"draPlugin.enabled=true", "controller.gates.jobs.enabled=true"}) {
    ProcessOutput printed = commands::run_lockstep(
        {"install", "--image", "registry.example.com/lockstep", "--dry-run", "--set", more});
    auto manifests = parse_yaml_stream(printed.output);
    ASSERT_TRUE(manifests) << manifests.error().text();
    EXPECT_TRUE(granted_by(*manifests, "lockstep-gates", "lockstep-gate").empty());
    for (const Json& object : *manifests) {
      if (text_at(object, "metadata", "name") != "lockstep-gate") continue;
      EXPECT_FALSE(as_bool(find(object, "automountServiceAccountToken"), true));
    }
  }
}

TEST(ControllersAccess, MakesJobsOnlyWhereGatesRun) {
  for (const Access& grant : chart_grants()) {
    if (!grant.resource.starts_with("jobs.")) continue;
    EXPECT_EQ(grant.ns, "lockstep-gates");
  }
}

TEST(ControllersAccess, IsExactlyWhatItUses) {
  std::set<Access> grants = chart_grants();
  ASSERT_FALSE(grants.empty());
  std::set<Access> calls = calls_in_scenarios();
  calls.merge(calls_of_elections());
  // The program itself asks once at its start; the next test sees it do so.
  calls.insert({"get", "namespaces", our_namespace, our_namespace});
  calls.insert({"get", "namespaces", "lockstep-gates", "lockstep-gates"});
  calls.insert({"get", "serviceaccounts", "lockstep-gates", "lockstep-gate"});
  Comparison result = compare(grants, calls);
  EXPECT_TRUE(result.missing.empty())
      << "the controller does, and may not:" << list(result.missing);
  EXPECT_TRUE(result.superfluous.empty())
      << "the controller may, and does not:" << list(result.superfluous);
}

// Every step at least once: operands, an eviction, a claim, a plugin with and one without a label.
std::set<Access> calls_of_driver_manager() {
  std::set<Access> calls;
  node::ManagerScene scene;
  scene.add_daemon_set("nvidia-dra-driver", "plugin");
  scene.add_claim("gpu", "gpu.nvidia.com");
  scene.add_work("claims", {.claim = "gpu"});
  scene.add_work("asks");
  scene.loop.run_for(seconds(5));
  RecordingApi api(scene.api(), calls);
  node::DriverManager manager(api, scene.loop, scene.random, scene.log, scene.host, scene.settings);
  manager.start();
  scene.loop.run_until([&] { return manager.is_finished(); }, hours(1));
  if (!manager.outcome() || manager.outcome()->error) {
    throw std::runtime_error("the driver-manager did not finish: " + scene.last_line());
  }
  return calls;
}

TEST(DriverManagersAccess, IsExactlyWhatItUsesAndOnlyOnRequest) {
  auto grants_of = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"install", "--image", "registry.example.com/lockstep", "--dry-run"});
    auto manifests = parse_yaml_stream(commands::run_lockstep(flags).output);
    if (!manifests) throw std::runtime_error(manifests.error().text());
    return granted_by(*manifests, "gpu-operator", "nvidia-driver");
  };
  EXPECT_TRUE(grants_of({}).empty());
  Comparison result =
      compare(grants_of({"--set", "driverManager.enabled=true"}), calls_of_driver_manager());
  EXPECT_TRUE(result.missing.empty()) << "it does, and may not:" << list(result.missing);
  EXPECT_TRUE(result.superfluous.empty()) << "it may, and does not:" << list(result.superfluous);
}

// A slice too many, a prepared claim, one that is wrong and said to be so twice, a pod that hears.
std::set<Access> calls_of_dra_plugin() {
  std::set<Access> calls;
  dra::PluginScene scene;
  RecordingApi api(scene.api, calls);
  scene.through = &api;
  scene.must(kube::create(resource::resource_slices, "",
                          dra::PluginScene::json_of(R"({"metadata":{"name":"old"},"spec":{
      "driver":"gpu.lockstep.dev","nodeName":"gpu-1","pool":{"name":"old","generation":1,
      "resourceSliceCount":1},"devices":[]}})")));
  scene.must(kube::create(resource::pods, "ml",
                          dra::PluginScene::json_of(R"({"metadata":{"name":"p-bad"},"spec":{
      "nodeName":"gpu-1","containers":[{"name":"c","image":"i"}]}})")));
  scene.start();
  scene.allocate("good", "gpu-0");
  scene.allocate("bad", "gpu-1", R"({"kind":"Wrong"})");
  scene.prepare("good");
  scene.prepare("bad", seconds(5));
  scene.loop.run_for(seconds(10));
  scene.prepare("bad", seconds(5));
  scene.probe.load("580.105.08");
  scene.loop.run_for(minutes(5));
  // Kubernetes asks for this by itself when the status of a claim's devices is written.
  calls.insert(
      {"associated-node:patch", "resourceclaims.resource.k8s.io/driver", "", "gpu.lockstep.dev"});
  return calls;
}

TEST(DraPluginsAccess, IsExactlyWhatItUsesAndOnlyOnRequest) {
  auto grants_of = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"install", "--image", "registry.example.com/lockstep", "--dry-run"});
    auto manifests = parse_yaml_stream(commands::run_lockstep(flags).output);
    if (!manifests) throw std::runtime_error(manifests.error().text());
    return granted_by(*manifests, "lockstep-dra", "lockstep-dra-plugin");
  };
  EXPECT_TRUE(grants_of({}).empty());
  Comparison result =
      compare(grants_of({"--set", "draPlugin.enabled=true"}), calls_of_dra_plugin());
  EXPECT_TRUE(result.missing.empty()) << "it does, and may not:" << list(result.missing);
  EXPECT_TRUE(result.superfluous.empty()) << "it may, and does not:" << list(result.superfluous);
}

// The program with its wiring, alone with a server that counts what it is asked for. It counts no
// names, so that kinds and verbs are compared.
TEST(ControllersAccess, CoversWhatTheProgramAsksForAtItsStartAndItsEnd) {
  commands::Cluster cluster;
  cluster.serve();
  ASSERT_EQ(cluster
                .sh("kubectl create namespace lockstep-system && kubectl create namespace "
                    "lockstep-gates && kubectl -n lockstep-gates create serviceaccount "
                    "lockstep-gate")
                .exit_code,
            0);
  commands::Child& controller = cluster.start_controller("controller");
  std::string port = cluster.status_port(controller);
  cluster.require("readiness",
                  [&] { return commands::http_get(port, "/readyz").starts_with("HTTP/1.1 200"); });
  cluster.require("the lead",
                  [&] { return controller.output().find("leading") != std::string::npos; });
  controller.signal(SIGTERM);
  cluster.require("its end", [&] { return controller.exit_code().has_value(); });
  ProcessOutput metrics = cluster.sh("kubectl get --raw /metrics");
  std::set<std::string> granted;
  for (const Access& grant : chart_grants()) granted.insert(grant.verb + " " + grant.resource);
  static const std::map<std::string, std::string> verbs = {
      {"GET", "get"},    {"LIST", "list"},   {"WATCH", "watch"},  {"POST", "create"},
      {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
  std::regex line(
      R"re(client="lockstep[^"]*",code="\d+",resource="([^"]*)",subresource="([^"]*)",verb="([^"]*)")re");
  std::set<std::string> asked;
  for (std::sregex_iterator at(metrics.output.begin(), metrics.output.end(), line), end; at != end;
       ++at) {
    const std::smatch& match = *at;
    // NVIDIA's kinds, which this server does not know.
    if (match[1].str().empty()) continue;
    std::string resource = match[1].str() + (match[2].str().empty() ? "" : "/" + match[2].str());
    auto verb = verbs.find(match[3].str());
    asked.insert((verb == verbs.end() ? match[3].str() : verb->second) + " " + resource);
  }
  EXPECT_TRUE(asked.contains("get namespaces"));
  EXPECT_TRUE(asked.contains("update leases.coordination.k8s.io"));
  for (const std::string& one : asked) EXPECT_TRUE(granted.contains(one)) << one;
}

}  // namespace
}  // namespace lockstep::deploy::access_test
