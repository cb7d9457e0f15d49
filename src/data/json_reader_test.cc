#include "data/json_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"

namespace lockstep::json_reader_test {
namespace {

bool accepts(std::string_view text) {
  JsonReader in(text);
  in.skip();
  return !in.failed() && in.at_end();
}

TEST(JsonReader, AcceptsWhatTheParserAccepts) {
  const std::string long_text(40, 'x');
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "null",
                                          "nul",
                                          "nulll",
                                          "true",
                                          "truE",
                                          "false",
                                          "fals",
                                          "{}",
                                          "[]",
                                          "{",
                                          "[",
                                          "}",
                                          "[1,2]",
                                          "[1 2]",
                                          "[1,]",
                                          "[,1]",
                                          "[,]",
                                          "{\"a\":1}",
                                          "{\"a\":1,}",
                                          "{\"a\" 1}",
                                          "{a:1}",
                                          "{\"a\":}",
                                          "{,}",
                                          "{\"a\":1 \"b\":2}",
                                          "{1:2}",
                                          "[1}",
                                          "{\"a\":1]",
                                          " [ 1 , 2 ] ",
                                          "\t{\n\"a\"\r: 1 } ",
                                          "\v1",
                                          "0",
                                          "-0",
                                          "-",
                                          "01",
                                          "-01",
                                          "1.",
                                          ".5",
                                          "1.5",
                                          "1e",
                                          "1e+",
                                          "1e5",
                                          "1E-5",
                                          "1e05",
                                          "+1",
                                          "1e400",
                                          "1e-400",
                                          "0x1",
                                          "NaN",
                                          "Infinity",
                                          "1e2147483648",
                                          "0e1000000000",
                                          "1e00000000000001",
                                          "\"",
                                          "\"a",
                                          "\"a\"",
                                          "\"\\n\"",
                                          "\"\\x\"",
                                          "\"\\",
                                          "\"\\u12\"",
                                          "\"\\u12g4\"",
                                          "\"\\u1234\"",
                                          "\"\\ud83d\\ude00\"",
                                          "\"\\ud83d\"",
                                          "\"\\ud83d\\n\"",
                                          "\"\\ude00\"",
                                          "\"\\ud83d\\u0041\"",
                                          "\"\n\"",
                                          "\"\x01\"",
                                          "\"\x7f\"",
                                          "\"\u00e9\"",
                                          "\"\xff\"",
                                          "\"\xc3\"",
                                          "\"\xc0\x80\"",
                                          "\"\xe0\x80\x80\"",
                                          "\"\xed\xa0\x80\"",
                                          "\"\xf0\x9f\x98\x80\"",
                                          "\"\xf4\x90\x80\x80\"",
                                          "\"\xf0\x80\x80\x80\"",
                                          "\"\xf0\x9f\x98\"",
                                          "// comment\n1",
                                          "'a'",
                                          "\xef\xbb\xbf{}",
                                          "1 1",
                                          "[] []",
                                          "\"" + long_text + "\"",
                                          "\"" + long_text + "\\\"" + long_text + "\"",
                                          "\"" + long_text + "\n\"",
                                          "\"" + long_text + "\u20ac" + long_text + "\"",
                                          "\"" + long_text + "\xff" + long_text + "\"",
                                          std::string("\"\0\"", 3)};
  for (const std::string& text : texts) {
    EXPECT_EQ(accepts(text), parse_json(text).has_value()) << text;
  }
}

TEST(JsonReader, TheDepthLimitIsTheParsers) {
  for (const char* text : {"1", "[]", "[1]", "[{}]", "{\"a\":[1]}", "[[[]]]"}) {
    for (size_t depth : {0, 1, 2, 3}) {
      JsonReader in(text, depth);
      in.skip();
      EXPECT_EQ(!in.failed(), parse_json(text, {.depth = depth}).has_value()) << text << depth;
      EXPECT_EQ(in.error().kind, in.failed() ? ErrorKind::too_large : Error().kind);
    }
  }
  JsonReader deep("[[1]]", 1);
  deep.array([&] { deep.array([&] { deep.skip(); }); });
  EXPECT_EQ(deep.error().kind, ErrorKind::too_large);
}

struct Taint {
  std::string key;
  std::string value;
  int64_t added = 0;
  double weight = 0;
  bool gone = false;
  std::string limit;
};

template <typename Reader>
std::vector<Taint> decode(Reader& in) {
  std::vector<Taint> taints;
  TextPool pool;
  in.array([&] {
    Taint& taint = taints.emplace_back();
    in.object([&](std::string_view key) {
      if (key == "key") {
        taint.key = in.text();
      } else if (key == "value") {
        taint.value = in.text(pool).str();
      } else if (key == "added") {
        taint.added = in.integer();
      } else if (key == "weight") {
        taint.weight = in.number();
      } else if (key == "gone") {
        taint.gone = in.boolean();
      } else if (key == "limit") {
        taint.limit = in.scalar();
      } else {
        in.skip();
      }
    });
  });
  return taints;
}

constexpr std::string_view taints_text = R"( [
  {"key": "nvidia.com/gpu", "value": "a\nb\u00e9\ud83d\ude00", "added": 12, "weight": 1.5,
   "gone": true, "limit": 5, "other": {"x": [1, {"y": "}"}]}},
  {"limit": "5Gi", "added": 1e3, "gone": false, "v\u0061lue": "escaped key"},
  {"key": null, "value": null, "added": null, "weight": null, "gone": null, "limit": null},
  null
] )";

