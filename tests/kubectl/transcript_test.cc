#include "kubectl/transcript.h"

#include <gtest/gtest.h>

namespace lockstep::suite::transcript_test {
namespace {

const Setting here({"1.36", "embedded"});

Transcript parsed(std::string_view text) {
  auto transcript = parse_transcript("case", text);
  EXPECT_TRUE(transcript.has_value()) << transcript.error().text();
  return transcript ? *transcript : Transcript{};
}

std::string refusal(std::string_view text) {
  auto transcript = parse_transcript("case", text);
  return transcript ? "" : transcript.error().text();
}

TEST(Transcript, ReadsCommandsWithOutputErrorAndExitCode) {
  const Transcript transcript = parsed(
      "# why\n"
      "$ kubectl get pods\n"
      "NAME   AGE\n"
      "\n"
      "web-1  <age>\n"
      "! Warning: something\n"
      "? 3\n"
      "\n"
      "$ kubectl get nodes\n");
  ASSERT_EQ(transcript.steps.size(), 2u);
  const Step& step = transcript.steps[0];
  EXPECT_EQ(step.command, "kubectl get pods");
  EXPECT_EQ(expected_lines(step.output, here),
            (std::vector<std::string>{"NAME   AGE", "", "web-1  <age>"}));
  EXPECT_EQ(expected_lines(step.error, here), (std::vector<std::string>{"Warning: something"}));
  EXPECT_EQ(step.exit_code, 3);
  EXPECT_EQ(step.line, 2u);
  EXPECT_EQ(transcript.steps[1].output.size(), 0u);
}

TEST(Transcript, ReadsFilesAndBackgroundCommands) {
  const Transcript transcript = parsed(
      "<<< pods.yaml\n"
      "kind: Pod\n"
      "$ not a command\n"
      ">>>\n"
      "$start watch kubectl get pods -w\n"
      "$await watch\n"
      "NAME\n"
      "$stop watch\n"
      "NAME\n"
      "$only embedded\n"
      "$cleanup kubectl delete node a\n");
  ASSERT_EQ(transcript.steps.size(), 4u);
  EXPECT_EQ(transcript.steps[0].action, Action::file);
  EXPECT_EQ(transcript.steps[0].name, "pods.yaml");
  EXPECT_EQ(transcript.steps[0].command, "kind: Pod\n$ not a command\n");
  EXPECT_EQ(transcript.steps[1].action, Action::start);
  EXPECT_EQ(transcript.steps[1].name, "watch");
  EXPECT_EQ(transcript.steps[1].command, "kubectl get pods -w");
  EXPECT_EQ(transcript.steps[3].action, Action::stop);
  EXPECT_EQ(transcript.only, std::vector<std::string>{"embedded"});
  EXPECT_EQ(transcript.clean_up.size(), 1u);
}

TEST(Transcript, JoinsLinesThatEndInABackslash) {
  EXPECT_EQ(parsed("$ kubectl get \\\n    pods\n").steps[0].command, "kubectl get \\\n    pods");
}

TEST(Transcript, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(refusal("output first\n"), "case:1: output without a command before it");
  EXPECT_EQ(refusal("$ a\n\n$sleep 5\n"), "case:3: there is no instruction $sleep");
  EXPECT_EQ(refusal("$stop watch\n"), "case:1: no command was started as watch");
  EXPECT_EQ(refusal("<<< a.yaml\nkind: Pod\n"), "case:2: the file has no >>>");
  EXPECT_EQ(refusal("<<< ../a.yaml\n>>>\n"), "case:1: <<< wants a plain file name");
  EXPECT_EQ(refusal("$ a\n? many\n"), "case:2: an exit code must be a number");
}

TEST(Transcript, RestrictsLinesToVersionsAndServers) {
  const Transcript transcript = parsed(
      "$ kubectl version\n"
      "[1.33 1.34] old\n"
      "[1.36] new\n"
      "[real] from the real server\n"
      "[1.36 embedded] both\n"
      "[x] is no restriction\n"
      "[1.33] ! warned\n");
  EXPECT_EQ(expected_lines(transcript.steps[0].output, here),
            (std::vector<std::string>{"new", "both", "[x] is no restriction"}));
  EXPECT_TRUE(expected_lines(transcript.steps[0].error, here).empty());
}

TEST(Match, Placeholders) {
  EXPECT_TRUE(line_matches("web-1   <age>", "web-1   4s"));
  EXPECT_TRUE(line_matches("web-1   <age>", "web-1   2m10s"));
  EXPECT_FALSE(line_matches("web-1   <age>", "web-1   soon"));
  EXPECT_TRUE(line_matches("uid: <uid>", "uid: 0f3e7d9c-9c1b-4d5e-8a47-0123456789ab"));
  EXPECT_TRUE(line_matches("at <time>", "at 2026-01-01T00:00:00Z"));
  EXPECT_TRUE(line_matches("at <date>", "at Thu, 01 Jan 2026 00:00:00 +0000"));
  EXPECT_TRUE(line_matches("<re:[a-c]+> end", "abc end"));
  EXPECT_FALSE(line_matches("<re:[a-c]+> end", "abd end"));
}

TEST(Match, WhatIsNoPlaceholderIsLiteral) {
  EXPECT_TRUE(line_matches("IP  <none>", "IP  <none>"));
  EXPECT_FALSE(line_matches("IP  <none>", "IP  10.0.0.1"));
  EXPECT_FALSE(line_matches("a.c", "abc"));
  EXPECT_FALSE(line_matches("a.c <age>", "abc 5s"));
  EXPECT_TRUE(line_matches("a <none> <age>", "a <none> 5s"));
}

TEST(Match, WhiteSpaceCountsOnlyWhereNothingVaries) {
  EXPECT_FALSE(line_matches("NAME  AGE", "NAME   AGE"));
  EXPECT_TRUE(line_matches("a  <age>  x", "a    10s x"));
}

TEST(Match, DotsStandForLines) {
  EXPECT_TRUE(output_matches({"a", "...", "d"}, "a\nb\nc\nd\n"));
  EXPECT_TRUE(output_matches({"a", "..."}, "a\n"));
  EXPECT_FALSE(output_matches({"a", "...", "d"}, "a\nb\n"));
  EXPECT_FALSE(output_matches({"a"}, "a\nb\n"));
  EXPECT_FALSE(output_matches({"a", "b"}, "a\n"));
  EXPECT_TRUE(output_matches({}, "\n"));
  EXPECT_TRUE(output_matches({"a"}, "a  \n\n"));
}

TEST(Match, KubectlsLogOfItselfIsLeftOut) {
  EXPECT_EQ(
      without_log_lines("E1115 06:45:32.249523   13643 reflector.go:227] \"Failed to watch\"\n"
                        "error: timed out\n"),
      "error: timed out\n");
  EXPECT_EQ(without_log_lines("Error from server\nE12 is no log line\nlast"),
            "Error from server\nE12 is no log line\nlast");
}

TEST(Match, DifferenceShowsWhatDiffersOnly) {
  EXPECT_EQ(difference({"a", "b", "c"}, "a\nx\nc\n"), "      a\n    - b\n    + x\n      c\n");
  EXPECT_EQ(difference({"a"}, "a\n"), "");
  EXPECT_EQ(difference({}, "extra\n"), "    + extra\n");
}

TEST(Update, WritesPlaceholdersAndReadsItsOwnWords) {
  const std::string output =
      "NAME   AGE\nweb    12s\n$ odd\n[1.36] odd\n  uid: 0f3e7d9c-9c1b-4d5e-8a47-0123456789ab\n"
      "  resourceVersion: \"17\"\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n";
  const std::vector<std::string> lines = as_expectation(output, "Error: no\n", 1);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"NAME   AGE", "web    <age>", "\\$ odd", "\\[1.36] odd",
                                      "  uid: <uid>", "  resourceVersion: \"<version>\"",
                                      "  creationTimestamp: \"<time>\"", "! Error: no", "? 1"}));
  std::string text = "$ command\n";
  for (const std::string& line : lines) text += line + "\n";
  const Transcript transcript = parsed(text);
  ASSERT_EQ(transcript.steps.size(), 1u);
  EXPECT_TRUE(output_matches(expected_lines(transcript.steps[0].output, here), output));
  EXPECT_EQ(transcript.steps[0].exit_code, 1);
}

}  // namespace
}  // namespace lockstep::suite::transcript_test
