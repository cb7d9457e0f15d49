// Lockstep's own chart, given to real Helm and real kubectl, and compared with what `lockstep
// install` makes of the same files.
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/yaml.h"
#include "deploy/manifest_kinds.h"
#include "workshop.h"

namespace lockstep::bundles::chart_test {
namespace {

const Path chart = LOCKSTEP_CHART;
const Path values = LOCKSTEP_TEST_VALUES;

// What Helm and lockstep install are both told.
struct Case {
  std::string name;
  std::string release = "lockstep";
  std::string ns = "lockstep-system";
  std::string flags = "";
};

std::vector<Case> cases() {
  std::string everything = fmt::format("-f '{}'", (values / "everything.yaml").string());
  std::string least = fmt::format("-f '{}'", (values / "least.yaml").string());
  return {
      {"defaults"},
      {"another name", "gpu-upgrades", "kube-system"},
      {"everything", "lockstep", "lockstep-system", everything},
      {"least", "lockstep", "lockstep-system", least},
      {"nulls", "lockstep", "lockstep-system",
       fmt::format("-f '{}'", (values / "nulls.yaml").string())},
      {"files over files", "lockstep", "a", everything + " " + least},
      {"settings over files", "lockstep", "a",
       everything + " --set controller.replicas=1 --set image.tag=v2 --set-string image.tag=7 "
                    R"(--set-json 'controller.tolerations=[{"operator":"Exists"}]')"},
      {"no replicas", "lockstep", "a",
       "--set controller.replicas=0 --set admissionPolicy.action=Audit"},
  };
}

std::map<std::string, Json> by_name(const std::vector<Json>& objects) {
  std::map<std::string, Json> named;
  for (const Json& object : objects) named[deploy::describe(object)] = object;
  EXPECT_EQ(named.size(), objects.size()) << "two objects of one name";
  return named;
}

struct OurChart : ::testing::Test {
  std::vector<Json> by_helm(const Case& one) {
    return yaml_stream(
        workshop.sh(fmt::format(
            "helm template {} '{}' -n {} --set image.repository=registry.example.com/lockstep {}",
            one.release, chart.string(), one.ns, one.flags)),
        "helm");
  }
  std::vector<Json> by_us(const Case& one) {
    return yaml_stream(
        workshop.sh(fmt::format("'{}' install --set image.repository=registry.example.com/lockstep "
                                "--dry-run --name {} -n {} {}",
                                commands::lockstep_program(), one.release, one.ns, one.flags)),
        "lockstep");
  }

  Workshop workshop;
};

TEST_F(OurChart, IsCleanForHelmLint) {
  std::string said = workshop.sh(fmt::format("helm lint --strict '{}'", chart.string()));
  EXPECT_NE(said.find("0 chart(s) failed"), std::string::npos) << said;
  EXPECT_EQ(said.find("[WARNING]"), std::string::npos) << said;
  for (const char* file : {"everything.yaml", "least.yaml", "nulls.yaml"}) {
    workshop.sh(
        fmt::format("helm lint --strict '{}' -f '{}'", chart.string(), (values / file).string()));
  }
}

TEST_F(OurChart, GivesTheSameObjectsByHelmAndByInstall) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    auto helm = by_name(by_helm(one));
    auto ours = by_name(by_us(one));
    EXPECT_FALSE(helm.empty());
    for (const auto& [name, object] : helm) {
      ASSERT_TRUE(ours.contains(name)) << name;
      EXPECT_TRUE(json_equal(ours[name], object)) << "by lockstep install:\n"
                                                  << print_yaml(ours[name]) << "by helm:\n"
                                                  << print_yaml(object);
    }
    EXPECT_EQ(ours.size(), helm.size());
  }
}

// They are for tests and demonstrations.
TEST_F(OurChart, OffersNoSwitchThatLetsGitOrGatesReachThisMachine) {
  for (const Case& one : cases()) {
    for (const Json& object : by_us(one)) {
      EXPECT_EQ(print_yaml(object).find("--allow-local-git"), std::string::npos) << one.name;
    }
  }
}

std::string rules_of(const std::map<std::string, Json>& objects, const std::string& name) {
  const auto at = objects.find("NetworkPolicy " + name);
  if (at == objects.end()) return "no policy";
  const Json* egress = find(at->second, "spec", "egress");
  return egress == nullptr ? "no rules" : print_json(*egress);
}

