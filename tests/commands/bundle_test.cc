// `lockstep bundle`, `verify` and `check` as processes: every deployer's bundle is intact until a
// user changes it, the same input gives the same bytes, a mistake writes nothing, and nothing in
// data is ever run.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/json.h"
#include "data/yaml.h"
#include "folder.h"

namespace lockstep::commands::bundle_test {
namespace {

Words bundle_to(const std::string& output, const Words& more = {}) {
  return Words{"bundle"} + flagship + Words{"-o", output} + more;
}

Json values_of(const Folder& folder, const std::string& bundle, const std::string& release) {
  for (const auto& [path, file] : folder.tree(bundle)) {
    if (!path.ends_with("-" + release + "/values.yaml")) continue;
    auto values = parse_yaml(file.content, path);
    EXPECT_TRUE(values.has_value()) << values.error().text();
    return values.value_or(Json());
  }
  ADD_FAILURE() << "no values of " << release;
  return {};
}

TEST(BundleCommand, TheBundleOfEveryDeployerIsIntactAndPassesTheGuardrail) {
  Folder folder;
  for (const std::string& deployer : all_deployers) {
    ProcessOutput made = folder.lockstep(
        bundle_to(deployer, {"-d", deployer, "--repo", "https://git.example.com/fleet.git"}));
    ASSERT_EQ(made.exit_code, 0) << made.error;
    EXPECT_FALSE(has(made.error, "REPLACE")) << made.error;
    EXPECT_TRUE(has(made.output, deployer + ": ")) << made.output;
    ProcessOutput verified = folder.lockstep({"verify", deployer});
    EXPECT_EQ(verified.exit_code, 0) << verified.output << verified.error;
    EXPECT_TRUE(has(verified.output, "files are unchanged")) << verified.output;
    ProcessOutput listed =
        folder.bash("cd " + deployer + " && sha256sum --check --quiet checksums.txt");
    EXPECT_EQ(listed.exit_code, 0) << deployer << ": " << listed.output << listed.error;
    ProcessOutput checked = folder.lockstep({"check", deployer});
    EXPECT_EQ(checked.exit_code, 0) << checked.output << checked.error;
  }
}

TEST(CheckFile, RefusesWhatItDoesNotCheckAndWhatIsNoYaml) {
  Folder folder;
  folder.write("pod.yaml", "kind: Pod\nmetadata: {name: a}\n---\nkind: Service\n");
  folder.write("broken.yaml", "kind: ClusterPolicy\nspec: {driver: [\n");
  folder.write("empty.yaml", "");
  folder.write("template.yaml", "kind: Pod\nspec: {{ .Values.spec }}\n");
  folder.write("policy.yaml", "kind: ClusterPolicy\nspec: {driver: {version: 580.1.1}}\n");
  folder.write("policy-template.yaml",
               "kind: ClusterPolicy\nspec:\n  driver: {{ toYaml .Values.driver }}\n");
  expect_refused(folder, {{{"check", "pod.yaml"}, 2, {"pod.yaml", "Pod, Service", "ClusterPolicy"}},
                          {{"check", "broken.yaml"}, 2, {"broken.yaml"}},
                          {{"check", "empty.yaml"}, 2, {"empty.yaml", "no Kubernetes object"}},
                          {{"check", "template.yaml"}, 2, {"template.yaml", "ClusterPolicy"}}});
  for (const char* file : {"policy.yaml", "policy-template.yaml"}) {
    ProcessOutput run = folder.lockstep({"check", file});
    EXPECT_EQ(run.exit_code, 0) << file << run.error;
  }
}

TEST(BundleWarnings, TellWhatIsReplacedNotPublishedOrRefused) {
  Folder folder;
  const std::string image = "postInstallHooks.dra.image.repository";
  ProcessOutput usual = folder.lockstep(bundle_to("out", {"--nodes", "4"}));
  EXPECT_EQ(usual.exit_code, 0) << usual.error;
  EXPECT_TRUE(has(usual.error, "is not published")) << usual.error;
  EXPECT_TRUE(has(usual.error, image)) << usual.error;
  ProcessOutput own = folder.lockstep(bundle_to(
      "out",
      {"--nodes", "4", "--set", "gpu-operator:" + image + "=registry.example.com/lockstep"}));
  EXPECT_EQ(own.error, "");
  ProcessOutput unknown = folder.lockstep(
      bundle_to("out", {"--set", "gpu-operator:" + image + "=registry.example.com/lockstep"}));
  EXPECT_TRUE(has(unknown.error, "the number of nodes is not known")) << unknown.error;
  EXPECT_TRUE(has(unknown.error, "--nodes")) << unknown.error;
  ProcessOutput replaced = folder.lockstep(bundle_to(
      "out",
      {"--nodes", "4", "--set",
       R"(nvidia-dra-driver-gpu:controller.podAnnotations.lockstep\.dev/driver-version=mine)"}));
  EXPECT_EQ(replaced.exit_code, 0) << replaced.error;
  EXPECT_TRUE(has(replaced.error, "\"mine\"")) << replaced.error;
  EXPECT_TRUE(has(replaced.error, "--no-derived dra-follows-driver")) << replaced.error;
  ProcessOutput trap =
      folder.lockstep(bundle_to("out", {"--set", "gpu-operator:driver.nodeSelector.canary=true"}));
  EXPECT_EQ(trap.exit_code, 2);
  EXPECT_TRUE(has(trap.error, "no spec.driver.nodeSelector")) << trap.error;
}

TEST(BundleCommand, VerifyNamesWhatWasChangedRemovedAndAdded) {
  Folder folder;
  for (const std::string& deployer : all_deployers) {
    ASSERT_EQ(folder.lockstep(bundle_to("out", {"-d", deployer})).exit_code, 0) << deployer;
    const Tree before = folder.tree("out");
    for (const auto& [path, file] : before) {
      if (path == "checksums.txt") continue;
      std::string changed = file.content;
      changed[changed.size() / 2] ^= 1;
      folder.write("out/" + path, changed);
      ProcessOutput run = folder.lockstep({"verify", "out"});
      EXPECT_EQ(run.exit_code, 1) << deployer << ": " << path;
      EXPECT_EQ(run.output, "changed  " + path + "\n");
      folder.write("out/" + path, file.content);
    }
    EXPECT_EQ(folder.lockstep({"verify", "out"}).exit_code, 0) << "all is as it was again";

    std::filesystem::remove(folder / "out/recipe.yaml");
    folder.write("out/extra/file.yaml", "");
    ProcessOutput run = folder.lockstep({"verify", "out"});
    EXPECT_EQ(run.exit_code, 1) << deployer;
    EXPECT_EQ(run.output, "missing  recipe.yaml\nadded    extra/file.yaml\n");
    // Helm reads a folder of this name like any other; only the repository's own is passed over.
    folder.write("out/.git/config", "of the repository");
    folder.write("out/charts/x/.git/templates/evil.yaml", "");
    run = folder.lockstep({"verify", "out"});
    EXPECT_EQ(run.output,
              "missing  recipe.yaml\nadded    charts/x/.git/templates/evil.yaml\n"
              "added    extra/file.yaml\n");
    std::filesystem::remove_all(folder / "out/charts");
    auto json = parse_json(folder.lockstep({"verify", "out", "-o", "json"}).output);
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(json->at("intact"), Json(false));
    EXPECT_EQ(as_text(&json->at("missing").at(0)), "recipe.yaml");
    std::filesystem::remove_all(folder / "out");
  }
}

TEST(BundleCommand, CheckFindsAVersionThatWasWrittenByHandAndSaysWhere) {
  Folder folder;
  for (const std::string& deployer : all_deployers) {
    ASSERT_EQ(folder.lockstep(bundle_to("out", {"-d", deployer})).exit_code, 0) << deployer;
    const std::string key = "gpu-operator-chart-version: ";
    size_t found = 0;
    for (const auto& [path, file] : folder.tree("out")) {
      size_t at = file.content.find(key);
      if (at == std::string::npos) continue;
      ++found;
      std::string changed = file.content;
      changed.insert(at + key.size(), "v0-");
      folder.write("out/" + path, changed);
      ProcessOutput run = folder.lockstep({"check", "out"});
      EXPECT_EQ(run.exit_code, 1) << deployer << ": " << path;
      EXPECT_TRUE(has(run.output, "out/" + path + ": ")) << run.output << run.error;
      EXPECT_TRUE(has(run.output, "v0-")) << run.output;
      folder.write("out/" + path, file.content);
    }
    EXPECT_GT(found, 0U) << deployer;
  }
}

TEST(BundleCommand, VerifyAndCheckOfSomethingElseSayWhatIsMissing) {
  Folder folder;
  folder.write("other/x", "");
  folder.write("file", "");
  folder.write("broken/checksums.txt", "this is no list\n");
  expect_refused(folder, {{{"verify", "other"}, 3, {"other", "checksums.txt", "not a bundle"}},
                          {{"verify", "missing"}, 3, {"missing"}},
                          {{"verify", "file"}, 3, {"file"}},
                          {{"verify", "broken"}, 2, {"broken", "checksums.txt:1"}},
                          {{"verify"}, 2, {"bundle is required"}},
                          {{"check", "other"}, 2, {"other", "recipe.yaml", "registry.yaml"}},
                          {{"check", "missing"}, 3, {"missing"}}});
}

TEST(BundleCommand, TheSameInputGivesTheSameBytesByCriteriaAndByRecipe) {
  Folder folder;
  for (const std::string format : {"yaml", "json"}) {
    ProcessOutput recipe =
        folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "recipe." + format});
    ASSERT_EQ(recipe.exit_code, 0) << recipe.error;
  }
  for (const std::string& deployer : all_deployers) {
    const Words of_criteria = bundle_to("one", {"-d", deployer});
    ASSERT_EQ(folder.lockstep(of_criteria).exit_code, 0);
    const Tree one = folder.tree("one");
    ASSERT_EQ(folder.lockstep(of_criteria).exit_code, 0) << "over itself";
    EXPECT_EQ(folder.tree("one"), one) << deployer;
    for (const std::string recipe : {"recipe.yaml", "recipe.json", "one/recipe.yaml"}) {
      ProcessOutput run = folder.lockstep({"bundle", "-r", recipe, "-d", deployer, "-o", "two"});
      ASSERT_EQ(run.exit_code, 0) << recipe << ": " << run.error;
      // The recipe in a bundle is without what is disabled, and so are the releases.
      EXPECT_EQ(folder.tree("two"), one) << deployer << " of " << recipe;
    }
  }
}

