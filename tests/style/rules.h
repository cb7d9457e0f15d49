// The rules that a reviewer would otherwise repeat, as functions over a file's text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::style {

struct SourceFile {
  std::string path;  // from the project's root: "src/data/json.cc"
  std::string text;
};

struct Finding {
  std::string path;
  int line = 0;  // 0: about the whole file
  std::string what;
};

// Pure folders take values and give values: no clock, thread, random device, environment, file or
// socket, and no iteration in an order that changes from run to run.
std::vector<Finding> check_purity(const SourceFile& file);
// No file over 700 lines, no line over 120 characters, no tabs, no trailing white space.
std::vector<Finding> check_shape(const SourceFile& file);
// Words that must not be committed: unfinished work, and places that exist on one machine only.
std::vector<Finding> check_words(const SourceFile& file);
// Every x.cc of a logic folder has its x_test.cc, and every test file asserts something.
std::vector<Finding> check_tests(const std::vector<SourceFile>& files);
// Headers say #pragma once.
std::vector<Finding> check_headers(const SourceFile& file);

std::vector<Finding> check_all(const std::vector<SourceFile>& files);

}  // namespace lockstep::style
