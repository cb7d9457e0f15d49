#include "gpu/reporter.h"

#include <array>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lockstep::gpu::reporter_test {
namespace {

TEST(Reporter, SaysEachThingInALineOfJson) {
  std::vector<std::string> lines;
  Reporter reporter([&](std::string_view line) { lines.emplace_back(line); });
  reporter.entering("cuInit");
  reporter.fact({"gpus", "GPU-1", "memory"}, JsonObject{{"wrong_cells", 0}});
  reporter.trouble("memory", Error{gpu_failure, "lost", {}});
  reporter.trouble("pcie", Error{ErrorKind::internal, "no symbol", {}});
  reporter.finished("memory", 0.5);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       R"({"call":"cuInit"})",
                       R"({"fact":["gpus","GPU-1","memory"],"value":{"wrong_cells":0}})",
                       R"({"trouble":"memory","failed":true,"text":"lost"})",
                       R"({"trouble":"pcie","failed":false,"text":"no symbol"})",
                       R"({"finished":"memory","seconds":0.5})"}));
}

TEST(Reporter, WritesWholeLinesToADescriptor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  Reporter(write_lines_to(ends[1])).doing("driver");
  std::array<char, 64> text{};
  EXPECT_EQ(read(ends[0], text.data(), text.size()), 19);
  EXPECT_STREQ(text.data(), "{\"doing\":\"driver\"}\n");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace lockstep::gpu::reporter_test