TEST(BundleCommand, ADryRunNamesTheFilesAndWritesNone) {
  Folder folder;
  ASSERT_EQ(folder.lockstep(bundle_to("made")).exit_code, 0);
  std::string names;
  for (const auto& [path, file] : folder.tree("made")) names += path + "\n";
  ProcessOutput run = folder.lockstep(bundle_to("out", {"--dry-run"}));
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.output, names);
  EXPECT_FALSE(folder.exists("out"));
}

TEST(BundleCommand, OfTheThreeKindsOfSettingsTheLastOnTheCommandLineWins) {
  Folder folder;
  auto value = [&](const Words& settings) {
    ProcessOutput run = folder.lockstep(bundle_to("out", settings));
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return values_of(folder, "out", "gpu-operator").at("a").at("b");
  };
  const Words plain = {"--set", "gpu-operator:a.b=1"};
  const Words text = {"--set-string", "gpuoperator:a.b=2"};
  const Words json = {"--set-json", "gpu-operator:a.b=[3]"};
  EXPECT_EQ(value(json + text + plain), Json(1));
  EXPECT_EQ(value(plain + json + text), Json("2"));
  EXPECT_EQ(value(text + plain + json), Json(JsonArray{3}));
  EXPECT_EQ(value(plain + text + plain), Json(1));
  EXPECT_EQ(value({"--set", "gpu-operator:a.b=a,b=c"}), Json("a,b=c"));
}

