#include "data/yaml_read.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::yaml_read_test {
namespace {

struct ReadCase {
  const char* text;
  const char* expected;  // JSON
};

TEST(YamlRead, documents) {
  const ReadCase cases[] = {
      {"", "null"},
      {"# only a comment\n", "null"},
      {"---\n", "null"},
      {"a", R"("a")"},
      {"a: 1\nb: [x, {c: d}]\n", R"({"a":1,"b":["x",{"c":"d"}]})"},
      {"a:\n- 1\n- - 2\n  - 3\n", R"({"a":[1,[2,3]]})"},
      {"a:\r\n  b: 1\r\n", R"({"a":{"b":1}})"},
      {"\xEF\xBB\xBF"
       "a: 1",
       R"({"a":1})"},
      {"a: '1'\nb: \"on\"\nc: on\n", R"({"a":"1","b":"on","c":true})"},
      {"a: |\n  x\n  y\n\nb: 1\n", R"({"a":"x\ny\n","b":1})"},
      {"a: |-\n  x\n", R"({"a":"x"})"},
      {"a: |+\n  x\n\n\nb: 1\n", R"({"a":"x\n\n\n","b":1})"},
      {"a: |2\n   x\n", R"({"a":" x\n"})"},
      {"a: >\n x\n y\n\n z\n", R"({"a":"x y\nz\n"})"},
      {"a: x\n  y\nb: 'x\n  y'\n", R"({"a":"x y","b":"x y"})"},
      {"a:\nb: ~\n", R"({"a":null,"b":null})"},
      {"{a, b: 1}", R"({"a":null,"b":1})"},
      {"? a\n: b\n", R"({"a":"b"})"},
      {"1: a\ntrue: b\n1.5: c\nno: d\n", R"({"1":"a","true":"b","1.5":"c","false":"d"})"},
      {"a: 2001-01-01\n2001-01-01: b\n", R"({"a":"2001-01-01","2001-01-01":"b"})"},
      {"a: !!str 1\nb: ! 2\nc: !!int '3'\nd: !x 4\ne: !x {f: 5}\n",
       R"({"a":"1","b":"2","c":3,"d":"4","e":{"f":5}})"},
      {"a: &x 1\nb: *x\n", R"({"a":1,"b":1})"},
      {"a: &x {c: [1]}\nb: *x\n", R"({"a":{"c":[1]},"b":{"c":[1]}})"},
      {"&k a: 1\nb: *k\n", R"({"a":1,"b":"a"})"},
      {"a: <<\n", R"({"a":"<<"})"},
      {"a: 1\n---\n# nothing\n", R"({"a":1})"},
      {"a: 1\n...\n", R"({"a":1})"},
      {"%YAML 1.1\n---\na: 1\n", R"({"a":1})"},
  };
  for (const ReadCase& test : cases) {
    const auto value = parse_yaml(test.text);
    ASSERT_TRUE(value) << test.text << value.error().text();
    EXPECT_EQ(*value, *parse_json(test.expected)) << test.text;
  }
}

TEST(YamlRead, merge_keys) {
  const ReadCase cases[] = {
      {"{x: &x {a: 2, b: 3}, z: {<<: *x, a: 1}}", R"({"a":1,"b":3})"},
      {"{x: &x {a: 2}, z: {b: 1, <<: *x}}", R"({"b":1,"a":2})"},
      {"{x: &x {a: 2}, z: {a: 2, <<: *x}}", R"({"a":2})"},  // before <<, but the same value
      {"{x: &x {a: 2}, w: &w {a: 3, b: 4}, z: {<<: [*x, *w]}}", R"({"a":2,"b":4})"},
      {"{x: &x {a: 2}, z: {<<: [*x, {a: 5, c: 6}], c: 7}}", R"({"a":2,"c":7})"},
      {"{x: &x {a: 2}, w: &w {<<: *x, b: 3}, z: {<<: *w}}", R"({"a":2,"b":3})"},
      {"{z: {<<: {a: 1}}}", R"({"a":1})"},
      {"{z: {!!merge <<: {a: 1}}}", R"({"a":1})"},
      {"{z: {'<<': {a: 1}}}", R"({"<<":{"a":1}})"},
      {"{z: {!!str <<: {a: 1}}}", R"({"<<":{"a":1}})"},
      {"{x: &x {a: {b: 1, c: 2}}, z: {<<: *x, a: {b: 3}}}", R"({"a":{"b":3}})"},  // not deep
  };
  for (const ReadCase& test : cases) {
    const auto value = parse_yaml(test.text);
    ASSERT_TRUE(value) << test.text << value.error().text();
    EXPECT_EQ(value->at("z"), *parse_json(test.expected)) << test.text;
  }
}

struct ErrorCase {
  std::string text;
  const char* place;
  const char* message;
  ErrorKind kind = ErrorKind::invalid;
};

void expect_error(const ErrorCase& test, const YamlLimits& limits = {}) {
  SCOPED_TRACE(test.text.substr(0, 200));
  const auto value = parse_yaml(test.text, "f.yaml", limits);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind, test.kind);
  EXPECT_EQ(value.error().place, test.place);
  EXPECT_NE(value.error().message.find(test.message), std::string::npos) << value.error().message;
}

