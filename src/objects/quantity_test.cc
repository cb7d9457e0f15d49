#include "objects/quantity.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_reader.h"
#include "objects/decode_context.h"

namespace lockstep::quantity_test {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

TEST(Quantity, ReadsEverySpelling) {
  struct Case {
    std::string_view text;
    int64_t value;
    int64_t milli;
  };
  for (const Case& each : std::vector<Case>{
           {"0", 0, 0},
           {"8", 8, 8000},
           {"+8", 8, 8000},
           {"-8", -8, -8000},
           {"008", 8, 8000},
           {"100m", 1, 100},
           {"1500m", 2, 1500},
           {"-1500m", -1, -1500},
           {"0.5", 1, 500},
           {".5", 1, 500},
           {"5.", 5, 5000},
           {"1.25", 2, 1250},
           {"1k", 1000, 1'000'000},
           {"2M", 2'000'000, 2'000'000'000},
           {"1Ki", 1024, 1'024'000},
           {"1.5Ki", 1536, 1'536'000},
           {"0.1Ki", 103, 102'400},
           {"64Gi", 64LL << 30, (64LL << 30) * 1000},
           {"2113406248Ki", 2113406248LL << 10, (2113406248LL << 10) * 1000},
           {"1e3", 1000, 1'000'000},
           {"1E3", 1000, 1'000'000},
           {"1.5e+3", 1500, 1'500'000},
           {"1e-3", 1, 1},
           {"1u", 1, 1},
           {"1n", 1, 1},
           {"0.1n", 1, 1},
           {"1E", 1'000'000'000'000'000'000, largest},
           {"7Ei", 7LL << 60, largest},
           {"8Ei", largest, largest},
           {"100E", largest, largest},
           {"1e100000000", largest, largest},
           {"-100E", -largest, std::numeric_limits<int64_t>::min()},
           {"1e-100000000", 1, 1},
           {"99999999999999999999999999999999999999999999", largest, largest},
       }) {
    auto quantity = Quantity::parse(each.text);
    ASSERT_TRUE(quantity.has_value()) << each.text;
    EXPECT_EQ(quantity->value(), each.value) << each.text;
    EXPECT_EQ(quantity->milli_value(), each.milli) << each.text;
  }
}

TEST(Quantity, RefusesTheRest) {
  for (std::string_view text : {"", "-", ".", "m", "8x", "8 ", " 8", "8ki", "8kk", "8Kim", "1e",
                                "1e1.5", "0x8", "1e+-3", "8GiB", "1,000", "NaN"}) {
    auto quantity = Quantity::parse(text);
    ASSERT_FALSE(quantity.has_value()) << text;
    EXPECT_NE(quantity.error().message.find("is not a quantity"), std::string::npos);
  }
}

TEST(Quantity, Compares) {
  auto of = [](std::string_view text) { return *Quantity::parse(text); };
  EXPECT_EQ(of("1"), of("1000m"));
  EXPECT_EQ(of("1024"), of("1Ki"));
  EXPECT_EQ(of("8"), Quantity::of(8));
  EXPECT_LT(of("999m"), of("1"));
  EXPECT_LT(of("1n"), of("2n"));
  EXPECT_LT(of("-1"), of("0"));
  EXPECT_GT(of("1Gi"), of("1G"));
}

RC_GTEST_PROP(Quantity, IntegersStayThemselves, (int64_t number)) {
  auto quantity = Quantity::parse(std::to_string(number));
  RC_ASSERT(quantity.has_value());
  // The smallest number is one beyond what Kubernetes holds.
  RC_ASSERT(quantity->value() == std::max(number, -largest));
}

TEST(Quantity, OnlyExtendedResourcesAreKept) {
  constexpr std::string_view text =
      R"({"rdma/hca":"1k","cpu":"nonsense","nvidia.com/gpu":8,"memory":"1Gi","kubernetes.io/x":"1"})";
  DecodeContext context;
  JsonReader in(text);
  ResourceAmounts amounts = decode_extended_resources(in, context);
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(context.problem, "");
  EXPECT_EQ(amounts, (ResourceAmounts{{"nvidia.com/gpu", 8}, {"rdma/hca", 1000}}));
  EXPECT_EQ(amount_of(amounts, "rdma/hca"), 1000);
  EXPECT_EQ(amount_of(amounts, "nvidia.com/mig-1g.5gb"), 0);
}

TEST(Quantity, AWrongAmountIsNamed) {
  DecodeContext context;
  JsonReader in(R"({"nvidia.com/gpu":"eight"})");
  decode_extended_resources(in, context);
  EXPECT_EQ(context.problem.substr(0, 40), "nvidia.com/gpu: 'eight' is not a quantit");
}

}  // namespace
}  // namespace lockstep::quantity_test
