#include "apiserver/apply/apply.h"

#include "apiserver/apply/apply_test_util.h"

namespace lockstep::apiserver::apply_test {
namespace {

const Time start = Time::from_unix(1'800'000'000);

class ApplyTest : public ::testing::Test {
 protected:
  // Empty, or the message of the refusal.
  std::string apply(const FieldManager& manager, const Json& applied, bool force = false) {
    now_ = now_ + seconds(1);
    Outcome<Json> result = server_side_apply(live_.is_null() ? nullptr : &live_, applied, manager,
                                             force, schema_.root(), thing_type, now_);
    if (!result) {
      error_ = result.error();
      return error_.message;
    }
    live_ = std::move(*result);
    return "";
  }
  void update(const FieldManager& manager, std::string_view rest) {
    now_ = now_ + seconds(1);
    Json object = thing(rest);
    track_update(live_.is_null() ? nullptr : &live_, object, manager, schema_.root(), now_);
    live_ = std::move(object);
  }
  std::string object() const { return print_json(without_managed(live_)); }
  std::string_view time_of(size_t entry) const {
    return text_at(find(live_, "metadata", "managedFields")->as_array().at(entry), "time");
  }

  ThingSchema schema_;
  Json live_;
  StatusError error_;
  Time now_ = start;
};

TEST_F(ApplyTest, CreatesAndOwnsWhatItSays) {
  EXPECT_EQ(apply(by("a"), thing(R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})")), "");
  EXPECT_TRUE(json_equal(without_managed(live_),
                         thing(R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})")));
  EXPECT_EQ(owners_of(live_), "a Apply: .metadata.labels.l .spec.replicas");
  const Json& entry = find(live_, "metadata", "managedFields")->as_array()[0];
  EXPECT_EQ(print_json(entry),
            R"({"manager":"a","operation":"Apply","apiVersion":"example.com/v1",)"
            R"("time":"2027-01-15T08:00:01Z","fieldsType":"FieldsV1",)"
            R"("fieldsV1":{"f:metadata":{"f:labels":{"f:l":{}}},"f:spec":{"f:replicas":{}}}})");
}

TEST_F(ApplyTest, LeavesWhatOthersSet) {
  update(by("u"), R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})");
  EXPECT_EQ(apply(by("a"), thing(R"("metadata":{"labels":{"m":"2"}})")), "");
  EXPECT_EQ(print_json(*find(live_, "metadata", "labels")), R"({"l":"1","m":"2"})");
  EXPECT_EQ(owners_of(live_),
            "a Apply: .metadata.labels.m; "
            "u Update: .spec .metadata.labels .metadata.labels.l .spec.replicas");
}

TEST_F(ApplyTest, RemovesWhatItNoLongerSays) {
  apply(by("a"), thing(R"("metadata":{"labels":{"l":"1","m":"2"}},"spec":{"replicas":1})"));
  EXPECT_EQ(apply(by("a"), thing(R"("metadata":{"labels":{"m":"2"}})")), "");
  EXPECT_TRUE(json_equal(without_managed(live_), thing(R"("metadata":{"labels":{"m":"2"}})")));
  EXPECT_EQ(owners_of(live_), "a Apply: .metadata.labels.m");
}

TEST_F(ApplyTest, KeepsWhatAnotherOwnsToo) {
  apply(by("a"), thing(R"("spec":{"replicas":1})"));
  apply(by("b"), thing(R"("spec":{"replicas":1})"));
  EXPECT_EQ(owners_of(live_), "b Apply: .spec.replicas; a Apply: .spec.replicas");
  EXPECT_EQ(apply(by("a"), thing("")), "");
  EXPECT_EQ(as_integer(find(live_, "spec", "replicas")), 1);
  EXPECT_EQ(owners_of(live_), "b Apply: .spec.replicas");
}

TEST_F(ApplyTest, RemovesItemsOfLists) {
  apply(by("a"), thing(R"("metadata":{"finalizers":["f","g"]},
    "spec":{"containers":[{"name":"c","image":"i"},{"name":"d"}]})"));
  apply(by("b"), thing(R"("spec":{"containers":[{"name":"c","command":["x"]}]})"));
  apply(by("a"), thing(R"("metadata":{"finalizers":["g"]})"));
  EXPECT_EQ(print_json(*find(live_, "metadata", "finalizers")), R"(["g"])");
  EXPECT_EQ(print_json(*find(live_, "spec", "containers")), R"([{"name":"c","command":["x"]}])");
}

TEST_F(ApplyTest, OneConflict) {
  update(by("u"), R"("spec":{"replicas":1})");
  EXPECT_EQ(
      apply(by("a"), thing(R"("spec":{"replicas":2})")),
      R"(Apply failed with 1 conflict: conflict with "u" using example.com/v1: .spec.replicas)");
  EXPECT_EQ(error_.code, 409);
  EXPECT_EQ(error_.reason, "Conflict");
  ASSERT_EQ(error_.causes.size(), 1u);
  EXPECT_EQ(error_.causes[0].reason, "FieldManagerConflict");
  EXPECT_EQ(error_.causes[0].message, R"(conflict with "u" using example.com/v1)");
  EXPECT_EQ(error_.causes[0].field, ".spec.replicas");
}

TEST_F(ApplyTest, ManyConflicts) {
  update(by("u", "status"), R"("metadata":{"labels":{"l":"1"}})");
  apply(by("b"), thing(R"("spec":{"replicas":1,"containers":[{"name":"c","image":"i"}]})"));
  EXPECT_EQ(apply(by("a"), thing(R"("metadata":{"labels":{"l":"2"}},
        "spec":{"replicas":2,"containers":[{"name":"c","image":"j"}]})")),
            "Apply failed with 3 conflicts: conflicts with \"b\":\n- .spec.replicas\n"
            "- .spec.containers[name=\"c\"].image\n"
            "conflicts with \"u\" with subresource \"status\" using example.com/v1:\n- "
            ".metadata.labels.l");
  EXPECT_EQ(error_.causes.size(), 3u);
}

TEST_F(ApplyTest, ForceTakesOver) {
  update(by("u"), R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})");
  EXPECT_EQ(apply(by("a"), thing(R"("spec":{"replicas":2})"), true), "");
  EXPECT_EQ(as_integer(find(live_, "spec", "replicas")), 2);
  EXPECT_EQ(owners_of(live_),
            "a Apply: .spec.replicas; u Update: .spec .metadata.labels .metadata.labels.l");
}

TEST_F(ApplyTest, TheSameValueIsNoConflict) {
  update(by("u"), R"("spec":{"replicas":1})");
  EXPECT_EQ(apply(by("a"), thing(R"("spec":{"replicas":1})")), "");
  EXPECT_EQ(owners_of(live_), "a Apply: .spec.replicas; u Update: .spec .spec.replicas");
}

TEST_F(ApplyTest, ApplyingAgainChangesNothingNotEvenTheTime) {
  const Json applied = thing(R"("spec":{"replicas":1,"containers":[{"name":"c"}]})");
  apply(by("a"), applied);
  const std::string before = print_json(live_);
  EXPECT_EQ(apply(by("a"), applied), "");
  EXPECT_EQ(print_json(live_), before);
  EXPECT_EQ(time_of(0), "2027-01-15T08:00:01Z");
}

TEST_F(ApplyTest, AnObjectFromBeforeAnybodyKeptTrack) {
  live_ = thing(R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})");
  EXPECT_EQ(apply(by("a"), thing(R"("spec":{"replicas":2})")),
            R"(Apply failed with 1 conflict: conflict with "before-first-apply" using )"
            R"(example.com/v1: .spec.replicas)");
  EXPECT_EQ(apply(by("a"), thing(R"("spec":{"replicas":2})"), true), "");
  EXPECT_EQ(owners_of(live_),
            "a Apply: .spec.replicas; "
            "before-first-apply Update: .spec .metadata.labels .metadata.labels.l");
}

TEST_F(ApplyTest, TheStatusOfABuiltInObjectIsNotOwnedByItsMainEndpoint) {
  schema_.typed();
  EXPECT_EQ(apply(by("a"), thing(R"("spec":{"replicas":1},"status":{"count":1})")), "");
  EXPECT_EQ(owners_of(live_), "a Apply: .spec.replicas");
  EXPECT_EQ(apply(by("a", "status"), thing(R"("spec":{"replicas":2},"status":{"count":2})"), true),
            "");
  EXPECT_EQ(owners_of(live_), "a Apply: .spec.replicas; a Apply status: .status.count");
}

TEST_F(ApplyTest, Refusals) {
  Json other = thing("");
  other.as_object()["kind"] = "Other";
  EXPECT_EQ(apply(by("a"), other), "invalid object type: example.com/v1, Kind=Other");
  EXPECT_EQ(error_.code, 400);
  EXPECT_EQ(apply(by("a"), thing(R"("metadata":{"managedFields":[]})")),
            "metadata.managedFields must be nil");
  EXPECT_EQ(error_.code, 400);
  EXPECT_EQ(apply(by("a"), thing(R"("metadata":{"namespace":"n"},"spec":{"replica":1})")),
            "failed to create typed patch object (n/x; example.com/v1, Kind=Thing): "
            ".spec.replica: field not declared in schema");
  EXPECT_EQ(error_.code, 500);
}

constexpr std::string_view annotation = "kubectl.kubernetes.io/last-applied-configuration";

// As kubectl apply (client-side) leaves an object.
void annotate(Json& object, const Json& configuration) {
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  ensure_object(metadata, "annotations")[annotation] = print_json(configuration);
}

TEST_F(ApplyTest, KubectlMayOverwriteWhatItAppliedClientSide) {
  const Json configuration = thing(R"("spec":{"replicas":1})");
  Json object = configuration;
  annotate(object, configuration);
  track_update(nullptr, object, by("kubectl-client-side-apply"), schema_.root(), now_);
  live_ = object;
  EXPECT_NE(apply(by("somebody"), thing(R"("spec":{"replicas":2})")), "");
  EXPECT_EQ(apply(by("kubectl"), thing(R"("spec":{"replicas":2})")), "");
  EXPECT_EQ(as_integer(find(live_, "spec", "replicas")), 2);
  EXPECT_EQ(text_at(live_, "metadata", "annotations", annotation),
            "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"x\"},"
            "\"spec\":{\"replicas\":2}}\n");
}

TEST_F(ApplyTest, KubectlMayNotOverwriteWhatAnotherChangedSince) {
  const Json configuration = thing(R"("metadata":{"labels":{"l":"1"}},"spec":{"replicas":1})");
  Json object = configuration;
  annotate(object, configuration);
  track_update(nullptr, object, by("kubectl-client-side-apply"), schema_.root(), now_);
  live_ = object;
  Json scaled = live_;
  find(scaled, "spec")->as_object()["replicas"] = 5;
  track_update(&live_, scaled, by("scaler"), schema_.root(), now_);
  live_ = scaled;
  EXPECT_EQ(apply(by("kubectl"), thing(R"("metadata":{"labels":{"l":"2"}},"spec":{"replicas":2})")),
            R"(Apply failed with 1 conflict: conflict with "scaler" using example.com/v1: )"
            R"(.spec.replicas)");
}

RC_GTEST_PROP(ApplyProperty, ApplyingTwiceIsApplyingOnce, ()) {
  const ThingSchema schema;
  Json live = generate::thing();
  track_update(nullptr, live, by("u"), schema.root(), start);
  const Json applied = generate::thing();
  const auto once = server_side_apply(&live, applied, by("a"), true, schema.root(), thing_type,
                                      start + seconds(1));
  RC_ASSERT(once.has_value());
  const auto twice = server_side_apply(&*once, applied, by("a"), true, schema.root(), thing_type,
                                       start + seconds(2));
  RC_ASSERT(twice.has_value());
  RC_ASSERT(print_json(*twice) == print_json(*once));
}

RC_GTEST_PROP(ApplyProperty, ForceNeverConflictsAndWins, ()) {
  const ThingSchema schema;
  Json live;
  for (int i = 0; i < 4; ++i) {
    const Json applied = generate::thing();
    const auto result = server_side_apply(live.is_null() ? nullptr : &live, applied,
                                          by(*rc::gen::element<std::string>("a", "b", "c")), true,
                                          schema.root(), thing_type, start + seconds(i));
    RC_ASSERT(result.has_value());
    live = *result;
    if (const Json* replicas = find(applied, "spec", "replicas")) {
      RC_ASSERT(as_integer(find(live, "spec", "replicas"), -1) == as_integer(replicas));
    }
  }
}

RC_GTEST_PROP(ApplyProperty, WithoutForceAConflictChangesNoForeignField, ()) {
  const ThingSchema schema;
  Json live = generate::thing();
  track_update(nullptr, live, by("u"), schema.root(), start);
  const Json applied = generate::thing();
  const auto result =
      server_side_apply(&live, applied, by("a"), false, schema.root(), thing_type, start);
  const Json* before = find(live, "spec", "replicas");
  const Json* wanted = find(applied, "spec", "replicas");
  const bool clashes = before != nullptr && wanted != nullptr && !json_equal(*before, *wanted);
  if (clashes) RC_ASSERT(!result.has_value());
  if (!result) RC_ASSERT(!result.error().causes.empty());
}

}  // namespace
}  // namespace lockstep::apiserver::apply_test
