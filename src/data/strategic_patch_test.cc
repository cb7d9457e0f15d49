// What is expected here was compared with apimachinery v0.34.0 (StrategicMergePatch over corev1 and
// appsv1), directly or by tens of thousands of random patches.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"
#include "data/patch.h"

namespace lockstep::strategic_patch_test {
namespace {

// A few of a Pod's fields.
class PodSchema : public MergeSchema {
 public:
  ListMerge at(std::string_view path) const override {
    using Kind = ListMerge::Kind;
    if (path == "metadata.finalizers") return {Kind::set, {}};
    if (path == "spec.containers") return {Kind::by_key, "name"};
    if (path == "spec.containers.env") return {Kind::by_key, "name"};
    if (path == "spec.containers.ports") return {Kind::by_key, "containerPort"};
    if (path == "spec.volumes") return {Kind::by_key, "name", true};
    return {};
  }
};

struct Case {
  const char* document;
  const char* patch;
  const char* result;  // or a part of the error after "error: "
};

void expect(const Case& c) {
  const std::string_view wanted = c.result;
  Json document = *parse_json(c.document);
  const Result<void> result = apply_strategic_patch(document, *parse_json(c.patch), PodSchema());
  if (!wanted.starts_with("error: ")) {
    EXPECT_TRUE(result) << c.patch << ": " << (result ? "" : result.error().text());
    EXPECT_EQ(print_json(document), wanted) << c.document << " patched with " << c.patch;
    return;
  }
  ASSERT_FALSE(result) << c.patch << " gives " << print_json(document);
  EXPECT_NE(result.error().text().find(wanted.substr(7)), std::string::npos)
      << c.patch << ": " << result.error().text();
  EXPECT_EQ(print_json(document), print_json(*parse_json(c.document))) << "changed by " << c.patch;
}

TEST(StrategicPatch, Maps) {
  const Case cases[] = {
      {R"({"a":{"x":1,"y":2}})", R"({"a":{"y":3,"z":4}})", R"({"a":{"x":1,"y":3,"z":4}})"},
      {R"({"a":{"x":1,"y":2}})", R"({"a":{"y":null,"n":null}})", R"({"a":{"x":1}})"},
      {R"({"a":1})", R"({"a":null,"b":null})", R"({})"},
      {R"({"a":1})", R"({"a":{"x":null,"y":[{"z":null}]}})", R"({"a":{"y":[{}]}})"},
      {R"({"a":{"x":1}})", R"({"a":"text"})", R"({"a":"text"})"},
      {R"({"a":{"x":1}})", R"({"a":{"$patch":"replace","y":2}})", R"({"a":{"y":2}})"},
      {R"({"a":{"x":1}})", R"({"a":{"$patch":"delete"}})", R"({"a":{}})"},
      {R"({"a":{"x":1}})", R"({"$patch":"delete"})", R"({})"},
      {R"({"a":{"x":1}})", R"({"$patch":"replace","b":1})", R"({"b":1})"},
      // A directive that meets nothing is not taken as a value.
      {R"({"b":1})", R"({"a":{"$patch":"delete","x":1}})", R"({"b":1})"},
      {R"({"a":5})", R"({"a":{"$patch":"replace","x":1}})", R"({})"},
      {R"({})", R"({"a":{"l":[{"$patch":"delete","x":1},{"x":2}]}})", R"({"a":{"l":[{"x":2}]}})"},
      // Kubernetes knows no "merge" here, for all that its documents say.
      {R"({"a":{"x":1}})", R"({"a":{"$patch":"merge","y":2}})", "error: unknown patch type"},
      {R"({"a":{"x":1}})", R"({"a":{"$patch":null}})", "error: unknown patch type"},
      {R"([])", R"({})", "error: is an object"},
      {R"({})", R"([])", "error: is an object"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(StrategicPatch, ListsByKey) {
  const Case cases[] = {
      {R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"b","image":"3"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"3"}]}})"},
      // New items come first: the patch's order counts more than the live one, where that is
      // silent.
      {R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"}]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})",
       R"({"spec":{"containers":[{"name":"c"}]}})"},
      {R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":null},{"name":"Y"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X"},{"name":"Y"}]}]}})"},
      {R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"http"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"http"}]}]}})"},
      // The same items in the same order; and the same with one of them twice.
      {R"({"spec":{"containers":[{"name":"a","image":"1","tty":true},{"name":"b","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"3"},{"name":"b","image":null}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"3","tty":true},{"name":"b"}]}})"},
      {R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"a","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"a","tty":true},{"name":"a","image":"3"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"3","tty":true},{"name":"a","image":"2"}]}})"},
      {R"({"spec":{}})", R"({"spec":{"containers":[{"name":"a","$setElementOrder/env":[]}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
      {R"({"spec":{"containers":[]}})", R"({"spec":{"containers":[]}})",
       R"({"spec":{"containers":[]}})"},
      {R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":null}})",
       R"({"spec":{}})"},
      {R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":[{"image":"x"}]}})",
       "error: spec.containers: map: {\"image\":\"x\"} does not contain declared merge key: name"},
      {R"({"spec":{"containers":[{"image":"x"}]}})", R"({"spec":{"containers":[{"name":"a"}]}})",
       "error: does not contain declared merge key: name"},
      {R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete"}]}})",
       "error: does not contain declared merge key: name"},
      {R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"merge","name":"a"}]}})",
       "error: merging lists cannot yet be specified in the patch"},
      {R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"zap","name":"a"}]}})", "error: unknown patch type"},
      {R"({"spec":{"containers":[{"name":{"x":1}}]}})",
       R"({"spec":{"containers":[{"name":{"x":1}}]}})", "error: a merge key that is no primitive"},
      {R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":["a"]}})",
       "error: list element types are not identical"},
      {R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":[[]]}})",
       "error: lists of lists are not supported"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(StrategicPatch, OtherLists) {
  const Case cases[] = {
      {R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"tolerations":[{"key":"b","value":null}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["c","a","c"]}})",
       R"({"metadata":{"finalizers":["c","a","b"]}})"},
      {R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b","x"]}})",
       R"({"metadata":{"finalizers":["a","c"]}})"},
      {R"({"metadata":{}})", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}})",
       R"({"metadata":{}})"},
      {R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"$deleteFromPrimitiveList":["a"]}})",
       "error: invalid patch format"},
      {R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":"a"}})",
       "error: invalid patch format of primitive list"},
      {R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":[1]}})",
       "error: list element types are not identical"},
      {R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":[null]}})",
       "error: a null in a list"},
      {R"({"metadata":{"finalizers":[{"a":1}]}})", R"({"metadata":{"finalizers":[{"a":2}]}})",
       "error: without merge key"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(StrategicPatch, SetElementOrder) {
  const Case cases[] = {
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"b"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"b"},{"name":"a"}]}})"},
      // An item that only the server knows keeps its place among its neighbours.
      {R"({"spec":{"containers":[{"name":"a"},{"name":"sidecar"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"n"},{"name":"b"}],
           "containers":[{"name":"n"}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"n"},{"name":"sidecar"},{"name":"b"}]}})"},
      {R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$setElementOrder/finalizers":["d","c","a"],"finalizers":["d"],
           "$deleteFromPrimitiveList/finalizers":["b"]}})",
       R"({"metadata":{"finalizers":["d","c","a"]}})"},
      {R"({"spec":{"tolerations":["x","y"]}})",
       R"({"spec":{"$setElementOrder/tolerations":["y","x"]}})",
       R"({"spec":{"tolerations":["y","x"]}})"},
      {R"({"spec":{}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],
           "containers":[{"name":"b"},{"name":"x","$patch":"delete"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
      {R"({"spec":{}})", R"({"spec":{"$setElementOrder/containers":[{"name":"b"}]}})",
       R"({"spec":{}})"},
      // With a deletion, an item that is added counts as live, in the place that became free.
      {R"({"c":0,"spec":{"containers":[{"name":"e"},{"name":"d"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"b"},{"name":"c"}],
           "$setElementOrder/containers":[{"name":"c"},{"name":"a"},{"name":"e"},{"name":"b"}]}})",
       R"({"c":0,"spec":{"containers":[{"name":"d"},{"name":"c"},{"name":"e"}]}})"},
      // An empty order knows none of the new items; they come out as its sorting leaves them.
      {R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$setElementOrder/finalizers":[],"finalizers":["c","d"]}})",
       R"({"metadata":{"finalizers":["a","b","d","c"]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],
           "containers":[{"name":"a"},{"name":"b"}]}})",
       "error: doesn't match $setElementOrder list"},
      {R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"image":"b"}]}})",
       "error: does not contain declared merge key: name"},
      {R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":null}})",
       "error: invalid patch format of setElementOrder list"},
      {R"({"spec":{"containers":[]}})", R"({"spec":{"$setElementOrder/containers":[]}})",
       "error: no elements in any of the given slices"},
      {R"({"spec":{"tolerations":[{"a":1}]}})",
       R"({"spec":{"$setElementOrder/tolerations":[{"a":1}]}})", "error: without a merge key"},
      {R"({"spec":{}})", R"({"spec":{"$setElementOrder":[]}})", "error: invalid patch format"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(StrategicPatch, RetainKeys) {
  const Case cases[] = {
      {R"({"s":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}})",
       R"({"s":{"$retainKeys":["type"],"type":"Recreate"}})", R"({"s":{"type":"Recreate"}})"},
      {R"({"spec":{"volumes":[{"name":"v","emptyDir":{"medium":"m"}}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"p"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"p"}}]}})"},
      {R"({"s":{"a":1,"b":2}})", R"({"s":{"$retainKeys":["b"],"a":null}})", R"({"s":{"b":2}})"},
      {R"({"s":{"a":1}})", R"({"s":{"$retainKeys":["a"],"b":2}})",
       "error: invalid patch format of retainKeys: it lacks \"b\""},
      {R"({"s":{"a":1}})", R"({"s":{"$retainKeys":"a"}})",
       "error: invalid patch format of retainKeys"},
      {R"({"s":{"a":1}})", R"({"s":{"$retainKeys":[1]}})",
       "error: invalid patch format of retainKeys"},
      {R"({})", R"({"s":{"$retainKeys":["a"],"a":2}})", R"({"s":{"a":2}})"},
  };
  for (const Case& c : cases) expect(c);
}

RC_GTEST_PROP(StrategicPatch, WithoutListsItIsAMergePatch, ()) {
  const auto object =
      rc::gen::suchThat(arbitrary_json(), [](const Json& value) { return value.is_object(); });
  Json document = *object;
  Json merged = document;
  const Json patch = *object;
  RC_PRE(print_json(patch).find('[') == std::string::npos);
  apply_merge_patch(merged, patch);
  RC_ASSERT(apply_strategic_patch(document, patch, PodSchema()).has_value());
  RC_ASSERT(json_equal(document, merged));
}

rc::Gen<Json> arbitrary_containers(bool with_directives) {
  auto names = rc::gen::unique<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "b", "c", "d", "e"));
  return rc::gen::map(
      rc::gen::pair(rc::gen::resize(4, names), rc::gen::arbitrary<std::vector<uint8_t>>()),
      [with_directives](const std::pair<std::vector<std::string>, std::vector<uint8_t>>& parts) {
        JsonArray list;
        for (size_t i = 0; i < parts.first.size(); ++i) {
          JsonObject item{{"name", parts.first[i]}};
          const uint8_t choice = i < parts.second.size() ? parts.second[i] % 4 : 0;
          if (choice == 1) item["image"] = "x";
          if (choice == 2 && with_directives) item["$patch"] = "delete";
          list.push_back(item);
        }
        return Json(JsonObject{{"spec", JsonObject{{"containers", list}}}});
      });
}

