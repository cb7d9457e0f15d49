#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"
#include "data/patch.h"

namespace lockstep::json_patch_test {
namespace {

struct Case {
  const char* document;
  const char* patch;
  const char* result;  // or a part of the error after "error: "
};

void expect(const Case& c) {
  const std::string_view wanted = c.result;
  Json document = *parse_json(c.document);
  const Result<void> result = apply_json_patch(document, *parse_json(c.patch));
  if (!wanted.starts_with("error: ")) {
    EXPECT_TRUE(result) << c.patch << ": " << (result ? "" : result.error().text());
    EXPECT_TRUE(json_equal(document, *parse_json(wanted)))
        << c.patch << " gives " << print_json(document);
    return;
  }
  ASSERT_FALSE(result) << c.patch << " gives " << print_json(document);
  EXPECT_NE(result.error().message.find(wanted.substr(7)), std::string::npos)
      << c.patch << ": " << result.error().message;
  EXPECT_EQ(print_json(document), print_json(*parse_json(c.document))) << "changed by " << c.patch;
}

TEST(JsonPatch, Add) {
  const Case cases[] = {
      {R"({})", R"([])", R"({})"},
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":[2]}])", R"({"a":1,"b":[2]})"},
      {R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
      {R"({"a":1})", R"([{"op":"add","path":"","value":[3]}])", R"([3])"},
      {R"({"a":1})", R"([{"op":"add","path":"/","value":2}])", R"({"a":1,"":2})"},
      {R"({"a":{"b":{}}})", R"([{"op":"add","path":"/a/b/c","value":null}])",
       R"({"a":{"b":{"c":null}}})"},
      {R"({})", R"([{"op":"add","path":"/x~1y~0z","value":1}])", R"({"x/y~z":1})"},
      {R"({})", R"([{"op":"add","path":"/~01","value":1}])", R"({"~1":1})"},
      {R"([1,2])", R"([{"op":"add","path":"/0","value":0}])", R"([0,1,2])"},
      {R"([1,2])", R"([{"op":"add","path":"/1","value":0}])", R"([1,0,2])"},
      {R"([1,2])", R"([{"op":"add","path":"/2","value":0}])", R"([1,2,0])"},
      {R"([1,2])", R"([{"op":"add","path":"/-","value":[0]}])", R"([1,2,[0]])"},
      {R"([[1]])", R"([{"op":"add","path":"/0/-","value":2}])", R"([[1,2]])"},
      {R"({"0":1})", R"([{"op":"add","path":"/0","value":2}])", R"({"0":2})"},
      {R"({"-":1})", R"([{"op":"add","path":"/-","value":2}])", R"({"-":2})"},
      {R"([1,2])", R"([{"op":"add","path":"/3","value":0}])",
       "error: patch[0] add \"/3\": index 3 is past the end: the document has 2 items"},
      {R"([1,2])", R"([{"op":"add","path":"/-1","value":0}])", "error: neither an index nor"},
      {R"([1,2])", R"([{"op":"add","path":"/01","value":0}])", "error: neither an index nor"},
      {R"([1,2])", R"([{"op":"add","path":"/1e0","value":0}])", "error: neither an index nor"},
      {R"([1,2])", R"([{"op":"add","path":"/a","value":0}])", "error: neither an index nor"},
      {R"({"a":{}})", R"([{"op":"add","path":"/a/b/c","value":0}])",
       "error: patch[0] add \"/a/b/c\": there is no \"b\" in /a"},
      {R"({"a":1})", R"([{"op":"add","path":"/a/b","value":0}])",
       "error: /a is neither an object nor a list"},
      {R"({"a":[]})", R"([{"op":"add","path":"/a/-/b","value":0}])", "error: is not an index"},
      {R"("x")", R"([{"op":"add","path":"/a","value":0}])", "error: neither an object nor a list"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(JsonPatch, RemoveAndReplace) {
  const Case cases[] = {
      {R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])", R"({"b":2,"c":3})"},
      {R"({"a":[{"b":1}]})", R"([{"op":"remove","path":"/a/0/b"}])", R"({"a":[{}]})"},
      {R"([1,2,3,4])", R"([{"op":"remove","path":"/1"},{"op":"remove","path":"/2"}])", R"([1,3])"},
      {R"({"a":null})", R"([{"op":"remove","path":"/a"}])", R"({})"},
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])",
       "error: patch[0] remove \"/b\": there is no \"b\" in the document"},
      {R"([1])", R"([{"op":"remove","path":"/1"}])", "error: there is no item 1"},
      {R"([1])", R"([{"op":"remove","path":"/-"}])", "error: is not an index"},
      {R"({"a":1})", R"([{"op":"remove","path":""}])", "error: whole document"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":{"x":1}}])", R"({"a":{"x":1}})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":2}])", R"(2)"},
      {R"(["a",{"b":1}])", R"([{"op":"replace","path":"/1/b","value":null}])",
       R"(["a",{"b":null}])"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])", "error: there is no \"b\""},
      {R"([1])", R"([{"op":"replace","path":"/1","value":2}])", "error: there is no item 1"},
      {R"([1])", R"([{"op":"replace","path":"/-","value":2}])", "error: is not an index"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(JsonPatch, MoveAndCopy) {
  const Case cases[] = {
      {R"({"a":1,"b":2})", R"([{"op":"move","from":"/a","path":"/c"}])", R"({"b":2,"c":1})"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])", R"({"a":1})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/a"}])", R"({"a":1})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":""}])", R"(1)"},
      {R"([1,2,3])", R"([{"op":"move","from":"/0","path":"/2"}])", R"([2,3,1])"},
      {R"([1,2,3])", R"([{"op":"move","from":"/0","path":"/-"}])", R"([2,3,1])"},
      {R"([1,2,3])", R"([{"op":"move","from":"/0","path":"/3"}])", "error: past the end"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/c"}])",
       "error: /a cannot move into itself"},
      {R"({"a":1,"ab":{}})", R"([{"op":"move","from":"/a","path":"/ab/c"}])", R"({"ab":{"c":1}})"},
      {R"({"a":1})", R"([{"op":"move","from":"/x","path":"/a"}])", "error: there is no \"x\""},
      {R"({"a":1})", R"([{"op":"move","path":"/a"}])", "error: it has no \"from\""},
      {R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":[1],"b":[1]})"},
      {R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/a/0"}])", R"({"a":[[1],1]})"},
      {R"({"a":1})", R"([{"op":"copy","from":"","path":"/b"}])", R"({"a":1,"b":{"a":1}})"},
      {R"({"a":1})", R"([{"op":"copy","from":"/x","path":"/a"}])", "error: there is no \"x\""},
      {R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/x/y"}])", "error: there is no \"x\""},
  };
  for (const Case& c : cases) expect(c);
}

