#include "apiserver/apply/managed_fields.h"

#include "apiserver/apply/apply_test_util.h"

namespace lockstep::apiserver::managed_fields_test {
namespace {

std::string entry_text(std::string_view manager, std::string_view operation, std::string_view time,
                       std::string_view field = "a", std::string_view version = "v1",
                       std::string_view subresource = "") {
  return fmt::format(
      R"({{"manager":"{}","operation":"{}","apiVersion":"{}",{}"fieldsType":"FieldsV1","fieldsV1":{{"f:{}":{{}}}}{}}})",
      manager, operation, version, time.empty() ? "" : fmt::format(R"("time":"{}",)", time), field,
      subresource.empty() ? "" : fmt::format(R"(,"subresource":"{}")", subresource));
}

Json list_of(const std::vector<std::string>& entries) {
  return json("[" + join(entries, ",") + "]");
}

TEST(ManagedFields, WhatIsReadIsWritten) {
  const Json fields =
      list_of({entry_text("a", "Apply", "2026-01-01T00:00:00Z"),
               entry_text("b", "Update", "2026-01-01T00:00:00Z", "x", "v1", "status")});
  for (const bool trusted : {true, false}) {
    EXPECT_EQ(print_json(ManagedFields::decode(fields, trusted).value().encode()),
              print_json(fields));
  }
}

TEST(ManagedFields, Order) {
  // Applying managers first; then by time, name, version, subresource. No time is the oldest.
  const std::vector<std::string> ordered = {
      entry_text("z", "Apply", ""),
      entry_text("z", "Apply", "2026-01-01T00:00:00Z", "b", "v1", "status"),
      entry_text("a", "Apply", "2026-01-02T00:00:00Z"),
      entry_text("z", "Update", "2026-01-01T00:00:00Z"),
      entry_text("a", "Update", "2026-01-02T00:00:00Z"),
      entry_text("b", "Update", "2026-01-02T00:00:00Z"),
      entry_text("b", "Update", "2026-01-02T00:00:00Z", "a", "v1", "status"),
      entry_text("b", "Update", "2026-01-02T00:00:00Z", "a", "v2"),
  };
  const std::vector<std::string> reversed(ordered.rbegin(), ordered.rend());
  EXPECT_EQ(print_json(ManagedFields::decode(list_of(reversed), true).value().encode()),
            print_json(list_of(ordered)));
}

TEST(ManagedFields, RefusesWhatKubernetesRefuses) {
  const char* broken[] = {
      R"([{"manager":"a","operation":"Delete","apiVersion":"v1","fieldsType":"FieldsV1"}])",
      R"([{"manager":"a","operation":"Apply","fieldsType":"FieldsV1"}])",
      R"([{"manager":"a","operation":"Apply","apiVersion":"v1"}])",
      R"([{"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV2"}])",
      R"([{"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"bad":{}}}])",
      R"([{}])",
  };
  for (const char* text : broken) {
    EXPECT_FALSE(ManagedFields::decode(json(text), false).has_value()) << text;
  }
  EXPECT_TRUE(ManagedFields::decode(nullptr, false)->empty());
}

TEST(ManagedFields, TheLastOfTwoEntriesOfOneManagerCounts) {
  const Json fields =
      list_of({entry_text("a", "Apply", "", "x"), entry_text("a", "Apply", "", "y")});
  EXPECT_EQ(print_json(ManagedFields::decode(fields, false).value().encode()),
            print_json(list_of({entry_text("a", "Apply", "", "y")})));
}

TEST(ManagedFields, ManagersAreToldApart) {
  const auto entry = [](std::string_view text) { return *ManagedEntry::decode(json(text)); };
  const ManagedEntry apply = entry(entry_text("a", "Apply", ""));
  EXPECT_TRUE(apply.is_same_manager(entry(entry_text("a", "Apply", "", "x", "v2"))));
  EXPECT_FALSE(apply.is_same_manager(entry(entry_text("a", "Update", ""))));
  EXPECT_FALSE(apply.is_same_manager(entry(entry_text("a", "Apply", "", "a", "v1", "status"))));
  const ManagedEntry update = entry(entry_text("a", "Update", ""));
  EXPECT_FALSE(update.is_same_manager(entry(entry_text("a", "Update", "", "x", "v2"))));
}

TEST(ManagedFields, TheOldestUpdatesArePutTogether) {
  std::vector<std::string> entries = {entry_text("applier", "Apply", "2020-01-01T00:00:00Z")};
  for (int i = 0; i < 12; ++i) {
    entries.push_back(entry_text(fmt::format("m{}", i), "Update",
                                 fmt::format("2026-01-{:02}T00:00:00Z", i + 1),
                                 fmt::format("f{}", i)));
  }
  ManagedFields managed = ManagedFields::decode(list_of(entries), true).value();
  managed.cap_updates();
  ASSERT_EQ(managed.entries().size(), 11u);
  const Json encoded = std::move(managed).encode();
  const Json& ancient = encoded.as_array()[1];
  EXPECT_EQ(text_at(ancient, "manager"), "ancient-changes");
  EXPECT_EQ(text_at(ancient, "time"), "2026-01-03T00:00:00Z");
  EXPECT_EQ(text_of_fields(*find(ancient, "fieldsV1")), ".f0 .f1 .f2");
  EXPECT_EQ(text_at(encoded.as_array()[2], "manager"), "m3");
}

TEST(ManagedFields, UpdatesOfDifferentVersionsAreKeptApart) {
  std::vector<std::string> entries;
  for (int i = 0; i < 11; ++i) {
    entries.push_back(entry_text(fmt::format("m{:02}", i), "Update", "", fmt::format("f{}", i),
                                 i % 2 == 0 ? "v1" : "v2"));
  }
  ManagedFields managed = ManagedFields::decode(list_of(entries), true).value();
  managed.cap_updates();
  EXPECT_EQ(managed.entries().size(), 10u);
  const ManagedEntry bucket(FieldManager{"ancient-changes", "v1", ""}, false);
  ASSERT_NE(managed.find(bucket), nullptr);
  EXPECT_EQ(text_of(managed.find(bucket)->fields()), ".f0 .f2");
}

TEST(ManagedFields, Reset) {
  const auto resets = [](std::string_view text) {
    const Json value = json(text);
    return is_reset(&value);
  };
  EXPECT_FALSE(is_reset(nullptr));
  EXPECT_FALSE(resets("null"));
  EXPECT_TRUE(resets("[]"));
  EXPECT_TRUE(resets("[{}]"));
  EXPECT_FALSE(resets("[{},{}]"));
  EXPECT_FALSE(resets(R"([{"manager":"a"}])"));
}

}  // namespace
}  // namespace lockstep::apiserver::managed_fields_test
