// docs/API.md is what the CustomResourceDefinition says. After a change of the definition:
// LOCKSTEP_WRITE_DOCS=1 build/tests/docs/documentation_test --gtest_filter=ApiReference.*
#include "api_reference.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::documentation::api_reference_test {
namespace {

const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(ApiReference, IsWhatTheDefinitionSays) {
  auto definition = parse_yaml(read(root / "deploy/chart/lockstep/templates/driverrollouts.yaml"));
  ASSERT_TRUE(definition.has_value()) << definition.error().text();
  std::string page = api_reference(*definition);
  if (std::getenv("LOCKSTEP_WRITE_DOCS") != nullptr) std::ofstream(root / "docs/API.md") << page;
  EXPECT_EQ(read(root / "docs/API.md"), page);
}

TEST(ApiReference, HasEveryFieldWithTypeDefaultAndLimits) {
  auto definition = parse_yaml(R"(
spec:
  group: g
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          description: A thing.
          properties:
            spec:
              required: [name]
              x-kubernetes-validations: [{rule: x, message: must be good}]
              properties:
                name: {type: string, description: "Its name.", maxLength: 5}
                mode: {type: string, enum: [a, b], default: a}
                parts:
                  type: array
                  items: {type: object, properties: {size: {type: integer, minimum: 1}}}
)");
  ASSERT_TRUE(definition.has_value()) << definition.error().text();
  std::string page = api_reference(*definition);
  for (const char* row :
       {"| `spec.name` (required) | string |  | Its name. (characters at most 5) |",
        "| `spec.mode` | string | `a` | (one of a, b) |", "| `spec.parts` | list of map |  |  |",
        "| `spec.parts[].size` | integer |  | (at least 1) |", "- must be good"}) {
    EXPECT_NE(page.find(row), std::string::npos) << row << "\n" << page;
  }
}

}  // namespace
}  // namespace lockstep::documentation::api_reference_test
