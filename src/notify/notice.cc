#include "notify/notice.h"

#include <fmt/format.h>

namespace lockstep::notify {

namespace {

using fleet::Severity;

std::string title_of(const Notice& notice, const std::string& cluster) {
  return fmt::format("{}{}{}: {}", cluster.empty() ? "" : cluster + ": ", notice.subject,
                     notice.state.empty() ? "" : " is " + notice.state, notice.reason.view());
}

// What a cluster says as it is: between backticks neither Slack nor Mattermost reads links,
// mentions or formatting. Slack's own three besides:
// https://api.slack.com/reference/surfaces/formatting
std::string verbatim_for_slack(std::string_view text, std::string_view fence) {
  std::string quoted(fence);
  for (const char c : text) {
    const bool is_break = c == '\n' && fence.size() > 1;
    if (c == '&') {
      quoted += "&amp;";
    } else if (c == '<') {
      quoted += "&lt;";
    } else if (c == '>') {
      quoted += "&gt;";
    } else if (c == '`') {
      quoted += '\'';
    } else if (static_cast<unsigned char>(c) < 0x20 && !is_break) {
      quoted += ' ';
    } else {
      quoted += c;
    }
  }
  return quoted.append(fence);
}

// Teams reads a `TextBlock` as Markdown, links included; it shows a `TextRun` as it is.
Json teams_text(const std::string& text, JsonObject style = {}) {
  style["type"] = "TextRun";
  style["text"] = text;
  return JsonObject{{"type", "RichTextBlock"}, {"inlines", JsonArray{std::move(style)}}};
}

Json plain_message(const Notice& notice, const std::string& cluster) {
  JsonObject object{{"at", format_rfc3339(notice.at)},
                    {"severity", to_string(notice.severity)},
                    {"event", notice.event.view()},
                    {"subject", notice.subject},
                    {"state", notice.state},
                    {"reason", notice.reason.view()},
                    {"text", notice.text}};
  if (!notice.remedy.empty()) object["remedy"] = notice.remedy;
  if (!cluster.empty()) object["cluster"] = cluster;
  return object;
}

Json slack_message(const Notice& notice, const std::string& cluster) {
  const char* colour = notice.severity == Severity::info      ? "#2eb67d"
                       : notice.severity == Severity::warning ? "#ecb22e"
                                                              : "#e01e5a";
  std::string text = verbatim_for_slack(notice.text, "```");
  if (!notice.remedy.empty()) {
    text += "\nto resolve: " + verbatim_for_slack(notice.remedy, "`");
  }
  JsonObject attachment{{"color", colour},
                        {"text", std::move(text)},
                        {"mrkdwn_in", JsonArray{"text"}},
                        {"ts", notice.at.unix_seconds()}};
  return JsonObject{{"text", verbatim_for_slack(title_of(notice, cluster), "`")},
                    {"attachments", JsonArray{std::move(attachment)}}};
}

Json teams_message(const Notice& notice, const std::string& cluster) {
  const char* colour = notice.severity == Severity::info      ? "Good"
                       : notice.severity == Severity::warning ? "Warning"
                                                              : "Attention";
  JsonArray body{teams_text(title_of(notice, cluster), {{"weight", "Bolder"}, {"color", colour}}),
                 teams_text(notice.text)};
  if (!notice.remedy.empty()) body.push_back(teams_text("to resolve: " + notice.remedy));
  JsonObject card{{"type", "AdaptiveCard"}, {"version", "1.4"}, {"body", std::move(body)}};
  JsonObject attachment{{"contentType", "application/vnd.microsoft.card.adaptive"},
                        {"content", std::move(card)}};
  return JsonObject{{"type", "message"}, {"attachments", JsonArray{std::move(attachment)}}};
}

}  // namespace

std::string Notice::key() const {
  return fmt::format("{}\n{}\n{}\n{}", event.view(), subject, state, reason.view());
}

std::optional<Form> form_of(std::string_view name) {
  if (name == "json") return Form::json;
  if (name == "slack") return Form::slack;
  if (name == "teams") return Form::teams;
  return std::nullopt;
}

Json message_of(const Notice& notice, Form form, const std::string& cluster) {
  if (form == Form::slack) return slack_message(notice, cluster);
  if (form == Form::teams) return teams_message(notice, cluster);
  return plain_message(notice, cluster);
}

}  // namespace lockstep::notify