TEST_F(OurChart, LetsPodsOutOnlyWhereTheValuesSay) {
  const std::string tcp = R"("protocol":"TCP"})";
  auto usual = by_name(by_us({"defaults"}));
  EXPECT_EQ(rules_of(usual, "lockstep-system/lockstep-controller"),
            R"([{"ports":[{"port":443,)" + tcp + R"(,{"port":6443,)" + tcp + "]}]");
  EXPECT_EQ(rules_of(usual, "lockstep-gates/lockstep-gates"),
            R"([{"ports":[{"port":53,"protocol":"UDP"},{"port":53,)" + tcp + "]}]");
  auto narrow = by_name(by_us(
      {"narrow", "lockstep", "lockstep-system",
       R"(--set draPlugin.enabled=true --set-json 'networkPolicy.apiServerPorts=[443]' )"
       R"(--set-json 'networkPolicy.apiServerCIDRs=["10.96.0.1/32"]' )"
       R"(--set-json 'networkPolicy.gitPorts=[443]' --set-json 'networkPolicy.gitCIDRs=["192.0.2.7/32"]')"}));
  const std::string api =
      R"({"ports":[{"port":443,)" + tcp + R"(],"to":[{"ipBlock":{"cidr":"10.96.0.1/32"}}]})";
  EXPECT_EQ(rules_of(narrow, "lockstep-dra/lockstep-dra-plugin"), "[" + api + "]");
  EXPECT_EQ(rules_of(narrow, "lockstep-system/lockstep-controller"),
            "[" + api + R"(,{"ports":[{"port":53,"protocol":"UDP"},{"port":53,)" + tcp + "]}" +
                R"(,{"ports":[{"port":443,)" + tcp +
                R"(],"to":[{"ipBlock":{"cidr":"192.0.2.7/32"}}]}])");
  // They select their own pods: what labels of the templates say.
  const Json* selected =
      find(narrow.at("NetworkPolicy lockstep-dra/lockstep-dra-plugin"), "spec", "podSelector");
  const Json* set =
      find(narrow.at("DaemonSet lockstep-dra/lockstep-dra-plugin"), "spec", "selector");
  ASSERT_TRUE(selected != nullptr && set != nullptr);
  EXPECT_TRUE(json_equal(*selected, *set));
  EXPECT_NE(print_json(usual.at("NetworkPolicy lockstep-gates/lockstep-gates"))
                .find(R"({"key":"lockstep.dev/gate","operator":"Exists"})"),
            std::string::npos);
}

// The header of a repository is a file of its own, and no other repository's.
TEST_F(OurChart, NamesEachRepositoryWithItsOwnCredential) {
  const auto objects = by_name(
      by_us({"git", "lockstep", "a", "-f '" + (values / "everything.yaml").string() + "'"}));
  const auto at = objects.find("Deployment a/lockstep-controller");
  ASSERT_NE(at, objects.end());
  const std::string text = print_yaml(at->second);
  for (const char* part :
       {"--git-repository=https://git.example.com/fleet/matrix.git,header-file=/etc/lockstep/git/"
        "matrix",
        "--git-repository=https://git.example.com:8443/team/,header-file=/etc/lockstep/git/team"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("GIT_CONFIG"), std::string::npos) << "a header that goes to every server";
}

// What is in braces is for Prometheus, and survives Helm.
TEST_F(OurChart, BringsTheAlertsOfDeployMonitoringOnRequest) {
  const Case asked{"rules", "lockstep", "a", "--set metrics.prometheusRule.enabled=true"};
  const std::string file = (chart / "../../monitoring/rules.yaml").string();
  const auto rules = parse_yaml(workshop.sh("cat '" + file + "'"), file);
  ASSERT_TRUE(rules) << rules.error().text();
  for (const auto& objects : {by_name(by_helm(asked)), by_name(by_us(asked))}) {
    const auto at = objects.find("PrometheusRule a/lockstep-controller");
    ASSERT_NE(at, objects.end());
    EXPECT_TRUE(json_equal(*find(at->second, "spec"), *rules)) << print_yaml(at->second);
  }
  EXPECT_FALSE(
      by_name(by_us({"defaults"})).contains("PrometheusRule lockstep-system/lockstep-controller"));
}

TEST_F(OurChart, ComesInTheSameOrder) {
  auto names = [](const std::vector<Json>& objects) {
    std::vector<std::string> kinds;
    for (const Json& object : objects) kinds.emplace_back(text_at(object, "kind"));
    return kinds;
  };
  EXPECT_EQ(names(by_us({"defaults"})), names(by_helm({"defaults"})));
}

TEST_F(OurChart, IsAcceptedByAnApiServerWithEveryFieldKnown) {
  workshop.serve_empty();
  // The namespaces that the cases name; and the Prometheus Operator's kinds.
  workshop.sh(
      "for name in lockstep-system a lockstep-gates lockstep-dra checks plugin; do kubectl create "
      "namespace $name --save-config; done");
  write(workshop.directory() / "monitor.yaml", R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: PrometheusRule, plural: prometheusrules}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: ServiceMonitor, plural: servicemonitors}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)");
  workshop.sh(
      "kubectl apply -f monitor.yaml && kubectl wait --for=condition=Established crd --all "
      "--timeout=30s");
  for (const Case& one : cases()) workshop.expect_accepted(by_us(one), one.name);
}

