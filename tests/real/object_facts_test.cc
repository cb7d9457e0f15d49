#include "object_facts.h"

#include <gtest/gtest.h>

namespace lockstep::real::object_facts_test {
namespace {

Json json(std::string_view text) { return parse_json(text).value(); }

TEST(ObjectFacts, WhatVariesByNatureIsTheSameInBothClusters) {
  auto pod = [](const std::string& suffix, const std::string& hash, const std::string& uid) {
    return json(R"({"kind":"Pod","metadata":{"name":"web-)" + hash + "-" + suffix +
                R"(","namespace":"x","uid":")" + uid + R"(","resourceVersion":"7)" +
                R"(","creationTimestamp":"2026-01-01T00:00:0)" + uid.back() + R"(Z",)" +
                R"("labels":{"pod-template-hash":")" + hash + R"("},)" +
                R"("ownerReferences":[{"kind":"ReplicaSet","name":"web-)" + hash + R"(","uid":")" +
                uid + R"("}]}})");
  };
  const Json one = pod("aaaaa", "5f6d7", "00000000-0000-0000-0000-000000000001");
  const Json other = pod("zzzzz", "9b8c7", "00000000-0000-0000-0000-000000000002");
  EXPECT_EQ(facts_of({one}), facts_of({other}));
  EXPECT_EQ(differences(facts_of({one}), facts_of({other}), {}), std::vector<std::string>{});
  EXPECT_TRUE(facts_of({one}).contains("Pod x/ReplicaSet web-<hash>"));
}

TEST(ObjectFacts, EntriesOfAListAreFoundByTheirNameInWhateverOrder) {
  const Json one = json(R"({"kind":"Node","metadata":{"name":"n"},"status":{"conditions":[
      {"type":"Ready","status":"True"},{"type":"DiskPressure","status":"False"}]}})");
  const Json other = json(R"({"kind":"Node","metadata":{"name":"n"},"status":{"conditions":[
      {"type":"DiskPressure","status":"False"},{"type":"Ready","status":"Unknown"}]}})");
  EXPECT_EQ(differences(facts_of({one}), facts_of({other}), {}),
            (std::vector<std::string>{
                "Node n: status.conditions[Ready].status: True here, Unknown there"}));
}

TEST(ObjectFacts, AnObjectThatIsOnOneSideOnlyAndAFieldThatIsOnOneSideOnlyAreSeen) {
  const Json one = json(R"({"kind":"Node","metadata":{"name":"n"},"spec":{"unschedulable":true}})");
  const Json other = json(R"({"kind":"Node","metadata":{"name":"n"}})");
  const Json more = json(R"({"kind":"Node","metadata":{"name":"m"}})");
  EXPECT_EQ(differences(facts_of({one}), facts_of({other, more}), {}),
            (std::vector<std::string>{"Node m: only there",
                                      "Node n: spec.unschedulable: true here, nothing there"}));
}

TEST(ObjectFacts, OnlyWhatIsKnownIsLeftOut) {
  const Json one = json(R"({"kind":"Node","metadata":{"name":"n"},"spec":{"a":1,"b":1}})");
  const Json other = json(R"({"kind":"Node","metadata":{"name":"n"},"spec":{"a":2,"b":2}})");
  EXPECT_EQ(differences(facts_of({one}), facts_of({other}), {{"Node", "spec.a", "because"}}),
            (std::vector<std::string>{"Node n: spec.b: 1 here, 2 there"}));
  EXPECT_EQ(differences(facts_of({one}), facts_of({}), {{"Node", "", "because"}}),
            std::vector<std::string>{});
}

TEST(ObjectFacts, AStarStandsForAnything) {
  const Json one = json(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[
      {"name":"a","image":"1","tty":true},{"name":"b","image":"1"}]}})");
  const Json other = json(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[
      {"name":"a","image":"2","tty":false},{"name":"b","image":"2"}]}})");
  EXPECT_EQ(differences(facts_of({one}), facts_of({other}),
                        {{"Pod", "spec.containers[*].image", "because"}}),
            (std::vector<std::string>{"Pod p: spec.containers[a].tty: true here, false there"}));
  EXPECT_EQ(differences(facts_of({one}), facts_of({other}), {{"*p", "", "because"}}),
            std::vector<std::string>{});
  EXPECT_EQ(differences(facts_of({one}), facts_of({other}), {{"P*x", "", "because"}}).size(), 3u);
}

}  // namespace
}  // namespace lockstep::real::object_facts_test
