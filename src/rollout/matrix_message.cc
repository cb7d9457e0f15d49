#include "rollout/matrix_message.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

constexpr std::string_view revert_words = "This reverts commit ";

// Always one line: with a line break, a string could pretend to be a trailer.
std::string one_line(std::string_view text) {
  constexpr size_t longest = 500;
  std::string line(trim(text));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (line.size() > longest) line = line.substr(0, longest) + "...";
  return line;
}

std::string shown(const std::string& value) { return value.empty() ? "(none)" : value; }

std::string change_lines(const std::vector<MatrixChange>& changes) {
  std::string text;
  for (const MatrixChange& change : changes) {
    text += fmt::format("{} {}: {} -> {}\n", to_string(change.slot), change.key,
                        one_line(shown(change.before)), one_line(shown(change.after)));
  }
  return text;
}

// "driver 580.65.06, cuda 13.0"
std::string headline(const std::vector<MatrixChange>& changes, Slot slot) {
  constexpr size_t most = 3;
  std::vector<std::string> parts;
  for (const char* first : {"driver", ""}) {
    for (const MatrixChange& change : changes) {
      const bool is_driver = change.key == "driver";
      if (change.slot != slot || change.after.empty() || change.key == "status") continue;
      if (is_driver != (*first != '\0')) continue;
      parts.push_back(fmt::format("{} {}", change.key, one_line(change.after)));
    }
  }
  if (parts.size() > most) parts = {parts[0], fmt::format("and {} more", parts.size() - 1)};
  return join(parts, ", ");
}

std::string tail(const Evidence& evidence) {
  constexpr size_t most_lines = 100;
  std::string text;
  if (!evidence.reason.empty()) text += fmt::format("\nReason: {}\n", one_line(evidence.reason));
  if (!evidence.lines.empty()) text += "\nEvidence:\n";
  for (size_t index = 0; index < std::min(most_lines, evidence.lines.size()); ++index) {
    text += fmt::format("- {}\n", one_line(evidence.lines[index]));
  }
  if (evidence.lines.size() > most_lines) {
    text += fmt::format("- and {} more lines\n", evidence.lines.size() - most_lines);
  }
  // Trailers, as `git interpret-trailers` reads them: the last paragraph.
  std::string trailers;
  if (!evidence.rollout.empty()) trailers += "Rollout: " + one_line(evidence.rollout) + "\n";
  if (!evidence.approved_by.empty()) {
    trailers += "Approved-by: " + one_line(evidence.approved_by) + "\n";
  }
  return text + (trailers.empty() ? "" : "\n" + trailers);
}

}  // namespace

std::string_view subject_of(std::string_view message) {
  return message.substr(0, message.find('\n'));
}

std::string set_message(const std::vector<MatrixChange>& changes, const Evidence& evidence) {
  const Slot slot = changes.empty() ? Slot::canary : changes.front().slot;
  const std::string what = headline(changes, slot);
  return fmt::format("GPU versions: {} {}\n\n{}{}", to_string(slot),
                     what.empty() ? "changed" : "gets " + what, change_lines(changes),
                     tail(evidence));
}

std::string promote_message(const std::vector<MatrixChange>& changes, const Evidence& evidence) {
  const std::string what = headline(changes, Slot::current);
  return fmt::format("GPU versions: promote {}\n\n{}{}", what.empty() ? "the canary" : what,
                     change_lines(changes), tail(evidence));
}

std::string revert_message(std::string_view commit, std::string_view subject,
                           const std::vector<MatrixChange>& changes, const Evidence& evidence) {
  return revert_message({{std::string(commit), std::string(subject)}}, changes, evidence);
}

std::string revert_message(const std::vector<TakenBack>& commits,
                           const std::vector<MatrixChange>& changes, const Evidence& evidence) {
  std::string words;
  for (const TakenBack& each : commits) {
    words += fmt::format("{}{}.\n", revert_words, each.commit);
  }
  // The oldest is the one that brought the version; what came after made more of it.
  const std::string subject = commits.empty() ? std::string() : commits.back().subject;
  return fmt::format("Revert \"{}\"\n\n{}\n{}{}", one_line(subject), words, change_lines(changes),
                     tail(evidence));
}

std::string reverted_commit(std::string_view message) {
  const std::vector<std::string> commits = reverted_commits(message);
  return commits.empty() ? std::string() : commits.front();
}

std::vector<std::string> reverted_commits(std::string_view message) {
  std::vector<std::string> commits;
  for (size_t at = message.find(revert_words); at != std::string_view::npos;
       at = message.find(revert_words, at + revert_words.size())) {
    const std::string_view rest = message.substr(at + revert_words.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(),
                                      [](unsigned char c) { return std::isxdigit(c) != 0; });
    commits.emplace_back(rest.begin(), end);
  }
  return commits;
}

}  // namespace lockstep::rollout
