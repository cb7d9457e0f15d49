#include "apiserver/apply/ownership.h"

#include "apiserver/apply/apply_test_util.h"

namespace lockstep::apiserver::ownership_test {
namespace {

const Time start = Time::from_unix(1'800'000'000);

class Ownership : public ::testing::Test {
 protected:
  // A manager makes the object so; null first.
  void write(const FieldManager& manager, Json object) {
    now_ = now_ + seconds(1);
    track_update(live_.is_null() ? nullptr : &live_, object, manager, schema_.root(), now_);
    live_ = std::move(object);
  }
  // As above, with the managedFields that a client read before.
  void change(const FieldManager& manager, std::string_view rest) {
    Json object = thing(rest);
    if (const Json* managed = find(live_, "metadata", "managedFields")) {
      ensure_object(object.as_object(), "metadata")["managedFields"] = *managed;
    }
    write(manager, std::move(object));
  }
  std::string_view time_of(size_t entry) const {
    return text_at(find(live_, "metadata", "managedFields")->as_array().at(entry), "time");
  }

  ThingSchema schema_;
  Json live_;
  Time now_ = start;
};

TEST_F(Ownership, ACreatorOwnsWhatItSets) {
  change(by("a"), R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})");
  EXPECT_EQ(owners_of(live_), "a Update: .spec .metadata.labels .metadata.labels.l .spec.replicas");
  EXPECT_EQ(time_of(0), "2027-01-15T08:00:01Z");
}

TEST_F(Ownership, AnUpdateTakesWhatItChanges) {
  change(by("a"), R"("metadata":{"labels":{"l":"1","m":"1"}})");
  change(by("b"), R"("metadata":{"labels":{"l":"2","m":"1"}})");
  EXPECT_EQ(owners_of(live_),
            "a Update: .metadata.labels .metadata.labels.m; b Update: .metadata.labels.l");
}

TEST_F(Ownership, NothingChangedNothingOwned) {
  change(by("a"), R"("spec":{"replicas":1})");
  const std::string before = print_json(live_);
  change(by("b"), R"("spec":{"replicas":1})");
  EXPECT_EQ(print_json(live_), before);
}

TEST_F(Ownership, WhatIsRemovedHasNoOwner) {
  change(by("a"), R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})");
  change(by("b"), R"("metadata":{"labels":{"l":"1"}})");
  EXPECT_EQ(owners_of(live_), "a Update: .metadata.labels .metadata.labels.l");
  change(by("b"), R"("spec":{"replicas":2})");
  EXPECT_EQ(owners_of(live_), "b Update: .spec .spec.replicas");
}

TEST_F(Ownership, AnOwnersSecondWriteAddsToItsFirst) {
  change(by("a"), R"("metadata":{"labels":{"l":"1"}})");
  change(by("a"), R"("metadata":{"labels":{"l":"1","m":"2"}})");
  EXPECT_EQ(owners_of(live_), "a Update: .metadata.labels .metadata.labels.l .metadata.labels.m");
  EXPECT_EQ(time_of(0), "2027-01-15T08:00:02Z");
}

TEST_F(Ownership, SubresourcesAreManagersOfTheirOwn) {
  change(by("a"), R"("spec":{"replicas":1})");
  change(by("a", "status"), R"("spec":{"replicas":1},"status":{"count":1})");
  EXPECT_EQ(owners_of(live_),
            "a Update: .spec .spec.replicas; a Update status: .status .status.count");
}

TEST_F(Ownership, IdentityHasNoOwner) {
  write(by("a"), json(R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x",
    "namespace":"n","uid":"u","generation":1,"resourceVersion":"1","creationTimestamp":"t"}})"));
  EXPECT_EQ(owners_of(live_), "nobody");
}

TEST_F(Ownership, AClientThatForgetsManagedFieldsLosesNothing) {
  change(by("a"), R"("spec":{"replicas":1})");
  write(by("b"), thing(R"("spec":{"replicas":2})"));
  EXPECT_EQ(owners_of(live_), "a Update: .spec; b Update: .spec.replicas");
}

