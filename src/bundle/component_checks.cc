#include "bundle/component_checks.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

// A flag that must have been given.
struct CheckFunction {
  std::string_view name;
  std::string_view flag;
  NodeLabels SchedulingFlags::* labels;
};

constexpr std::array<CheckFunction, 2> check_functions = {{
    {"CheckAcceleratedSelectorMissing", "--accelerated-node-selector",
     &SchedulingFlags::accelerated_node_selector},
    {"CheckWorkloadSelectorMissing", "--workload-selector", &SchedulingFlags::workload_selector},
}};

Result<const CheckFunction*> function_named(std::string_view name) {
  std::vector<std::string> known;
  for (const CheckFunction& function : check_functions) {
    if (function.name == name) return &function;
    known.emplace_back(function.name);
  }
  return fail(ErrorKind::invalid, unknown_word("validation function", name, known));
}

Result<const CriteriaField*> field_named(std::string_view name) {
  std::vector<std::string> known;
  for (const CriteriaField& field : criteria_fields) {
    if (field.name == name) return &field;
    known.emplace_back(field.name);
  }
  return fail(ErrorKind::invalid, unknown_word("criterion", name, known));
}

Result<bool> fulfilled(const ComponentCheck& check, const CriteriaWords& words,
                       const Criteria& criteria) {
  bool all = true;
  for (const auto& [name, wanted] : check.conditions) {
    LOCKSTEP_TRY(const CriteriaField* field, field_named(name));
    bool one = false;
    for (const std::string& text : wanted) {
      LOCKSTEP_TRY(std::string word, words.normalize(field->name, text));
      one = one || word.empty() || word == criteria.*field->value;
    }
    all = all && one;
  }
  return all;
}

}  // namespace

Result<CheckFindings> check_components(const Registry& registry, const CriteriaWords& words,
                                       const ResolvedRecipe& enabled,
                                       const SchedulingFlags& flags) {
  CheckFindings findings;
  for (const auto& [name, component] : registry.components()) {
    for (const ComponentCheck& check : component.checks) {
      auto function = function_named(check.function);
      if (!function) return fail(function.error().at(component.place.text()));
      auto due = fulfilled(check, words, enabled.criteria);
      if (!due) return fail(due.error().at(component.place.text()));
      if (!*due || enabled.find(name) == nullptr || !(flags.*(*function)->labels).empty()) continue;
      std::string text =
          fmt::format("{} is deployed and {} was not given", name, (*function)->flag);
      if (!check.message.empty()) text += ": " + check.message;
      auto& list = check.severity == "error" ? findings.errors : findings.warnings;
      list.push_back(std::move(text));
    }
  }
  return findings;
}

}  // namespace lockstep::bundle
