#include "doctor/check.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::doctor {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::fine:
      return "ok";
    case Verdict::warning:
      return "warning";
    case Verdict::wrong:
      return "wrong";
    case Verdict::skipped:
      break;
  }
  return "skipped";
}

Check fine(std::string name, std::string text) {
  return {std::move(name), Verdict::fine, std::move(text)};
}

Check skipped(std::string name, std::string why) {
  return {std::move(name), Verdict::skipped, std::move(why)};
}

bool is_anything_wrong(const std::vector<Check>& checks, bool strict) {
  return std::any_of(checks.begin(), checks.end(), [&](const Check& check) {
    return check.verdict == Verdict::wrong || (strict && check.verdict != Verdict::fine);
  });
}

Json to_json(const std::vector<Check>& checks) {
  JsonArray list;
  for (const Check& check : checks) {
    JsonObject object{{"name", check.name},
                      {"verdict", std::string(to_string(check.verdict))},
                      {"text", check.text}};
    if (!check.evidence.empty()) {
      JsonArray evidence;
      for (const std::string& line : check.evidence) evidence.push_back(Json(line));
      object["evidence"] = std::move(evidence);
    }
    if (!check.fix.empty()) object["fix"] = check.fix;
    list.push_back(std::move(object));
  }
  return JsonObject{{"checks", std::move(list)}};
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string name_some(const std::vector<std::string>& names, size_t most) {
  std::string text;
  size_t shown = std::min(names.size(), most);
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace lockstep::doctor
