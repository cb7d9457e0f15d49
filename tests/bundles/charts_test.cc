// Every chart that a bundle holds is one that Helm accepts, and the hook of gpu-operator-post
// renders as the hook that was asked for, whichever deployer brings it.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workshop.h"

namespace lockstep::bundles::charts_test {
namespace {

const std::vector<std::string> deployers{"helm", "helmfile", "flux", "argocd", "argocd-helm"};

std::vector<Json> rendered(Workshop& workshop, const Path& chart, const std::string& release) {
  return yaml_stream(workshop.sh(fmt::format("helm template '{}' '{}' --namespace gpu-operator",
                                             release, chart.string())),
                     chart.string());
}

// All that Helm would read.
std::string contents(const Path& chart) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(chart)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().lexically_relative(chart).string()] = read(entry.path());
  }
  std::string all;
  for (const auto& [name, text] : files) all += fmt::format("{}\n{}\n", name, text);
  return all;
}

// The deployers share charts: the same bytes are not tried twice.
TEST(ChartsInHelm, EveryChartOfEveryBundlePassesLintAndRenders) {
  Workshop workshop;
  std::set<std::string> seen;
  std::string charts;
  for (const Query& query : queries()) {
    for (const std::string& deployer : deployers) {
      for (const Path& chart : charts_in(workshop.bundle(query, deployer))) {
        if (!seen.insert(contents(chart)).second) continue;
        charts += fmt::format(" '{}'", chart.string());
        for (const Json& object : rendered(workshop, chart, "some-release")) {
          EXPECT_NE(text_at(object, "kind"), "") << chart << print_json(object);
        }
      }
    }
  }
  EXPECT_GE(seen.size(), queries().size());
  ProcessOutput lint = workshop.try_sh("helm lint --strict" + charts);
  EXPECT_EQ(lint.exit_code, 0) << lint.output << lint.error;
}

Path chart_named(const Path& bundle, const std::string& name) {
  for (const Path& chart : charts_in(bundle)) {
    if (text_at(yaml(chart / "Chart.yaml"), "name") == name) return chart;
  }
  return {};
}

// The rights stay until the next run: a deployer may delete what has succeeded at once, and a right
// succeeds the moment that it exists.
void expect_hook(const Json& object, const std::string& weight) {
  auto annotation = [&](const char* key) {
    return text_at(object, "metadata", "annotations", key);
  };
  std::string what = print_json(object);
  EXPECT_EQ(annotation("helm.sh/hook"), "post-install,post-upgrade") << what;
  EXPECT_EQ(annotation("helm.sh/hook-weight"), weight) << what;
  bool is_job = text_at(object, "kind") == "Job";
  EXPECT_EQ(annotation("helm.sh/hook-delete-policy"),
            is_job ? "before-hook-creation,hook-succeeded" : "before-hook-creation")
      << what;
}

TEST(ChartsInHelm, TheHookAndItsRightsRenderAsAskedForInEveryDeployer) {
  const std::map<std::string_view, std::string> weights{
      {"ServiceAccount", "1"},     {"Role", "2"}, {"ClusterRole", "2"}, {"RoleBinding", "3"},
      {"ClusterRoleBinding", "3"}, {"Job", "10"}};
  Workshop workshop;
  for (const std::string& deployer : deployers) {
    Path chart = chart_named(workshop.bundle(flagship(), deployer), "gpu-operator-post");
    ASSERT_FALSE(chart.empty()) << deployer;
    std::multiset<std::string> kinds;
    bool is_change_visible = false;
    for (const Json& object : rendered(workshop, chart, "gpu-operator-post")) {
      std::string kind(text_at(object, "kind"));
      if (auto weight = weights.find(kind); weight != weights.end()) {
        kinds.insert(kind);
        expect_hook(object, weight->second);
      }
      if (kind == "ConfigMap" &&
          find(object, "metadata", "annotations", "helm.sh/hook") == nullptr) {
        is_change_visible = true;
      }
      if (kind == "Job") {
        EXPECT_EQ(find(object, "spec", "ttlSecondsAfterFinished"), nullptr) << deployer;
      }
    }
    for (const auto& [kind, weight] : weights) {
      EXPECT_GE(kinds.count(std::string(kind)), 1u) << deployer << " has no " << kind;
    }
    EXPECT_EQ(kinds.count("Job"), 1u) << deployer;
    EXPECT_TRUE(is_change_visible)
        << deployer << ": Argo CD has nothing to see when a version changes";
  }
}

// Pods are deleted in the namespace of the DRA driver and nowhere else.
TEST(ChartsInHelm, TheHookMayDeletePodsOfTheDraDriverAlone) {
  Workshop workshop;
  Path chart = chart_named(workshop.bundle(flagship(), "helm"), "gpu-operator-post");
  ASSERT_FALSE(chart.empty());
  const std::set<std::string> looking{"get", "list", "watch"};
  std::set<std::string> namespaces_with_delete;
  for (const Json& object : rendered(workshop, chart, "gpu-operator-post")) {
    const Json* rules = find(object, "rules");
    if (rules == nullptr) continue;
    for (const Json& rule : rules->as_array()) {
      for (const std::string& verb : texts(find(rule, "verbs"))) {
        if (looking.contains(verb)) continue;
        EXPECT_EQ(verb, "delete") << print_json(object);
        EXPECT_EQ(text_at(object, "kind"), "Role") << print_json(object);
        EXPECT_EQ(texts(find(rule, "resources")), std::vector<std::string>{"pods"});
        namespaces_with_delete.emplace(text_at(object, "metadata", "namespace"));
      }
    }
  }
  EXPECT_EQ(namespaces_with_delete, std::set<std::string>{"nvidia-dra-driver"});
}

// Every field of the Job and of its rights is one that Kubernetes knows.
TEST(ChartsInHelm, TheHookIsAcceptedByAnApiServer) {
  Workshop workshop;
  workshop.serve_empty();
  Path chart = chart_named(workshop.bundle(flagship(), "helm"), "gpu-operator-post");
  ASSERT_FALSE(chart.empty());
  workshop.expect_accepted(rendered(workshop, chart, "gpu-operator-post"), "gpu-operator-post");
}

TEST(ChartsInHelm, WithoutTheDraDriverThereIsNoHook) {
  Workshop workshop;
  for (const std::string& deployer : deployers) {
    Path bundle =
        workshop.bundle(flagship(), deployer, {"--set", "nvidia-dra-driver-gpu:enabled=false"});
    for (const Path& chart : charts_in(bundle)) {
      for (const Json& object : rendered(workshop, chart, "some-release")) {
        EXPECT_EQ(find(object, "metadata", "annotations", "helm.sh/hook"), nullptr)
            << deployer << ": " << print_json(object);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::bundles::charts_test
