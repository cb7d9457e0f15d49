// docs/API.md is made from the CustomResourceDefinition; `make docs` writes it. Every field of the
// definition has a description, for `kubectl explain driverrollout`.
#include "api_reference.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

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

// A comma in a string without quotes begins another key, which has no value.
void fields_without_description(const Json& schema, const std::string& path,
                                std::vector<std::string>& found) {
  for (const auto& [key, value] : schema.as_object()) {
    if (value.is_null()) found.push_back(path + ": " + std::string(key));
  }
  if (const Json* properties = find(schema, "properties"); properties != nullptr) {
    for (const auto& [key, child] : properties->as_object()) {
      const std::string place = path + "." + std::string(key);
      if (text_at(child, "description").empty()) found.push_back(place);
      fields_without_description(child, place, found);
    }
  }
  if (const Json* items = find(schema, "items"); items != nullptr) {
    fields_without_description(*items, path + "[]", found);
  }
}

std::vector<std::string> fields_without_description(const std::string& definition) {
  auto read = parse_yaml(definition);
  if (!read) return {read.error().text()};
  std::vector<std::string> found;
  for (const Json& version : find(*read, "spec", "versions")->as_array()) {
    fields_without_description(*find(version, "schema", "openAPIV3Schema"), "", found);
  }
  return found;
}

TEST(ApiReference, EveryFieldHasADescription) {
  EXPECT_EQ(fields_without_description(
                read(root / "deploy/chart/lockstep/templates/driverrollouts.yaml")),
            std::vector<std::string>{});
  EXPECT_EQ(fields_without_description(R"(
spec:
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          properties:
            spec:
              description: the spec
              properties:
                named: {type: string, description: its name}
                bare: {type: string}
                cut: {type: string, description: this, or that}
                list: {type: array, description: its parts, items: {properties: {inner: {type: string}}}}
)"),
            (std::vector<std::string>{".spec.bare", ".spec.cut: or that", ".spec.list[].inner"}));
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
