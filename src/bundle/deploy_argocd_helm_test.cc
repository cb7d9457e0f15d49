#include "bundle/deploy_argocd_helm.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "bundle/deploy_argocd.h"
#include "bundle/deployers_test_util.h"

namespace lockstep::bundle::deploy_argocd_helm_test {
namespace {

BundleFiles bundle(const BundleModel& model) {
  auto files = deploy_with_argocd_helm(model);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files ? *files : BundleFiles{};
}

// The few expressions that the templates use, by hand: Helm itself is asked in the tests with
// programs.
std::string render(const BundleFiles& files, const std::string& folder) {
  const Json values = yaml_at(files, "values.yaml");
  const std::string path(text_at(values, "path"));
  const std::map<std::string, std::string> results = {
      {".Files.Get \"" + folder + "/values.yaml\" | toJson",
       files.contains(folder + "/values.yaml")
           ? print_json(Json(content(files, folder + "/values.yaml")))
           : ""},
      {".Values.repoURL | toJson", print_json(*find(values, "repoURL"))},
      {".Values.targetRevision | toJson", print_json(*find(values, "targetRevision"))},
      {".Values.project | toJson", print_json(*find(values, "project"))},
      {"list .Values.path \"" + folder + "\" | compact | join \"/\" | toJson",
       print_json(Json(path.empty() ? folder : path + "/" + folder))},
      {"\"{{\"", "{{"}};
  std::string_view text = content(files, "templates/" + folder + ".yaml");
  std::string result;
  while (true) {
    const size_t begin = text.find("{{ ");
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    text.remove_prefix(begin + 3);
    const size_t end = text.find(" }}");
    const auto found = results.find(std::string(text.substr(0, end)));
    EXPECT_NE(found, results.end()) << text.substr(0, end);
    if (found == results.end()) return result;
    result += found->second;
    text.remove_prefix(end + 3);
  }
}

TEST(DeployArgocdHelm, MakesTheApplicationsOfTheArgocdDeployer) {
  BundleModel without_path = sample_model();
  without_path.git_path = "";
  for (const BundleModel& model : {sample_model(), nasty_model(), without_path}) {
    const BundleFiles files = bundle(model);
    const BundleFiles expected = *deploy_with_argocd(model);
    for (size_t position = 0; position < model.releases.size(); ++position) {
      const std::string folder = release_folder(position, model.releases[position]);
      const auto rendered = parse_yaml(render(files, folder), folder);
      ASSERT_TRUE(rendered.has_value()) << rendered.error().text();
      EXPECT_TRUE(json_equal(*rendered, yaml_at(expected, folder + "/application.yaml")))
          << render(files, folder);
    }
  }
}

TEST(DeployArgocdHelm, IsAChart) {
  const BundleFiles files = bundle(sample_model());
  EXPECT_EQ(text_at(yaml_at(files, "Chart.yaml"), "name"), "lockstep-bundle");
  EXPECT_EQ(text_at(yaml_at(files, "values.yaml"), "repoURL"), "https://git.example.com/fleet.git");
  EXPECT_EQ(text_at(yaml_at(files, "values.yaml"), "path"), "clusters/one");
}

// Helm would not find what .helmignore leaves out.
TEST(DeployArgocdHelm, TheValuesOfTheReleasesStayInTheChart) {
  EXPECT_EQ(content(bundle(sample_model()), ".helmignore").find("values.yaml"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::deploy_argocd_helm_test
