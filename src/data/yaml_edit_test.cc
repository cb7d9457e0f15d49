#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::yaml_edit_test {
namespace {

std::vector<std::string> path_of(std::string_view text) {
  std::vector<std::string> path;
  if (text.empty()) return path;
  for (const std::string_view step : split(text, '/')) path.emplace_back(step);
  return path;
}

struct EditCase {
  const char* text;
  const char* path;
  Json value;
  const char* expected;
};

void expect_edits(std::initializer_list<EditCase> cases) {
  for (const EditCase& test : cases) {
    const auto edited = edit_yaml_scalar(test.text, path_of(test.path), test.value, "f");
    ASSERT_TRUE(edited) << test.text << edited.error().text();
    EXPECT_EQ(*edited, test.expected);
  }
}

TEST(YamlEdit, changes_the_value_and_nothing_else) {
  expect_edits({
      {"# top\na: 1   # one\nb: 2\n", "a", 5, "# top\na: 5   # one\nb: 2\n"},
      {"a: 1 # c\r\nb: 2  \r\n", "b", "x y", "a: 1 # c\r\nb: x y  \r\n"},
      {"a:\n  b:\n  - c: x\n  - c: y # here\n", "a/b/1/c", "z",
       "a:\n  b:\n  - c: x\n  - c: z # here\n"},
      {"a: [1, {b: x, c: [p, q]}]\n", "a/1/c/0", "r", "a: [1, {b: x, c: [r, q]}]\n"},
      {"a: 1", "a", 2, "a: 2"},
      {"\xEF\xBB\xBF\u00E9: \U0001F600\nb: x\n", "b", "\u20AC",
       "\xEF\xBB\xBF\u00E9: \U0001F600\nb: \u20AC\n"},
      {"1: x\nyes: y\n", "true", "z", "1: x\nyes: z\n"},
      {"foo # c\n", "", "bar", "bar # c\n"},
      {"a: many\n  words here # c\nb: 1\n", "a", "x", "a: x # c\nb: 1\n"},
      {"a: 0x10\n", "a", 16, "a: 0x10\n"},  // it is that already
      {"a: &x 1\nb: 2\n", "a", 3, "a: &x 3\nb: 2\n"},
      {"a: !!str 5\n", "a", "6", "a: !!str \"6\"\n"},
      {"a: !!int 5 # c\n", "a", 6, "a: !!int 6 # c\n"},
      {"a: &x {c: 1}\nb:\n  <<: *x\n  c: 2\n", "a/c", 3, "a: &x {c: 3}\nb:\n  <<: *x\n  c: 2\n"},
  });
}

TEST(YamlEdit, keeps_quotes_where_the_value_allows) {
  expect_edits({
      {"a: x\n", "a", "1.10", "a: \"1.10\"\n"},
      {"a: x\n", "a", "on", "a: \"on\"\n"},
      {"a: x\n", "a", "y: z", "a: \"y: z\"\n"},
      {"a: 1.10\n", "a", "570.124.06", "a: 570.124.06\n"},
      {"a: 'x'\n", "a", "it's", "a: 'it''s'\n"},
      {"a: 'x'\n", "a", "a\nb", "a: \"a\\nb\"\n"},
      {"a: \"x\"\n", "a", "y\"", "a: \"y\\\"\"\n"},
      {"a: \"1\"\n", "a", 1, "a: 1\n"},
      {"a: '1'\n", "a", true, "a: true\n"},
      {"a: 1\n", "a", "1", "a: \"1\"\n"},
      {"a: x\n", "a", nullptr, "a: null\n"},
      {"a: x\n", "a", 1.0, "a: 1.0\n"},
      {"a: x\n", "a", "two\nlines", "a: \"two\\nlines\"\n"},
      {"{a: x, b: y}\n", "a", "p,q", "{a: \"p,q\", b: y}\n"},
      {"{\"a\":1,\"b\":\"x\"}", "a", "z", "{\"a\":\"z\",\"b\":\"x\"}"},  // JSON stays JSON
  });
}

TEST(YamlEdit, fills_an_empty_value) {
  expect_edits({
      {"a: # set me\nb:\n", "a", "v", "a: v # set me\nb:\n"},
      {"a:\nb: 1\n", "a", 5, "a: 5\nb: 1\n"},
      {"a:", "a", 5, "a: 5"},
      {"-\n- 1\n", "0", "v", "- v\n- 1\n"},
      {"{a, b: }", "a", 1, "{a: 1, b: }"},
      {"{a, b: }", "b", 1, "{a, b: 1}"},
      {"a: !!str\nb: 1\n", "a", "q", "a: !!str q\nb: 1\n"},
  });
}

TEST(YamlEdit, block_scalars) {
  expect_edits({
      {"a: | # why\n  x\n  y\n\nb: 1\n", "a", "p\nq\n", "a: | # why\n  p\n  q\n\nb: 1\n"},
      {"a: | # why\n  x\n  y\n\nb: 1\n", "a", "p", "a: p # why\n\nb: 1\n"},
      {"a: |\n  x\nb: 1\n", "a", 5, "a: 5\nb: 1\n"},
      {"a: >-\n    x\n    y\n# end\nb: 1\n", "a", "p\n\nq", "a: |-\n    p\n\n    q\n# end\nb: 1\n"},
      {"a: |\r\n  x\r\nb: 1\r\n", "a", "p\nq\n", "a: |\r\n  p\r\n  q\r\nb: 1\r\n"},
      {"a: |2\n   x\n", "a", " p\nq\n", "a: |2\n   p\n  q\n"},
      {"- a: |2-\n     x\n    y\n", "0/a", "  p\nq", "- a: |2-\n      p\n    q\n"},
      {"a: |\n  x\n", "a", " p\nq\n", "a: \" p\\nq\\n\"\n"},  // the depth is not known
      {"a: |+\n  x\n\n\nb: 1\n", "a", "p\n", "a: |\n  p\n\n\nb: 1\n"},
      {"a: |\n  x\n\n\nb: 1\n", "a", "p\nq\n\n", "a: \"p\\nq\\n\\n\"\n\n\nb: 1\n"},
      {"- &x |\n  a\n- b\n", "0", "c\nd\n", "- &x |\n  c\n  d\n- b\n"},
      {"a: |\n\nb: 1\n", "a", "x\ny\n", "a: \"x\\ny\\n\"\n\nb: 1\n"},
  });
}

TEST(YamlEdit, the_first_document_with_the_path_is_edited) {
  expect_edits({
      {"a: 1\n---\nb: 1\n---\nb: 2\n", "b", 9, "a: 1\n---\nb: 9\n---\nb: 2\n"},
      {"# c\n---\n---\nb: 1\n...\n", "b", 9, "# c\n---\n---\nb: 9\n...\n"},
  });
}

struct RefusalCase {
  const char* text;
  const char* path;
  Json value;
  ErrorKind kind;
  const char* place;
  const char* message;
};

TEST(YamlEdit, refusals_say_why) {
  const RefusalCase cases[] = {
      {"driver:\n  version: 1\n", "driver/versoin", 2, ErrorKind::not_found, "f:2:3",
       "no key \"versoin\" under \"driver\"; did you mean \"version\"?"},
      {"a: 1\n---\nb: {c: 1}\n", "b/x", 2, ErrorKind::not_found, "f:3:4",
       "no key \"x\" under \"b\""},
      {"a: {}\n", "a/b", 2, ErrorKind::not_found, "f:1:4", "which is empty"},
      {"a: [1, 2]\n", "a/2", 2, ErrorKind::not_found, "f:1:4", "it has 2 items"},
      {"a: [1, 2]\n", "a/x", 2, ErrorKind::not_found, "f:1:4", "no item \"x\""},
      {"a: 1\n", "a/b", 2, ErrorKind::not_found, "f:1:4", "\"a\" is a single value"},
      {"", "a", 2, ErrorKind::not_found, "f", "the text is empty"},
      {"x: &x {c: 1}\nb: {<<: *x}\n", "b/c", 2, ErrorKind::not_found, "f:2:4", "<< brings"},
      {"x: &x {c: 1}\nb: {<<: *x}\n---\nb: {c: 1}\n", "b/c", 2, ErrorKind::not_found, "f:2:4",
       "<< brings"},
      {"a: {b: 1}\n", "a", 2, ErrorKind::invalid, "f:1:4", "is a map, not a single value"},
      {"a: [1]\n", "a", 2, ErrorKind::invalid, "f:1:4", "is a list, not a single value"},
      {"a: &x 1\nb: *x\n", "b", 2, ErrorKind::invalid, "f:2:4",
       "\"b\" is the alias *x; edit &x at line 1"},
      {"a: &x 1\nb: *x\n", "a", 2, ErrorKind::invalid, "f:1:4", "aliases of it would change too"},
      {"a: &x {c: 1}\nb: *x\n", "b/c", 2, ErrorKind::invalid, "f:2:4", "edit &x at line 1"},
      {"a: &x {c: 1}\nb: *x\n", "a/c", 2, ErrorKind::invalid, "f:1:11", "inside &x at line 1"},
      {"---\n---\n- 1\n", "", 1, ErrorKind::invalid, "f:2:1",
       "cannot change the top of the document"},
      {"a: !!str 5\n", "a", 6, ErrorKind::invalid, "f:1:4", "its tag does not fit"},
      {"a: x\n", "a", Json("\xFF"), ErrorKind::invalid, "f:1:4", "cannot change \"a\" alone"},
      {"a: 1\n", "a", Json(JsonArray()), ErrorKind::invalid, "",
       "must be a single value, not a list"},
      {"a: 1\na: 2\n", "a", 3, ErrorKind::invalid, "f:2:1", "second time"},
      {"a: @\n", "a", 3, ErrorKind::invalid, "f:1:4", "cannot start any token"},
  };
  for (const RefusalCase& test : cases) {
    SCOPED_TRACE(test.text);
    const auto edited = edit_yaml_scalar(test.text, path_of(test.path), test.value, "f");
    ASSERT_FALSE(edited) << *edited;
    EXPECT_EQ(edited.error().kind, test.kind);
    EXPECT_EQ(edited.error().place, test.place);
    EXPECT_NE(edited.error().message.find(test.message), std::string::npos)
        << edited.error().message;
  }
}

// Whatever the style of the old value and whatever the new one, the bytes around it stay.
TEST(YamlEdit, any_value_fits_anywhere) {
  const auto old_value =
      rc::gen::elementOf(std::vector<std::string>{"x", "'x'", "\"x\"", "1", "|\n    x\n    y",
                                                  ">-\n    x", "", "&q x", "!!null ~", "x\n    y"});
  const auto piece = rc::gen::elementOf(
      std::vector<std::string>{"a", " ", "\n", "\t", ":", "#", "-", "'", "\"", "\\", "{", ",", "\r",
                               "\u2028", "\u00E9", "1", "on"});
  EXPECT_TRUE(rc::check([&] {
    std::string string;
    for (const std::string& part :
         *rc::gen::scale(0.1, rc::gen::container<std::vector<std::string>>(piece))) {
      string += part;
    }
    const std::string before = "# head\na:\n- k: ";
    const std::string after = "\n  l: 2 # tail\nb: 'c'\n";
    const std::string old = *old_value;
    const auto edited = edit_yaml_scalar(before + old + after, {"a", "0", "k"}, Json(string), "f");
    if (old.starts_with("!!null")) RC_SUCCEED("a tag that no string fits");
    if (!edited) RC_FAIL(edited.error().text() + "\n" + old);
    RC_ASSERT(edited->starts_with(before) || old.empty());
    RC_ASSERT(edited->ends_with(after));
    const auto value = parse_yaml(*edited);
    RC_ASSERT(value.has_value());
    RC_ASSERT(json_equal(value->at("a").at(0).at("k"), Json(string)));
  }));
}

}  // namespace
}  // namespace lockstep::yaml_edit_test
