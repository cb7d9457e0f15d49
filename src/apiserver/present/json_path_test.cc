#include "apiserver/present/json_path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::apiserver::json_path_test {
namespace {

const Json& document() {
  static const Json parsed = parse_json(R"({
    "metadata":{"name":"x","labels":{"a.b/c":"dotted","plain":"p"}},
    "a":{"b":"nested"},
    "status":{"conditions":[
      {"type":"Ready","status":"True","count":3},
      {"type":"Other","status":"False","count":1,"extra":null},
      {"type":"Last","status":"Unknown","count":2}],
      "empty":[],"null":null,"flag":true}})")
                                 .value();
  return parsed;
}

// The results, space separated; "!" when the path cannot be read.
std::string found(std::string_view path) {
  const Result<JsonPath> parsed = JsonPath::parse(path);
  if (!parsed) return "!";
  std::string text;
  for (const Json* value : parsed->find_all(document())) {
    text += (text.empty() ? "" : " ") + print_json(*value);
  }
  return text;
}

TEST(JsonPath, Finds) {
  struct Case {
    std::string_view path, expected;
  };
  const Case cases[] = {
      {".metadata.name", R"("x")"},
      {"$.metadata.name", R"("x")"},
      {".metadata.labels.a\\.b/c", R"("dotted")"},
      {".metadata.labels['a.b/c']", R"("dotted")"},
      {".metadata.labels['a\\.b/c']", R"("dotted")"},
      {".metadata['name']", R"("x")"},
      {"['a.b']", R"("nested")"},
      {".status.conditions[0].type", R"("Ready")"},
      {".status.conditions[-1].type", R"("Last")"},
      {".status.conditions[1:].type", R"("Other" "Last")"},
      {".status.conditions[0:3:2].type", R"("Ready" "Last")"},
      {".status.conditions[*].type", R"("Ready" "Other" "Last")"},
      {".status.conditions[0,2].type", R"("Ready" "Last")"},
      {R"(.status.conditions[?(@.type=="Ready")].status)", R"("True")"},
      {R"(.status.conditions[?(@.type=='Ready')].status)", R"("True")"},
      {R"(.status.conditions[?(@.type!="Ready")].type)", R"("Other" "Last")"},
      {R"(.status.conditions[?(@.type == "Ready")].count)", "3"},
      {R"(.status.conditions[?(@.count>1)].type)", R"("Ready" "Last")"},
      {R"(.status.conditions[?(@.count<=2)].type)", R"("Other" "Last")"},
      {R"(.status.conditions[?(@.extra)].type)", R"("Other")"},
      {"..type", R"("Ready" "Other" "Last")"},
      {".metadata.labels.*", R"("dotted" "p")"},
      {".status.null", "null"},
      // Nothing there, or another shape.
      {".missing.field", ""},
      {".metadata.name.deeper", ""},
      {".status.conditions[7]", ""},
      {".status.empty[0]", ""},
      {".metadata[0]", ""},
      {R"(.metadata[?(@.a=="b")])", ""},
      {R"(.status.conditions[?(@.count=="3")].type)", ""},
      // No paths.
      {"metadata", "!"},
      {".a[", "!"},
      {".a[x]", "!"},
      {".a[1:2:0]", "!"},
      {".a[?(@.b==1]", "!"},
      {"....a", "!"},
  };
  for (const Case& one : cases) EXPECT_EQ(found(one.path), one.expected) << one.path;
}

// Without a limit, each of these would visit more values than there are seconds.
TEST(JsonPath, APathThatMultipliesWhatItLooksAtFindsNothing) {
  Json deep = 1;
  for (int i = 0; i < 20; ++i) deep = JsonObject{{"a", deep}, {"b", deep}};
  JsonArray list;
  for (int i = 0; i < 1000; ++i) list.push_back(JsonArray{1, 2, 3});
  const Json object = JsonObject{{"deep", deep}, {"list", std::move(list)}};
  for (const char* text :
       {"..[*]..[*]..[*]..[*]..[*]", "..*..*..*..*..*..*", ".deep..a..a..a..a..a..a",
        ".list[*,*,*,*,*,*,*,*][*,*,*,*,*,*,*,*][*,*,*,*]", ".list[?(@..*..*..*)]..*..*"}) {
    const Result<JsonPath> path = JsonPath::parse(text);
    if (path) EXPECT_TRUE(path->find_all(object).empty()) << text;
  }
  const Result<JsonPath> plain = JsonPath::parse(".list[*]");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->find_all(object).size(), 1000U);
}

RC_GTEST_PROP(JsonPath, AnyTextIsReadOrRefused, (const std::string& text)) {
  if (const Result<JsonPath> path = JsonPath::parse(text)) path->find_all(document());
}

RC_GTEST_PROP(JsonPath, AnyPathLikeTextIsReadOrRefused, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      ".", "..", "[", "]", "[*]", "[0]", "[?(", ")]", "@", "==", "\"x\"", "'", "\\", "status",
      "conditions", "type", ":", ","));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  if (const Result<JsonPath> path = JsonPath::parse(text)) path->find_all(document());
}

}  // namespace
}  // namespace lockstep::apiserver::json_path_test
