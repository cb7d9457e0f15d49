#include "deploy/json_schema.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::deploy::json_schema_test {
namespace {

std::string check(std::string_view schema, std::string_view value) {
  auto problems = check_by_schema(*parse_json(schema), *parse_json(value));
  return problems ? join(*problems, "; ") : "error " + problems.error().text();
}

TEST(JsonSchema, EveryWordIsHeldTo) {
  struct Row {
    std::string schema, good, bad, problem;
  };
  const std::vector<Row> rows = {
      {R"({"type": "object"})", "{}", "[]", "the whole must be a map; it is []"},
      {R"({"type": "integer"})", "5", "5.5", "the whole must be a whole number; it is 5.5"},
      {R"({"type": "number"})", "5.5", "\"a\"", "the whole must be a number; it is \"a\""},
      {R"({"type": "boolean"})", "true", "\"true\"",
       "the whole must be true or false; it is \"true\""},
      {R"({"type": "string"})", "\"\"", "null", "the whole must be a string; it is null"},
      {R"({"minimum": 1})", "1", "0", "the whole must be at least 1; it is 0"},
      {R"({"maximum": 9})", "9", "10", "the whole must be at most 9; it is 10"},
      {R"({"minLength": 1})", "\"ä\"", "\"\"",
       "the whole must have at least 1 characters; it is \"\""},
      {R"({"maxLength": 2})", "\"ää\"", "\"abc\"",
       "the whole must have at most 2 characters; it is \"abc\""},
      {R"({"pattern": "^[a-z]+$"})", "\"abc\"", "\"aBc\"",
       "the whole must match ^[a-z]+$; it is \"aBc\""},
      {R"({"enum": ["a", "b"]})", "\"b\"", "\"c\"", "the whole must be one of a, b; it is \"c\""},
      {R"({"minItems": 1})", "[1]", "[]", "the whole must have at least 1 entries; it is []"},
      {R"({"items": {"type": "string"}})", R"(["a"])", R"(["a", 1])",
       "[1] must be a string; it is 1"},
      {R"({"required": ["a"]})", R"({"a": 1})", "{}", "a is missing"},
      {R"({"additionalProperties": {"type": "string"}})", R"({"a": "b"})", R"({"a": 1})",
       "a must be a string; it is 1"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(check(row.schema, row.good), "") << row.schema;
    EXPECT_EQ(check(row.schema, row.bad), row.problem) << row.schema;
  }
}

TEST(JsonSchema, APlaceIsAPathAndAMisspeltKeyIsSuggested) {
  std::string_view schema = R"({"additionalProperties": false, "properties": {"controller": {
      "type": "object", "additionalProperties": false, "properties": {"replicas": {"type": "integer"}}}}})";
  EXPECT_EQ(check(schema, R"({"controller": {"replicas": "2"}})"),
            "controller.replicas must be a whole number; it is \"2\"");
  EXPECT_EQ(check(schema, R"({"controller": {"replica": 2}, "xyz": 1})"),
            "controller.replica: unknown field; did you mean \"replicas\"?; xyz: unknown field; "
            "expected controller");
}

TEST(JsonSchema, AWordThatIsNotKnownIsAnError) {
  EXPECT_EQ(check(R"({"oneOf": []})", "1"),
            "error unknown keyword \"oneOf\" in the schema of the values");
  EXPECT_EQ(check(R"({"items": {"format": "x"}})", "[1]"),
            "error unknown keyword \"format\" in the schema of [0]");
  EXPECT_TRUE(check(R"({"pattern": "("})", "\"a\"").starts_with("error invalid pattern of "));
}

}  // namespace
}  // namespace lockstep::deploy::json_schema_test
