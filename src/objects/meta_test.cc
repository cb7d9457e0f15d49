#include "objects/meta.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::meta_test {
namespace {

TEST(Meta, ReadsEveryField) {
  ObjectMeta meta = decoded<PartialObject>(R"({"metadata":{
    "name":"web-1","namespace":"default","uid":"7d3c9ad2-1111-4222-8333-944445555666",
    "resourceVersion":"12345678","generation":4,
    "creationTimestamp":"2026-11-15T04:20:11Z","deletionTimestamp":"2026-11-15T05:00:00Z",
    "deletionGracePeriodSeconds":30,
    "labels":{"b":"2","a":"1"},
    "annotations":{"note":"x","kubectl.kubernetes.io/last-applied-configuration":"{}",
                   "cni.projectcalico.org/podIP":"10.0.0.1"},
    "ownerReferences":[
      {"apiVersion":"v1","kind":"Node","name":"gpu-7","uid":"u1"},
      {"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"u2","controller":true,
       "blockOwnerDeletion":true}],
    "finalizers":["example.com/hold"],
    "managedFields":[{"manager":"kubelet","fieldsV1":{"f:metadata":{}}}]
  },"spec":{"anything":[1,2,{"deep":null}]}})")
                        .meta;
  EXPECT_EQ(meta.key(), (ObjectKey{"default", "web-1"}));
  EXPECT_EQ(meta.uid, "7d3c9ad2-1111-4222-8333-944445555666");
  EXPECT_EQ(meta.resource_version, "12345678");
  EXPECT_EQ(meta.generation, 4);
  EXPECT_EQ(format_rfc3339(meta.created), "2026-11-15T04:20:11Z");
  EXPECT_TRUE(meta.is_deleting());
  EXPECT_EQ(meta.deletion_grace_seconds, 30);
  EXPECT_EQ(meta.labels, (StringMap{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(meta.annotations, (StringMap{{"note", "x"}}));
  ASSERT_EQ(meta.owners.size(), 2U);
  ASSERT_NE(meta.controller(), nullptr);
  EXPECT_EQ(meta.controller()->name, "driver");
  EXPECT_EQ(meta.finalizers, (std::vector<Text>{"example.com/hold"}));
}

TEST(Meta, NullIsEmpty) {
  ObjectMeta meta = decoded<PartialObject>(R"({"metadata":{"name":"a","creationTimestamp":null,
    "labels":null,"annotations":null,"ownerReferences":null,"finalizers":null,
    "deletionTimestamp":null}})")
                        .meta;
  ObjectMeta plain;
  plain.name = "a";
  EXPECT_EQ(meta, plain);
  EXPECT_FALSE(meta.is_deleting());
  EXPECT_EQ(meta.controller(), nullptr);
}

TEST(Meta, ConditionsAreFoundByType) {
  std::vector<Condition> conditions(2);
  conditions[0].type = "A";
  conditions[0].status = "False";
  conditions[1].type = "B";
  conditions[1].status = "True";
  EXPECT_EQ(find_condition(conditions, "C"), nullptr);
  EXPECT_FALSE(find_condition(conditions, "A")->is_true());
  EXPECT_TRUE(find_condition(conditions, "B")->is_true());
}

TEST(Meta, VersionsAreNumbersOrOpaque) {
  struct Case {
    std::string_view a, b;
    VersionOrder order;
  };
  for (const Case& each : std::vector<Case>{
           {"1", "2", VersionOrder::older},
           {"10", "9", VersionOrder::newer},
           {"9", "9", VersionOrder::same},
           {"99999999999999999999999998", "99999999999999999999999999", VersionOrder::older},
           {"abc", "abc", VersionOrder::same},
           {"abc", "abd", VersionOrder::unknown},
           {"1", "abc", VersionOrder::unknown},
           {"01", "2", VersionOrder::unknown},
           {"-1", "2", VersionOrder::unknown},
           {"", "1", VersionOrder::unknown},
           {"", "", VersionOrder::unknown},
       }) {
    EXPECT_EQ(compare_versions(each.a, each.b), each.order) << each.a << " " << each.b;
  }
}

RC_GTEST_PROP(Meta, VersionsAreOrderedAsNumbers, ()) {
  auto a = *rc::gen::inRange<uint64_t>(1, 3000);
  auto b = *rc::gen::inRange<uint64_t>(1, 3000);
  VersionOrder order = compare_versions(std::to_string(a), std::to_string(b));
  RC_ASSERT(order == (a < b   ? VersionOrder::older
                      : a > b ? VersionOrder::newer
                              : VersionOrder::same));
}

TEST(Meta, WritesWhatItReads) {
  ObjectMeta meta;
  meta.name = "controller";
  meta.ns = "lockstep";
  meta.resource_version = "7";
  meta.uid = "u";
  meta.created = Time::from_unix(1763180411);
  meta.labels = {{"a", "1"}};
  meta.annotations = {{"b", "a long value of some sort"}};
  meta.owners = {{"v1", "Node", "gpu-7", "u1", true}};
  meta.finalizers = {"example.com/hold"};
  JsonObject object;
  object["metadata"] = meta_to_json(meta);
  EXPECT_EQ(decoded<PartialObject>(print_json(object)).meta, meta);
  EXPECT_EQ(print_json(meta_to_json(ObjectMeta())), "{}");
}

}  // namespace
}  // namespace lockstep::meta_test
