#include "apiserver/http_details.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::http_details_test {
namespace {

TEST(HttpDetails, DatesAreThoseOfHttp) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpDetails, ABrokenIdentityIsNotServed) {
  EXPECT_ANY_THROW(make_tls_context({}));
  const auto identity = make_tls_identity({"127.0.0.1"}, Time::from_unix(1'700'000'000));
  ASSERT_TRUE(identity) << identity.error().text();
  EXPECT_NO_THROW(make_tls_context(*identity));
}

}  // namespace
}  // namespace lockstep::apiserver::http_details_test
