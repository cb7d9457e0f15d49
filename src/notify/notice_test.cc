#include "notify/notice.h"

#include <gtest/gtest.h>

namespace lockstep::notify::notice_test {
namespace {

Notice make_notice() {
  return {Time::from_unix(1'800'000'000),
          Severity::critical,
          "NodeFailed",
          "Node gpu-7",
          "upgrade-failed",
          "DriverCrashLoop",
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
  EXPECT_EQ(text_at(message, "text"), "*prod: Node gpu-7 is upgrade-failed: DriverCrashLoop*");
  const Json& attachment = find(message, "attachments")->as_array()[0];
  EXPECT_EQ(text_at(attachment, "text"),
            "restarted 11 times &lt;oom&gt; &amp; co\nto change that: `lockstep retry gpu-7`");
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
  EXPECT_EQ(text_at(body[0], "text"), "Node gpu-7 is upgrade-failed: DriverCrashLoop");
  EXPECT_EQ(text_at(body[0], "color"), "Attention");
  EXPECT_EQ(text_at(body[1], "text"), "restarted 11 times <oom> & co");
}

TEST(Notice, TheSameNewsHasTheSameKeyWhateverItsNumbers) {
  Notice one = make_notice();
  Notice other = make_notice();
  other.text = "restarted 12 times";
  EXPECT_EQ(one.key(), other.key());
  other.reason = "DriverStartTimeout";
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