TEST_F(Ownership, AClientMayRewriteManagedFields) {
  // As kubectl does when it takes a client-side applied object over to server-side apply.
  change(by("kubectl-client-side-apply"), R"("spec":{"replicas":1})");
  Json object = live_;
  Json& entry = find(object, "metadata", "managedFields")->as_array()[0];
  entry.as_object()["manager"] = "kubectl";
  entry.as_object()["operation"] = "Apply";
  write(by("kubectl"), object);
  EXPECT_EQ(owners_of(live_), "kubectl Apply: .spec .spec.replicas");
  EXPECT_EQ(time_of(0), "2027-01-15T08:00:01Z");
}

TEST_F(Ownership, WhatCannotBeReadIsIgnored) {
  change(by("a"), R"("spec":{"replicas":1})");
  Json object = live_;
  find(object, "metadata", "managedFields")->as_array()[0].as_object()["fieldsV1"] = {{"x", 1}};
  write(by("b"), object);
  EXPECT_EQ(owners_of(live_), "a Update: .spec .spec.replicas");
}

TEST_F(Ownership, AResetForgetsUntilSomebodyApplies) {
  for (const char* reset : {"[]", "[{}]"}) {
    live_ = nullptr;
    change(by("a"), R"("spec":{"replicas":1})");
    Json object = live_;
    find(object, "metadata")->as_object()["managedFields"] = json(reset);
    write(by("b"), object);
    EXPECT_EQ(owners_of(live_), "nobody") << reset;
    write(by("c"), thing(R"("spec":{"replicas":2})"));
    EXPECT_EQ(owners_of(live_), "nobody") << reset;
  }
}

TEST_F(Ownership, AStatusWriteCannotRewriteManagedFields) {
  change(by("a"), R"("spec":{"replicas":1})");
  Json object = live_;
  find(object, "metadata")->as_object()["managedFields"] = json("[]");
  write(by("b", "status"), object);
  EXPECT_EQ(owners_of(live_), "a Update: .spec .spec.replicas");
}

TEST_F(Ownership, ManagersWhoUpdateAreFew) {
  for (int i = 0; i < 15; ++i) {
    Json object = live_.is_null() ? thing("") : live_;
    ensure_object(ensure_object(object.as_object(), "metadata"), "labels")[fmt::format("l{}", i)] =
        "1";
    write(by(fmt::format("m{}", i)), object);
  }
  const JsonArray& entries = find(live_, "metadata", "managedFields")->as_array();
  EXPECT_EQ(entries.size(), 10u);
  EXPECT_EQ(text_at(entries[0], "manager"), "ancient-changes");
  EXPECT_EQ(text_of_fields(*find(entries[0], "fieldsV1")),
            ".metadata.labels .metadata.labels.l0 .metadata.labels.l1 .metadata.labels.l2 "
            ".metadata.labels.l3 .metadata.labels.l4 .metadata.labels.l5");
}

TEST_F(Ownership, AnonymousManagersAreUnknown) {
  change(by(""), R"("spec":{"replicas":1})");
  EXPECT_EQ(owners_of(live_), "unknown Update: .spec .spec.replicas");
}

RC_GTEST_PROP(OwnershipProperty, EveryFieldHasOneOwnerAndNoneIsLeftOver, ()) {
  const ThingSchema schema;
  Json live;
  for (int i = 0; i < 5; ++i) {
    Json next = generate::thing();
    // A field that always has an owner: an object without any owned field is no longer tracked.
    ensure_object(ensure_object(next.as_object(), "metadata"), "labels")["kept"] = "1";
    const FieldManager manager = by(*rc::gen::element<std::string>("a", "b", "c"));
    const Json before = live;
    track_update(live.is_null() ? nullptr : &before, next, manager, schema.root(), start);
    live = std::move(next);
  }
  const Json* managed = find(live, "metadata", "managedFields");
  FieldSet owned;
  size_t claims = 0;
  if (managed != nullptr) {
    for (const Json& entry : managed->as_array()) {
      const FieldSet fields = FieldSet::decode(*find(entry, "fieldsV1")).value();
      claims += fields.size();
      owned.unite(fields);
    }
  }
  RC_ASSERT(claims == owned.size());
  ManagedFields fresh;
  record_update(fresh, nullptr, live, by("all"), schema.root(), start);
  FieldSet all;
  if (!fresh.empty()) all = fresh.entries()[0].fields();
  RC_ASSERT(text_of(owned) == text_of(all));
}

}  // namespace
}  // namespace lockstep::apiserver::ownership_test