TEST(JsonPatch, Test) {
  const Case cases[] = {
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
      {R"({"a":{"x":1,"y":[2]}})", R"([{"op":"test","path":"/a","value":{"y":[2],"x":1}}])",
       R"({"a":{"x":1,"y":[2]}})"},
      {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])", R"({"/":9,"~1":10})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":"1"}])",
       "error: patch[0] test \"/a\": the test failed: the value is 1"},
      {R"({"a":[1,2]})", R"([{"op":"test","path":"/a","value":[2,1]}])",
       "error: the value is [1,2]"},
      {R"({"a":1})", R"([{"op":"test","path":"/b","value":1}])", "error: there is no \"b\""},
      // Kubernetes: null means "no such field".
      {R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/b/c","value":null}])", "error: there is no \"b\""},
      {R"([1])", R"([{"op":"test","path":"/1","value":null}])", "error: there is no item 1"},
      {R"({"a":1})",
       R"([{"op":"replace","path":"/a","value":2},{"op":"test","path":"/a","value":1}])",
       "error: patch[1] test"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(JsonPatch, Malformed) {
  const Case cases[] = {
      {R"({})", R"({})", "error: a JSON patch is a list of operations"},
      {R"({})", R"([1])", "error: patch[0] is not an object"},
      {R"({})", R"([{"path":"/a"}])", "error: \"op\" must be add,"},
      {R"({})", R"([{"op":"zap","path":"/a"}])", "error: \"op\" must be add,"},
      {R"({})", R"([{"op":"ADD","path":"/a","value":1}])", "error: \"op\" must be add,"},
      {R"({})", R"([{"op":"add","value":1}])", "error: it has no \"path\""},
      {R"({})", R"([{"op":"add","path":null,"value":1}])", "error: \"path\" is not a string"},
      {R"({})", R"([{"op":"add","path":"a","value":1}])", "error: a path begins with '/'"},
      {R"({})", R"([{"op":"add","path":"/~2","value":1}])", "error: '~' must be followed"},
      {R"({})", R"([{"op":"add","path":"/a"}])", "error: it has no \"value\""},
      {R"({"a":1})", R"([{"op":"test","path":"/a"}])", "error: it has no \"value\""},
      {R"({"a":1})", R"([{"op":"remove","path":"/a","value":7,"extra":1}])", R"({})"},
  };
  for (const Case& c : cases) expect(c);
}

Json copies(std::string_view from, std::string_view path, size_t count) {
  JsonArray patch;
  for (size_t i = 0; i < count; ++i) {
    patch.push_back(JsonObject{{"op", "copy"}, {"from", from}, {"path", path}});
  }
  return patch;
}

TEST(JsonPatch, CopiesCannotGrowWithoutBound) {
  Json document = *parse_json(R"({"a":["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]})");
  const Result<void> result = apply_json_patch(document, copies("/a", "/a/-", 100));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::too_large);
  EXPECT_EQ(document.get_object().at("a").get_array().size(), 1u);
}

