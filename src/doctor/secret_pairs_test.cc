#include "doctor/secret_pairs.h"

#include <gtest/gtest.h>

namespace lockstep::doctor::secret_pairs_test {
namespace {

TEST(SecretPairs, KeysThatOnlyNameThings) {
  for (const char* key : {"secretName", "tokenExpirationSeconds", "name", "image", "tokenPath",
                          "author", "passed", "compass"}) {
    EXPECT_FALSE(is_secret_key(key)) << key;
  }
  for (const char* key : {"password", "apiToken", "DB_PASS", "dbPwd", "auth", "X-Amz-Signature",
                          "passphrase", "client-secret", "AWS_SECRET_ACCESS_KEY"}) {
    EXPECT_TRUE(is_secret_key(key)) << key;
  }
}

TEST(SecretPairs, WithoutAValueNothingChanges) {
  for (const char* text : {"password", "password:", "password=", "--token", "the secret of it",
                           "auth: true", "secrets: null", "\"value\": 38.5", "command: sleep"}) {
    EXPECT_EQ(without_secret_pairs(text), text);
  }
}

TEST(SecretPairs, TheRestOfAWordBehindAQuoteGoesToo) {
  EXPECT_EQ(without_secret_pairs("password=\"a\"HIDDEN b"), "password=(removed) b");
  EXPECT_EQ(without_secret_pairs("password: \"a\"HIDDEN\nb"), "password: (removed)\nb");
  EXPECT_EQ(without_secret_pairs(R"({"password":"a","b":1})"), R"({"password":(removed),"b":1})");
}

// The search for the end of a value is limited.
TEST(SecretPairs, AValueThatDoesNotEndIsRemoved) {
  for (const char* text : {"token: [HIDDEN, HIDDEN", "{\"password\": {\"a\": \"HIDDEN",
                           "password: \"HIDDEN", "pw='HIDDEN", "secret: |\n  HIDDEN"}) {
    EXPECT_EQ(without_secret_pairs(text).find("HIDDEN"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lockstep::doctor::secret_pairs_test
