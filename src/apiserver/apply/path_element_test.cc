#include "apiserver/apply/path_element.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::apiserver::path_element_test {
namespace {

PathElement decoded(std::string_view text) { return **PathElement::decode(text); }

TEST(PathElement, ReadsAndWrites) {
  struct Case {
    std::string_view text, canonical, readable;
  };
  const Case cases[] = {
      {"f:replicas", "f:replicas", ".replicas"},
      {"f:example.com/a:b", "f:example.com/a:b", ".example.com/a:b"},
      {"f:", "f:", "."},
      {R"(k:{"name":"web"})", R"(k:{"name":"web"})", R"([name="web"])"},
      {R"(k:{ "protocol":"TCP", "port":80 })", R"(k:{"port":80,"protocol":"TCP"})",
       R"([port=80,protocol="TCP"])"},
      {R"(v:"a<b")", R"(v:"a\u003cb")", R"([="a<b"])"},
      {"v:3", "v:3", "[=3]"},
      {"v:true", "v:true", "[=true]"},
      {"i:7", "i:7", "[7]"},
  };
  for (const Case& one : cases) {
    const Result<std::optional<PathElement>> element = PathElement::decode(one.text);
    ASSERT_TRUE(element.has_value() && element->has_value()) << one.text;
    EXPECT_EQ((*element)->encoded(), one.canonical);
    EXPECT_EQ((*element)->readable(), one.readable);
  }
}

TEST(PathElement, RefusesWhatIsBroken) {
  for (const char* text : {"", "f", "name", "k:name", "k:[1]", "v:{", "i:x"}) {
    EXPECT_FALSE(PathElement::decode(text).has_value()) << text;
  }
}

TEST(PathElement, SkipsKindsOfALaterVersion) {
  const Result<std::optional<PathElement>> element = PathElement::decode("z:whatever");
  ASSERT_TRUE(element.has_value());
  EXPECT_FALSE(element->has_value());
}

TEST(PathElement, Order) {
  // Each comes before the next.
  const char* ordered[] = {
      "f:a",
      "f:b",
      R"(k:{"name":"a"})",
      R"(k:{"name":"a!"})",
      R"(k:{"name":"b"})",
      R"(k:{"port":9,"protocol":"TCP"})",
      R"(k:{"port":80})",
      R"(k:{"port":80,"protocol":"TCP"})",
      R"(k:{"port":80,"protocol":"UDP"})",
      "v:9",
      "v:10",
      R"(v:"1")",
      R"(v:"a")",
      "v:false",
      "v:true",
      "i:2",
      "i:10",
  };
  for (size_t i = 0; i < std::size(ordered); ++i) {
    for (size_t j = 0; j < std::size(ordered); ++j) {
      EXPECT_EQ(decoded(ordered[i]) < decoded(ordered[j]), i < j)
          << ordered[i] << " " << ordered[j];
    }
  }
}

RC_GTEST_PROP(PathElement, FieldNamesSurvive, (const std::string& name)) {
  const PathElement element = PathElement::field(name);
  RC_ASSERT(decoded(element.encoded()) == element);
}

}  // namespace
}  // namespace lockstep::apiserver::path_element_test
