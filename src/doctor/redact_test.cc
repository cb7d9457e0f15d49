#include "doctor/redact.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::doctor::redact_test {
namespace {

std::string redacted(std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? print_json(redact(*json)) : "";
}

TEST(Redact, DataOfSecretsGoesAndItsNamesStay) {
  EXPECT_EQ(
      redacted(R"x({"kind":"Secret","metadata":{"name":"db"},"data":{"user":"YWJj"},)x"
               R"x("stringData":{"x":"plain"},"type":"Opaque"})x"),
      R"x({"kind":"Secret","metadata":{"name":"db"},"data":{"user":"(removed, 4 characters)"},)x"
      R"x("stringData":{"x":"(removed, 5 characters)"},"type":"Opaque"})x");
}

TEST(Redact, SecretsInListsToo) {
  std::string text = redacted(R"x({"items":[{"kind":"Secret","data":{"a":"HIDDEN"}}]})x");
  EXPECT_EQ(text.find("HIDDEN"), std::string::npos) << text;
}

TEST(Redact, EnvironmentVariablesKeepTheirNames) {
  EXPECT_EQ(redacted(R"x({"env":[{"name":"A","value":"HIDDEN"},)x"
                     R"x({"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]})x"),
            R"x({"env":[{"name":"A","value":"(removed)"},)x"
            R"x({"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]})x");
}

TEST(Redact, WhatWasAppliedIsLeftOut) {
  EXPECT_EQ(
      redacted(R"x({"metadata":{"name":"x","managedFields":[{"manager":"a"}],"annotations":)x"
               R"x({"kubectl.kubernetes.io/last-applied-configuration":"{\"a\":\"HIDDEN\"}",)x"
               R"x("b":"c"}}})x"),
      R"x({"metadata":{"name":"x","annotations":{"b":"c"}}})x");
}

TEST(Redact, KeysThatSayItOfTheirValue) {
  for (const char* key :
       {"password", "apiToken", "clientSecret", "dockerconfigjson", "privateKey"}) {
    std::string text = redacted(std::string("{\"") + key + "\":\"HIDDEN\"}");
    EXPECT_EQ(text.find("HIDDEN"), std::string::npos) << text;
  }
  for (const char* key : {"secretName", "tokenExpirationSeconds", "name", "image", "tokenPath"}) {
    std::string text = redacted(std::string("{\"") + key + "\":\"shown\"}");
    EXPECT_NE(text.find("shown"), std::string::npos) << text;
  }
}

TEST(Redact, TextsOfLogs) {
  struct Case {
    const char* text;
    const char* becomes;
  };
  const std::vector<Case> cases = {
      {"token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln was refused",
       "token (removed) was refused"},
      {"Authorization: Bearer abc.def-1", "Authorization: (removed)"},
      {"Authorization: Basic dXNlcjpwYXNz\nnext", "Authorization: (removed)\nnext"},
      {"sent Bearer abc.def-1 again", "sent Bearer (removed) again"},
      {"clone https://me:HIDDEN@git.example.com/a.git",
       "clone https://(removed)@git.example.com/a.git"},
      {"run --password=HIDDEN --name=x", "run --password=(removed) --name=x"},
      {"API_TOKEN=HIDDEN,other=1", "API_TOKEN=(removed),other=1"},
      {"password: \"two words\" end", "password: (removed) end"},
      {"driver 580.126.20: ready at 12:30", "driver 580.126.20: ready at 12:30"},
      {"see https://docs.example.com/a:b@c", "see https://docs.example.com/a:b@c"},
  };
  for (const Case& each : cases) EXPECT_EQ(redact_text(each.text), each.becomes);
}

TEST(Redact, PrivateKeysAsAWhole) {
  std::string text =
      "a\n-----BEGIN RSA PRIVATE KEY-----\nHIDDEN\n-----END RSA PRIVATE KEY-----\nb\n"
      "-----BEGIN CERTIFICATE-----\nshown\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(redact_text(text),
            "a\n(removed)\nb\n-----BEGIN CERTIFICATE-----\nshown\n-----END CERTIFICATE-----\n");
  EXPECT_EQ(redact_text("-----BEGIN PRIVATE KEY-----\nHIDDEN, cut off"), "(removed)");
}

// Whatever stands around it, and however often it is done.
RC_GTEST_PROP(Redact, ATokenNeverSurvives, (const std::string& before, const std::string& after)) {
  std::string secret = "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl";
  std::string text = redact_text(before + " " + secret + " " + after);
  RC_ASSERT(text.find("c2lnbmF0dXJl") == std::string::npos);
}

RC_GTEST_PROP(Redact, WhatIsCleanStaysAsItIs, (const std::string& text)) {
  std::string once = redact_text("password=" + text + " Bearer " + text);
  RC_ASSERT(redact_text(once) == once);
}

}  // namespace
}  // namespace lockstep::doctor::redact_test
