#include "bundle/bundle_reader.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"
#include "data/json.h"

namespace lockstep::bundle::bundle_reader_test {
namespace {

const char* const recipe_text =
    "kind: RecipeResult\ncomponentRefs:\n  - {name: op, type: Helm, chart: op, version: v1}\n";

Result<BundleContents> read(FileMap files) {
  files["recipe.yaml"] = recipe_text;
  return read_contents(files, catalogue_of(small_files()).words, "b");
}

TEST(BundleReader, FindsTheValuesOfARelaseInTheFilesOfEveryDeployer) {
  struct Case {
    std::string path;
    std::string text;
    std::string kind;
    std::string version;
  };
  const std::vector<Case> cases = {
      {"001-op/values.yaml", "a: 1\n", "values.yaml", ""},
      {"op/helmrelease.yaml", "spec: {chart: {spec: {version: v1}}, values: {a: 1}}\n",
       "helmrelease.yaml", "v1"},
      {"001-op/application.yaml",
       "spec: {source: {chart: op, targetRevision: v1, helm: {values: 'a: 1'}}}\n",
       "application.yaml", "v1"},
  };
  for (const Case& c : cases) {
    auto contents = read({{c.path, c.text}});
    ASSERT_TRUE(contents.has_value()) << contents.error().text();
    const ReleaseRecords& records = contents->records.at(c.kind);
    EXPECT_EQ(print_json(records.values.at("op")), R"({"a":1})") << c.path;
    EXPECT_EQ(records.files.at("op"), c.path);
    EXPECT_EQ(records.versions.count("op"), c.version.empty() ? 0U : 1U);
  }
}

TEST(BundleReader, ReadsTheVersionsOfAHelmfile) {
  auto contents = read({{"helmfile.yaml", "releases:\n  - {name: op, version: v2}\n"}});
  ASSERT_TRUE(contents.has_value()) << contents.error().text();
  EXPECT_EQ(contents->records.at("helmfile.yaml").versions.at("op"), "v2");
}

TEST(BundleReader, ReadsTheVersionOfAChartFromTheScriptsAndTemplates) {
  auto contents = read({{"001-op/upstream.env", "# x\nCHART=op\nVERSION=v3\n"}});
  ASSERT_TRUE(contents.has_value()) << contents.error().text();
  EXPECT_EQ(contents->records.begin()->second.versions.at("op"), "v3");
  contents = read({{"templates/001-op.yaml",
                    "kind: Application\nspec:\n  source:\n    chart: op\n"
                    "    targetRevision: v4\n  x: {{ .Values.y }}\n"}});
  ASSERT_TRUE(contents.has_value()) << contents.error().text();
  EXPECT_EQ(contents->records.begin()->second.versions.at("op"), "v4");
}

TEST(BundleReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(read_contents({}, {}, "b").error().text(), "b: has no recipe.yaml: it is no bundle");
  EXPECT_EQ(read({{"001-op/values.yaml", "[1]"}}).error().text(),
            "b/001-op/values.yaml: the values of a release must be a map");
  EXPECT_NE(read({{"001-op/values.yaml", "a: ["}}).error().text().find("b/001-op/values.yaml:"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::bundle_reader_test