RC_GTEST_PROP(StrategicPatch, ListsByKeyTwiceIsOnce, ()) {
  Json document = *arbitrary_containers(false);
  const Json patch = *arbitrary_containers(true);
  RC_ASSERT(apply_strategic_patch(document, patch, PodSchema()).has_value());
  const Json once = document;
  RC_ASSERT(apply_strategic_patch(document, patch, PodSchema()).has_value());
  RC_ASSERT(print_json(document) == print_json(once));
}

TEST(StrategicPatch, WhatItDoesNotChangeStaysShared) {
  const Json before = *parse_json(
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"x","env":[]},{"name":"y"}]}})");
  const Json patch = *parse_json(
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"x"},{"name":"y","image":"i"}]}})");
  const Json after = *strategically_patched(before, patch, PodSchema());
  EXPECT_TRUE(after.at("metadata").get_object().is_same(before.at("metadata").get_object()));
  const JsonArray& items = after.at("spec").at("containers").get_array();
  const JsonArray& old_items = before.at("spec").at("containers").get_array();
  EXPECT_TRUE(items[0].get_object().is_same(old_items[0].get_object()));
  EXPECT_EQ(print_json(items[1]), R"({"name":"y","image":"i"})");
  EXPECT_EQ(print_json(old_items[1]), R"({"name":"y"})");
  EXPECT_TRUE(
      strategically_patched(after, patch, PodSchema())->get_object().is_same(after.get_object()));
}

}  // namespace
}  // namespace lockstep::strategic_patch_test