// Both refuse the same, and say where.
TEST_F(OurChart, RefusesWrongValues) {
  struct Mistake {
    std::string flags;
    std::string ours;
    std::string helms;
  };
  const std::vector<Mistake> mistakes = {
      {"--set controller.replicas=-1", "controller.replicas must be at least 0",
       "/controller/replicas"},
      {"--set controller.replicas=two", "controller.replicas must be a whole number",
       "/controller/replicas"},
      {"--set controler.replicas=2", "controler: unknown field; did you mean \"controller\"?",
       "controler"},
      {"--set controller.replica=2",
       "controller.replica: unknown field; did you mean \"replicas\"?", "replica"},
      {"--set image.tag=a/b", "image.tag must match", "/image/tag"},
      {"--set image.repository=https://r.example.com/l", "image.repository must match",
       "/image/repository"},
      {"--set image.repository=r.example.com/l:1", "image.repository must match",
       "/image/repository"},
      {"--set image.repository=r.example.com//l", "image.repository must match",
       "/image/repository"},
      {"--set image.pullPolicy=Sometimes",
       "image.pullPolicy must be one of Always, IfNotPresent, Never", "/image/pullPolicy"},
      {"--set metrics.port=80", "metrics.port must be at least 1024", "/metrics/port"},
      {"--set admissionPolicy.action=Refuse",
       "admissionPolicy.action must be one of Deny, Warn, Audit", "/admissionPolicy/action"},
      {"--set-string rbac.create=false", "rbac.create must be true or false", "/rbac/create"},
      {R"(--set-json 'controller.clientDaemonSets=["nameonly"]')",
       "controller.clientDaemonSets[0] must match", "/controller/clientDaemonSets/0"},
      {R"(--set-json 'controller.driverNamespaces=["Team A"]')",
       "controller.driverNamespaces[0] must match", "/controller/driverNamespaces/0"},
      {R"(--set-json 'controller.gpuDraDrivers=[]')",
       "controller.gpuDraDrivers must have at least 1 entries", "/controller/gpuDraDrivers"},
      {"--set metrics.serviceMonitor.interval=5",
       "metrics.serviceMonitor.interval must be a string", "/metrics/serviceMonitor/interval"},
      {R"(--set-json 'controller.git.repositories=[{"name": "a", "url": "http://git.example.com/x", )"
       R"("secretName": "s", "secretKey": "k"}]')",
       "controller.git.repositories[0].url must match", "/controller/git/repositories/0/url"},
      {R"(--set-json 'controller.git.repositories=[{"name": "a", "url": "https://u:p@git/x", )"
       R"("secretName": "s", "secretKey": "k"}]')",
       "controller.git.repositories[0].url must match", "/controller/git/repositories/0/url"},
      {R"(--set-json 'controller.nodeSelector={"a":null}')",
       "controller.nodeSelector.a must be a string", "/controller/nodeSelector/a"},
      {"--set controller=null", "controller is missing", "controller"},
      {"--set controller.gates.namespace=No", "controller.gates.namespace must match",
       "/controller/gates/namespace"},
      {"--set-string controller.gates.jobs.enabled=true",
       "controller.gates.jobs.enabled must be true or false", "/controller/gates/jobs/enabled"},
      {"--set controller.gateImage=\"a'b\"", "controller.gateImage must match",
       "/controller/gateImage"},
  };
  for (const Mistake& mistake : mistakes) {
    auto ours = workshop.try_sh(
        fmt::format("'{}' install --dry-run {}", commands::lockstep_program(), mistake.flags));
    EXPECT_EQ(ours.exit_code, 2) << mistake.flags;
    EXPECT_NE(ours.error.find(mistake.ours), std::string::npos) << ours.error;
    EXPECT_EQ(ours.output, "") << mistake.flags;
    auto helm = workshop.try_sh(
        fmt::format("helm template lockstep '{}' {}", chart.string(), mistake.flags));
    EXPECT_NE(helm.exit_code, 0) << mistake.flags;
    EXPECT_NE(helm.error.find(mistake.helms), std::string::npos) << helm.error;
  }
}

