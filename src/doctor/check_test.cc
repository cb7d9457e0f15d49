#include "doctor/check.h"

#include <gtest/gtest.h>

namespace lockstep::doctor::check_test {
namespace {

TEST(Check, OnlyWhatIsWrongFailsUnlessStrict) {
  std::vector<Check> good = {fine("A", "all is well")};
  std::vector<Check> doubtful = {fine("A", "all is well"), skipped("B", "forbidden")};
  std::vector<Check> warned = {{"C", Verdict::warning, "soon"}};
  std::vector<Check> bad = {{"D", Verdict::wrong, "broken"}, fine("A", "all is well")};
  EXPECT_FALSE(is_anything_wrong(good, false));
  EXPECT_FALSE(is_anything_wrong(good, true));
  EXPECT_FALSE(is_anything_wrong(doubtful, false));
  EXPECT_TRUE(is_anything_wrong(doubtful, true));
  EXPECT_FALSE(is_anything_wrong(warned, false));
  EXPECT_TRUE(is_anything_wrong(warned, true));
  EXPECT_TRUE(is_anything_wrong(bad, false));
}

TEST(Check, AsADocument) {
  std::vector<Check> checks = {fine("A", "well"),
                               {"B", Verdict::wrong, "broken", {"gpu-1"}, "kubectl mend"}};
  EXPECT_EQ(print_json(to_json(checks)),
            R"({"checks":[{"name":"A","verdict":"ok","text":"well"},)"
            R"({"name":"B","verdict":"wrong","text":"broken","evidence":["gpu-1"],)"
            R"("fix":"kubectl mend"}]})");
}

TEST(Check, VerdictsHaveNames) {
  EXPECT_EQ(to_string(Verdict::fine), "ok");
  EXPECT_EQ(to_string(Verdict::warning), "warning");
  EXPECT_EQ(to_string(Verdict::wrong), "wrong");
  EXPECT_EQ(to_string(Verdict::skipped), "skipped");
}

TEST(Check, NamesAreCountedAndCutOff) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(3, "node"), "3 nodes");
  EXPECT_EQ(name_some({"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(name_some({"a", "b"}), "a, b");
}

}  // namespace
}  // namespace lockstep::doctor::check_test
