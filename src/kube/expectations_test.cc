#include "kube/expectations.h"

#include <gtest/gtest.h>

namespace lockstep::kube::expectations_test {
namespace {

const ObjectKey a{"", "a"};
const ObjectKey b{"", "b"};
const ObjectKey c{"", "c"};
using Keys = Expectations::Keys;

ObjectMeta meta_of(const ObjectKey& key, std::string_view version, std::string_view uid = "u",
                   bool deleting = false) {
  ObjectMeta meta;
  meta.name = Text(key.name);
  meta.ns = Text(key.ns);
  meta.uid = Text(uid);
  meta.resource_version = Text(version);
  if (deleting) meta.deleted = Time::from_unix(1);
  return meta;
}

Keys saw(Expectations& expectations, const ObjectMeta& meta) {
  Keys settled;
  expectations.saw(meta, settled);
  return settled;
}
Keys saw_version(Expectations& expectations, std::string_view version) {
  Keys settled;
  expectations.saw_version(version, settled);
  return settled;
}
Keys saw_list(Expectations& expectations) {
  Keys settled;
  expectations.saw_list(settled);
  return settled;
}
Keys saw_deleted(Expectations& expectations, const ObjectKey& key, std::string_view version) {
  Keys settled;
  expectations.saw_deleted(key, version, settled);
  return settled;
}

TEST(Expectations, AreSettledByTheObjectItself) {
  Expectations expectations;
  expectations.expect(a, "10");
  EXPECT_TRUE(expectations.has(a));
  EXPECT_EQ(saw(expectations, meta_of(a, "9")), Keys{});
  EXPECT_EQ(saw(expectations, meta_of(b, "11")), Keys{});
  EXPECT_EQ(saw(expectations, meta_of(a, "10")), Keys{a});
  EXPECT_TRUE(expectations.empty());
}

TEST(Expectations, AreSettledByAnythingThatIsNotOlder) {
  Expectations expectations;
  expectations.expect(a, "9");
  expectations.expect(b, "10");
  expectations.expect(c, "100");
  EXPECT_EQ(saw_version(expectations, "8"), Keys{});
  EXPECT_EQ(saw_version(expectations, "99"), (Keys{a, b}));
  EXPECT_EQ(expectations.size(), 1U);
  EXPECT_EQ(saw_version(expectations, "100"), Keys{c});
}

TEST(Expectations, TheNewestWriteCounts) {
  Expectations expectations;
  expectations.expect(a, "10");
  expectations.expect(a, "12");
  expectations.expect(a, "11");
  expectations.expect(a, "");
  EXPECT_EQ(saw_version(expectations, "11"), Keys{});
  EXPECT_EQ(saw_version(expectations, "12"), Keys{a});
}

TEST(Expectations, ADeletionIsSeenWhenItBegins) {
  struct Case {
    ObjectMeta shown;
    Keys settled;
  };
  for (const Case& each : std::vector<Case>{{meta_of(a, "1", "u"), {}},
                                            {meta_of(a, "1", "u", true), {a}},
                                            {meta_of(a, "1", "other"), {a}}}) {
    Expectations expectations;
    expectations.expect_deleted(a, "u");
    EXPECT_EQ(saw(expectations, each.shown), each.settled);
  }
  Expectations expectations;
  expectations.expect_deleted(a, "u");
  EXPECT_EQ(saw_version(expectations, "1000"), Keys{});
  EXPECT_EQ(saw_deleted(expectations, a, "1000"), Keys{a});
}

TEST(Expectations, AWriteAndADeletionMustBothBeSeen) {
  Expectations expectations;
  expectations.expect(a, "10");
  expectations.expect_deleted(a, "u");
  EXPECT_EQ(saw(expectations, meta_of(a, "10", "u")), Keys{});
  EXPECT_EQ(saw(expectations, meta_of(a, "11", "u", true)), Keys{a});
}

TEST(Expectations, ADeletionBeforeOurWriteDoesNotSettleIt) {
  Expectations expectations;
  expectations.expect(a, "10");
  EXPECT_EQ(saw_deleted(expectations, a, "9"), Keys{});
  EXPECT_EQ(saw_deleted(expectations, a, "11"), Keys{a});
}

TEST(Expectations, OpaqueVersionsNeedTheVeryOneOrTwoLists) {
  Expectations expectations;
  expectations.expect(a, "x7");
  EXPECT_EQ(saw_version(expectations, "x9"), Keys{});
  EXPECT_EQ(saw(expectations, meta_of(a, "x6")), Keys{});
  EXPECT_EQ(saw(expectations, meta_of(a, "x7")), Keys{a});

  expectations.expect(a, "x8");
  EXPECT_EQ(saw_list(expectations), Keys{});
  EXPECT_EQ(saw_list(expectations), Keys{a});
}

TEST(Expectations, ListsDoNotSettleAVersionThatCanBeCompared) {
  Expectations expectations;
  expectations.expect(a, "10");
  expectations.expect_deleted(b, "u");
  EXPECT_EQ(saw_list(expectations), Keys{});
  EXPECT_EQ(saw_list(expectations), Keys{b});
  EXPECT_EQ(saw_list(expectations), Keys{});
  EXPECT_TRUE(expectations.has(a));
}

TEST(Expectations, CanBeGivenUp) {
  Expectations expectations;
  expectations.expect(a, "10");
  expectations.expect_deleted(b, "u");
  Keys settled;
  expectations.clear(settled);
  EXPECT_EQ(settled, (Keys{a, b}));
  EXPECT_TRUE(expectations.empty());
  EXPECT_EQ(saw_version(expectations, "10"), Keys{});
}

}  // namespace
}  // namespace lockstep::kube::expectations_test