TEST_F(OurChart, RunsTheVersionOfTheBundlesHook) {
  Json hook = yaml(Path(LOCKSTEP_RECIPES) / "hooks/dra-reroll/values.yaml");
  Json ours = yaml(chart / "values.yaml");
  Json about = yaml(chart / "Chart.yaml");
  const Json* image = find(hook, "postInstallHooks", "dra", "image");
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(text_at(ours, "image", "repository"), "") << "no image is published yet";
  EXPECT_EQ(text_at(about, "appVersion"), text_at(*image, "tag"));
  EXPECT_EQ(text_at(about, "version"), text_at(about, "appVersion"));
  EXPECT_EQ(workshop.sh(fmt::format("'{}' --version", commands::lockstep_program())),
            fmt::format("lockstep {}\n", text_at(about, "appVersion")));
}

// What a namespace with pod-security.kubernetes.io/enforce: restricted asks for, and a file system
// that cannot be written.
TEST_F(OurChart, RunsAsNobodyWithNothingItCouldMisuse) {
  auto objects = by_name(by_us({"defaults"}));
  const Json* pod =
      find(objects["Deployment lockstep-system/lockstep-controller"], "spec", "template", "spec");
  ASSERT_NE(pod, nullptr);
  EXPECT_TRUE(as_bool(find(*pod, "securityContext", "runAsNonRoot")));
  EXPECT_GT(as_integer(find(*pod, "securityContext", "runAsUser")), 0);
  EXPECT_EQ(text_at(*pod, "securityContext", "seccompProfile", "type"), "RuntimeDefault");
  for (const char* host : {"hostNetwork", "hostPID", "hostIPC", "volumes"})
    EXPECT_EQ(find(*pod, host), nullptr) << host;
  const JsonArray& containers = find(*pod, "containers")->get_array();
  ASSERT_EQ(containers.size(), 1u);
  const Json& container = containers[0];
  EXPECT_FALSE(as_bool(find(container, "securityContext", "allowPrivilegeEscalation"), true));
  EXPECT_TRUE(as_bool(find(container, "securityContext", "readOnlyRootFilesystem")));
  EXPECT_EQ(print_json(*find(container, "securityContext", "capabilities")), R"({"drop":["ALL"]})");
  EXPECT_NE(find(container, "resources", "requests", "memory"), nullptr);
  EXPECT_NE(find(container, "resources", "limits", "memory"), nullptr);
}

// In the namespace of the controller there is nothing that needs more than "restricted": what is
// privileged has a namespace of its own, which says so.
TEST_F(OurChart, KeepsPrivilegedPodsOutOfTheControllersNamespace) {
  auto objects = by_name(by_us({"all", "lockstep", "lockstep-system",
                                "--set draPlugin.enabled=true --set driverManager.enabled=true"}));
  size_t privileged = 0;
  for (const auto& [name, object] : objects) {
    if (find(object, "spec", "template", "spec") == nullptr) continue;
    const bool is_privileged = print_json(object).find(R"("privileged":true)") != std::string::npos;
    const std::string ns(text_at(object, "metadata", "namespace"));
    EXPECT_EQ(ns == "lockstep-system", !is_privileged) << name;
    if (!is_privileged) continue;
    ++privileged;
    EXPECT_EQ(text_at(objects["Namespace " + ns], "metadata", "labels",
                      "pod-security.kubernetes.io/enforce"),
              "privileged");
  }
  EXPECT_EQ(privileged, 1U) << "the DRA plugin";
  EXPECT_FALSE(objects.contains("Namespace lockstep-system"));
  EXPECT_EQ(text_at(objects["Namespace lockstep-gates"], "metadata", "labels",
                    "pod-security.kubernetes.io/enforce"),
            "privileged");
}

