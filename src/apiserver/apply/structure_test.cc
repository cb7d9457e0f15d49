#include "apiserver/apply/structure.h"

#include "apiserver/apply/apply_test_util.h"
#include "apiserver/apply/field_changes.h"

namespace lockstep::apiserver::structure_test {
namespace {

TEST(Structure, FieldsOfAnObject) {
  const ThingSchema schema;
  struct Case {
    std::string_view name, object, fields;
  };
  const Case cases[] = {
      {"a leaf", R"({"spec":{"replicas":1}})", ".spec.replicas"},
      {"an empty map is owned, a full one by its entries",
       R"({"spec":{},"metadata":{"labels":{"a":"1"}}})", ".spec .metadata.labels.a"},
      {"a whole map", R"({"spec":{"selector":{"a":"1"}}})", ".spec.selector"},
      {"a whole list", R"({"spec":{"containers":[{"name":"c","command":["a","b"]}]}})",
       R"(.spec.containers[name="c"] .spec.containers[name="c"].command .spec.containers[name="c"].name)"},
      {"a set", R"({"metadata":{"finalizers":["f","g"]}})",
       R"(.metadata.finalizers[="f"] .metadata.finalizers[="g"])"},
      {"a key that is left out has its default",
       R"({"spec":{"containers":[{"name":"c","ports":[{"number":80}]}]}})",
       R"(.spec.containers[name="c"] .spec.containers[name="c"].name )"
       R"(.spec.containers[name="c"].ports[number=80,protocol="TCP"] )"
       R"(.spec.containers[name="c"].ports[number=80,protocol="TCP"].number)"},
      {"an item that is there twice is owned as one",
       R"({"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":"j"}]}})",
       R"(.spec.containers[name="c"])"},
      {"an unknown schema: maps by field, lists as a whole",
       R"({"spec":{"anything":{"a":{"b":1},"l":[{"c":2}],"n":null}}})",
       ".spec.anything.a .spec.anything.l .spec.anything.n .spec.anything.a.b"},
      {"an empty list says nothing", R"({"spec":{"containers":[]}})", ""},
      {"null is owned", R"({"spec":{"containers":null,"replicas":null}})",
       ".spec.containers .spec.replicas"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(text_of(fields_of(json(one.object), schema.root())), one.fields) << one.name;
  }
  EXPECT_EQ(text_of(fields_of(json(R"({"a":{"b":[1]},"c":1})"), nullptr)), ".a .c .a.b");
}

TEST(Structure, Merge) {
  const ThingSchema schema;
  struct Case {
    std::string_view name, live, applied, merged;
  };
  const Case cases[] = {
      {"leafs are replaced, others stay", R"({"spec":{"replicas":1},"status":{"count":1}})",
       R"({"spec":{"replicas":2}})", R"({"spec":{"replicas":2},"status":{"count":1}})"},
      {"a whole map is replaced", R"({"spec":{"selector":{"a":"1","b":"2"}}})",
       R"({"spec":{"selector":{"a":"2"}}})", R"({"spec":{"selector":{"a":"2"}}})"},
      {"a map is merged", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"b":"3","c":"4"}}})",
       R"({"metadata":{"labels":{"a":"1","b":"3","c":"4"}}})"},
      {"a set gains", R"({"metadata":{"finalizers":["f"]}})",
       R"({"metadata":{"finalizers":["g"]}})", R"({"metadata":{"finalizers":["f","g"]}})"},
      {"items by key", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","command":["x"]}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"1","command":["x"]},{"name":"b"}]}})"},
      {"the applied order wins, what is only live keeps its place",
       R"({"metadata":{"finalizers":["1","2","3","4"]}})",
       R"({"metadata":{"finalizers":["4","new","1"]}})",
       R"({"metadata":{"finalizers":["2","3","4","new","1"]}})"},
      {"a default key meets an explicit one",
       R"({"spec":{"containers":[{"name":"c","ports":[{"number":80,"protocol":"TCP"}]}]}})",
       R"({"spec":{"containers":[{"name":"c","ports":[{"number":80,"name":"web"}]}]}})",
       R"({"spec":{"containers":[{"name":"c","ports":[{"number":80,"protocol":"TCP","name":"web"}]}]}})"},
      {"null for a map takes nothing away", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":null}})", R"({"metadata":{"labels":{"a":"1"}}})"},
      {"an unknown list is replaced", R"({"spec":{"anything":{"l":[1,2],"m":1}}})",
       R"({"spec":{"anything":{"l":[3]}}})", R"({"spec":{"anything":{"l":[3],"m":1}}})"},
      {"an unknown value may change its type", R"({"spec":{"anything":{"a":1}}})",
       R"({"spec":{"anything":{"a":{"b":2}}}})", R"({"spec":{"anything":{"a":{"b":2}}}})"},
      {"nothing live", "{}", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(print_json(merge_objects(json(one.live), json(one.applied), schema.root())),
              one.merged)
        << one.name;
  }
}

