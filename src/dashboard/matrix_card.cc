#include "dashboard/matrix_card.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "rollout/matrix_message.h"

namespace lockstep::dashboard {

namespace {

using rollout::Slot;

// A message is evidence, and may be anything: pages get this much of it.
constexpr size_t longest_message = 4000;

JsonArray changes_of(const rollout::MatrixEntry& entry) {
  JsonArray changes;
  for (const rollout::MatrixChange& change : entry.changes) {
    changes.push_back(JsonObject{{"slot", to_string(change.slot)},
                                 {"key", change.key},
                                 {"before", change.before},
                                 {"after", change.after}});
  }
  return changes;
}

JsonObject entry_card(const rollout::MatrixEntry& entry) {
  const std::string subject(rollout::subject_of(entry.message));
  std::string_view body = trim(std::string_view(entry.message).substr(subject.size()));
  size_t length = std::min(body.size(), longest_message);
  // Not in the middle of a character of UTF-8.
  while (length < body.size() && length > 0 && (static_cast<unsigned char>(body[length]) >> 6) == 2)
    --length;
  JsonArray takes_back;
  for (const std::string& commit : entry.takes_back) takes_back.emplace_back(commit);
  return {{"commit", entry.commit},
          {"author", entry.author},
          {"at", unix_milliseconds(entry.at)},
          {"subject", subject},
          {"body", std::string(body.substr(0, length))},
          {"takesBack", std::move(takes_back)},
          {"changes", changes_of(entry)}};
}

}  // namespace

Json matrix_card(const rollout::MatrixReport& report) {
  JsonArray versions;
  for (const std::string& key : report.matrix.keys()) {
    versions.push_back(JsonObject{{"key", key},
                                  {"current", report.matrix.value(Slot::current, key)},
                                  {"canary", report.matrix.value(Slot::canary, key)}});
  }
  JsonArray history;
  for (const rollout::MatrixEntry& entry : report.entries) history.push_back(entry_card(entry));
  return JsonObject{{"repository", report.repository},
                    {"branch", report.branch},
                    {"path", report.path},
                    {"commit", report.commit},
                    {"versions", std::move(versions)},
                    {"history", std::move(history)},
                    {"older", report.has_older}};
}

}  // namespace lockstep::dashboard