TEST(BundleCommand, ASettingReachesKeysWithDotsAndCannotDefeatWhatIsDerived) {
  Folder folder;
  const std::string key = "aicr.nvidia.com/gpu-operator-chart-version";
  const std::string escaped = "aicr\\.nvidia\\.com/gpu-operator-chart-version";
  ProcessOutput run = folder.lockstep(bundle_to(
      "out", {"--set", "nvidia-dra-driver-gpu:controller.podAnnotations." + escaped + "=mine",
              "--set", "nvidia-dra-driver-gpu:controller.podAnnotations.a\\.b=kept"}));
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const std::string version =
      folder.lockstep(Words{"query", "components.gpu-operator.version"} + flagship).output;
  Json controller = values_of(folder, "out", "nvidia-dra-driver-gpu").at("controller");
  EXPECT_EQ(std::string(text_at(controller, "podAnnotations", key)) + "\n", version);
  EXPECT_EQ(text_at(controller, "podAnnotations", "a.b"), "kept");
}

TEST(BundleCommand, DerivedValuesAreLeftOutByNameAndThatIsNoFinding) {
  Folder folder;
  const std::string chart = "aicr.nvidia.com/gpu-operator-chart-version";
  const std::string driver = "lockstep.dev/driver-version";
  auto annotations = [&](const Words& flags) {
    ProcessOutput run = folder.lockstep(bundle_to("out", flags));
    EXPECT_EQ(run.exit_code, 0) << run.error;
    EXPECT_EQ(folder.lockstep({"check", "out"}).exit_code, 0) << "left out on purpose";
    return print_json(values_of(folder, "out", "nvidia-dra-driver-gpu"));
  };
  EXPECT_TRUE(has(annotations({}), chart));
  EXPECT_TRUE(has(annotations({}), driver));
  EXPECT_FALSE(has(annotations({"--no-derived", "dra-follows-gpu-operator"}), chart));
  EXPECT_TRUE(has(annotations({"--no-derived", "dra-follows-gpu-operator"}), driver));
  EXPECT_FALSE(has(annotations({"--no-derived", "all"}), driver));
  std::filesystem::remove_all(folder / "out");
  expect_refused(folder, {{bundle_to("out", {"--no-derived", "bogus"}),
                           2,
                           {"--no-derived bogus", "dra-follows-gpu-operator"}}});
}

