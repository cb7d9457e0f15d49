// `lockstep recipe`, `recipe list`, `recipe diff` and `query` as processes: what they print, and
// that whatever is wrong in a user's own data is said with file and line.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/json.h"
#include "data/yaml.h"
#include "folder.h"

namespace lockstep::commands::recipe_test {
namespace {

const std::string demo_criteria = "  criteria: {service: oke, os: cos}\n";

TEST(RecipeCommand, PrintsTheSameRecipeInEveryFormatAndIntoFiles) {
  Folder folder;
  ProcessOutput yaml = folder.lockstep(Words{"recipe"} + flagship);
  ASSERT_EQ(yaml.exit_code, 0) << yaml.error;
  EXPECT_EQ(yaml.error, "");
  ProcessOutput again = folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "yaml"});
  EXPECT_EQ(again.output, yaml.output);

  ProcessOutput json = folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "json"});
  auto of_yaml = parse_yaml(yaml.output, "yaml");
  auto of_json = parse_json(json.output);
  ASSERT_TRUE(of_yaml.has_value() && of_json.has_value()) << json.output;
  EXPECT_EQ(*of_yaml, *of_json);
  EXPECT_EQ(text_at(*of_json, "kind"), "RecipeResult");

  struct Row {
    const char* file;
    Words more;
    const std::string& content;
  };
  ProcessOutput table = folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "table"});
  EXPECT_TRUE(has(table.output, "gpu-operator")) << table.output;
  EXPECT_TRUE(has(table.output, "overlays:  base, ")) << table.output;
  for (const Row& row : {Row{"a.yaml", {}, yaml.output}, Row{"a.json", {}, json.output},
                         Row{"a.txt", {"-t", "json"}, json.output},
                         Row{"b.txt", {"--format", "table"}, table.output}}) {
    ProcessOutput run =
        folder.lockstep(Words{"recipe"} + flagship + Words{"-o", row.file} + row.more);
    EXPECT_EQ(run.exit_code, 0) << row.file << run.error;
    EXPECT_EQ(run.output, "") << row.file;
    EXPECT_EQ(folder.read(row.file), row.content) << row.file;
  }
}

TEST(RecipeCommand, ACriteriaFileIsOverruledByFlags) {
  Folder folder;
  folder.write(
      "criteria.yaml",
      "kind: RecipeCriteria\nspec: {service: eks, accelerator: gb200, intent: training}\n");
  ProcessOutput of_file = folder.lockstep({"recipe", "-c", "criteria.yaml", "--gpu", "h100", "--os",
                                           "ubuntu", "--platform", "kubeflow"});
  EXPECT_EQ(of_file.exit_code, 0) << of_file.error;
  EXPECT_EQ(of_file.output, folder.lockstep(Words{"recipe"} + flagship).output);
}

