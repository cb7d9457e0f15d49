#include "rollout/time_zone.h"

#include <string>

#include <gtest/gtest.h>

namespace lockstep::rollout::time_zone_test {
namespace {

std::string big_endian(int64_t value, int size) {
  std::string bytes;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift & 0xff);
  }
  return bytes;
}

std::string header(int64_t times, int64_t types) {
  return "TZif2" + std::string(15, '\0') + big_endian(0, 4) + big_endian(0, 4) + big_endian(0, 4) +
         big_endian(times, 4) + big_endian(types, 4) + big_endian(4, 4);
}

// One change, to summer time on 2026-03-29, and what comes after by the rule.
std::string zone_file(const std::string& rule) {
  std::string first = header(0, 1) + big_endian(0, 4) + std::string(2, '\0') + "LMT\0";
  first.resize(44 + 6 + 4, '\0');
  std::string second = header(1, 2) + big_endian(1774746000, 8) + big_endian(1, 1) +
                       big_endian(3600, 4) + std::string(2, '\0') + big_endian(7200, 4) +
                       std::string("\1\0", 2) + std::string("CET\0", 4);
  return first + second + "\n" + rule + "\n";
}

Time at(const char* text) { return *parse_rfc3339(text); }

TEST(TimeZone, SummerBeginsAndEndsWhenTheRuleSays) {
  auto berlin = TimeZone::from_tzif(zone_file("CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(berlin) << berlin.error().text();
  EXPECT_EQ(berlin->offset_seconds(at("2026-03-29T00:59:59Z")), 3600);
  EXPECT_EQ(berlin->offset_seconds(at("2026-03-29T01:00:00Z")), 7200);
  EXPECT_EQ(berlin->offset_seconds(at("2026-10-25T00:59:59Z")), 7200);
  EXPECT_EQ(berlin->offset_seconds(at("2026-10-25T01:00:00Z")), 3600);
  EXPECT_EQ(berlin->offset_seconds(at("2030-07-01T00:00:00Z")), 7200);
  EXPECT_EQ(berlin->offset_seconds(at("2030-12-31T23:30:00Z")), 3600);
}

TEST(TimeZone, ShowsWhatTheClockOnTheWallShows) {
  auto berlin = TimeZone::from_tzif(zone_file("CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(berlin);
  LocalTime local = berlin->local(at("2026-12-31T23:30:15Z"));
  EXPECT_EQ(local, (LocalTime{2027, 1, 1, 5, 0, 30, 15}));
}

TEST(TimeZone, SouthOfTheEquatorSummerIsOverNewYear) {
  auto sydney = TimeZone::from_tzif(zone_file("AEST-10AEDT,M10.1.0,M4.1.0/3"));
  ASSERT_TRUE(sydney);
  EXPECT_EQ(sydney->offset_seconds(at("2028-01-15T00:00:00Z")), 11 * 3600);
  EXPECT_EQ(sydney->offset_seconds(at("2028-06-15T00:00:00Z")), 10 * 3600);
}

TEST(TimeZone, NamesInBracketsAndOddOffsetsAreRead) {
  auto zone = TimeZone::from_tzif(zone_file("<+0545>-5:45"));
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->offset_seconds(at("2027-01-01T00:00:00Z")), 5 * 3600 + 45 * 60);
}

TEST(TimeZone, BeforeTheFirstChangeTheFirstTypeHolds) {
  auto zone = TimeZone::from_tzif(zone_file("CET-1"));
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->offset_seconds(at("2020-01-01T00:00:00Z")), 3600);
}

TEST(TimeZone, WhatIsNoZoneFileIsRefused) {
  EXPECT_FALSE(TimeZone::from_tzif(""));
  EXPECT_FALSE(TimeZone::from_tzif("TZif"));
  EXPECT_FALSE(TimeZone::from_tzif(zone_file("CET-1CEST,J60,J300")));
  for (const char* rule : {"CET-26", "CET-99:00", "CET-1:60", "CET-1CEST-27,M3.5.0,M10.5.0",
                           "CET-1CEST,M3.5.0/168,M10.5.0"}) {
    EXPECT_FALSE(TimeZone::from_rule(rule)) << rule;
  }
  std::string far = zone_file("CET-1");
  const size_t offset = far.find(big_endian(7200, 4));
  ASSERT_NE(offset, std::string::npos);
  far.replace(offset, 4, big_endian(360'000, 4));
  EXPECT_FALSE(TimeZone::from_tzif(far)) << "an offset of 100 hours";
  std::string whole = zone_file("CET-1");
  for (size_t size = 0; size < 120 && size < whole.size(); ++size) {
    EXPECT_FALSE(TimeZone::from_tzif(whole.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace lockstep::rollout::time_zone_test