TEST(BundleCommand, BadSettingsAreRefusedWithWhatToWriteInstead) {
  Folder folder;
  const std::string list = R"(gpu-operator:list=[1])";
  expect_refused(
      folder,
      {{bundle_to("out", {"--set", "driver=1"}), 2, {"--set driver=1", "colon", "like --set"}},
       {bundle_to("out", {"--set", "gpu-operator:driver"}), 2, {"no value", "\"=\""}},
       {bundle_to("out", {"--set", "gpu-operator:=1"}), 2, {"--set gpu-operator:=1"}},
       {bundle_to("out", {"--set", "gpu-operator:a..b=1"}), 2, {"a..b"}},
       {bundle_to("out", {"--set", "gpu-operator:env[0]=1"}), 2, {"env[0]", "--set-json"}},
       {bundle_to("out", {"--set-json", list, "--set", "gpu-operator:list.x=1"}),
        2,
        {"list.x leads into a list", "--set-json"}},
       {bundle_to("out", {"--set", "gpu-operator:driver.enabled.x=1"}),
        2,
        {"driver.enabled.x", "not a map", "driver.enabled is true"}},
       {bundle_to("out", {"--set-json", "gpu-operator:a={"}), 2, {"--set-json gpu-operator:a={"}},
       {bundle_to("out", {"--set", "gpu-oprator:a=1"}), 2, {"did you mean \"gpu-operator\"?"}},
       {bundle_to("out", {"--set", "nvsentinel:enabled=false", "--set", "nvsentinel:a=1"}),
        2,
        {"--set nvsentinel:a=1", "nvsentinel is disabled"}},
       {bundle_to("out", {"--set", "dynamo-platform:a=1"}), 2, {"dynamo-platform", "not in the"}},
       {bundle_to("out", {"--set", "gpu-operator:enabled=false"}),
        2,
        {"depends on gpu-operator, which is disabled", "too"}},
       {bundle_to("out", {"--set", "gpu-operator:enabled=perhaps"}), 2, {"enabled=perhaps"}},
       {bundle_to("out", {"--system-node-selector", "x"}), 2, {"--system-node-selector", "x"}},
       {bundle_to("out", {"--accelerated-node-toleration", "a=b:Never"}),
        2,
        {"--accelerated-node-toleration", "Never"}},
       {bundle_to("out", {"--workload-gate", "x"}), 2, {"--workload-gate"}},
       {bundle_to("out", {"-d", "helmfiel"}), 2, {"helmfiel", "helmfile"}},
       {{"bundle", "--service", "ekz", "-o", "out"}, 2, {"\"ekz\"", "\"eks\"?"}},
       {{"bundle"}, 2, {"--output"}}});
}

