#include "notify/notice.h"

#include <gtest/gtest.h>

namespace lockstep::notify::notice_test {
namespace {

Notice make_notice() {
  return {Time::from_unix(1'800'000'000),
          fleet::Severity::critical,
          fleet::Reason::node_failed,
          "Node gpu-7",
          "upgrade-failed",
          fleet::Reason::driver_crash_loop,
          "restarted 11 times <oom> & co",
          "lockstep retry gpu-7"};
}

TEST(Notice, AsPlainJson) {
  EXPECT_EQ(print_json(message_of(make_notice(), Form::json, "prod")),
            R"({"at":"2027-01-15T08:00:00Z","severity":"critical","event":"NodeFailed",)"
            R"("subject":"Node gpu-7","state":"upgrade-failed","reason":"DriverCrashLoop",)"
            R"("text":"restarted 11 times <oom> & co","remedy":"lockstep retry gpu-7",)"
            R"("cluster":"prod"})");
}

TEST(Notice, AsSlackTakesIt) {
  Json message = message_of(make_notice(), Form::slack, "prod");
  EXPECT_EQ(text_at(message, "text"), "`prod: Node gpu-7 is upgrade-failed: DriverCrashLoop`");
  const Json& attachment = find(message, "attachments")->as_array()[0];
  EXPECT_EQ(text_at(attachment, "text"),
            "```restarted 11 times &lt;oom&gt; &amp; co```\nto resolve: `lockstep retry gpu-7`");
  EXPECT_EQ(text_at(attachment, "color"), "#e01e5a");
  EXPECT_EQ(as_integer(find(attachment, "ts")), 1'800'000'000);
}

TEST(Notice, AsTeamsTakesIt) {
  Json message = message_of(make_notice(), Form::teams, "");
  EXPECT_EQ(text_at(message, "type"), "message");
  const Json& attachment = find(message, "attachments")->as_array()[0];
  EXPECT_EQ(text_at(attachment, "contentType"), "application/vnd.microsoft.card.adaptive");
  const JsonArray& body = find(attachment, "content", "body")->as_array();
  ASSERT_EQ(body.size(), 3U);
  const Json& title = find(body[0], "inlines")->as_array().at(0);
  EXPECT_EQ(text_at(title, "text"), "Node gpu-7 is upgrade-failed: DriverCrashLoop");
  EXPECT_EQ(text_at(title, "color"), "Attention");
  EXPECT_EQ(text_at(find(body[1], "inlines")->as_array().at(0), "text"),
            "restarted 11 times <oom> & co");
}

// A user who may name a node, a rollout or a pod, or make a driver say something, writes these.
Notice make_forged() {
  Notice notice = make_notice();
  notice.subject = "Node `x` <!channel> [all is well](https://evil.example.com)";
  notice.state = "*bold* @here";
  notice.reason = fleet::ReasonName::read("~gone~ <at>everyone</at>\n# heading");
  notice.text = "```\n<https://evil.example.com|docs> <@U1> [docs](https://evil.example.com) `y`";
  notice.remedy = "run `z`\n@channel <https://evil.example.com>";
  return notice;
}

// All that came from the cluster is between backticks, and contains none.
TEST(Notice, TextOfTheClusterMakesNoLinksMentionsOrFormattingInSlack) {
  const Json message = message_of(make_forged(), Form::slack, "prod");
  const Json& attachment = find(message, "attachments")->as_array()[0];
  const std::string title(text_at(message, "text"));
  ASSERT_GT(title.size(), 2U);
  EXPECT_TRUE(title.starts_with('`') && title.ends_with('`')) << title;
  const std::string inside = title.substr(1, title.size() - 2);
  EXPECT_EQ(inside.find_first_of("`<>\n"), std::string::npos) << title;
  EXPECT_EQ(text_at(attachment, "text"),
            "```'''\n&lt;https://evil.example.com|docs&gt; &lt;@U1&gt; "
            "[docs](https://evil.example.com) 'y'```\n"
            "to resolve: `run 'z' @channel &lt;https://evil.example.com&gt;`");
}

// What a TextBlock shows is Markdown; a TextRun shows its text.
TEST(Notice, TextOfTheClusterMakesNoLinksMentionsOrFormattingInTeams) {
  const Json message = message_of(make_forged(), Form::teams, "prod");
  const Json& attachment = find(message, "attachments")->as_array()[0];
  EXPECT_EQ(find(attachment, "content", "msteams"), nullptr) << "where mentions would be";
  const JsonArray& body = find(attachment, "content", "body")->as_array();
  ASSERT_EQ(body.size(), 3U);
  for (const Json& block : body) {
    EXPECT_EQ(text_at(block, "type"), "RichTextBlock");
    for (const Json& inline_text : find(block, "inlines")->as_array()) {
      EXPECT_EQ(text_at(inline_text, "type"), "TextRun");
    }
  }
}

TEST(Notice, TheSameNewsHasTheSameKeyWhateverItsNumbers) {
  Notice one = make_notice();
  Notice other = make_notice();
  other.text = "restarted 12 times";
  EXPECT_EQ(one.key(), other.key());
  other.reason = fleet::Reason::driver_start_timeout;
  EXPECT_NE(one.key(), other.key());
}

TEST(Notice, FormsHaveNames) {
  EXPECT_EQ(form_of("json"), Form::json);
  EXPECT_EQ(form_of("slack"), Form::slack);
  EXPECT_EQ(form_of("teams"), Form::teams);
  EXPECT_EQ(form_of("irc"), std::nullopt);
}

}  // namespace
}  // namespace lockstep::notify::notice_test
