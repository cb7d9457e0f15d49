#include "apiserver/apply/field_set.h"

#include "apiserver/apply/apply_test_util.h"

namespace lockstep::apiserver::field_set_test {
namespace {

FieldSet set_of(std::string_view fields_v1) {
  Result<FieldSet> set = FieldSet::decode(json(fields_v1));
  EXPECT_TRUE(set.has_value()) << fields_v1;
  return set.value_or(FieldSet());
}

PathElement any_element() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return PathElement::field(*rc::gen::element<std::string>("a", "b", "metadata", "x.y/z", ""));
    case 1:
      return **PathElement::decode(*rc::gen::element<std::string>(
          R"(k:{"name":"a"})", R"(k:{"name":"b","port":80})", R"(k:{"port":9})"));
    default:
      return PathElement::value(*rc::gen::element<Json>(Json("a"), Json("<"), Json(10), Json(9)));
  }
}

FieldSet any_set() {
  FieldSet set;
  const int paths = *rc::gen::inRange(0, 8);
  for (int i = 0; i < paths; ++i) {
    FieldPath path;
    const int depth = *rc::gen::inRange(1, 4);
    for (int step = 0; step < depth; ++step) path.push_back(any_element());
    set.insert(path);
  }
  return set;
}

TEST(FieldSet, ReadsFieldsV1) {
  struct Case {
    std::string_view fields, members;
  };
  const Case cases[] = {
      {"{}", ""},
      {R"({"f:a":{}})", ".a"},
      {R"({"f:a":{"f:b":{}}})", ".a.b"},
      {R"({"f:a":{".":{},"f:b":{}}})", ".a .a.b"},
      {R"({"f:b":{},"f:a":{".":{}}})", ".a .b"},
      {R"({"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:name":{}}}})",
       R"(.l[name="x"] .l[name="x"].name)"},
      {R"({"f:l":{"v:\"x\"":{},"i:3":{}}})", R"(.l[="x"] .l[3])"},
      // A kind of step that only a later Kubernetes knows.
      {R"({"z:new":{"f:a":{}},"f:b":{}})", ".b"},
      {R"({"f:a":{"z:new":{}}})", ".a"},
  };
  for (const Case& one : cases) EXPECT_EQ(text_of(set_of(one.fields)), one.members) << one.fields;
}

TEST(FieldSet, RefusesWhatIsNoFieldsV1) {
  for (const char* text : {"[]", "3", R"({"a":{}})", R"({"f:a":1})", R"({"k:x":{}})"}) {
    EXPECT_FALSE(FieldSet::decode(json(text)).has_value()) << text;
  }
}

TEST(FieldSet, WritesSorted) {
  const FieldSet set = set_of(
      R"({"v:\"b\"":{},"f:z":{"f:b":{},".":{}},"k:{\"port\":80}":{},"k:{\"port\":9}":{},"f:a":{}})");
  EXPECT_EQ(
      print_json(set.encode()),
      R"({"f:a":{},"f:z":{".":{},"f:b":{}},"k:{\"port\":9}":{},"k:{\"port\":80}":{},"v:\"b\"":{}})");
}

TEST(FieldSet, ParentsAndChildrenAreFieldsOfTheirOwn) {
  FieldSet parent = set_of(R"({"f:a":{".":{},"f:b":{}}})");
  parent.subtract(set_of(R"({"f:a":{}})"));
  EXPECT_EQ(text_of(parent), ".a.b");
  parent.subtract(set_of(R"({"f:a":{"f:b":{}}})"));
  EXPECT_TRUE(parent.empty());
  FieldSet both = set_of(R"({"f:a":{".":{},"f:b":{}}})");
  both.intersect(set_of(R"({"f:a":{"f:b":{},"f:c":{}}})"));
  EXPECT_EQ(text_of(both), ".a.b");
}

TEST(FieldSet, EraseTakesEverythingBelow) {
  FieldSet set = set_of(R"({"f:status":{".":{},"f:b":{}},"f:spec":{}})");
  set.erase(PathElement::field("status"));
  EXPECT_EQ(text_of(set), ".spec");
}

TEST(FieldSet, NamedParents) {
  const ThingSchema schema;
  FieldSet set = set_of(
      R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:env":{"k:{\"name\":\"e\"}":{"f:value":{}}}}},
          "f:anything":{"f:deep":{"f:er":{}}}},"f:metadata":{"f:labels":{"f:a":{}}}})");
  set.add_named_parents(schema.root());
  EXPECT_EQ(
      text_of(set),
      R"(.metadata .spec .metadata.labels .metadata.labels.a .spec.anything .spec.containers )"
      R"(.spec.anything.deep.er .spec.containers[name="c"].env )"
      R"(.spec.containers[name="c"].env[name="e"].value)");
}

TEST(FieldSet, OverlapsReadsTheEncodedForm) {
  const FieldSet set = set_of(R"({"f:a":{"f:b":{}},"f:c":{}})");
  EXPECT_TRUE(set.overlaps(json(R"({"f:a":{"f:b":{}}})")));
  EXPECT_TRUE(set.overlaps(json(R"({"f:c":{".":{},"f:d":{}}})")));
  EXPECT_FALSE(set.overlaps(json(R"({"f:a":{}})")));
  EXPECT_FALSE(set.overlaps(json(R"({"f:c":{"f:d":{}}})")));
  EXPECT_FALSE(set.overlaps(json("null")));
}

RC_GTEST_PROP(FieldSet, WhatIsWrittenReadsBack, ()) {
  const FieldSet set = any_set();
  const Result<FieldSet> again = FieldSet::decode(set.encode());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == set);
  RC_ASSERT(print_json(again->encode()) == print_json(set.encode()));
}

RC_GTEST_PROP(FieldSet, SetAlgebra, ()) {
  const FieldSet a = any_set(), b = any_set();
  FieldSet both = a, either = a, only_a = a;
  both.intersect(b);
  either.unite(b);
  only_a.subtract(b);
  RC_ASSERT(both.size() + only_a.size() == a.size());
  RC_ASSERT(either.size() == only_a.size() + b.size());
  FieldSet whole = only_a;
  whole.unite(both);
  RC_ASSERT(whole == a);
  RC_ASSERT(a.overlaps(b.encode()) == !both.empty());
  RC_ASSERT(a.is_within(b.encode()) == only_a.empty());
  RC_ASSERT(a.is_within(either.encode()));
  a.for_each([&](const FieldPath& path) { RC_ASSERT(either.has(path)); });
  a.for_each([&](const FieldPath& path) { RC_ASSERT(only_a.has(path) != b.has(path)); });
}

}  // namespace
}  // namespace lockstep::apiserver::field_set_test
