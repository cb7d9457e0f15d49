#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "data/yaml.h"

namespace lockstep::yaml_print_test {
namespace {

TEST(YamlPrint, looks_like_kubectl) {
  const Json value = *parse_json(R"({
    "apiVersion": "v1",
    "data": {"version": "1.10", "mode": "0755", "on": "on", "empty": "", "script": "a\n  b\n"},
    "args": ["--port=80", "a: b", ["x", ["y"]], {"a": [{"b": 1, "c": []}], "d": {}}],
    "numbers": [1, 1.0, 18446744073709551615, null, true]
  })");
  EXPECT_EQ(print_yaml(value), R"(apiVersion: v1
data:
  version: "1.10"
  mode: "0755"
  "on": "on"
  empty: ""
  script: |
    a
      b
args:
- --port=80
- "a: b"
- - x
  - - "y"
- a:
  - b: 1
    c: []
  d: {}
numbers:
- 1
- 1.0
- 18446744073709551615
- null
- true
)");
}

TEST(YamlPrint, at_the_top) {
  const std::pair<Json, const char*> cases[] = {
      {Json(nullptr), "null\n"},
      {Json("a"), "a\n"},
      {Json("---"), "\"---\"\n"},
      {Json("a\nb\n"), "|\n  a\n  b\n"},
      {Json(" a\nb\n"), "\" a\\nb\\n\"\n"},  // no indentation to count from
      {Json(JsonObject()), "{}\n"},
      {Json(JsonArray()), "[]\n"},
  };
  for (const auto& [value, expected] : cases) EXPECT_EQ(print_yaml(value), expected);
}

TEST(YamlPrint, long_keys_get_a_line_of_their_own) {
  const std::string key(2000, 'k');
  const Json value = {{key, {{"a", 1}}}, {key + '2', JsonArray{1, 2}}, {key + '3', "x"}};
  const std::string text = print_yaml(value);
  EXPECT_TRUE(text.starts_with("? kkk"));
  const auto back = parse_yaml(text);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, value);
}

TEST(YamlPrint, numbers_keep_their_types) {
  for (const Json& number : {Json(1), Json(1.0), Json(-0.0), Json(1e21), Json(INT64_MIN),
                             Json(UINT64_MAX), Json(0.1), Json(5e-324), Json(1e300)}) {
    const auto back = parse_yaml(print_yaml(number));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->kind(), number.kind()) << print_yaml(number);
    EXPECT_EQ(*back, number) << print_yaml(number);
  }
}

TEST(YamlPrint, what_json_lacks) {
  EXPECT_EQ(print_yaml(Json("a\xFF")), "\"a\uFFFD\"\n");
  EXPECT_EQ(print_yaml(Json(std::numeric_limits<double>::infinity())), ".inf\n");
}

TEST(YamlPrint, streams) {
  const std::vector<Json> documents = {Json{{"a", 1}}, Json("x"), Json(nullptr), Json("a\n\n")};
  EXPECT_EQ(print_yaml_stream(documents), "a: 1\n---\nx\n---\nnull\n---\n|+\n  a\n\n");
  EXPECT_EQ(*parse_yaml_stream(print_yaml_stream(documents)), documents);
  EXPECT_EQ(print_yaml_stream({}), "");
}

// Strings made of what trips YAML up.
rc::Gen<std::string> nasty_string() {
  const auto piece = rc::gen::elementOf(std::vector<std::string>{"a",
                                                                 "b c",
                                                                 " ",
                                                                 "\n",
                                                                 "\n\n",
                                                                 "\t",
                                                                 ":",
                                                                 ": ",
                                                                 " #",
                                                                 "#",
                                                                 "-",
                                                                 "- ",
                                                                 "? ",
                                                                 "'",
                                                                 "\"",
                                                                 "\\",
                                                                 "{",
                                                                 "}",
                                                                 "[",
                                                                 "]",
                                                                 ",",
                                                                 "&",
                                                                 "*",
                                                                 "!",
                                                                 "|",
                                                                 ">",
                                                                 "%",
                                                                 "@",
                                                                 "`",
                                                                 "~",
                                                                 "=",
                                                                 "<<",
                                                                 "\r",
                                                                 "\r\n",
                                                                 "\u0085",
                                                                 "\u2028",
                                                                 "\uFEFF",
                                                                 "\u00E9",
                                                                 "\U0001F600",
                                                                 "\x07",
                                                                 "\x7F",
                                                                 "---",
                                                                 "...",
                                                                 "0",
                                                                 "1",
                                                                 "9",
                                                                 "_",
                                                                 ".",
                                                                 "e3",
                                                                 "+",
                                                                 "0x",
                                                                 "0o",
                                                                 "on",
                                                                 "y",
                                                                 "null",
                                                                 "true",
                                                                 "2001-01-01",
                                                                 "1:30",
                                                                 ".inf",
                                                                 "\uFFFF",
                                                                 std::string(1, '\0')});
  return rc::gen::map(rc::gen::scale(0.1, rc::gen::container<std::vector<std::string>>(piece)),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& part : pieces) text += part;
                        return text;
                      });
}

Json random_json(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 8 : 6);
  switch (kind) {
    case 0:
      return *rc::gen::element(Json(nullptr), Json(true), Json(false));
    case 1:
      return *rc::gen::arbitrary<int64_t>();
    case 2:
      return *rc::gen::arbitrary<double>();
    case 3:
      return *rc::gen::arbitrary<uint64_t>();
    case 6: {
      JsonArray array;
      for (int count = *rc::gen::inRange(0, 5); count > 0; --count) {
        array.push_back(random_json(depth - 1));
      }
      return array;
    }
    case 7: {
      JsonObject object;
      for (int count = *rc::gen::inRange(0, 5); count > 0; --count) {
        object[*nasty_string()] = random_json(depth - 1);
      }
      return object;
    }
    default:
      return Json(*nasty_string());
  }
}

TEST(YamlPrint, reads_back_as_the_same_value) {
  EXPECT_TRUE(rc::check([] {
    const Json value = random_json(4);
    const std::string text = print_yaml(value);
    const auto back = parse_yaml(text);
    if (!back) RC_FAIL(back.error().text() + "\n" + text);
    if (!json_equal(*back, value)) RC_FAIL(text);
  }));
}

TEST(YamlPrint, no_nasty_string_changes_its_type) {
  EXPECT_TRUE(rc::check([] {
    const std::string string = *nasty_string();
    const auto back = parse_yaml(print_yaml(Json{{"a", string}, {string, 1}, {"b", {string}}}));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->at(string == "a" ? "b" : "a").is_string() || string == "a");
    RC_ASSERT(json_equal(back->at("b"), Json{string}) || string == "b");
  }));
}

}  // namespace
}  // namespace lockstep::yaml_print_test
