#include "dra/claim_notes.h"

#include <gtest/gtest.h>

namespace lockstep::dra::claim_notes_test {
namespace {

const std::string driver = "gpu.lockstep.dev";
const ClaimFailure wrong{FailureClass::bad_config, "ml/a", "", "", "sharing: unknown field"};
const Time now = Time::from_unix(1'800'000'000);

Json claim(const std::string& devices = "[]") {
  return *parse_json(R"({"metadata":{"name":"a","namespace":"ml","uid":"u"},"status":{
      "allocation":{"devices":{"results":[
        {"driver":"gpu.lockstep.dev","pool":"n","device":"gpu-0","request":"r"},
        {"driver":"nic.example.com","pool":"n","device":"nic-0","request":"s"}]}},
      "devices":)" + devices +
                     "}}");
}

TEST(ClaimNotes, AFailureStandsOnEveryDeviceOfOursOnce) {
  auto patch = claim_status_patch(claim(), driver, wrong, now);
  ASSERT_TRUE(patch);
  const JsonArray& devices = find(*patch, "status", "devices")->as_array();
  ASSERT_EQ(devices.size(), 1u) << "the other driver's is not ours to speak of";
  const Json& condition = find(devices[0], "conditions")->as_array()[0];
  EXPECT_EQ(text_at(condition, "type"), "Prepared");
  EXPECT_EQ(text_at(condition, "status"), "False");
  EXPECT_EQ(text_at(condition, "reason"), "BadConfig");
  EXPECT_NE(text_at(condition, "message").find("the request is wrong"), std::string_view::npos);
  Json noted = claim(print_json(*find(*patch, "status", "devices")));
  EXPECT_FALSE(claim_status_patch(noted, driver, wrong, now + seconds(60)))
      << "what stands there is not written again";
  auto well = claim_status_patch(noted, driver, std::nullopt, now);
  ASSERT_TRUE(well) << "and it is taken back";
  EXPECT_EQ(
      text_at(find(find(*well, "status", "devices")->as_array()[0], "conditions")->as_array()[0],
              "status"),
      "True");
}

TEST(ClaimNotes, WhatWasAlwaysWellIsNotSpokenOf) {
  EXPECT_FALSE(claim_status_patch(claim(), driver, std::nullopt, now));
  EXPECT_FALSE(claim_status_patch(*parse_json("{}"), driver, wrong, now));
}

TEST(ClaimNotes, EachKindHasItsWord) {
  EXPECT_EQ(reason_word(std::nullopt), "Prepared");
  EXPECT_EQ(reason_word(wrong), "BadConfig");
  EXPECT_EQ(reason_word(ClaimFailure{FailureClass::transient, "", "", "", ""}), "NotYet");
  EXPECT_EQ(reason_word(ClaimFailure{FailureClass::device_failed, "", "", "", ""}), "DeviceFailed");
}

}  // namespace
}  // namespace lockstep::dra::claim_notes_test
