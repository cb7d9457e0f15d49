#include "kube/http_core.h"

#include <gtest/gtest.h>

namespace lockstep::kube::http_core_test {
namespace {

TEST(RetryAfterTest, SecondsAndDates) {
  const Time now = Time::from_unix(784111777);  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("120", now), seconds(120));
  EXPECT_EQ(parse_retry_after(" 0 ", now), seconds(0));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now), seconds(10));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:27 GMT", now), seconds(0)) << "is past";
  EXPECT_EQ(parse_retry_after("18446744073709551615", now), hours(24)) << "is bounded";
  for (const char* text : {"", "soon", "-5", "1.5"}) {
    EXPECT_EQ(parse_retry_after(text, now), std::nullopt) << text;
  }
}

TEST(EncodeQueryTest, EncodesKeysAndValues) {
  EXPECT_EQ(encode_query({{"labelSelector", "a in (b,c)"}, {"x&y", "1"}}),
            "labelSelector=a%20in%20%28b%2Cc%29&x%26y=1");
  EXPECT_EQ(encode_query({}), "");
}

TEST(HttpCoreTest, SaysWhichClusterHasABadAddress) {
  EventLoop loop;
  MemoryFiles files;
  HttpApiConfig config;
  config.cluster.origin = "config: clusters[0].cluster";
  config.cluster.server = "ftp://x";
  const auto bad_server = HttpCore::create(config, nullptr, files, loop);
  ASSERT_FALSE(bad_server.has_value());
  EXPECT_EQ(bad_server.error().place, "config: clusters[0].cluster");
  config.cluster.server = "https://x";
  config.cluster.proxy_url = "gopher://x";
  EXPECT_FALSE(HttpCore::create(config, nullptr, files, loop).has_value());
}

}  // namespace
}  // namespace lockstep::kube::http_core_test
