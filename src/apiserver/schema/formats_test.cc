#include "apiserver/schema/formats.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::formats_test {
namespace {

TEST(Formats, AreThoseOfKubernetes) {
  struct Case {
    const char* format;
    const char* text;
    bool fits;
  };
  const Case cases[] = {
      {"date-time", "2026-11-15T04:20:11Z", true},
      {"date-time", "2026-11-15", false},
      {"date", "2026-11-15", true},
      {"date", "2026-13-15", false},
      {"duration", "1h30m", true},
      {"duration", "soon", false},
      {"byte", "aGk=", true},
      {"byte", "*", false},
      {"ipv4", "10.0.0.1", true},
      {"ipv4", "10.0.0.256", false},
      {"ipv6", "fe80::1", true},
      {"ipv6", "10.0.0.1", false},
      {"cidr", "10.0.0.0/8", true},
      {"cidr", "10.0.0.0/33", false},
      {"uuid", "3e4666bf-d5e5-4aa7-b8ce-cefe41c7568a", true},
      {"uuid", "3e4666bf", false},
      {"quantity", "1.5Gi", true},
      {"quantity", "100m", true},
      {"quantity", "Gi", false},
      {"quantity", "", false},
      {"no-such-format", "anything", true},
      {"", "anything", true},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(has_format(each.text, each.format), each.fits) << each.format << " " << each.text;
  }
}

}  // namespace
}  // namespace lockstep::apiserver::formats_test
