#include "dra/failure.h"

#include <gtest/gtest.h>

namespace lockstep::dra::failure_test {
namespace {

TEST(Failure, EachKindHasItsAnswer) {
  EXPECT_FALSE(is_permanent(FailureClass::transient));
  EXPECT_TRUE(is_permanent(FailureClass::device_failed));
  EXPECT_TRUE(is_permanent(FailureClass::bad_config));
  EXPECT_FALSE(is_tainted(FailureClass::transient));
  EXPECT_TRUE(is_tainted(FailureClass::device_failed));
  EXPECT_FALSE(is_tainted(FailureClass::bad_config)) << "a request harms no device";
}

TEST(Failure, CodesOfNvml) {
  for (int code : {9, 10, 12, 18, 27}) {
    EXPECT_EQ(classify_nvml(code), FailureClass::transient) << code;
  }
  for (int code : {11, 15, 16}) {
    EXPECT_EQ(classify_nvml(code), FailureClass::device_failed) << code;
  }
  EXPECT_EQ(classify_nvml(999), FailureClass::transient) << "nobody ends for what nobody knows";
}

TEST(Failure, TheTextNamesDriverPoolDeviceAndClaim) {
  ClaimFailure lost{FailureClass::device_failed, "ml/train", "gpu-1", "gpu-0", "the GPU is lost"};
  EXPECT_EQ(describe(lost, "gpu.lockstep.dev"),
            "claim ml/train, device gpu-0 of pool gpu-1, driver "
            "gpu.lockstep.dev: the device is "
            "broken: the GPU is lost");
  ClaimFailure wrong{FailureClass::bad_config, "ml/a", "", "", "sharing: must be an object"};
  EXPECT_EQ(describe(wrong, "d"),
            "claim ml/a, driver d: the request is wrong: sharing: must be an object");
  ClaimFailure wait{FailureClass::transient, "ml/a", "", "", "the driver is being upgraded"};
  EXPECT_EQ(describe(wait, "d"), "claim ml/a, driver d: try again: the driver is being upgraded");
}

TEST(Failure, EveryAnswerNamesAllAndItsOwnFirstInAnyOrder) {
  ClaimFailure a{FailureClass::bad_config, "ml/a", "", "", "x"};
  ClaimFailure b{FailureClass::transient, "ml/b", "", "", "y"};
  std::string text = describe_all({a, b}, "ml/b", "d");
  EXPECT_EQ(text,
            "claim ml/b, driver d: try again: y; claim ml/a, driver d: "
            "the request is wrong: x");
  EXPECT_EQ(describe_all({b, a}, "ml/b", "d"), text);
  EXPECT_EQ(describe_all({b, a}, "ml/a", "d"),
            "claim ml/a, driver d: the request is wrong: x; claim ml/b, driver "
            "d: try again: y");
}

}  // namespace
}  // namespace lockstep::dra::failure_test
