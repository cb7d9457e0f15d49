#include "bundle/shell_text.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::bundle::shell_text_test {
namespace {

// What bash makes of a word that has only plain characters, single quotes and escaped quotes in it;
// nothing for a word with anything else, which might be run or split.
std::optional<std::string> read_by_bash(std::string_view word) {
  if (word.empty()) return std::nullopt;
  std::string text;
  bool is_quoted = false;
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (c == '\'') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && c == '\\' && i + 1 < word.size() && word[i + 1] == '\'') {
      text += word[++i];
    } else if (is_quoted || std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("-_./:+,").find(c) != std::string_view::npos) {
      text += c;
    } else {
      return std::nullopt;
    }
  }
  return is_quoted ? std::nullopt : std::optional<std::string>(text);
}

TEST(ShellText, PlainWordsStayReadable) {
  EXPECT_EQ(shell_word("gpu-operator"), "gpu-operator");
  EXPECT_EQ(shell_word("https://helm.ngc.nvidia.com/nvidia"), "https://helm.ngc.nvidia.com/nvidia");
  EXPECT_EQ(shell_word("v26.3.1+build"), "v26.3.1+build");
}

TEST(ShellText, NothingIsExpandedOrRun) {
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$(rm -rf /)"), "'$(rm -rf /)'");
  EXPECT_EQ(shell_word("`id`"), "'`id`'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a\nb"), "'a\nb'");
  EXPECT_EQ(shell_word("~"), "'~'");
  EXPECT_EQ(shell_word("a=b"), "'a=b'");
  EXPECT_EQ(shell_word("{a,b}"), "'{a,b}'");
}

TEST(ShellText, AZeroByteIsLeftOut) { EXPECT_EQ(shell_word(std::string("a\0b", 3)), "'ab'"); }

RC_GTEST_PROP(ShellText, EveryTextIsReadAsItself, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::element('\'', '\\', '$', '`', '"', '\n', ' ', '!', '#'), rc::gen::nonZero<char>()));
  RC_ASSERT(read_by_bash(shell_word(text)) == std::optional<std::string>(text));
}

}  // namespace
}  // namespace lockstep::bundle::shell_text_test
