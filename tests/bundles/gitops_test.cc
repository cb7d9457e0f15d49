// The objects for Flux and for Argo CD are accepted by the real resource definitions of both,
// and wait for each other in the recipe's order.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workshop.h"

namespace lockstep::bundles::gitops_test {
namespace {

const std::vector<std::string> repository{"--repo",
                                          "https://git.example.com/platform/clusters.git"};

TEST(FluxObjects, AreAcceptedByTheDefinitionsOfFlux) {
  Workshop workshop;
  workshop.serve();
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "flux", repository);
    std::string built = workshop.sh(fmt::format("kubectl kustomize '{}'", bundle.string()));
    std::vector<Json> objects = yaml_stream(built, query.name);
    workshop.expect_accepted(objects, query.name);
  }
}

// All that an object waits for, directly or through others.
std::set<std::string> waits_of(const std::map<std::string, Json>& objects,
                               const std::string& name) {
  std::set<std::string> found;
  std::vector<std::string> open{name};
  while (!open.empty()) {
    auto object = objects.find(open.back());
    EXPECT_NE(object, objects.end())
        << name << " waits for " << open.back() << ", which is missing";
    open.pop_back();
    if (object == objects.end()) continue;
    const Json* list = find(object->second, "spec", "dependsOn");
    if (list == nullptr) continue;
    for (const Json& entry : list->as_array()) {
      std::string next(text_at(entry, "name"));
      if (found.insert(next).second) open.push_back(next);
    }
  }
  EXPECT_FALSE(found.contains(name)) << name << " waits for itself";
  return found;
}

TEST(FluxObjects, WaitForWhatTheRecipeSaysAndForNothingThatIsMissing) {
  Workshop workshop;
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "flux", repository);
    std::string built = workshop.sh(fmt::format("kubectl kustomize '{}'", bundle.string()));
    auto releases = of_kind(yaml_stream(built, query.name), "HelmRelease");
    for (const auto& [component, needed] : dependencies(bundle)) {
      ASSERT_TRUE(releases.contains(component)) << query.name << ": " << component;
      std::set<std::string> waits = waits_of(releases, component);
      for (const std::string& name : needed) {
        EXPECT_TRUE(waits.contains(name)) << query.name << ": " << component << " and " << name;
      }
    }
  }
}

// Without this the tests above would prove nothing.
TEST(FluxObjects, WithAMisspeltFieldAreRefused) {
  Workshop workshop;
  workshop.serve();
  Path bundle = workshop.bundle(flagship(), "flux", repository);
  std::vector<Json> objects =
      yaml_stream(workshop.sh(fmt::format("kubectl kustomize '{}'", bundle.string())), "flux");
  auto releases = of_kind(objects, "HelmRelease");
  ASSERT_FALSE(releases.empty());
  Json broken = releases.begin()->second;
  broken.at("spec").as_object()["intervall"] = "10m";
  ProcessOutput refused = workshop.try_apply({broken});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_NE(refused.error.find("intervall"), std::string::npos) << refused.error;
}

int wave_of(const Json& application) {
  return std::stoi(
      std::string(text_at(application, "metadata", "annotations", "argocd.argoproj.io/sync-wave")));
}

// A release that no release waits for may become healthy only with the next one, whose wave it then
// shares. `scripts` is the same bundle for Helm: it says which releases are waited for.
void expect_waves(const Path& scripts, const std::map<std::string, Json>& applications) {
  std::set<std::string> waited;
  int last = 0;
  for (const Path& folder : numbered_folders(scripts)) {
    std::string release = release_of(folder);
    if (read(folder / "install.sh").find("--wait") != std::string::npos) waited.insert(release);
    ASSERT_TRUE(applications.contains(release)) << folder;
    EXPECT_GE(wave_of(applications.at(release)), last) << folder;
    last = wave_of(applications.at(release));
  }
  EXPECT_FALSE(waited.empty()) << scripts;
  for (const auto& [component, needed] : dependencies(scripts)) {
    for (const std::string& name : needed) {
      if (!waited.contains(name)) continue;
      EXPECT_LT(wave_of(applications.at(name)), wave_of(applications.at(component)))
          << scripts << ": " << component << " needs " << name;
    }
  }
}

TEST(ArgoObjects, AreAcceptedByTheDefinitionAndSyncInOrder) {
  Workshop workshop;
  workshop.serve();
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "argocd", repository);
    std::vector<Json> objects = yaml_stream(read(bundle / "app-of-apps.yaml"), "app-of-apps.yaml");
    std::vector<Json> applications;
    for (const Path& folder : numbered_folders(bundle)) {
      for (Json& object : yaml_stream(read(folder / "application.yaml"), folder.string())) {
        applications.push_back(std::move(object));
      }
    }
    EXPECT_EQ(applications.size(), numbered_folders(bundle).size()) << query.name;
    expect_waves(workshop.bundle(query, "helm"), of_kind(applications, "Application"));
    objects.insert(objects.end(), applications.begin(), applications.end());
    workshop.expect_accepted(objects, query.name);
  }
}

TEST(ArgoObjects, OfTheChartAreAcceptedByTheDefinitionAndSyncInOrder) {
  Workshop workshop;
  workshop.serve();
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "argocd-helm", repository);
    std::string rendered =
        workshop.sh(fmt::format("helm template apps '{}' --namespace argocd", bundle.string()));
    std::vector<Json> objects = yaml_stream(rendered, query.name);
    expect_waves(workshop.bundle(query, "helm"), of_kind(objects, "Application"));
    workshop.expect_accepted(objects, query.name);
  }
}

}  // namespace
}  // namespace lockstep::bundles::gitops_test
