// A case of the kubectl suite, in plain text: what a user types and what must come back.
// tests/kubectl/README.md describes the format for authors of cases.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::suite {

// One expected line: "[1.36 embedded] text" is expected only where those words hold.
struct Line {
  std::vector<std::string> only;
  std::string text;
};

enum class Action {
  run,     // "$ command": run it, compare
  start,   // "$start name command": run it in the background
  await,   // "$await name": wait until it has written this much
  stop,    // "$stop name": wait until it has written this and nothing more, then end it
  finish,  // "$finish name": wait until it ends by itself
  until,   // "$until command": run it again and again until it says this
  file,    // "<<< name" … ">>>": a file that the commands may use
};

struct Step {
  Action action = Action::run;
  std::vector<std::string> only;
  std::string name;     // of the background command or the file
  std::string command;  // or the file's content
  std::vector<Line> output;
  std::vector<Line> error;
  int exit_code = 0;
  size_t line = 0;   // its line in the file, from 1
  size_t first = 0;  // its lines of expectations: [first, last), from 0
  size_t last = 0;
};

struct Transcript {
  std::string name;
  std::vector<std::string> only;      // "$only embedded": the whole case
  std::vector<std::string> clean_up;  // "$cleanup command": on a server that outlives the case
  std::vector<Step> steps;
  std::vector<std::string> lines;  // the file as it was read
};

Result<Transcript> parse_transcript(std::string_view name, std::string_view text);

// The words that hold in one run: the kubectl's version ("1.36") and "embedded" or "real".
class Setting {
 public:
  explicit Setting(std::set<std::string> words) : words_(std::move(words)) {}

  // Versions are alternatives of each other, and so are servers; both must hold.
  bool holds(const std::vector<std::string>& only) const;

 private:
  std::set<std::string> words_;
};

// The expected lines that hold in the setting.
std::vector<std::string> expected_lines(const std::vector<Line>& lines, const Setting& setting);

// Placeholders: <age> <uid> <version> <time> <date> <number> <word> <any> and <re:EXPRESSION>. In a
// line that has one, any white space matches any other.
bool line_matches(const std::string& expected, const std::string& actual);
// "..." alone in a line matches any number of lines. White space at the ends of lines and empty
// lines at the end do not count.
bool output_matches(const std::vector<std::string>& expected, const std::string& actual);

// Text as lines, without white space at their ends and without empty lines at the end.
std::vector<std::string> tidy_lines(std::string_view text);

// Standard error without kubectl's log of itself ("E1115 06:45:32.249523 13643 reflector.go:227]
// …"): whether it writes that depends on timing.
std::string without_log_lines(std::string_view text);

// "-" lines were expected, "+" lines came instead. Empty when they match.
std::string difference(const std::vector<std::string>& expected, const std::string& actual);

// What a command said, in the words of a case: placeholders for what varies.
std::vector<std::string> as_expectation(const std::string& output, const std::string& error,
                                        int exit_code);

}  // namespace lockstep::suite