TEST(BundleCommand, ARecipeFileThatIsWrongIsRefusedWithItsLine) {
  Folder folder;
  ASSERT_EQ(folder.lockstep(Words{"recipe"} + flagship + Words{"-o", "good.yaml"}).exit_code, 0);
  const std::string good = folder.read("good.yaml");
  auto write = [&](const std::string& name, std::string_view from, const std::string& to) {
    std::string text = good;
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder.write(name, text.replace(at, from.size(), to));
  };
  folder.write("garbage.yaml", "{{{ garbage");
  folder.write("binary.yaml", std::string("\x7f\x45LF\0\0\xff", 7));
  folder.write("empty.yaml", "");
  folder.write("list.yaml", "- 1\n");
  folder.write("other.yaml", "kind: RecipeMetadata\n");
  write("escape.yaml", "- name: aws-efa\n", "- name: ../../x\n");
  write("misspelt.yaml", "deploymentOrder:", "deploymentOder:");
  write("unversioned.yaml", "  version: v26.3.1\n", "");
  write("unknown.yaml", "service: eks", "service: ekz");
  auto refused = [](const std::string& file, int code, std::vector<std::string> said) {
    return Mistake{{"bundle", "-r", file, "-o", "out"}, code, std::move(said)};
  };
  expect_refused(folder,
                 {refused("garbage.yaml", 2, {"garbage.yaml:2:1", "line 1"}),
                  refused("binary.yaml", 2, {"binary.yaml:1:"}),
                  refused("empty.yaml", 2, {"empty.yaml"}),
                  refused("list.yaml", 2, {"list.yaml"}),
                  refused("other.yaml", 2, {"other.yaml:1:1", "RecipeResult", "lockstep recipe"}),
                  refused("escape.yaml", 2, {"escape.yaml:", "\"../../x\""}),
                  refused("misspelt.yaml", 2, {"misspelt.yaml:", "did you mean \"deploymentOrder"}),
                  refused("unversioned.yaml", 2, {"gpu-operator", "version"}),
                  refused("unknown.yaml", 2, {"unknown.yaml:", "\"eks\"?"}),
                  refused("missing.yaml", 3, {"missing.yaml"}),
                  {bundle_to("out", {"-r", "good.yaml"}), 2, {"--recipe", "not both"}}});
  const Tree before = folder.tree(".");
  EXPECT_EQ(folder.lockstep({"bundle", "-r", "escape.yaml", "-o", "a/b/c/out"}).exit_code, 2);
  EXPECT_EQ(folder.tree("."), before) << "not outside of the bundle either";
}

TEST(BundleCommand, WhatWeDidNotWriteIsNotReplaced) {
  Folder folder;
  folder.write("other/precious/file", "mine");
  folder.write("file", "mine");
  folder.write("half/checksums.txt", "mine");
  const Tree before = folder.tree(".");
  for (const std::string output : {"other", "file", "half", "file/below"}) {
    ProcessOutput run = folder.lockstep(bundle_to(output));
    EXPECT_NE(run.exit_code, 0) << output;
    EXPECT_TRUE(has(run.error, output.substr(0, 4))) << run.error;
    EXPECT_EQ(folder.tree("."), before) << output;
  }
  ProcessOutput run = folder.lockstep(bundle_to("other"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.error, "precious")) << run.error;
  EXPECT_TRUE(has(run.error, "choose another directory")) << run.error;
  EXPECT_EQ(folder.lockstep(bundle_to("")).exit_code, 2);
}

// Over a bundle of another deployer: every file would change. No file may have more than 4 KiB.
TEST(BundleCommand, AFullDiskLeavesTheOldBundleByteForByte) {
  Folder folder;
  ASSERT_EQ(folder.lockstep(bundle_to("out", {"-d", "flux"})).exit_code, 0);
  const Tree before = folder.tree(".");
  const std::string again = "ulimit -f 4; exec \"$0\" " + join(bundle_to("out"), " ");
  ProcessOutput full = folder.bash("trap '' XFSZ; " + again);
  EXPECT_NE(full.exit_code, 0);
  EXPECT_TRUE(has(full.error, "File too large")) << full.error;
  EXPECT_EQ(folder.tree("."), before) << "nothing is left beside it either";
  EXPECT_EQ(folder.lockstep({"verify", "out"}).exit_code, 0);

  // The kernel kills a program that does not ignore the signal: there is no time to clean up.
  ProcessOutput killed = folder.bash(again);
  EXPECT_GE(killed.exit_code, 128) << killed.error;
  EXPECT_EQ(folder.lockstep({"verify", "out"}).exit_code, 0);
  EXPECT_EQ(folder.lockstep(bundle_to("out", {"-d", "flux"})).exit_code, 0);
  EXPECT_EQ(folder.tree("."), before) << "what the killed one left is removed by the next";
}

