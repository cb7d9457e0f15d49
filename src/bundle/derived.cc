#include "bundle/derived.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

bool applies(const DerivedRule& rule, const ResolvedRecipe& enabled, const ValuesMap& values) {
  auto has = [&](const std::string& component) { return enabled.find(component) != nullptr; };
  if (!has(rule.from_component) || !has(rule.to_component) ||
      !std::all_of(rule.when.begin(), rule.when.end(), has)) {
    return false;
  }
  auto value_at = [&](const ValuePath& path) {
    auto own = values.find(rule.from_component);
    return own == values.end() ? nullptr : find_value(own->second, path);
  };
  if (!rule.not_if_false.empty() && !as_bool(value_at(rule.not_if_false), true)) return false;
  return rule.only_if_set.empty() || value_at(rule.only_if_set) != nullptr;
}

std::string describe_source(const DerivedRule& rule) {
  switch (rule.source) {
    case DerivedSource::version:
      return fmt::format("the version of {}", rule.from_component);
    case DerivedSource::ns:
      return fmt::format("the namespace of {}", rule.from_component);
    case DerivedSource::value:
      break;
  }
  return fmt::format("{} of {}", print_value_path(rule.from_value), rule.from_component);
}

// Empty when there is nothing to follow. A number is taken as it is printed: annotations are text.
Result<std::string> source_text(const DerivedRule& rule, const ResolvedRecipe& enabled,
                                const ValuesMap& values) {
  if (rule.source == DerivedSource::version) return enabled.find(rule.from_component)->version;
  if (rule.source == DerivedSource::ns) return enabled.find(rule.from_component)->ns;
  auto at = values.find(rule.from_component);
  const Json* found = at == values.end() ? nullptr : find_value(at->second, rule.from_value);
  if (found == nullptr || found->is_null()) return std::string();
  if (found->is_string()) return std::string(as_text(found));
  if (found->is_object() || found->is_array()) {
    return fail(ErrorKind::invalid,
                fmt::format("{} must be text, for {} follows it, and is {}", describe_source(rule),
                            rule.to_component, print_json(*found)),
                fmt::format("derived value {}", rule.name));
  }
  return print_json(*found);
}

struct Derivation {
  const DerivedRule* rule;
  std::string text;
};

// All are read before the first is written.
Result<std::vector<Derivation>> derivations(const std::vector<DerivedRule>& rules,
                                            const ResolvedRecipe& enabled,
                                            const ValuesMap& values) {
  std::vector<Derivation> result;
  for (const DerivedRule& rule : rules) {
    if (!applies(rule, enabled, values)) continue;
    LOCKSTEP_TRY(std::string text, source_text(rule, enabled, values));
    result.push_back({&rule, std::move(text)});
  }
  return result;
}

std::string paths_text(const DerivedRule& rule) {
  std::vector<std::string> paths;
  for (const ValuePath& path : rule.to_paths) paths.push_back(print_value_path(path));
  return join(paths, ", ");
}

Result<void> check_names(const std::vector<DerivedRule>& rules,
                         const std::set<std::string>& without) {
  std::vector<std::string> known = {"all"};
  for (const DerivedRule& rule : rules) known.push_back(rule.name);
  std::sort(known.begin(), known.end());
  for (const std::string& name : without) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return fail(ErrorKind::invalid,
                fmt::format("no derived value \"{}\"; there are {}", name, join(known, ", ")),
                "--no-derived " + name);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> apply_derived(const std::vector<DerivedRule>& rules,
                                               const ResolvedRecipe& enabled, ValuesMap& values,
                                               const std::set<std::string>& without) {
  LOCKSTEP_CHECK(check_names(rules, without));
  std::vector<DerivedRule> wanted;
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(wanted), [&](const auto& rule) {
    return without.count("all") == 0 && without.count(rule.name) == 0;
  });
  LOCKSTEP_TRY(auto found, derivations(wanted, enabled, values));
  std::vector<std::string> warnings;
  for (const Derivation& derivation : found) {
    const DerivedRule& rule = *derivation.rule;
    if (derivation.text.empty()) {
      if (rule.optional) continue;
      warnings.push_back(fmt::format(
          "derived value {}: {} is empty, so {} of {} will not follow it and its pods will not be "
          "rolled by an upgrade",
          rule.name, describe_source(rule), paths_text(rule), rule.to_component));
      continue;
    }
    for (const ValuePath& path : rule.to_paths) {
      JsonObject& target = values[rule.to_component];
      const Json* written = find_value(target, path);
      if (written != nullptr && !written->is_null() && *written != Json(derivation.text)) {
        warnings.push_back(fmt::format(
            "derived value {}: {} of {} is set to {}, and {} replaces it; to keep yours: "
            "--no-derived {}",
            rule.name, print_value_path(path), rule.to_component, print_json(*written),
            print_json(Json(derivation.text)), rule.name));
      }
      auto set = set_value(target, path, Json(derivation.text));
      if (!set) {
        return fail(set.error().at(
            fmt::format("derived value {}: values of {}", rule.name, rule.to_component)));
      }
    }
  }
  return warnings;
}

std::string Deviation::text() const {
  return fmt::format("values of {}: {} {}, and must be {} (derived value {})", component,
                     print_value_path(path), found ? "is " + print_json(*found) : "is missing",
                     print_json(Json(expected)), rule);
}

std::vector<Deviation> deviations(const std::vector<DerivedRule>& rules,
                                  const ResolvedRecipe& enabled, const ValuesMap& values) {
  std::vector<Deviation> result;
  for (const DerivedRule& rule : rules) {
    if (!applies(rule, enabled, values)) continue;
    auto text = source_text(rule, enabled, values);
    // Where there is nothing to follow, or no text, nothing would be written.
    if (!text || text->empty()) continue;
    auto at = values.find(rule.to_component);
    for (const ValuePath& path : rule.to_paths) {
      const Json* found = at == values.end() ? nullptr : find_value(at->second, path);
      if (found != nullptr && found->is_string() && as_text(found) == *text) continue;
      result.push_back({rule.name, rule.to_component, path, *text,
                        found == nullptr ? std::nullopt : std::optional<Json>(*found)});
    }
  }
  return result;
}

std::vector<HandWritten> hand_written(const std::vector<DerivedRule>& rules,
                                      std::string_view component, const JsonObject& values) {
  std::vector<HandWritten> result;
  for (const DerivedRule& rule : rules) {
    if (rule.to_component != component) continue;
    for (const ValuePath& path : rule.to_paths) {
      const Json* found = find_value(values, path);
      if (found != nullptr) result.push_back({rule.name, path, *found});
    }
  }
  return result;
}

}  // namespace lockstep::bundle
