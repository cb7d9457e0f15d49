// Tables of releases as no catalogue has them: every kind of release, and texts in which every
// character means something to a shell, to YAML or to a template. Real tools must read from each
// deployer's files what the table says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bundle/deployers.h"
#include "bundle/deployers_test_util.h"
#include "recording_helm.h"
#include "workshop.h"

namespace lockstep::bundles::awkward_test {
namespace {

using bundle::BundleModel;
using bundle::nasty_model;
using bundle::nasty_text;
using bundle::Release;
using bundle::ReleaseKind;
using bundle::sample_model;

Path written(Workshop& workshop, const BundleModel& model, const std::string& deployer) {
  auto found = bundle::deployer_named(deployer);
  if (!found) throw std::runtime_error(found.error().text());
  auto files = (*found)->write(model);
  if (!files) throw std::runtime_error(files.error().text());
  Path folder = workshop.directory() / deployer;
  std::filesystem::remove_all(folder);
  for (const auto& [path, file] : *files) {
    std::filesystem::create_directories((folder / path).parent_path());
    write(folder / path, file.content, file.executable);
  }
  return folder;
}

// Kustomize would fetch it from Git.
BundleModel without_kustomize(BundleModel model) {
  std::erase_if(model.releases,
                [](const Release& release) { return release.kind == ReleaseKind::kustomize; });
  return model;
}

TEST(DeployScript, HandsAwkwardTextsToHelmByteForByte) {
  Workshop workshop;
  workshop.serve_empty();
  RecordingHelm helm(workshop);
  BundleModel model = without_kustomize(nasty_model());
  model.restarts.clear();  // kubectl refuses an invalid selector
  Path folder = written(workshop, model, "helm");
  ProcessOutput deploy = workshop.try_sh(fmt::format("'{}/deploy.sh'", folder.string()));
  ASSERT_EQ(deploy.exit_code, 0) << deploy.output << deploy.error;
  std::vector<Call> calls = helm.installs();
  ASSERT_EQ(calls.size(), model.releases.size());
  const std::string nasty = bundle::nasty_version();
  for (size_t i = 0; i < calls.size(); ++i) {
    const Release& release = model.releases[i];
    EXPECT_TRUE(has(calls[i], release.name));
    if (release.kind != ReleaseKind::upstream) continue;
    EXPECT_EQ(word_after(calls[i], "--version"), nasty);
    bool is_oci = release.repository.starts_with("oci://");
    EXPECT_TRUE(has(calls[i], is_oci ? release.repository + "/" + nasty : nasty))
        << fmt::format("{}", fmt::join(calls[i], "\n"));
    EXPECT_EQ(word_after(calls[i], "--repo"), is_oci ? "" : release.repository);
  }
}

// SC2016 warns of what is wanted here: that a string in single quotes is left alone.
TEST(DeployScript, WithAwkwardTextsPassesShellcheck) {
  Workshop workshop;
  for (const BundleModel& model : {sample_model(), nasty_model()}) {
    Path folder = written(workshop, model, "helm");
    ProcessOutput check = workshop.try_sh(fmt::format(
        "find '{}' -name '*.sh' -exec shellcheck -x -P SCRIPTDIR --exclude SC2016 {{}} +",
        folder.string()));
    EXPECT_EQ(check.exit_code, 0) << check.output << check.error;
  }
}

TEST(Helmfile, ReadsAwkwardTextsAsTheyAre) {
  Workshop workshop;
  BundleModel model = nasty_model();
  const std::string nasty = bundle::nasty_version();
  Path folder = written(workshop, model, "helmfile");
  auto listed = parse_json(workshop.sh(
      fmt::format("helmfile --file '{}/helmfile.yaml' list --output json", folder.string())));
  ASSERT_TRUE(listed);
  std::map<std::string, Json> seen;  // helmfile lists them in an order of its own
  for (const Json& release : listed->as_array())
    seen[std::string(text_at(release, "name"))] = release;
  EXPECT_EQ(seen.size(), model.releases.size());
  for (const Release& release : model.releases) {
    ASSERT_TRUE(seen.contains(release.name)) << release.name;
    if (release.kind != ReleaseKind::upstream) continue;
    EXPECT_EQ(text_at(seen[release.name], "version"), nasty);
    EXPECT_TRUE(text_at(seen[release.name], "chart").ends_with(nasty))
        << print_json(seen[release.name]);
  }
}

TEST(FluxObjects, OfEveryKindAreAcceptedAndKeepTheirValues) {
  Workshop workshop;
  workshop.serve();
  BundleModel model = sample_model();
  for (Release& release : model.releases) release.values[nasty_text] = nasty_text;
  Path folder = written(workshop, model, "flux");
  std::vector<Json> objects =
      yaml_stream(workshop.sh(fmt::format("kubectl kustomize '{}'", folder.string())), "flux");
  workshop.expect_accepted(objects, "flux");
  auto releases = of_kind(objects, "HelmRelease");
  for (const Release& release : model.releases) {
    if (release.kind == ReleaseKind::kustomize) continue;
    ASSERT_TRUE(releases.contains(release.name));
    const Json* values = find(releases[release.name], "spec", "values");
    ASSERT_NE(values, nullptr);
    EXPECT_TRUE(json_equal(*values, release.values)) << release.name << print_json(*values);
  }
}

std::vector<Json> application_files(const Path& folder) {
  std::vector<Json> applications;
  for (const Path& release : numbered_folders(folder)) {
    applications.push_back(yaml(release / "application.yaml"));
  }
  return applications;
}

TEST(ArgoObjects, OfEveryKindAreAccepted) {
  Workshop workshop;
  workshop.serve();
  Path folder = written(workshop, sample_model(), "argocd");
  workshop.expect_accepted(application_files(folder), "argocd");
}

// The chart and the plain files say the same, whatever the texts are.
TEST(ArgoObjects, OfTheChartAreThoseOfTheFiles) {
  Workshop workshop;
  for (const BundleModel& model : {sample_model(), nasty_model()}) {
    auto meant = of_kind(application_files(written(workshop, model, "argocd")), "Application");
    Path chart = written(workshop, model, "argocd-helm");
    std::string rendered =
        workshop.sh(fmt::format("helm template apps '{}' --namespace argocd", chart.string()));
    auto seen = of_kind(yaml_stream(rendered, "helm's output"), "Application");
    EXPECT_EQ(seen.size(), model.releases.size());
    for (const auto& [name, application] : meant) {
      ASSERT_TRUE(seen.contains(name));
      EXPECT_TRUE(json_equal(seen[name], application))
          << print_json_pretty(seen[name]) << "\nis not\n"
          << print_json_pretty(application);
    }
  }
}

}  // namespace
}  // namespace lockstep::bundles::awkward_test