TEST(RecipeCommand, ACriterionThatChangesNothingIsSaidOnStandardErrorAlone) {
  Folder folder;
  ProcessOutput run = folder.lockstep({"recipe", "--service", "gke", "--platform", "dynamo"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_TRUE(has(run.error, "warning: no overlay that applies uses platform dynamo")) << run.error;
  EXPECT_TRUE(has(run.error, "inference-dynamo (needs intent inference)")) << run.error;
  EXPECT_FALSE(has(run.output, "warning"));
}

// Without any, the recipe of no cluster in particular came out, and nothing was said.
TEST(CriteriaAreNeeded, AndAnEmptyOneIsNone) {
  Folder folder;
  folder.write("recipe.yaml", folder.lockstep(Words{"recipe"} + flagship).output);
  expect_refused(folder, {{{"recipe"}, 2, {"--service", "--snapshot", "any"}},
                          {{"recipe", "--nodes", "4"}, 2, {"--service"}},
                          {{"query", "criteria"}, 2, {"--service"}},
                          {{"recipe", "--service", ""}, 2, {"--service", "must not be empty"}},
                          {{"recipe", "--os", "", "--service", "eks"}, 2, {"--os"}},
                          {{"bundle", "-o", "out"}, 2, {"--recipe FILE", "--service eks"}},
                          {{"bundle", "-o", "out", "--nodes", "4"}, 2, {"--recipe FILE"}}});
  EXPECT_EQ(folder.lockstep({"recipe", "--service", "any"}).exit_code, 0);
  EXPECT_EQ(folder.lockstep({"bundle", "-o", "out", "--recipe", "recipe.yaml"}).exit_code, 0);
}

TEST(RecipeCommand, BadCriteriaAreRefusedWithTheKnownWords) {
  Folder folder;
  folder.write("misspelt.yaml", "kind: RecipeCriteria\nspec:\n  servcie: eks\n");
  folder.write("kind.yaml", "kind: RecipeMetadata\nspec: {service: eks}\n");
  expect_refused(
      folder,
      {{{"recipe", "--service", "ekz"}, 2, {"\"ekz\"", "service", "did you mean \"eks\"?"}},
       {{"recipe", "--os", "beos"}, 2, {"\"beos\"", "amazonlinux, cos, rhel, ubuntu"}},
       {{"recipe", "--intent", "$(reboot)"}, 2, {"\"$(reboot)\"", "inference, training"}},
       {{"query", "--gpu", "h1000", "criteria"}, 2, {"\"h1000\"", "\"h100\"?"}},
       {{"recipe", "--nodes", "0"}, 2, {"--nodes"}},
       {{"recipe", "--bogus"}, 2, {"--bogus"}},
       {{"recipe", "-t", "xml"}, 2, {"xml"}},
       {{"recipe", "-c", "nothing.yaml"}, 3, {"nothing.yaml", "No such file"}},
       {{"recipe", "-c", "misspelt.yaml"}, 2, {"misspelt.yaml:3:3", "did you mean \"service\"?"}},
       {{"recipe", "-c", "kind.yaml"}, 2, {"kind.yaml:1:1", "RecipeCriteria"}},
       {{"recipe", "--service", "eks", "-o", "no/folder.yaml"}, 3, {"-o", "no/folder.yaml"}}});
}

TEST(RecipeData, AFolderThatIsNotThereAndNoFolderAtAllAreSaid) {
  Folder folder;
  folder.write("file", "");
  folder.write("empty/x", "");
  expect_refused(folder, {{{"recipe", "--data-only"}, 2, {"--data-only", "--data DIR"}},
                          {{"recipe", "--data", "missing"}, 3, {"--data", "missing"}},
                          {{"recipe", "--data", "file"}, 3, {"--data", "file"}},
                          {{"recipe", "--data", "empty", "--data-only"}, 2, {"registry.yaml"}},
                          {{"recipe", "--service", "eks", "--data", "empty"},
                           2,
                           {"--data empty", "no catalogue file", "overlays/"}}});
}

// The content of overlays/mine.yaml, and what the error must say of it.
TEST(RecipeData, WhatIsWrongInAnOverlayIsSaidWithFileAndLine) {
  struct Row {
    std::string spec;
    std::vector<std::string> said;
  };
  const std::string refs = demo_criteria + "  componentRefs:\n";
  for (const Row& row : {
           Row{refs + "    - name: gpu-operator\n      versoin: v1\n",
               {"data/overlays/mine.yaml:7:7", "versoin", "did you mean \"version\"?"}},
           Row{refs + "    - {name: gpu-oprator, version: v1}\n",
               {"data/overlays/mine.yaml:6:7", "did you mean \"gpu-operator\"?"}},
           Row{refs + "    - {name: network-operator, type: Helm}\n",
               {"data/overlays/mine.yaml:6:7", "network-operator has no version",
                "defaultVersion"}},
           Row{"  criteria: {service: okee}\n", {"data/overlays/mine.yaml:4:14", "\"oke\"?"}},
           Row{refs + "    - {name: ../x, type: Helm, version: v1}\n",
               {"data/overlays/mine.yaml:6:7", "\"../x\""}},
           Row{refs + "    - {name: gpu-operator, namespace: ../x}\n",
               {"data/overlays/mine.yaml:6:28", "namespace", "\"../x\""}},
           Row{refs + "    - {name: gpu-operator, valuesFile: ../../../../etc/passwd}\n",
               {"data/overlays/mine.yaml:6:7", "\"../../../../etc/passwd\"",
                "not in the catalogue"}},
           Row{refs + "    - {name: gpu-operator, manifestFiles: [/etc/passwd]}\n",
               {"data/overlays/mine.yaml:6:7", "\"/etc/passwd\"", "not in the catalogue"}},
           Row{refs + "    - {name: cert-manager, dependencyRefs: [nvsentinel]}\n",
               {"circle", "cert-manager -> nvsentinel -> cert-manager"}},
           Row{refs + "    - {name: cert-manager, dependencyRefs: [aws-efa]}\n",
               {"cert-manager", "aws-efa"}},
           Row{"  base: mine\n" + demo_criteria, {"circle", "mine -> mine"}},
           Row{"  base: nowhere\n" + demo_criteria,
               {"data/overlays/mine.yaml", "\"nowhere\"", "expected one of"}},
           Row{"  mixins: [nothing]\n" + demo_criteria, {"data/overlays/mine.yaml", "\"nothing\""}},
           Row{"  {{{\n", {"data/overlays/mine.yaml:"}},
       }) {
    Folder folder;
    folder.write_overlay("mine", row.spec);
    expect_refused(folder, {{Words{"recipe"} + with_data, 2, row.said}});
  }
}

TEST(RecipeData, ACircleOfBasesIsShown) {
  Folder folder;
  folder.write_overlay("a", "  base: b\n");
  folder.write_overlay("b", "  base: c\n");
  folder.write_overlay("c", "  base: a\n" + demo_criteria);
  expect_refused(folder,
                 {{Words{"recipe"} + with_data, 2, {"data/overlays/a.yaml", "a -> b -> c -> a"}}});
}

TEST(RecipeData, OverlaysThatDisagreeAreBothNamed) {
  Folder folder;
  const std::string refs = demo_criteria + "  componentRefs:\n";
  folder.write_overlay("one", refs + "    - {name: gpu-operator, version: v1}\n");
  folder.write_overlay("two", refs + "    - {name: gpu-operator, version: v2}\n");
  expect_refused(folder, {{Words{"recipe"} + with_data, 2, {"one", "two", "gpu-operator"}}});
}

TEST(RecipeData, MixinsThatDisagreeAreRefused) {
  Folder folder;
  for (const std::string name : {"one", "two"}) {
    folder.write("data/mixins/" + name + ".yaml",
                 "kind: RecipeMixin\nmetadata: {name: " + name +
                     "}\nspec:\n  componentRefs:\n    - {name: network-operator, version: v-" +
                     name + "}\n");
  }
  folder.write_overlay("mine", "  mixins: [one, two]\n" + demo_criteria);
  expect_refused(folder, {{Words{"recipe"} + with_data,
                           2,
                           {"data/mixins/two.yaml:5:7", "network-operator", "version"}}});
}

TEST(RecipeData, ARegistryMustParseAndNameItsComponentsPlainly) {
  struct Row {
    std::string component;
    std::vector<std::string> said;
  };
  for (const Row& row : {Row{"name: ../x", {"data/registry.yaml:3:5", "\"../x\""}},
                         Row{"name: 'a\\nb'", {"data/registry.yaml:3:5", "name: must be"}},
                         Row{"name: x\n    hlem: {}", {"data/registry.yaml:4:5", "\"helm\"?"}},
                         Row{"[", {"data/registry.yaml:"}}}) {
    Folder folder;
    folder.write("data/registry.yaml",
                 "kind: ComponentRegistry\ncomponents:\n  - " + row.component + "\n");
    expect_refused(folder, {{Words{"recipe"} + with_data, 2, row.said}});
  }
}

TEST(RecipeListCommand, NamesEveryOverlayWithItsCriteriaAndVersions) {
  Folder folder;
  ProcessOutput run = folder.lockstep({"recipe", "list", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  auto list = parse_json(run.output);
  ASSERT_TRUE(list.has_value()) << list.error().text();
  bool found = false;
  for (const Json& overlay : list->at("overlays").as_array()) {
    EXPECT_NE(text_at(overlay, "components", "gpu-operator"), "") << print_json(overlay);
    if (text_at(overlay, "name") != "gke-cos") continue;
    found = true;
    EXPECT_EQ(text_at(overlay, "criteria", "service"), "gke");
    EXPECT_EQ(text_at(overlay, "criteria", "os"), "cos");
    EXPECT_EQ(text_at(overlay, "criteria", "intent"), "any");
  }
  EXPECT_TRUE(found);
  ProcessOutput table = folder.lockstep({"recipe", "list"});
  EXPECT_TRUE(has(table.output, "OVERLAY ")) << table.output;
  EXPECT_TRUE(has(table.output, "--service      aks, eks, gke, kind, oke\n")) << table.output;
}

TEST(RecipeListCommand, ShowsTheOverlaysOfDataAndThatAlone) {
  Folder folder;
  folder.write_overlay("mine", demo_criteria);
  EXPECT_TRUE(has(folder.lockstep({"recipe", "list", "--data", "data"}).output, "\nmine "));
  EXPECT_FALSE(has(folder.lockstep({"recipe", "list"}).output, "\nmine "));
}

TEST(RecipeDiffCommand, SaysWhatAnUpgradeChangesAndByItsExitCodeWhetherItDoes) {
  Folder folder;
  ASSERT_EQ(folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "old.yaml"}).exit_code, 0);
  const std::string old = folder.read("old.yaml");
  const std::string version =
      folder.lockstep(Words{"query"} + flagship + Words{"components.gpu-operator.version"}).output;
  size_t at = old.find("version: " + version);
  ASSERT_NE(at, std::string::npos) << version;
  folder.write("new.yaml", std::string(old).replace(at, 9 + version.size(), "version: v99.9.9\n"));

  ProcessOutput same = folder.lockstep({"recipe", "diff", "old.yaml", "old.yaml", "--exit-code"});
  EXPECT_EQ(same.exit_code, 0) << same.error;
  EXPECT_EQ(same.output, "no difference\n");
  ProcessOutput other = folder.lockstep({"recipe", "diff", "old.yaml", "new.yaml", "--exit-code"});
  EXPECT_EQ(other.exit_code, 1) << other.error;
  EXPECT_TRUE(has(other.output, "v99.9.9")) << other.output;
  EXPECT_TRUE(has(other.output, "gpu-operator")) << other.output;
  EXPECT_FALSE(has(other.output, "cert-manager")) << other.output;
  ProcessOutput quiet = folder.lockstep({"recipe", "diff", "old.yaml", "new.yaml", "-o", "json"});
  EXPECT_EQ(quiet.exit_code, 0) << "without --exit-code a difference is no failure";
  EXPECT_TRUE(parse_json(quiet.output).has_value()) << quiet.output;
}

TEST(RecipeDiffCommand, ComparesTwoOfAKindThatAreThere) {
  Folder folder;
  ASSERT_EQ(folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "a.yaml"}).exit_code, 0);
  ASSERT_EQ(folder.lockstep(Words{"bundle"} + flagship + Words{"-o", "made"}).exit_code, 0);
  folder.write("empty/x", "");
  expect_refused(
      folder,
      {{{"recipe", "diff", "a.yaml"}, 2, {"after"}},
       {{"recipe", "diff", "a.yaml", "b.yaml"}, 3, {"b.yaml"}},
       {{"recipe", "diff", "a.yaml", "made"}, 2, {"a.yaml and made", "two of the same kind"}},
       {{"recipe", "diff", "made", "empty"}, 3, {"empty", "recipe.yaml"}}});
}

