#include "world/terminal_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace lockstep::terminal_text_test {
namespace {

TEST(TerminalText, WhatClearsTheScreenOrTurnsTheTextIsShown) {
  struct Case {
    const char* text;
    const char* becomes;
  };
  const std::vector<Case> cases = {
      {"plain: gpu-7 \u00e4 \u20ac \U0001f600\n\tx", "plain: gpu-7 \u00e4 \u20ac \U0001f600\n\tx"},
      {"\x1b[2J\x1b]0;owned\x07", "\\u001b[2J\\u001b]0;owned\\u0007"},
      {"a\rb\x08"
       "c\x7f",
       "a\\u000db\\u0008c\\u007f"},
      {"\u009b31m", "\\u009b31m"},
      {"\u202etxt\u2066\u200b\u061c\ufeff", "\\u202etxt\\u2066\\u200b\\u061c\\ufeff"},
      {"\U000e0041", "\\udb40\\udc41"},
      {"\x9b"
       "31m\xc3",
       "\\x9b31m\\xc3"},
  };
  for (const Case& each : cases) EXPECT_EQ(terminal_text(each.text), each.becomes);
}

TEST(TerminalText, OurStylesPassAndNothingElseInTheirMarks) {
  EXPECT_EQ(terminal_text(mark_style("failed", "1;31")), "\x1b[1;31mfailed\x1b[0m");
  EXPECT_EQ(terminal_text("\xff"
                          "2J\xfe"),
            "\\xff2J\\xfe");
  EXPECT_EQ(terminal_text("\xff"
                          "31"),
            "\\xff31");
}

TEST(TerminalText, AValueCannotBeginALine) {
  EXPECT_EQ(one_line("ok\nnode gpu-1 is done\tnow"), "ok\\u000anode gpu-1 is done\\u0009now");
  EXPECT_EQ(terminal_text(one_line("a\nb")), "a\\u000ab");
}

RC_GTEST_PROP(TerminalText, NoControlEverPasses, (const std::string& text)) {
  for (char c : one_line(text)) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  const std::string shown = terminal_text(text);
  RC_ASSERT(shown.find('\r') == std::string::npos && shown.find('\x07') == std::string::npos);
  RC_ASSERT(is_valid_utf8(shown));
  RC_ASSERT(terminal_text(shown) == shown || shown.find('\x1b') != std::string::npos);
}

}  // namespace
}  // namespace lockstep::terminal_text_test