TEST(YamlRead, errors_say_where_and_what_to_do) {
  const ErrorCase cases[] = {
      {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1",
       "the key \"a\" is here for the second time, first at line 1"},
      {"1: a\n'1': b\n", "f.yaml:2:1", "first at line 1"},
      {"yes: a\ntrue: b\n", "f.yaml:2:1", "the key \"true\""},
      {"x:\n  <<: {a: 1}\n  a: 2\n  a: 3\n", "f.yaml:4:3", "first at line 3"},
      {"x: &x {a: 2}\nz:\n  a: 1\n  <<: *x\n", "f.yaml:4:3", "move << to the top"},
      {"<<: {a: 1}\n<<: {b: 1}\n", "f.yaml:2:1", "<<: [*first, *second]"},
      {"<<: 1\n", "f.yaml:1:5", "<< needs a map"},
      {"<<:\n", "f.yaml:1:4", "<< needs a map"},
      {"x: &x [1]\nz: {<<: *x}\n", "f.yaml:2:9", "<< needs a map"},
      {"z: {<<: [[{a: 1}]]}\n", "f.yaml:1:10", "<< needs a map"},
      {"a: &a [*a]\n", "f.yaml:1:8", "&a contains itself"},
      {"a: &a {b: {<<: *a}}\n", "f.yaml:1:16", "&a contains itself"},
      {"a: *b\n", "f.yaml:1:4", "has no anchor &b before it"},
      {"~: a\n", "f.yaml:1:1", "a key cannot be null"},
      {"a: {[1]: b}\n", "f.yaml:1:5", "a key cannot be a list or a map"},
      {"a: {{ .Values.x }}\n", "f.yaml:1:5", "a template's {{ }} needs quotes"},
      {"a: !!int x\n", "f.yaml:1:4", "tagged !!int but is a !!str"},
      {"a: !!binary '%'\n", "f.yaml:1:4", "not base64"},
      {"a: 1\nb: .inf\n", "f.yaml:2:4", "no counterpart in JSON"},
      {"a: [.nan]\n", "f.yaml:1:5", "no counterpart in JSON"},
      {"a: 1\n---\nb: 2\n", "f.yaml:3:1", "a second document"},
      {"---\n---\nb: 2\n", "f.yaml:3:1", "a second document"},
      {"a: b: c\n", "f.yaml:1:5", "quote a value that holds \": \""},
      {"a:\n\t- b\n", "f.yaml:2:1", "not with a tab"},
      {"a: @b\n", "f.yaml:1:4", "quote a value that begins with @"},
      {"a: \"x\n", "f.yaml:2:1", "close the quotes"},
      {"a: \"\\d\"\n", "f.yaml:1:5", "write \\\\ for a backslash"},
      {"a: [1, 2\nb: 3\n", "f.yaml:2:2", "close the bracket"},
      {"a: 1\n b: 2\n", "f.yaml:2:3", "mapping values are not allowed"},
      {"a: \xC3\x28\n", "f.yaml:1:4", "not UTF-8"},
      {"a: \x01\n", "f.yaml:1:4", "control character"},
  };
  for (const ErrorCase& test : cases) expect_error(test);
}

TEST(YamlRead, limits) {
  expect_error({"[[[1]]]", "f.yaml:1:3", "nested deeper than 2", ErrorKind::too_large},
               {.depth = 2});
  EXPECT_TRUE(parse_yaml("[[[1]]]", "", {.depth = 3}));
  // Depth that aliases bring.
  expect_error({"[&a [1], &b [*a], &c [*b]]", "f.yaml:1:2", "once aliases are expanded",
                ErrorKind::too_large},
               {.depth = 3});
  EXPECT_TRUE(parse_yaml("[&a [1], &b [*a], &c [*b]]", "", {.depth = 4}));

  expect_error({"abcdef", "f.yaml", "6 bytes of YAML, more than 5", ErrorKind::too_large},
               {.bytes = 5});
  EXPECT_TRUE(parse_yaml("abcdef", "", {.bytes = 6}));
  expect_error({"[1, 2, 3]", "f.yaml:1:8", "more than 3 values", ErrorKind::too_large},
               {.nodes = 3});
  EXPECT_TRUE(parse_yaml("[1, 2, 3]", "", {.nodes = 4}));
}

TEST(YamlRead, a_billion_laughs_end_early) {
  std::string text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int level = 1; level < 12; ++level) {
    text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", level,
                        level - 1);
  }
  const auto value = parse_yaml(text, "f");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind, ErrorKind::too_large);
  EXPECT_NE(value.error().message.find("once aliases are expanded"), std::string::npos);
}

