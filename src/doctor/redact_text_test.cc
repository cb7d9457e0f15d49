#include "doctor/redact_text.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::doctor::redact_text_test {
namespace {

TEST(RedactText, TextsOfLogs) {
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
       "clone https://(removed)@git.example.com/(removed)"},
      {"run --password=HIDDEN --name=x", "run --password=(removed) --name=x"},
      {"run --password HIDDEN --name x", "run --password (removed) --name x"},
      {R"x(["--token", "HIDDEN", "--name"])x", R"x(["--token", "(removed)", "--name"])x"},
      {"API_TOKEN=HIDDEN other=1", "API_TOKEN=(removed) other=1"},
      {"password: two words\nend", "password: (removed)\nend"},
      {R"x({"auth":"dXNlcg==","n":1})x", R"x({"auth":(removed),"n":1})x"},
      {R"x(say "{\"password\":\"HIDDEN\",\"n\":1}")x",
       R"x(say "{\"password\":(removed),\"n\":1}")x"},
      {"tokens:\n- HIDDEN\n- HIDDEN\nnext: 1", "tokens:(removed)\nnext: 1"},
      {"a:\n  secret: |\n    HIDDEN\n\n    HIDDEN\n  b: 1", "a:\n  secret: (removed)\n  b: 1"},
      {R"x("tokens": ["HIDDEN", "HIDDEN"], "n": 1)x", R"x("tokens": (removed), "n": 1)x"},
      {R"x("httpHeaders": [{"name": "X", "value": "HIDDEN"}])x", R"x("httpHeaders": (removed))x"},
      {"post https://hooks.slack.com/services/T0/B0/HIDDEN: 404",
       "post https://hooks.slack.com/(removed): 404"},
      {"Get \"https://10.0.0.1:443/api/v1/nodes?limit=5\": timed out",
       "Get \"https://10.0.0.1:443/api/v1/nodes?(removed)\": timed out"},
      {"with ghp_abcdefgh12 and glpat-abcdefgh12 and AKIAIOSFODNN7EXAMPLE",
       "with (removed) and (removed) and (removed)"},
      {"the passphrase is HIDDEN.", "the passphrase is (removed)"},
      {"driver 580.126.20: ready at 12:30", "driver 580.126.20: ready at 12:30"},
      {"pod nvidia-driver-daemonset-6f8b9c7d5b-x2x4z of GPU-8f3b0a4c-11d2-4c60-9f0e-0123456789ab",
       "pod nvidia-driver-daemonset-6f8b9c7d5b-x2x4z of GPU-8f3b0a4c-11d2-4c60-9f0e-0123456789ab"},
      {"nvcr.io/nvidia/driver@sha256:"
       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef was pulled",
       "nvcr.io/nvidia/driver@sha256:"
       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef was pulled"},
      {"secret \"pull\" not found on ip-10-0-12-7.us-west-2.compute.internal",
       "secret \"pull\" not found on ip-10-0-12-7.us-west-2.compute.internal"},
  };
  for (const Case& each : cases) EXPECT_EQ(redact_text(each.text), each.becomes);
}

TEST(RedactText, PemBlocksAsAWhole) {
  EXPECT_EQ(
      redact_text("a\n-----BEGIN RSA PRIVATE KEY-----\nHIDDEN\n-----END RSA PRIVATE KEY-----\nb"),
      "a\n(removed)\nb");
  EXPECT_EQ(redact_text("-----BEGIN PRIVATE KEY-----\nHIDDEN, cut off"), "(removed)");
}

RC_GTEST_PROP(RedactText, ASecondTimeChangesNothing, (const std::string& text)) {
  const std::string once = redact_text("password=" + text + " Bearer " + text);
  RC_ASSERT(redact_text(once) == once);
}

}  // namespace
}  // namespace lockstep::doctor::redact_text_test
