#include "gpu/verdict.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::gpu {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "Passed";
    case Verdict::skipped:
      return "Skipped";
    case Verdict::inconclusive:
      return "Inconclusive";
    case Verdict::error:
      return "Error";
    case Verdict::failed:
      return "Failed";
  }
  return "Error";
}

Verdict worse(Verdict a, Verdict b) { return std::max(a, b); }

Result<std::vector<std::string>> chosen_checks(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const GateCheck& check : gate_checks) all.emplace_back(check.name);
  if (names.empty()) return all;
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      return fail(ErrorKind::invalid, unknown_word("check", name, all), "--check");
    }
  }
  for (const std::string& name : all) {
    if (std::find(names.begin(), names.end(), name) != names.end()) chosen.push_back(name);
  }
  return chosen;
}

}  // namespace lockstep::gpu
