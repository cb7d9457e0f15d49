#include "kube/certificate.h"

#include <ctime>

#include <gtest/gtest.h>

#include "http/tls_test_util.h"

namespace lockstep::kube::certificate_test {
namespace {

TEST(Certificate, TheFirstEndOfSeveralCounts) {
  auto early = http::testing::make_certificate({"early", "", false, 3600});
  auto late = http::testing::make_certificate({"late", "", false, 30 * 3600});
  // How long they live is said from now on.
  Time now = Time::from_unix(std::time(nullptr));
  auto one = end_of_certificates(late.certificate_pem());
  ASSERT_TRUE(one.has_value()) << one.error().text();
  EXPECT_GT(*one, now + hours(29));
  EXPECT_LT(*one, now + hours(31));
  auto both = end_of_certificates(late.certificate_pem() + early.certificate_pem());
  ASSERT_TRUE(both.has_value());
  EXPECT_LT(*both, now + hours(2));
}

TEST(Certificate, WhatIsNoneIsAnError) {
  EXPECT_FALSE(end_of_certificates("").has_value());
  EXPECT_FALSE(end_of_certificates("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n")
                   .has_value());
  auto key = http::testing::make_certificate({"key", "", false, 3600});
  EXPECT_FALSE(end_of_certificates(key.key_pem()).has_value());
}

}  // namespace
}  // namespace lockstep::kube::certificate_test