// A component whose every text is an attempt to be run, by a shell or by a template engine.
void write_hostile(const Folder& folder) {
  folder.write("data/registry.yaml", R"(
kind: ComponentRegistry
components:
  - name: hostile
    displayName: "$(touch pwned) `touch pwned` \"'\n| END {{ .Values.secret }} <script>"
    helm:
      defaultRepository: "https://x/'\"; touch pwned; $(touch pwned)`touch pwned`{{ .Values.secret }}"
      defaultChart: "a/c'\"$(touch pwned)`touch pwned`; touch pwned;"
      defaultNamespace: hostile
)");
  folder.write("data/components/hostile/values.yaml", R"(
plain: "$(touch pwned) `touch pwned` '; touch pwned; \" \n$(touch pwned)\nEND\n{{ .Values.secret }}"
"$(touch pwned)`touch pwned`'\"\n": "{{ fail }}"
)");
  folder.write_overlay("mine", R"(
  criteria: {service: oke, os: cos}
  componentRefs:
    - name: hostile
      version: "v1'; touch pwned; '$(touch pwned)`touch pwned`\"\\"
)");
}

const Words hostile_flags =
    with_data +
    Words{"--set",       "hostile:a.$(touch pwned)=`touch pwned`",
          "--set-json",  R"(hostile:b={"'$(touch pwned)'":"\u0000\n{{ .Values.secret }}"})",
          "--repo",      "https://git/'$(touch pwned)`touch pwned`{{ .Values.secret }}",
          "--revision",  "main'$(touch pwned)",
          "--repo-path", "a/'$(touch pwned)"};

bool is_pwned(const Folder& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path)) {
    if (entry.path().filename().string().starts_with("pwned")) return true;
  }
  return false;
}

