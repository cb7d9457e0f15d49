#include "deploy/template_functions.h"

#include <gtest/gtest.h>

namespace lockstep::deploy::template_functions_test {
namespace {

// `arguments` as a JSON list.
std::string call(const std::string& name, const std::string& arguments) {
  Json list = *parse_json(arguments);
  auto value = call_function(name, {list.get_array().begin(), list.get_array().end()});
  return value ? print_json(*value) : "error " + value.error().text();
}

TEST(TemplateFunctions, AreHelms) {
  struct Row {
    std::string name, arguments, value;
  };
  // What Helm itself makes of the chart is compared in tests/deploy; these are the edges.
  const std::vector<Row> rows = {
      {"quote", R"(["a\"b"])", R"("\"a\\\"b\"")"},
      {"quote", "[5]", R"("\"5\"")"},
      {"quote", "[true]", R"("\"true\"")"},
      {"default", R"(["x", ""])", R"("x")"},
      {"default", R"(["x", "y"])", R"("y")"},
      {"default", "[1, 0]", "1"},
      {"printf", R"(["%s-%d%s", "a", 5, "b"])", R"("a-5b")"},
      {"printf", R"(["none"])", R"("none")"},
      {"join", R"([",", ["a", "b"]])", R"("a,b")"},
      {"join", R"([",", []])", R"("")"},
      {"int", "[5]", "5"},
      {"int", "[5.0]", "5"},
      {"not", "[0]", "true"},
      {"and", "[1, 0, 2]", "0"},
      {"and", "[1, 2]", "2"},
      {"or", "[0, 2, 3]", "2"},
      {"or", R"([0, ""])", R"("")"},
      {"eq", R"(["a", "a"])", "true"},
      {"eq", R"(["a", "b"])", "false"},
      {"gt", "[2, 1]", "true"},
      {"gt", "[1, 1]", "false"},
      {"nindent", R"([2, "a\nb"])", R"("\n  a\n  b")"},
      {"toYaml", R"([{"a": ["1", 2]}])", R"("a:\n- \"1\"\n- 2")"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(call(row.name, row.arguments), row.value) << row.name << row.arguments;
}

TEST(TemplateFunctions, SayWhatTheyCannotDo) {
  EXPECT_EQ(call("upper", R"(["a"])"), "error unknown function upper");
  EXPECT_EQ(call("quote", "[]"), "error quote needs 1 values and has 0");
  EXPECT_EQ(call("quote", "[{}]"),
            "error quote: {} cannot be printed: only strings, whole numbers and booleans can");
  EXPECT_EQ(call("printf", R"(["%v", 1])"),
            "error printf: \"%v\" is not a format for 1 values: %s and %d are supported");
  EXPECT_EQ(call("printf", R"(["%s %s", "a"])"),
            "error printf: \"%s %s\" is not a format for 1 values: %s and %d are supported");
  EXPECT_EQ(call("printf", R"(["%s", 1])"), "error printf: %s does not fit 1");
  EXPECT_EQ(call("gt", "[2.5, 1]"), "error gt: it compares whole numbers: use int");
  EXPECT_EQ(call("int", R"(["5"])"), "error int: \"5\" is not a number");
  EXPECT_EQ(call("join", R"([",", "a"])"), "error join: it needs a list");
  EXPECT_EQ(call("and", "[]"), "error and: it needs a value");
}

TEST(TemplateFunctions, NumbersWithAFractionHaveNoText) {
  EXPECT_FALSE(template_text(Json(1.5)));
  EXPECT_EQ(*template_text(Json(true)), "true");
}

}  // namespace
}  // namespace lockstep::deploy::template_functions_test
