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
      {R"({"type": "object"})", "{}", "[]", "the whole must be a map, and is []"},
      {R"({"type": "integer"})", "5", "5.5", "the whole must be a whole number, and is 5.5"},
      {R"({"type": "number"})", "5.5", "\"a\"", "the whole must be a number, and is \"a\""},
      {R"({"type": "boolean"})", "true", "\"true\"",
       "the whole must be true or false, and is \"true\""},
      {R"({"type": "string"})", "\"\"", "null", "the whole must be a text, and is null"},
      {R"({"minimum": 1})", "1", "0", "the whole must be 1 or more, and is 0"},
      {R"({"maximum": 9})", "9", "10", "the whole must be 9 at most, and is 10"},
      {R"({"minLength": 1})", "\"ä\"", "\"\"",
       "the whole must have 1 characters or more, and is \"\""},
      {R"({"maxLength": 2})", "\"ää\"", "\"abc\"",
       "the whole must have 2 characters at most, and is \"abc\""},
      {R"({"pattern": "^[a-z]+$"})", "\"abc\"", "\"aBc\"",
       "the whole must be like ^[a-z]+$, and is \"aBc\""},
      {R"({"enum": ["a", "b"]})", "\"b\"", "\"c\"", "the whole must be one of a, b, and is \"c\""},
      {R"({"minItems": 1})", "[1]", "[]", "the whole must have 1 entries or more, and is []"},
      {R"({"items": {"type": "string"}})", R"(["a"])", R"(["a", 1])",
       "[1] must be a text, and is 1"},
      {R"({"required": ["a"]})", R"({"a": 1})", "{}", "a is missing"},
      {R"({"additionalProperties": {"type": "string"}})", R"({"a": "b"})", R"({"a": 1})",
       "a must be a text, and is 1"},
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
            "controller.replicas must be a whole number, and is \"2\"");
  EXPECT_EQ(check(schema, R"({"controller": {"replica": 2}, "xyz": 1})"),
            "controller.replica: unknown field; did you mean \"replicas\"?; xyz: unknown field; "
            "expected controller");
}

TEST(JsonSchema, AWordThatIsNotKnownIsAnError) {
  EXPECT_EQ(check(R"({"oneOf": []})", "1"),
            "error the schema of the values says \"oneOf\", which is not known here");
  EXPECT_EQ(check(R"({"items": {"format": "x"}})", "[1]"),
            "error the schema of [0] says \"format\", which is not known here");
  EXPECT_TRUE(check(R"({"pattern": "("})", "\"a\"").starts_with("error the pattern of "));
}

}  // namespace
}  // namespace lockstep::deploy::json_schema_test