TEST(Structure, WithoutFields) {
  const ThingSchema schema;
  const auto without = [&](std::string_view object, std::string_view fields) {
    return print_json(
        without_fields(json(object), FieldSet::decode(json(fields)).value(), schema.root()));
  };
  EXPECT_EQ(
      without(R"({"spec":{"replicas":1,"selector":{"a":"1"}}})", R"({"f:spec":{"f:replicas":{}}})"),
      R"({"spec":{"selector":{"a":"1"}}})");
  EXPECT_EQ(without(R"({"kind":"k","spec":{"replicas":1}})", R"({"f:spec":{"f:replicas":{}}})"),
            R"({"kind":"k","spec":null})");
  EXPECT_EQ(
      without(
          R"({"spec":{"containers":[{"name":"a"},{"name":"b","image":"i"}]}})",
          R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{},"k:{\"name\":\"b\"}":{"f:image":{}}}}})"),
      R"({"spec":{"containers":[{"name":"b"}]}})");
  EXPECT_EQ(without(R"({"metadata":{"finalizers":["f","g"]}})",
                    R"({"f:metadata":{"f:finalizers":{"v:\"f\"":{}}}})"),
            R"({"metadata":{"finalizers":["g"]}})");
}

TEST(Structure, FindsWhatIsWrong) {
  const ThingSchema schema;
  const auto error = [&](std::string_view object) {
    return find_structural_error(json(object), schema.root()).value_or("none");
  };
  EXPECT_EQ(error(R"({"spec":{"replicas":1,"anything":{"what":["ever"]}}})"), "none");
  EXPECT_EQ(error(R"({"spec":{"replica":1}})"), ".spec.replica: field not declared in schema");
  EXPECT_EQ(error(R"({"spec":{"containers":[{"name":"c","img":1}]}})"),
            R"(.spec.containers[name="c"].img: field not declared in schema)");
  EXPECT_EQ(error(R"({"spec":{"containers":[{"name":"c"},{"name":"c"}]}})"),
            R"(.spec.containers: duplicate entries for key [name="c"])");
  EXPECT_EQ(error(R"({"metadata":{"finalizers":["a","a"]}})"),
            R"(.metadata.finalizers: duplicate entries for key [="a"])");
  EXPECT_EQ(
      error(R"({"spec":{"containers":[{"image":"i"}]}})"),
      R"(.spec.containers: element 0: associative list with keys has an element that omits all )"
      R"(key fields ["name"] (and doesn't have default values for any key fields))");
}

RC_GTEST_PROP(Structure, MergingTwiceIsMergingOnce, ()) {
  const ThingSchema schema;
  const Json live = generate::thing(), applied = generate::thing();
  const Json once = merge_objects(live, applied, schema.root());
  RC_ASSERT(json_equal(merge_objects(once, applied, schema.root()), once));
}

// In the set, or above something that is: an applied empty map takes the live one's entries.
bool covers(const FieldSet& set, const FieldPath& path) {
  const FieldSet* level = &set;
  for (const PathElement& element : path) {
    if (level == nullptr) return false;
    level = level->below(element);
  }
  return level != nullptr || set.has(path);
}

RC_GTEST_PROP(Structure, MergeKeepsEveryAppliedField, ()) {
  const ThingSchema schema;
  const Json live = generate::thing(), applied = generate::thing();
  const FieldSet merged = fields_of(merge_objects(live, applied, schema.root()), schema.root());
  fields_of(applied, schema.root()).for_each([&](const FieldPath& path) {
    RC_ASSERT(covers(merged, path));
  });
}

RC_GTEST_PROP(Structure, RemovingAllFieldsLeavesNone, ()) {
  const ThingSchema schema;
  const Json object = generate::thing();
  const FieldSet fields = fields_of(object, schema.root());
  const Json rest = without_fields(object, fields, schema.root());
  FieldSet left = fields_of(rest, schema.root());
  left.intersect(fields);
  // What was emptied is null now, and null counts as a field where it was one before (an empty
  // map).
  left.for_each([&](const FieldPath& path) { RC_FAIL(readable(path)); });
}

}  // namespace
}  // namespace lockstep::apiserver::structure_test