TEST(HostileData, IsNeverRunByAScript) {
  Folder folder;
  write_hostile(folder);
  // Says what it was given, one argument a line.
  folder.write("bin/record", "#!/bin/bash\nprintf '<%s>\\n' \"$@\" >> \"${0%/bin/*}\"/record\n");
  std::filesystem::permissions(folder / "bin/record", std::filesystem::perms::owner_all);
  for (const std::string& deployer : all_deployers) {
    ProcessOutput made =
        folder.lockstep(Words{"bundle"} + hostile_flags + Words{"-d", deployer, "-o", deployer});
    ASSERT_EQ(made.exit_code, 0) << deployer << ": " << made.error;
    EXPECT_EQ(folder.lockstep({"verify", deployer}).exit_code, 0) << deployer;
    EXPECT_EQ(folder.lockstep({"check", deployer}).exit_code, 0) << deployer;
    for (const auto& [path, file] : folder.tree(deployer)) {
      if (!path.ends_with(".sh")) continue;
      ProcessOutput parsed = folder.bash("bash -n " + deployer + "/" + path);
      EXPECT_EQ(parsed.exit_code, 0) << path << ": " << parsed.error;
      EXPECT_EQ(file.content.find("\npwned"), std::string::npos) << path;
    }
  }
  ProcessOutput dry = folder.bash("bash helm/deploy.sh --dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.error;
  EXPECT_TRUE(has(dry.output, "upgrade --install hostile")) << dry.output;
  ProcessOutput run =
      folder.bash("HELM=$PWD/bin/record KUBECTL=$PWD/bin/record bash helm/deploy.sh");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  ProcessOutput undone =
      folder.bash("HELM=$PWD/bin/record KUBECTL=$PWD/bin/record bash helm/undeploy.sh --yes");
  EXPECT_EQ(undone.exit_code, 0) << undone.error;
  EXPECT_FALSE(is_pwned(folder));
  const std::string record = folder.read("record");
  EXPECT_TRUE(has(record, "<v1'; touch pwned; '$(touch pwned)`touch pwned`\"\\>")) << record;
  EXPECT_TRUE(has(record, "<https://x/'\"; touch pwned; $(touch pwned)`touch pwned`{{ "));
}

// Values reach charts by files; text in the templates and in helmfile.yaml must not be taken for a
// template.
TEST(HostileData, IsNeverTakenForATemplate) {
  Folder folder;
  write_hostile(folder);
  for (const std::string& deployer : all_deployers) {
    ProcessOutput made =
        folder.lockstep(Words{"bundle"} + hostile_flags + Words{"-d", deployer, "-o", deployer});
    ASSERT_EQ(made.exit_code, 0) << deployer << ": " << made.error;
  }
  EXPECT_FALSE(has(folder.read("helmfile/helmfile.yaml"), "{{"));
  size_t escaped = 0;
  for (const auto& [path, file] : folder.tree("argocd-helm/templates")) {
    EXPECT_FALSE(has(file.content, "{{ .Values.secret")) << path;
    if (has(file.content, "{{ \"{{\" }} .Values.secret")) ++escaped;
  }
  EXPECT_GT(escaped, 0U) << "it must be there, or this looks for nothing";
}

TEST(HostileData, WhatNoFileCouldHoldSafelyIsRefused) {
  const std::string begin =
      "  criteria: {service: oke, os: cos}\n  componentRefs:\n"
      "    - {name: network-operator, ";
  for (const std::string field :
       {R"text(version: "v1\n$(touch pwned)")text", R"text(version: "-v1")text",
        R"text(version: "\0")text", R"text(version: v1, namespace: "$(touch pwned)")text",
        R"text(version: v1, namespace: "a\nb")text",
        R"text(version: v1, namespace: "{{ .Values.x }}")text",
        R"text(version: v1, source: "https://x\n")text", R"text(version: v1, chart: "a\nb")text",
        R"text(version: v1, chart: "--post-renderer=x")text"}) {
    Folder folder;
    folder.write_overlay("mine", begin + field + "}\n");
    for (const std::string& deployer : all_deployers) {
      expect_refused(
          folder, {{Words{"bundle"} + with_data + Words{"-d", deployer, "-o", "out"},
                    2,
                    {field.starts_with("version: v1, namespace")
                         ? "data/overlays/mine.yaml:6:45: spec.componentRefs[0].namespace: must be"
                         : "network-operator"}}});
    }
    EXPECT_FALSE(is_pwned(folder)) << field;
  }
}

TEST(OciLayout, TheSameBundleHasTheSameDigestEveryTime) {
  Folder folder;
  auto digest = [&](const std::string& layout, const Words& more = {}) {
    ProcessOutput run = folder.lockstep(
        bundle_to("oci://" + (folder / layout) + ":v1", Words{"--image-refs", "refs"} + more));
    EXPECT_EQ(run.exit_code, 0) << run.error;
    std::string refs = folder.read("refs");
    size_t at = refs.find("@sha256:");
    EXPECT_NE(at, std::string::npos) << refs;
    return refs.substr(at == std::string::npos ? 0 : at);
  };
  const std::string first = digest("a");
  EXPECT_EQ(digest("a"), first) << "over itself";
  EXPECT_EQ(digest("b"), first) << "elsewhere";
  EXPECT_EQ(folder.tree("a"), folder.tree("b"));
  EXPECT_NE(digest("b", {"--set", "gpu-operator:x=1"}), first);
  EXPECT_TRUE(has(folder.read("a/index.json"), first.substr(1, first.size() - 2)));
}

TEST(OciLayout, ABadReferenceIsRefused) {
  Folder folder;
  const std::string layout = "oci://" + (folder / "a");
  folder.write("file", "mine");
  expect_refused(folder,
                 {{bundle_to(layout + ":bad tag"), 2, {"--output", "bad tag"}},
                  {bundle_to("oci://"), 2, {"--output"}},
                  {bundle_to("oci://Registry.example/UPPER:v1"), 2, {"--output", "UPPER"}}});
  ProcessOutput file = folder.lockstep(bundle_to("oci://" + (folder / "file") + ":v1"));
  EXPECT_NE(file.exit_code, 0);
  EXPECT_EQ(folder.read("file"), "mine");
}

}  // namespace
}  // namespace lockstep::commands::bundle_test
