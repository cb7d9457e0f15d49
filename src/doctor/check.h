// The result of one check of the doctor: a verdict, what was found, and the command for
// repair.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace lockstep::doctor {

enum class Verdict {
  fine,
  warning,  // not wrong yet
  wrong,
  skipped,  // it could not be checked; never taken for fine
};
std::string_view to_string(Verdict verdict);

struct Check {
  std::string name;  // "OrphanedCordons"
  Verdict verdict = Verdict::fine;
  std::string text;
  // What it is about, one line for each object; shortened for display.
  std::vector<std::string> evidence = {};
  std::string fix = {};

  bool operator==(const Check&) const = default;
};

Check fine(std::string name, std::string text);
Check skipped(std::string name, std::string why);

// Something has to be repaired. Strictly, also what is doubtful and what could not be checked.
bool is_anything_wrong(const std::vector<Check>& checks, bool strict);

Json to_json(const std::vector<Check>& checks);

// "3 nodes", "1 node".
std::string counted(size_t count, std::string_view what);
// "a, b, c and 7 more".
std::string name_some(const std::vector<std::string>& names, size_t most = 5);

}  // namespace lockstep::doctor