TEST(QueryCommand, AScalarComesBareAndAMapAsADocument) {
  Folder folder;
  auto query = [&](const std::string& selector, const std::string& format = "yaml") {
    ProcessOutput run = folder.lockstep(Words{"query"} + flagship + Words{selector, "-o", format});
    EXPECT_EQ(run.exit_code, 0) << selector << ": " << run.error;
    return run.output;
  };
  EXPECT_EQ(query("components.gpu-operator.name"), "gpu-operator\n");
  EXPECT_EQ(query(".components.gpu-operator.name"), "gpu-operator\n");
  EXPECT_EQ(query("components.gpu-operator.values.driver.enabled"), "true\n");
  EXPECT_EQ(query("components.gpu-operator.name", "json"), "\"gpu-operator\"\n");
  EXPECT_EQ(query("deploymentOrder.0"), "aws-ebs-csi-driver\n");
  EXPECT_TRUE(has(query("components.gpu-operator.values.driver"), "enabled: true\nversion: "));
  auto map = parse_json(query("components.gpu-operator.values.driver", "json"));
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->at("enabled"), Json(true));
  auto all = parse_yaml(query("."), "all");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(text_at(*all, "criteria", "service"), "eks");
}

TEST(QueryCommand, APathThatLeadsNowhereIsNotFoundAndTheNearestIsNamed) {
  Folder folder;
  expect_refused(
      folder,
      {{{"query", "--service", "eks", "components.gpu-operator.values.drvier.version"},
        3,
        {"\"drvier\"", "components.gpu-operator.values", "did you mean \"driver\"?"}},
       {{"query", "--service", "eks", "components.nothing"},
        3,
        {"\"nothing\"", "expected one of", "gpu-operator"}},
       {{"query", "--service", "eks", "deploymentOrder.99"}, 3, {"\"99\"", "deploymentOrder"}},
       {{"query", "--service", "eks", "components..x"}, 2, {"components..x"}},
       {{"query"}, 2, {"name a value"}}});
}