template <typename Reader>
void expect_taints(Reader& in) {
  const std::vector<Taint> taints = decode(in);
  ASSERT_FALSE(in.failed()) << in.error().text();
  EXPECT_TRUE(in.at_end());
  ASSERT_EQ(taints.size(), 4u);
  EXPECT_EQ(taints[0].key, "nvidia.com/gpu");
  EXPECT_EQ(taints[0].value, "a\nb\u00e9\U0001f600");
  EXPECT_EQ(taints[0].added, 12);
  EXPECT_EQ(taints[0].weight, 1.5);
  EXPECT_TRUE(taints[0].gone);
  EXPECT_EQ(taints[0].limit, "5");
  EXPECT_EQ(taints[1].limit, "5Gi");
  EXPECT_EQ(taints[1].added, 1000);
  EXPECT_EQ(taints[1].value, "escaped key");
  EXPECT_EQ(taints[2].key, "");
}

TEST(JsonReader, DecodesBytes) {
  JsonReader in(taints_text);
  expect_taints(in);
}

TEST(TreeReader, DecodesATree) {
  const Json tree = *parse_json(taints_text);
  TreeReader in(tree);
  expect_taints(in);
}

TEST(JsonReader, AnotherTypeIsAnError) {
  const auto problem = [](std::string_view text, auto read) {
    JsonReader in(text);
    read(in);
    EXPECT_TRUE(in.failed()) << text;
    const Json tree = *parse_json(text);
    TreeReader nodes(tree);
    read(nodes);
    EXPECT_TRUE(nodes.failed()) << text;
    return in.error().text();
  };
  EXPECT_EQ(problem("1", [](auto& in) { in.text(); }), "1:1: expected a string, found a number");
  EXPECT_EQ(problem("\"1\"", [](auto& in) { in.integer(); }),
            "1:1: expected an integer, found a string");
  EXPECT_EQ(problem("{}", [](auto& in) { in.scalar(); }),
            "1:1: expected a string, a number or a boolean, found an object");
  EXPECT_EQ(problem("[]", [](auto& in) { in.object([](std::string_view) {}); }),
            "1:1: expected an object, found an array");
  EXPECT_EQ(problem("true", [](auto& in) { in.array([] {}); }),
            "1:1: expected an array, found a boolean");
  EXPECT_EQ(problem("0", [](auto& in) { in.boolean(); }),
            "1:1: expected a boolean, found a number");
  problem("1.5", [](auto& in) { in.integer(); });
  problem("9223372036854775808", [](auto& in) { in.integer(); });
  problem("1e30", [](auto& in) { in.integer(); });
  problem("\"1\"", [](auto& in) { in.number(); });
}

TEST(JsonReader, TheFirstErrorStays) {
  JsonReader in("{\"a\": 1,\n \"b\": [2, x], \"c\": \"d\"}");
  int fields = 0;
  in.object([&](std::string_view) {
    ++fields;
    in.skip();
  });
  EXPECT_EQ(fields, 2);
  EXPECT_EQ(in.error().text(), "2:11: expected a value");
  EXPECT_EQ(in.error_offset(), 19u);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.integer(), 0);
  EXPECT_EQ(in.raw(), "");
  EXPECT_TRUE(in.tree().is_null());
  EXPECT_FALSE(in.at_end());
  EXPECT_EQ(in.error().text(), "2:11: expected a value");
}

TEST(JsonReader, AValueThatIsNotConsumedIsAnError) {
  JsonReader in("{\"a\": 1, \"b\": 2}");
  in.object([](std::string_view) {});
  EXPECT_TRUE(in.failed());
}

TEST(JsonReader, RawAndTree) {
  JsonReader in(R"({"a": {"b" : [1, "]"]} , "c": [1,{"x":null}], "d": null})");
  in.object([&](std::string_view key) {
    if (key == "a") {
      EXPECT_EQ(in.raw(), R"({"b" : [1, "]"]})");
    } else if (key == "c") {
      EXPECT_EQ(print_json(in.tree()), R"([1,{"x":null}])");
    } else {
      EXPECT_TRUE(in.at_null());
      EXPECT_TRUE(in.at_null());
      in.skip();
    }
  });
  EXPECT_FALSE(in.failed()) << in.error().text();
}

TEST(JsonReader, TextWithoutEscapesIsAView) {
  const std::string bytes = "[\"plain\", \"esc\\u0061ped\"]";
  JsonReader in(bytes);
  std::vector<bool> inside;
  in.array([&] {
    const std::string_view text = in.text();
    inside.push_back(text.data() >= bytes.data() && text.data() < bytes.data() + bytes.size());
  });
  EXPECT_EQ(inside, (std::vector<bool>{true, false}));
}

// A string that is nearly JSON: one byte is changed.
RC_GTEST_PROP(JsonReader, AgreesWithTheParser, ()) {
  std::string text = print_json(*arbitrary_json());
  const size_t place = *rc::gen::inRange<size_t>(0, text.size());
  text[place] = *rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', '0', 'e', '.', '\n', 'u',
                                  '\xff', ' ');
  RC_ASSERT(accepts(text) == parse_json(text).has_value());
}

RC_GTEST_PROP(JsonReader, ReadsTheParsersTree, ()) {
  const Json value = *arbitrary_json();
  const std::string text = print_json_pretty(value);
  JsonReader in(text);
  RC_ASSERT(json_equal(in.tree(), value));
  RC_ASSERT(in.at_end());
}

}  // namespace
}  // namespace lockstep::json_reader_test