// Off: the controller refuses them, and both admission policies do.
TEST_F(OurChart, HasJobGatesOffUntilTheyAreTurnedOn) {
  auto texts_of = [&](const std::string& flags) {
    auto objects = by_name(by_us({"gates", "lockstep", "lockstep-system", flags}));
    return std::vector<std::string>{
        print_json(objects["Deployment lockstep-system/lockstep-controller"]),
        print_json(objects["ValidatingAdmissionPolicy lockstep-rollout-steering"]),
        print_json(objects["ValidatingAdmissionPolicy lockstep-gate-jobs"])};
  };
  auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  auto off = texts_of("");
  EXPECT_FALSE(has(off[0], "--job-gates"));
  EXPECT_TRUE(has(off[0], "--gate-namespace=lockstep-gates"));
  EXPECT_TRUE(has(off[1], "Job gates (gates[].job) are off"));
  EXPECT_TRUE(has(off[2], R"("expression":"variables.isBuiltIn","message":"Job gates are off)"));
  auto on = texts_of("--set controller.gates.jobs.enabled=true");
  EXPECT_TRUE(has(on[0], "--job-gates"));
  EXPECT_TRUE(has(on[1], "namespace('lockstep-gates').check('create').allowed()"));
  EXPECT_FALSE(has(on[2], R"("expression":"variables.isBuiltIn",)"));
}

// They guard rights: a failure to evaluate them refuses, and no setting turns that into a warning.
TEST_F(OurChart, HasGuardsThatRefuseWhateverTheActionForMistakes) {
  auto objects = by_name(by_us({"warn", "lockstep", "lockstep-system",
                                "--set admissionPolicy.action=Warn --set draPlugin.enabled=true "
                                "--set driverManager.enabled=true"}));
  for (const char* name : {"lockstep-rollout-steering", "lockstep-gate-jobs",
                           "lockstep-driver-objects", "lockstep-dra-plugin-slices",
                           "lockstep-dra-plugin-claims", "lockstep-driver-manager-node"}) {
    const Json& policy = objects[std::string("ValidatingAdmissionPolicy ") + name];
    const Json& binding = objects[std::string("ValidatingAdmissionPolicyBinding ") + name];
    EXPECT_EQ(text_at(policy, "spec", "failurePolicy"), "Fail") << name;
    EXPECT_EQ(texts(find(binding, "spec", "validationActions")), std::vector<std::string>{"Deny"})
        << name;
  }
}

// A policy that names another account than the one that is bound guards nothing.
TEST_F(OurChart, BindsTheAccountsOnNodesToTheirNodes) {
  const std::string everything = fmt::format("-f '{}'", (values / "everything.yaml").string());
  auto objects = by_name(by_us({"accounts", "gpu", "lockstep-system", everything}));
  for (const auto& [name, account] : std::vector<std::pair<std::string, std::string>>{
           {"gpu-dra-plugin-slices", "plugin:gpu-dra-plugin"},
           {"gpu-dra-plugin-claims", "plugin:gpu-dra-plugin"},
           {"gpu-driver-manager-node", "drivers:the.driver"}}) {
    const Json& policy = objects["ValidatingAdmissionPolicy " + name];
    const JsonArray& conditions = find(policy, "spec", "matchConditions")->get_array();
    ASSERT_EQ(conditions.size(), 1u) << name;
    EXPECT_EQ(text_at(conditions[0], "expression"),
              fmt::format("request.userInfo.username == 'system:serviceaccount:{}'", account));
    EXPECT_NE(print_json(policy).find("authentication.kubernetes.io/node-name"), std::string::npos)
        << name;
  }
  for (const char* name : {"gpu-gate-jobs", "gpu-driver-objects"}) {
    EXPECT_NE(print_json(objects[std::string("ValidatingAdmissionPolicy ") + name])
                  .find("system:serviceaccount:lockstep-system:the-controller"),
              std::string::npos)
        << name;
  }
}

// The very arguments of the Deployment, and the probes that the kubelet would make.
TEST(OurDeployment, StartsAControllerThatAnswersItsProbes) {
  commands::Cluster cluster;
  cluster.serve();
  cluster.add_fleet(2, 50);
  ProcessOutput printed =
      commands::run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run",
                              "--set", "metrics.port=20000"});
  ASSERT_EQ(printed.exit_code, 0) << printed.error;
  auto objects = by_name(yaml_stream(printed.output, "lockstep"));
  const Json& deployment = objects["Deployment lockstep-system/lockstep-controller"];
  const Json& container =
      find(deployment, "spec", "template", "spec", "containers")->get_array()[0];
  EXPECT_EQ(texts(find(container, "command")), std::vector<std::string>{"lockstep"});
  std::vector<std::string> words = texts(find(container, "args"));
  auto address = std::find(words.begin(), words.end(), "--status-address=:20000");
  ASSERT_NE(address, words.end());
  // Another test may have the port.
  *address = "--status-address=127.0.0.1:0";
  commands::Child& controller = cluster.start("controller", words);
  std::string port = cluster.status_port(controller);
  auto answers = [&](const char* probe) {
    std::string path(text_at(container, probe, "httpGet", "path"));
    EXPECT_EQ(text_at(container, probe, "httpGet", "port"), "metrics");
    return commands::http_get(port, path).starts_with("HTTP/1.1 200");
  };
  EXPECT_TRUE(answers("livenessProbe"));
  cluster.require("the readiness probe", [&] { return answers("readinessProbe"); });
}

}  // namespace
}  // namespace lockstep::bundles::chart_test
