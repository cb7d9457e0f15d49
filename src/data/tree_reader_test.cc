// TreeReader has the shape of JsonReader: the same decoder reads bytes and a parsed tree alike.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"
#include "data/json_reader.h"

namespace lockstep::tree_reader_test {
namespace {

// Everything a decoder can ask, as one line of text.
template <typename Reader>
std::string describe(Reader& in) {
  std::string seen;
  in.object([&](std::string_view key) {
    seen += std::string(key) + "=";
    if (key == "text") {
      seen += in.text();
    } else if (key == "number") {
      seen += std::to_string(in.integer());
    } else if (key == "flag") {
      seen += in.boolean() ? "yes" : "no";
    } else if (key == "any") {
      seen += in.scalar();
    } else if (key == "list") {
      in.array([&] { seen += std::to_string(in.integer()) + "+"; });
    } else {
      in.skip();
    }
    seen += " ";
  });
  return in.failed() ? "failed: " + in.error().message : seen;
}

TEST(TreeReader, ReadsWhatTheByteReaderReads) {
  for (const char* text :
       {R"({"text":"a","number":3,"flag":true,"any":1.5,"list":[1,2],"other":{"x":[]}})",
        R"({"text":null,"number":null,"flag":null,"any":null,"list":null})", R"({})", "null",
        R"({"any":"text"})", R"({"any":true})"}) {
    Json tree = *parse_json(text);
    JsonReader bytes(text);
    TreeReader walk(tree);
    EXPECT_EQ(describe(walk), describe(bytes)) << text;
  }
}

TEST(TreeReader, AnotherTypeIsAnError) {
  for (const char* text :
       {R"({"text":1})", R"({"number":"1"})", R"({"flag":"yes"})", R"({"list":{}})", "[]", "3"}) {
    Json tree = *parse_json(text);
    TreeReader walk(tree);
    EXPECT_EQ(describe(walk).rfind("failed", 0), 0U) << text;
  }
}

RC_GTEST_PROP(TreeReader, GivesTheTreeItself, ()) {
  const Json tree = *arbitrary_json();
  TreeReader in(tree);
  RC_ASSERT(json_equal(in.tree(), tree));
}

}  // namespace
}  // namespace lockstep::tree_reader_test
