#include "world/log.h"

#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::log_test {
namespace {

std::string value_of(std::string value) {
  return format_log_line(LogLevel::info, "m", {{"k", std::move(value)}}).substr(8);
}

TEST(LogLine, LevelsLineUp) {
  EXPECT_EQ(format_log_line(LogLevel::debug, "message", {}), "debug message");
  EXPECT_EQ(format_log_line(LogLevel::info, "message", {}), "info  message");
  EXPECT_EQ(format_log_line(LogLevel::warning, "message", {}), "warn  message");
  EXPECT_EQ(format_log_line(LogLevel::error, "message", {}), "error message");
}

TEST(LogLine, FieldsFollowTheMessage) {
  EXPECT_EQ(format_log_line(LogLevel::info, "node cordoned",
                            {{"node", "gpu-7"}, {"reason", "new driver"}}),
            "info  node cordoned node=gpu-7 reason=\"new driver\"");
}

TEST(LogLine, ValuesAreQuotedWhenTheyMustBe) {
  EXPECT_EQ(value_of("gpu-7"), "k=gpu-7");
  EXPECT_EQ(value_of("nvidia.com/gpu,580.1:x"), "k=nvidia.com/gpu,580.1:x");
  EXPECT_EQ(value_of("\u00fcber"), "k=\u00fcber");
  EXPECT_EQ(value_of(""), "k=\"\"");
  EXPECT_EQ(value_of("a=b"), "k=\"a=b\"");
  EXPECT_EQ(value_of("say \"no\""), "k=\"say \\\"no\\\"\"");
  EXPECT_EQ(value_of("C:\\x"), "k=\"C:\\\\x\"");
}

TEST(LogLine, NothingEscapesItsLine) {
  EXPECT_EQ(value_of("two\nlines"), "k=\"two\\nlines\"");
  EXPECT_EQ(value_of("\r\t\x1b[31m\x7f"), "k=\"\\r\\t\\x1b[31m\\x7f\"");
  EXPECT_EQ(value_of("\xc2\x9b"), "k=\"\\xc2\\x9b\"");  // the one-character form of ESC [
  EXPECT_EQ(value_of("cut \xe2\x82"), "k=\"cut \\xe2\\x82\"");
  EXPECT_EQ(value_of(std::string("\0", 1)), "k=\"\\x00\"");
  EXPECT_EQ(format_log_line(LogLevel::info, "first\ninfo  forged", {}),
            "info  first\\ninfo  forged");
}

TEST(StderrLog, WritesLinesWithTheTimeFromItsThresholdOn) {
  ::testing::internal::CaptureStderr();
  const auto log = make_stderr_log(LogLevel::info);
  log->debug("not shown");
  log->info("shown", {{"node", "gpu 7"}});
  log->error("braces {} stay");
  const std::string written = ::testing::internal::GetCapturedStderr();
  const std::string time = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )";
  EXPECT_TRUE(std::regex_match(written, std::regex(time + "info  shown node=\"gpu 7\"\n" + time +
                                                   R"(error braces \{\} stay)" + "\n")))
      << written;
}

TEST(StderrLog, TwoLogsLiveSideBySide) {
  ::testing::internal::CaptureStderr();
  const auto one = make_stderr_log(LogLevel::error);
  const auto other = make_stderr_log(LogLevel::debug);
  one->info("not shown");
  other->debug("shown");
  EXPECT_EQ(split(::testing::internal::GetCapturedStderr(), '\n').size(), 2U);
}

TEST(MemoryLog, KeepsEveryLine) {
  MemoryLog log;
  log.debug("first");
  log.warning("second", {{"key", "value"}});
  EXPECT_EQ(log.lines, (std::vector<std::string>{"debug first", "warn  second key=value"}));
}

}  // namespace
}  // namespace lockstep::log_test