TEST(YamlRead, one_long_text_cannot_be_repeated_without_end) {
  std::string text = "- &a " + std::string(1000, 'x') + '\n';
  for (int count = 0; count < 10; ++count) text += "- *a\n";
  EXPECT_TRUE(parse_yaml(text, "", {.bytes = 10'000}));
  text += "- *a\n";
  expect_error({text, "f.yaml:1:3", "aliases repeat more than 10000 bytes", ErrorKind::too_large},
               {.bytes = 10'000});
}

TEST(YamlRead, a_chain_of_merges_ends_early) {
  // Each map merges the one before: the first keys are copied for every later map, and again for
  // each map that merges those.
  const auto chain = [](int maps) {
    std::string text = "m0: &m0 {k0: 0}\n";
    for (int map = 1; map < maps; ++map) {
      text += fmt::format("m{0}: &m{0} {{<<: *m{1}, k{0}: 0}}\n", map, map - 1);
    }
    return text;
  };
  // Map 1 copies 1 key, map 2 copies 2 and map 1 copies 1 again, map 3 copies 3 + 2 + 1.
  EXPECT_TRUE(parse_yaml(chain(4), "", {.merged_keys = 10}));
  expect_error({chain(4), "f.yaml:4:14", "<< copies more than 9 keys", ErrorKind::too_large},
               {.merged_keys = 9});
  EXPECT_TRUE(parse_yaml(chain(50)));
  const auto value = parse_yaml(chain(1000), "f");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind, ErrorKind::too_large);
  EXPECT_NE(value.error().message.find("<< copies more than 200000 keys"), std::string::npos);
}

TEST(YamlRead, a_long_key_cannot_be_repeated_without_end) {
  const std::string key(1000, 'k');
  std::string by_alias = "- &a " + key + '\n';
  std::string by_merge = "- &m {" + key + ": 1}\n";
  for (int count = 0; count < 10; ++count) {
    by_alias += "- {*a : 1}\n";
    by_merge += "- {<<: *m}\n";
  }
  EXPECT_TRUE(parse_yaml(by_alias, "", {.bytes = 10'000}));
  expect_error({by_alias + "- {*a : 1}\n", "f.yaml:12:4", "aliases repeat more than 10000 bytes",
                ErrorKind::too_large},
               {.bytes = 10'000});
  // The key and the value's text of the aliased map, and the key's copy.
  EXPECT_TRUE(parse_yaml(by_merge, "", {.bytes = 20'010}));
  expect_error(
      {by_merge, "f.yaml:11:8", "aliases repeat more than 20009 bytes", ErrorKind::too_large},
      {.bytes = 20'009});
}

TEST(YamlRead, a_long_tag_cannot_be_repeated_without_end) {
  std::string text = "%TAG ! tag:" + std::string(996, 'x') + "\n---\n";
  for (const char* item : {"!a 1", "!a [1]", "!a {b: 1}", "!a ''"}) {
    text += fmt::format("- {}\n", item);
  }
  // 1,000 bytes of prefix and one of suffix, each time.
  EXPECT_TRUE(parse_yaml(text, "", {.bytes = 4004}));
  expect_error({text, "f.yaml:6:3", "tags repeat more than 4003 bytes", ErrorKind::too_large},
               {.bytes = 4003});
}

TEST(YamlRead, very_deep_text_neither_crashes_nor_passes) {
  for (const char* part : {"[", "{a: ", "- ", "? ", "[{a: "}) {
    std::string text;
    for (int level = 0; level < 100'000; ++level) text += part;
    const auto value = parse_yaml(text, "f");
    ASSERT_FALSE(value) << part;
    EXPECT_EQ(value.error().kind, ErrorKind::too_large) << part;
  }
}

TEST(YamlRead, streams) {
  const auto documents =
      parse_yaml_stream("---\n# nothing\n---\na: 1\n---\n\n---\nnull\n---\n- b\n");
  ASSERT_TRUE(documents) << documents.error().text();
  ASSERT_EQ(documents->size(), 3u);
  EXPECT_EQ((*documents)[0], *parse_json(R"({"a":1})"));
  EXPECT_EQ((*documents)[1], Json(nullptr));
  EXPECT_EQ((*documents)[2], *parse_json(R"(["b"])"));
  EXPECT_TRUE(parse_yaml_stream("")->empty());

  const auto broken = parse_yaml_stream("a: 1\n---\nb: 1\nb: 2\n", "s");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().place, "s:4:1");
  // The limits hold for the stream as a whole.
  EXPECT_FALSE(parse_yaml_stream("[1, 2]\n---\n[1, 2]\n", "", {.nodes = 5}));
}

TEST(YamlRead, order_of_keys_is_kept_and_merged_keys_stand_where_the_merge_is) {
  const auto value = parse_yaml("c: 1\n<<: {z: 1, b: 2}\na: 3\nz: 4\n");
  ASSERT_TRUE(value);
  EXPECT_EQ(print_json(*value), R"({"c":1,"z":4,"b":2,"a":3})");
}

}  // namespace
}  // namespace lockstep::yaml_read_test
