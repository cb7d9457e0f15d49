#include "rollout/driver_fields.h"

#include <gtest/gtest.h>

#include "data/patch.h"

namespace lockstep::rollout::driver_fields_test {
namespace {

Json parsed(std::string_view text) { return *parse_json(text); }

TEST(DriverFields, AreReadFromWhereEachKindHasThem) {
  const Json object = parsed(
      R"({"spec":{"version":"580","image":"driver","other":1,
          "driver":{"version":"570","usePrecompiled":true,"enabled":true}}})");
  auto policy = read_driver_fields(DriverKind::cluster_policy, object);
  ASSERT_TRUE(policy);
  EXPECT_EQ(print_json(policy->values), R"({"version":"570","usePrecompiled":true})");
  auto driver = read_driver_fields(DriverKind::nvidia_driver, object);
  ASSERT_TRUE(driver);
  EXPECT_EQ(print_json(driver->values), R"({"version":"580","image":"driver"})");
  EXPECT_FALSE(read_driver_fields(DriverKind::daemon_set, object));
}

TEST(DriverFields, FitTheImageThatTheOperatorMakesOfThem) {
  struct Case {
    const char* fields;
    const char* image;
    bool fits;
  };
  for (const Case& each : {
           Case{R"({"version":"580.1"})", "nvcr.io/nvidia/driver:580.1-ubuntu24.04", true},
           Case{R"({"version":"580.1"})", "nvcr.io/nvidia/driver:580.10-ubuntu24.04", false},
           Case{R"({"version":"580"})", "a:5000/driver:580-6.8.0-generic-ubuntu24.04", true},
           Case{R"({"version":"580.1-corp1"})", "a/driver:580.1-corp1-rhel9.4", true},
           Case{R"({"version":"580.1-corp1"})", "a/driver:580.1-rhel9.4", false},
           Case{R"({"version":"sha256:ab"})", "a/driver@sha256:ab", true},
           Case{R"({"version":"sha256:ab"})", "a/driver@sha256:abc", false},
           Case{R"({"version":"580.1","repository":"b"})", "a/driver:580.1-rhel9.4", false},
           Case{R"({"version":"580.1","repository":"a","image":"driver"})", "a/driver:580.1-x",
                true},
           Case{R"({"version":"580.1","repository":"a","image":"mine"})", "a/driver:580.1-x",
                false},
           // By the operator's own default.
           Case{R"({"repository":"a"})", "a/driver:580.1-x", true},
       }) {
    const Json json = parsed(each.fields);
    EXPECT_EQ(fits(*read_driver_fields(&json), each.image), each.fits)
        << each.fields << " " << each.image;
  }
}

TEST(DriverFields, ARestoredObjectHasExactlyThemAndAllElseAsItWas) {
  const Json before =
      parsed(R"({"spec":{"driver":{"version":"580-corp","rdma":{"enabled":true}}}})");
  const Json after = parsed(
      R"({"metadata":{"resourceVersion":"7"},
          "spec":{"driver":{"version":"590","repository":"r","usePrecompiled":true,
                            "rdma":{"enabled":false}},"toolkit":{}}})");
  const auto kind = DriverKind::cluster_policy;
  Json restored = after;
  apply_merge_patch(restored, restoring_patch(kind, *read_driver_fields(kind, after),
                                              *read_driver_fields(kind, before), "7"));
  EXPECT_TRUE(json_equal(restored, parsed(R"({"metadata":{"resourceVersion":"7"},
                 "spec":{"driver":{"version":"580-corp","rdma":{"enabled":false}},"toolkit":{}}})")))
      << print_json(restored);
}

}  // namespace
}  // namespace lockstep::rollout::driver_fields_test
