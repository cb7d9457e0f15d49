#include "http/tls.h"

#include <gtest/gtest.h>

#include "http/tls_test_util.h"

namespace lockstep::http::tls_test {
namespace {

TEST(Tls, OnlyAWholeIdentityCanBeUsed) {
  const auto own = testing::make_certificate({"server", "", false, 3600});
  const auto other = testing::make_certificate({"other", "", false, 3600});
  const std::string certificate = own.certificate_pem();
  const std::string key = own.key_pem();
  EXPECT_TRUE(TlsContext::create(TlsOptions{certificate, key, ""}));
  EXPECT_TRUE(TlsContext::create(TlsOptions{certificate, key, other.certificate_pem()}));
  for (const TlsOptions& broken :
       {TlsOptions{}, TlsOptions{certificate, "", ""}, TlsOptions{"rubbish", key, ""},
        TlsOptions{certificate, other.key_pem(), ""}, TlsOptions{certificate, key, "rubbish"}}) {
    const auto refused = TlsContext::create(broken);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    EXPECT_FALSE(refused.error().message.empty());
  }
}

}  // namespace
}  // namespace lockstep::http::tls_test
