#include "bundle/release_table.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/bundle_test_util.h"
#include "bundle/make_bundle.h"
#include "data/json.h"

namespace lockstep::bundle::release_table_test {
namespace {

// A hook of the operator that comes after the driver.
FileMap files_with_hook() {
  return with(small_files(),
              {{"hooks.yaml",
                "- name: reroll\n  component: operator\n  when: [operator, driver]\n"
                "  after: [driver]\n  values: postHooks\n  defaults: hooks/reroll/values.yaml\n"
                "  manifests: [hooks/reroll/job.yaml]\n  timeout: 30m\n"
                "  restart: {pluginNamespace: {component: driver}, pluginSelector: app=p,\n"
                "            driverNamespace: {component: operator}, driverSelector: app=d}\n"},
               {"hooks/reroll/values.yaml", "postHooks: {enabled: true, wait: 20m}\n"},
               {"hooks/reroll/job.yaml", "kind: Job\n"},
               {"releases.yaml", "- {component: driver, wait: false, timeout: 15m}\n"}});
}

Result<MadeBundle> make(const FileMap& files, const std::vector<std::string>& settings = {},
                        const Criteria& criteria = {}) {
  Catalogue catalogue = catalogue_of(files);
  LOCKSTEP_TRY(Rules rules, read_rules(catalogue));
  BundleRequest request;
  LOCKSTEP_TRY(request.recipe, resolve(catalogue, criteria));
  for (const std::string& text : settings) {
    LOCKSTEP_TRY(Setting setting, parse_setting(text, SettingKind::typed));
    request.settings.push_back(std::move(setting));
  }
  return make_bundle(catalogue, rules, request);
}

// "operator needs; driver needs operator"
std::string shape(const Result<MadeBundle>& made) {
  if (!made) return made.error().text();
  std::vector<std::string> lines;
  for (const Release& release : made->model.releases) {
    lines.push_back(release.name +
                    (release.needs.empty() ? "" : " after " + join(release.needs, "+")));
  }
  return join(lines, "; ");
}

const Release& release(const MadeBundle& made, std::string_view name) {
  for (const Release& one : made.model.releases) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no release " << name;
  return made.model.releases.front();
}

// Sixteen nodes, one after the other, are not a failure: the release waits for all their turns.
TEST(HookWaits, FitTheNodesAndHowManyGetTheirDriverAtATime) {
  struct Case {
    int64_t nodes;
    std::vector<std::string> settings;
    std::string timeout;
    int64_t driver_seconds;
    int64_t release_seconds;
  };
  for (const Case& c : std::vector<Case>{
           {0, {}, "20m", 1200, 1800},
           {5, {}, "20m", 1200, 1800},
           {16, {}, "1h4m", 3840, 4440},
           {16, {"operator:driver.most=4"}, "20m", 1200, 1800},
           {16, {"operator:driver.most=0"}, "20m", 1200, 1800},
           {100, {"operator:driver.most=0", "operator:driver.away=5%"}, "1h20m", 4800, 5400},
           {16, {"operator:postHooks.dra.timeout=10m"}, "10m", 600, 1800}}) {
    FileMap files = files_with_hook();
    std::string& rule = files["hooks.yaml"];
    rule.insert(rule.find("  restart:"),
                "  waits:\n    atATime: [{value: [driver, most], default: 1},\n"
                "              {value: [driver, away], default: 25%}]\n    eachTurn: 4m\n"
                "    driver: [dra, timeout]\n    plugin: [dra, rolloutTimeout]\n"
                "    deadlineSeconds: [dra, deadlineSeconds]\n");
    files["hooks/reroll/values.yaml"] =
        "postHooks: {dra: {timeout: 20m, rolloutTimeout: 5m, deadlineSeconds: 1740}}\n";
    Criteria criteria;
    criteria.nodes = c.nodes;
    auto made = make(files, c.settings, criteria);
    ASSERT_TRUE(made) << made.error().text();
    const Release& post = release(*made, "operator-post");
    const Json* dra = find(post.values, "postHooks", "dra");
    ASSERT_NE(dra, nullptr);
    EXPECT_EQ(text_at(*dra, "timeout"), c.timeout) << c.nodes;
    EXPECT_EQ(as_integer(find(*dra, "deadlineSeconds")), c.driver_seconds + 300 + 240);
    EXPECT_EQ(post.timeout_seconds, c.release_seconds) << c.nodes;
    EXPECT_EQ(made->model.restarts[0].driver_seconds, c.driver_seconds);
    EXPECT_EQ(made->warnings.size(), c.nodes == 0 ? 1U : 0U);
  }
}

TEST(ReleaseTable, AComponentIsItsChartAndLocalChartsOfItsManifests) {
  FileMap files =
      with(small_files(),
           {{"overlays/eks.yaml",
             overlay_text(
                 "eks",
                 "  criteria: {service: eks}\n  componentRefs:\n"
                 "    - {name: operator, preManifestFiles: [components/operator/a.yaml],\n"
                 "       manifestFiles: [components/operator/b.yaml]}\n"
                 "    - {name: tuning, manifestFiles: [components/tuning/manifests/t.yaml]}\n")},
            {"components/operator/a.yaml", "a"},
            {"components/operator/b.yaml", "b"}});
  auto made = make(files, {}, {.service = "eks"});
  EXPECT_EQ(shape(made),
            "operator-pre; operator after operator-pre; operator-post after operator; "
            "driver after operator-post; tuning");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(release(*made, "operator-post").templates, (FileMap{{"b.yaml", "b"}}));
  EXPECT_EQ(release(*made, "operator-post").kind, ReleaseKind::local);
  EXPECT_EQ(text_at(Json(release(*made, "operator-post").values), "operator", "list", "none"), "");
  EXPECT_TRUE(release(*made, "operator-post").values.contains("operator"));
  EXPECT_EQ(release(*made, "tuning").kind, ReleaseKind::local);
  EXPECT_EQ(release(*made, "operator").kind, ReleaseKind::upstream);
}

TEST(ReleaseTable, AHookComesAfterWhatItNamesAndThoseWhoDependOnItsComponentDoNotWaitForIt) {
  auto made = make(files_with_hook());
  EXPECT_EQ(shape(made), "operator; driver after operator; operator-post after driver+operator");
  ASSERT_TRUE(made.has_value());
  const Release& post = release(*made, "operator-post");
  EXPECT_EQ(post.templates, (FileMap{{"reroll-job.yaml", "kind: Job\n"}}));
  EXPECT_EQ(post.timeout_seconds, 1800);
  EXPECT_TRUE(as_bool(find(Json(post.values), "postHooks", "enabled")));
  ASSERT_EQ(made->model.restarts.size(), 1U);
  EXPECT_EQ(made->model.restarts[0].release, "operator-post");
  EXPECT_EQ(made->model.restarts[0].driver_namespace, "operator-system");
  EXPECT_EQ(made->model.restarts[0].plugin_namespace, "driver");
}

TEST(ReleaseTable, AHooksValuesAreTheHooksAloneAndTheUsersWin) {
  auto made = make(files_with_hook(), {"op:postHooks.wait=5m"});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_FALSE(release(*made, "operator").values.contains("postHooks"));
  Json values = release(*made, "operator-post").values;
  EXPECT_EQ(text_at(values, "postHooks", "wait"), "5m");
  EXPECT_TRUE(as_bool(find(values, "postHooks", "enabled")));
  EXPECT_EQ(find(values, "operator", "postHooks"), nullptr);
}

TEST(ReleaseTable, WithoutOneOfItsComponentsThereIsNoHook) {
  auto made = make(files_with_hook(), {"driver:enabled=false", "op:postHooks.wait=5m"});
  EXPECT_EQ(shape(made), "operator");
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(release(*made, "operator").values.contains("postHooks"));
  EXPECT_TRUE(made->model.restarts.empty());
}

TEST(ReleaseTable, TheTableOfReleasesSaysWhatIsWaitedForAndHowLong) {
  auto made = make(files_with_hook());
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(release(*made, "driver").wait);
  EXPECT_EQ(release(*made, "driver").timeout_seconds, 900);
  EXPECT_TRUE(release(*made, "operator").wait);
  EXPECT_EQ(release(*made, "operator").timeout_seconds, 600);
}

TEST(ReleaseTable, RefusesTwoReleasesOfOneNameAndTwoManifestsOfOneBaseName) {
  FileMap twice =
      with(small_files(),
           {{"overlays/eks.yaml",
             overlay_text("eks",
                          "  criteria: {service: eks}\n  componentRefs:\n"
                          "    - {name: operator, manifestFiles: [components/operator/x/a.yaml,\n"
                          "       components/operator/y/a.yaml]}\n")},
            {"components/operator/x/a.yaml", "1"},
            {"components/operator/y/a.yaml", "2"}});
  EXPECT_EQ(shape(make(twice, {}, {.service = "eks"})),
            "overlays/eks.yaml:6:7: two manifests of operator are called a.yaml: rename one");

  FileMap clash =
      with(small_files(),
           {{"overlays/eks.yaml",
             overlay_text("eks",
                          "  criteria: {service: eks}\n  componentRefs:\n"
                          "    - {name: operator, manifestFiles: [components/operator/b.yaml]}\n"
                          "    - {name: operator-post, version: v1}\n")},
            {"components/operator/b.yaml", "b"}});
  clash["registry.yaml"] +=
      "  - name: operator-post\n    helm: {defaultRepository: https://charts, defaultChart: x}\n";
  EXPECT_EQ(shape(make(clash, {}, {.service = "eks"})),
            "the release operator-post of operator-post has the name of a release of operator: "
            "rename a component");
}

TEST(ReleaseTable, AKustomizeComponentStaysKustomize) {
  FileMap files =
      with(small_files(),
           {{"overlays/eks.yaml", overlay_text("eks",
                                               "  criteria: {service: eks}\n  componentRefs:\n"
                                               "    - {name: kustom, type: Kustomize}\n")}});
  auto made = make(files, {}, {.service = "eks"});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Release& kustom = release(*made, "kustom");
  EXPECT_EQ(kustom.kind, ReleaseKind::kustomize);
  EXPECT_EQ(kustom.source, "https://git");
  EXPECT_EQ(kustom.path, "deploy");
  EXPECT_EQ(kustom.tag, "v4");
}

TEST(ReleaseTable, PatchesOfAKustomizeComponentAreRefusedAndNotDropped) {
  FileMap files =
      with(small_files(),
           {{"overlays/eks.yaml",
             overlay_text("eks",
                          "  criteria: {service: eks}\n  componentRefs:\n"
                          "    - {name: kustom, type: Kustomize, patches: [p.yaml]}\n")}});
  EXPECT_NE(shape(make(files, {}, {.service = "eks"})).find("patches"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::release_table_test
