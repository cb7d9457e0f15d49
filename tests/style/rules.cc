#include "rules.h"

#include <algorithm>
#include <array>
#include <set>

namespace lockstep::style {

namespace {

constexpr int most_lines = 700;
constexpr size_t most_columns = 120;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}
bool is_cpp(std::string_view path) { return ends_with(path, ".h") || ends_with(path, ".cc"); }
bool is_test(std::string_view path) { return ends_with(path, "_test.cc"); }

std::string folder_of(std::string_view path) {
  if (!starts_with(path, "src/")) return {};
  std::string_view rest = path.substr(4);
  size_t slash = rest.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(rest.substr(0, slash));
}

const std::set<std::string>& pure_folders() {
  static const std::set<std::string> folders = {"base",    "data",    "objects", "fleet",
                                                "upgrade", "rollout", "doctor",  "bundle"};
  return folders;
}

// Folders whose every x.cc must have an x_test.cc. cli's files are tested as commands, from tests/.
const std::set<std::string>& logic_folders() {
  static const std::set<std::string> folders = {
      "base",      "data",      "objects", "fleet",  "upgrade",    "rollout", "bundle", "world",
      "registry",  "git",       "kube",    "gpu",    "controller", "node",    "dra",    "sim",
      "apiserver", "dashboard", "deploy",  "doctor", "notify",     "view",    "operate"};
  return folders;
}

template <typename Visit>
void each_line(const std::string& text, Visit visit) {
  int number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    size_t end = std::min(text.find('\n', begin), text.size());
    visit(number, std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
}

// The code of a line, without its comment.
std::string_view code_of(std::string_view line) { return line.substr(0, line.find("//")); }

size_t columns(std::string_view line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::vector<Finding> check_purity(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!is_cpp(file.path) || is_test(file.path) || pure_folders().count(folder_of(file.path)) == 0)
    return findings;
  struct Ban {
    std::string_view word;
    std::string_view why;
  };
  static constexpr std::array<Ban, 17> bans = {{
      {"system_clock", "reads a clock"},
      {"steady_clock", "reads a clock"},
      {"high_resolution_clock", "reads a clock"},
      {"gettimeofday", "reads a clock"},
      {"clock_gettime", "reads a clock"},
      {"std::thread", "starts a thread"},
      {"std::jthread", "starts a thread"},
      {"std::async", "starts a thread"},
      {"<thread>", "starts threads"},
      {"random_device", "draws from the system's randomness"},
      {"getrandom", "draws from the system's randomness"},
      {"getenv", "reads the environment"},
      {"<fstream>", "opens files"},
      {"<sys/socket.h>", "opens sockets"},
      {"std::unordered_", "iterates in an order that is not defined"},
      {"std::rand(", "draws from hidden state"},
      {"srand(", "draws from hidden state"},
  }};
  each_line(file.text, [&](int number, std::string_view line) {
    for (const Ban& ban : bans) {
      if (code_of(line).find(ban.word) != std::string_view::npos) {
        findings.push_back({file.path, number,
                            std::string("a pure folder, but ") + std::string(ban.word) + " " +
                                std::string(ban.why)});
      }
    }
  });
  return findings;
}

std::vector<Finding> check_shape(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!is_cpp(file.path)) return findings;
  int lines = 0;
  each_line(file.text, [&](int number, std::string_view line) {
    lines = number;
    if (line.find('\t') != std::string_view::npos) findings.push_back({file.path, number, "a tab"});
    if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
      findings.push_back({file.path, number, "white space at the end of the line"});
    }
    if (columns(line) > most_columns && line.find("R\"") == std::string_view::npos) {
      findings.push_back({file.path, number, "over 120 characters"});
    }
  });
  if (lines > most_lines) {
    findings.push_back(
        {file.path, 0, std::to_string(lines) + " lines: over 700, it wants to be two files"});
  }
  return findings;
}

std::vector<Finding> check_words(const SourceFile& file) {
  std::vector<Finding> findings;
  if (starts_with(file.path, "tests/style/")) return findings;
  static const std::array<std::string_view, 4> words = {"TODO", "FIXME", "XXX", "not implemented"};
  each_line(file.text, [&](int number, std::string_view line) {
    for (std::string_view word : words) {
      size_t at = line.find(word);
      // "XXXXXX" is the pattern of a temporary file's name.
      bool part_of_more = at != std::string_view::npos && line.substr(at).find("XXXX") == 0;
      if (is_cpp(file.path) && at != std::string_view::npos && !part_of_more) {
        findings.push_back({file.path, number, std::string(word) + ": finish it or file an issue"});
      }
    }
  });
  return findings;
}

std::vector<Finding> check_tests(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  std::set<std::string> paths;
  for (const auto& file : files) paths.insert(file.path);
  for (const auto& file : files) {
    if (!ends_with(file.path, ".cc")) continue;
    if (is_test(file.path)) {
      bool asserts = false;
      for (auto word : {"EXPECT_", "ASSERT_", "RC_ASSERT", "RC_GTEST_PROP", "FAIL()"}) {
        asserts = asserts || file.text.find(word) != std::string::npos;
      }
      // Tables of cases are often checked by a function of the folder's test helpers.
      asserts = asserts || (file.text.find("_test_util.h\"") != std::string::npos &&
                            file.text.find(" expect_") != std::string::npos);
      if (!asserts) findings.push_back({file.path, 0, "a test file that asserts nothing"});
      continue;
    }
    if (logic_folders().count(folder_of(file.path)) == 0) continue;
    // Explicit instantiations of templates that are tested where they are written.
    if (ends_with(file.path, "_instances.cc")) continue;
    std::string test = file.path.substr(0, file.path.size() - 3) + "_test.cc";
    if (paths.count(test) == 0) findings.push_back({file.path, 0, "has no " + test});
  }
  return findings;
}

std::vector<Finding> check_headers(const SourceFile& file) {
  if (!ends_with(file.path, ".h") || file.text.find("#pragma once") != std::string::npos) return {};
  return {{file.path, 0, "no #pragma once"}};
}

std::vector<Finding> check_all(const std::vector<SourceFile>& files) {
  std::vector<Finding> all = check_tests(files);
  for (const auto& file : files) {
    for (auto check : {check_purity, check_shape, check_words, check_headers}) {
      auto found = check(file);
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  return all;
}

}  // namespace lockstep::style