TEST(JsonPatch, DocumentsCannotNestWithoutBound) {
  Json document = *parse_json(R"({"a":{}})");
  const Result<void> result = apply_json_patch(document, copies("/a", "/a/b", 200));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::too_large);

  // Moving back and forth does not nest, however often.
  JsonArray patch;
  for (int i = 0; i < 300; ++i) {
    patch.push_back(*parse_json(R"({"op":"move","from":"/a","path":"/b/c"})"));
    patch.push_back(*parse_json(R"({"op":"move","from":"/b/c","path":"/a"})"));
  }
  Json moved = *parse_json(R"({"a":{},"b":{}})");
  EXPECT_TRUE(apply_json_patch(moved, patch));
  // Each of these nests one deeper.
  patch.clear();
  for (int i = 0; i < 200; ++i) {
    patch.push_back(*parse_json(R"({"op":"add","path":"/b","value":{}})"));
    patch.push_back(*parse_json(R"({"op":"move","from":"/a","path":"/b/c"})"));
    patch.push_back(*parse_json(R"({"op":"move","from":"/b","path":"/a"})"));
  }
  EXPECT_EQ(apply_json_patch(moved, patch).error().kind, ErrorKind::too_large);
}

TEST(JsonPatch, TheNumberOfOperationsIsLimited) {
  Json document = *parse_json(R"({"a":1})");
  const Json patch = copies("/a", "/b", 11);
  EXPECT_TRUE(apply_json_patch(document, patch, {.operations = 11}));
  EXPECT_EQ(apply_json_patch(document, patch, {.operations = 10}).error().kind,
            ErrorKind::too_large);
}

rc::Gen<Json> arbitrary_operation() {
  const auto pointer =
      rc::gen::element<std::string>("", "/a", "/b", "/a/b", "/a/0", "/a/-", "/c", "/a/b/c", "/0");
  return rc::gen::map(
      rc::gen::tuple(
          rc::gen::element<std::string>("add", "remove", "replace", "move", "copy", "test"),
          pointer, pointer, arbitrary_json(1)),
      [](const std::tuple<std::string, std::string, std::string, Json>& parts) {
        const auto& [name, path, from, value] = parts;
        return Json(JsonObject{{"op", name}, {"path", path}, {"from", from}, {"value", value}});
      });
}

RC_GTEST_PROP(JsonPatch, IsAllOrNothing, ()) {
  Json document = *arbitrary_json();
  const Json before = document;
  const auto operations = *rc::gen::container<std::vector<Json>>(arbitrary_operation());
  if (!apply_json_patch(document, JsonArray(operations.begin(), operations.end()))) {
    RC_ASSERT(print_json(document) == print_json(before));
    return;
  }
  // Done one by one it is the same.
  Json stepwise = before;
  for (const Json& operation : operations) {
    RC_ASSERT(apply_json_patch(stepwise, JsonArray{operation}).has_value());
  }
  RC_ASSERT(print_json(stepwise) == print_json(document));
}

}  // namespace
}  // namespace lockstep::json_patch_test