std::string snapshot(const std::string& kubernetes, const std::string& os_version) {
  return "kind: Snapshot\n"
         "measurements:\n"
         "- type: K8s\n"
         "  subtypes:\n"
         "  - {subtype: server, data: {version: " +
         kubernetes +
         "}}\n"
         "- type: GPU\n"
         "  subtypes:\n"
         "  - {subtype: smi, data: {gpu.model: NVIDIA H100 80GB HBM3}}\n"
         "- type: OS\n"
         "  subtypes:\n"
         "  - {subtype: release, data: {ID: ubuntu, VERSION_ID: " +
         os_version + "}}\n";
}

TEST(SnapshotOfACluster, GivesTheCriteriaAndFlagsWin) {
  Folder folder;
  folder.write("cluster.yaml", snapshot("v1.34.2-eks-3025e55", "24.04"));
  ProcessOutput run = folder.lockstep({"recipe", "-s", "cluster.yaml"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(
      run.output,
      folder.lockstep({"recipe", "--service", "eks", "--gpu", "h100", "--os", "ubuntu"}).output);
  ProcessOutput flag =
      folder.lockstep({"query", "-s", "cluster.yaml", "--gpu", "a100", "criteria"});
  EXPECT_TRUE(has(flag.output, "service: eks\naccelerator: a100\n")) << flag.output;
}

TEST(SnapshotOfACluster, AnOverlayThatItDoesNotMeetIsLeftOutAndSaid) {
  Folder folder;
  folder.write("old.yaml", snapshot("v1.34.2-eks-3025e55", "20.04"));
  ProcessOutput run = folder.lockstep({"query", "-s", "old.yaml", "metadata.appliedOverlays"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_TRUE(has(run.error,
                  "ubuntu is left out: OS.release.VERSION_ID must be \">= 22.04\", and "
                  "is \"20.04\""))
      << run.error;
  EXPECT_FALSE(has(run.output, "ubuntu")) << run.output;
  folder.write_overlay("new-kubernetes",
                       "  criteria: {service: eks}\n"
                       "  constraints:\n"
                       "    - {name: K8s.server.version, value: '>= 1.40'}\n");
  folder.write("cluster.yaml", snapshot("v1.34.2-eks-3025e55", "24.04"));
  ProcessOutput warned =
      folder.lockstep({"bundle", "-s", "cluster.yaml", "--data", "data", "-o", "out"});
  EXPECT_EQ(warned.exit_code, 0) << warned.error;
  EXPECT_TRUE(has(warned.error,
                  "warning: the overlay new-kubernetes is left out: "
                  "K8s.server.version must be \">= 1.40\", and is "
                  "\"v1.34.2-eks-3025e55\""))
      << warned.error;
}

TEST(SnapshotOfACluster, WhatIsNoSnapshotIsRefused) {
  Folder folder;
  folder.write("other.yaml", "kind: RecipeResult\n");
  folder.write("broken.yaml", "kind: Snapshot\nmeasurements: 7\n");
  expect_refused(folder, {{{"recipe", "-s", "other.yaml"}, 2, {"other.yaml:1:1", "Snapshot"}},
                          {{"recipe", "-s", "broken.yaml"}, 2, {"broken.yaml:2:1"}},
                          {{"recipe", "-s", "none.yaml"}, 3, {"none.yaml"}}});
}

}  // namespace
}  // namespace lockstep::commands::recipe_test
