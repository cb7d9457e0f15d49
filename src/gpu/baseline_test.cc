#include "gpu/baseline.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::baseline_test {
namespace {

Json some_facts() { return JsonObject{{"gpus", JsonObject{{"GPU-1", JsonObject{{"memory", 1}}}}}}; }

TEST(Baseline, IsReadBackAsItWasSaved) {
  auto facts = read_baseline(baseline_text(some_facts(), Time::from_unix(1)), "b.json");
  ASSERT_TRUE(facts.has_value()) << facts.error().text();
  EXPECT_TRUE(json_equal(*facts, some_facts()));
}

TEST(Baseline, CutOffAnywhereItIsAnErrorWithItsName) {
  const std::string text = baseline_text(some_facts(), Time::from_unix(1));
  for (size_t length = 0; length + 2 < text.size(); ++length) {
    auto facts = read_baseline(text.substr(0, length), "b.json");
    ASSERT_FALSE(facts.has_value()) << length;
    EXPECT_EQ(facts.error().kind, ErrorKind::invalid);
    EXPECT_NE(facts.error().text().find("b.json"), std::string::npos);
  }
}

TEST(Baseline, NestedTooDeeplyIsWrongInputToo) {
  auto read = read_baseline(std::string(5000, '['), "baseline.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::invalid);
}

TEST(Baseline, SomethingElseIsNoBaseline) {
  for (const char* text : {"{}", "[]", "{\"kind\":\"Pod\"}",
                           R"({"kind":"lockstep-gate-baseline","version":9,"facts":{}})",
                           R"({"kind":"lockstep-gate-baseline","version":1,"facts":{}})"})
    EXPECT_FALSE(read_baseline(text, "b.json").has_value()) << text;
}

}  // namespace
}  // namespace lockstep::gpu::baseline_test
