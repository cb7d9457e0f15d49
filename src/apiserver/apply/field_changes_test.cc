#include "apiserver/apply/field_changes.h"

#include "apiserver/apply/apply_test_util.h"
#include "apiserver/apply/structure.h"

namespace lockstep::apiserver::field_changes_test {
namespace {

// "-removed ~modified +added"
std::string text_of(const FieldChanges& changes) {
  std::string text;
  const auto add = [&](const FieldSet& set, char sign) {
    set.for_each([&](const FieldPath& path) {
      text += (text.empty() ? "" : " ") + std::string(1, sign) + readable(path);
    });
  };
  add(changes.removed, '-');
  add(changes.modified, '~');
  add(changes.added, '+');
  return text;
}

TEST(FieldChanges, Between) {
  const ThingSchema schema;
  struct Case {
    std::string_view name, before, after, changes;
  };
  const Case cases[] = {
      {"nothing", R"({"spec":{"replicas":1}})", R"({"spec":{"replicas":1}})", ""},
      {"the order of keys is no change", R"({"spec":{"replicas":1,"selector":{"a":"1","b":"2"}}})",
       R"({"spec":{"selector":{"b":"2","a":"1"},"replicas":1}})", ""},
      {"a leaf", R"({"spec":{"replicas":1}})", R"({"spec":{"replicas":2}})", "~.spec.replicas"},
      {"a new part", "{}", R"({"spec":{"replicas":2}})", "+.spec +.spec.replicas"},
      {"a part that went", R"({"spec":{"replicas":2}})", "{}", "-.spec -.spec.replicas"},
      {"a label more, one less, one other", R"({"metadata":{"labels":{"a":"1","b":"2","c":"3"}}})",
       R"({"metadata":{"labels":{"b":"2","c":"4","d":"5"}}})",
       "-.metadata.labels.a ~.metadata.labels.c +.metadata.labels.d"},
      {"a whole map", R"({"spec":{"selector":{"a":"1"}}})",
       R"({"spec":{"selector":{"a":"1","b":"2"}}})", "~.spec.selector"},
      {"items by key", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a","image":"2"}]}})",
       R"(-.spec.containers[name="b"] -.spec.containers[name="b"].name )"
       R"(~.spec.containers[name="a"].image )"
       R"(+.spec.containers[name="c"] +.spec.containers[name="c"].name)"},
      {"the order of items is no change", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["b","a"]}})", ""},
      {"an item doubled", R"({"spec":{"containers":[{"name":"a","image":"1"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"a","image":"2"}]}})",
       R"(-.spec.containers[name="a"] -.spec.containers[name="a"].image -.spec.containers[name="a"].name )"
       R"(+.spec.containers[name="a"])"},
      {"null and nothing differ", R"({"spec":{"anything":{"a":null}}})",
       R"({"spec":{"anything":{}}})", "-.spec.anything.a"},
      {"an unknown value turns from text into a map", R"({"spec":{"anything":{"a":"x"}}})",
       R"({"spec":{"anything":{"a":{"b":1}}}})", "~.spec.anything.a +.spec.anything.a.b"},
      {"managedFields is not about itself", R"({"metadata":{"managedFields":[1]}})",
       R"({"metadata":{"managedFields":[2]}})", ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(text_of(changed_fields(json(one.before), json(one.after), schema.root())),
              one.changes)
        << one.name;
  }
}

TEST(FieldChanges, PartsOfABuiltInObjectAreAlwaysThere) {
  ThingSchema schema;
  const Json before = json("{}");
  const Json after = json(
      R"({"metadata":{"labels":{"a":"1"}},"spec":{"replicas":0},"status":{"count":0,"conditions":[]}})");
  EXPECT_EQ(text_of(changed_fields(before, after, schema.typed())),
            "+.metadata.labels +.metadata.labels.a +.spec.replicas +.status.conditions");
}

RC_GTEST_PROP(FieldChanges, OfAnObjectAndItselfAreNone, ()) {
  const ThingSchema schema;
  const Json object = generate::thing();
  RC_ASSERT(changed_fields(object, object, schema.root()).empty());
}

RC_GTEST_PROP(FieldChanges, BackwardsIsTheOpposite, ()) {
  const ThingSchema schema;
  const Json a = generate::thing(), b = generate::thing();
  const FieldChanges forth = changed_fields(a, b, schema.root());
  const FieldChanges back = changed_fields(b, a, schema.root());
  RC_ASSERT(forth.added == back.removed);
  RC_ASSERT(forth.removed == back.added);
  RC_ASSERT(forth.modified == back.modified);
}

RC_GTEST_PROP(FieldChanges, SameValueIsJsonEqual, ()) {
  const Json a = generate::thing(), b = generate::thing();
  RC_ASSERT(same_value(a, b) == json_equal(a, b));
  RC_ASSERT(same_value(a, Json(a)));
}

}  // namespace
}  // namespace lockstep::apiserver::field_changes_test
