#include "bundle/guardrail.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/derived.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view node_selector_advice =
    "a ClusterPolicy has no spec.driver.nodeSelector: the API server drops it and the new driver "
    "goes to every node. Use NVIDIADriver objects with nodeSelector, or a Lockstep rollout";

// One "key:" of a block of YAML and how far it is indented.
struct KeyLine {
  size_t indent = 0;
  std::string key;
  std::string rest;
};

std::optional<KeyLine> key_line(std::string_view line) {
  size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || line[indent] == '#' || line[indent] == '{') return {};
  std::string_view text = line.substr(indent);
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  std::string_view key = trim(text.substr(0, colon));
  if (key.size() >= 2 && (key.front() == '"' || key.front() == '\'')) {
    key = key.substr(1, key.size() - 2);
  }
  return KeyLine{indent, std::string(key), std::string(trim(text.substr(colon + 1)))};
}

// The lines of spec.driver.nodeSelector in documents of the kind ClusterPolicy. By indentation,
// because a template is not YAML before it is rendered.
std::vector<size_t> trap_lines(std::string_view text) {
  std::vector<size_t> found;
  std::vector<size_t> candidates;
  std::vector<KeyLine> above;
  bool is_policy = false;
  auto end_document = [&] {
    if (is_policy) found.insert(found.end(), candidates.begin(), candidates.end());
    candidates.clear();
    above.clear();
    is_policy = false;
  };
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.starts_with("---")) {
      end_document();
      continue;
    }
    auto key = key_line(line);
    if (!key) continue;
    while (!above.empty() && above.back().indent >= key->indent) above.pop_back();
    above.push_back(*key);
    if (above.size() == 1 && key->key == "kind") is_policy = key->rest == "ClusterPolicy";
    if (above.size() == 3 && above[0].key == "spec" && above[1].key == "driver" &&
        above[2].key == "nodeSelector") {
      candidates.push_back(number);
    }
  }
  end_document();
  return found;
}

bool is_trapped(const Json& document) {
  return text_at(document, "kind") == "ClusterPolicy" &&
         find(document, "spec", "driver", "nodeSelector") != nullptr;
}

std::string is_derived(const std::string& rule, const ValuePath& path) {
  return fmt::format(
      "{} is written by hand, and it is derived ({}): remove it, or it will be wrong after the "
      "next upgrade",
      print_value_path(path), rule);
}

void add_hand_written(const Rules& rules, const std::string& component, const JsonObject& values,
                      const std::string& place, std::vector<Finding>& into) {
  for (const HandWritten& found : hand_written(rules.derived, component, values)) {
    into.push_back({place, is_derived(found.rule, found.path)});
  }
}

void add_trapped_values(const std::string& chart, const JsonObject& values,
                        const std::string& place, std::vector<Finding>& into) {
  std::string what = trapped_value(chart, values);
  if (!what.empty()) into.push_back({place, std::move(what)});
}

void check_spec(const Rules& rules, const RecipeSpec& spec, std::vector<Finding>& into) {
  for (const ComponentRef& component : spec.components) {
    std::string place = component.place.text();
    add_hand_written(rules, component.name, component.overrides, place, into);
    add_trapped_values(component.name, component.overrides, place, into);
  }
}

// Values of a component as the rules know them: the values of its hooks are in the values of the
// chart after it.
ValuesMap by_component(const ResolvedRecipe& recipe, const ReleaseRecords& records) {
  ValuesMap values;
  for (const ComponentRef& component : recipe.components) {
    auto own = records.values.find(component.name);
    if (own == records.values.end()) continue;
    JsonObject merged = own->second;
    auto post = records.values.find(component.name + "-post");
    if (post != records.values.end()) {
      for (const auto& [key, value] : post->second) {
        if (key != component.name) merged[key] = value;
      }
    }
    values[component.name] = std::move(merged);
  }
  return values;
}

std::string file_of(const ReleaseRecords& records, const std::string& component,
                    const Deviation& deviation, const Rules& rules) {
  std::string release = component;
  for (const HookRule& hook : rules.hooks) {
    if (hook.component == component && deviation.path.front() == hook.values_key) {
      release = component + "-post";
    }
  }
  auto file = records.files.find(release);
  return file == records.files.end() ? release : file->second;
}

}  // namespace

std::vector<Finding> check_recipe(const Rules& rules, const ResolvedRecipe& recipe,
                                  const std::string& place) {
  std::vector<Finding> findings;
  for (const ComponentRef& component : recipe.components) {
    std::string at = component.place.text();
    if (at.empty()) at = place;
    add_hand_written(rules, component.name, component.overrides, at, findings);
    add_trapped_values(component.chart, component.overrides, at, findings);
  }
  return findings;
}

std::vector<Finding> check_manifests(const std::string& text, const std::string& place) {
  std::vector<Finding> findings;
  for (size_t line : trap_lines(text)) {
    findings.push_back({fmt::format("{}:{}", place, line), std::string(node_selector_advice)});
  }
  if (!findings.empty()) return findings;
  // Written in one line, as patches often are.
  auto documents = parse_yaml_stream(text, place);
  if (documents && std::any_of(documents->begin(), documents->end(), is_trapped)) {
    findings.push_back({place, std::string(node_selector_advice)});
  }
  return findings;
}

Result<std::vector<Finding>> check_manifest_file(const std::string& text,
                                                 const std::string& place) {
  constexpr std::string_view checked =
      "check reads a recipe (kind RecipeResult), a manifest or template of a ClusterPolicy or "
      "NVIDIADriver, a bundle's folder, or a data folder";
  auto is_checked = [](std::string_view kind) {
    return kind == "ClusterPolicy" || kind == "NVIDIADriver";
  };
  auto documents = parse_yaml_stream(text, place);
  if (documents) {
    std::vector<std::string> kinds;
    for (const Json& document : *documents) kinds.emplace_back(text_at(document, "kind"));
    if (std::none_of(kinds.begin(), kinds.end(), is_checked)) {
      std::erase(kinds, "");
      return fail(ErrorKind::invalid,
                  fmt::format("holds {}; {}",
                              kinds.empty() ? "no Kubernetes object"
                                            : "nothing to check, only " + join(kinds, ", "),
                              checked),
                  place);
    }
  } else if (text.find("{{") == std::string::npos) {
    return fail(documents.error());
  } else if (text.find("kind: ClusterPolicy") == std::string::npos) {
    return fail(ErrorKind::invalid, fmt::format("is a template of no ClusterPolicy; {}", checked),
                place);
  }
  return check_manifests(text, place);
}

// The chart's values of the operator become its ClusterPolicy.
std::string trapped_value(std::string_view chart, const JsonObject& values) {
  const Json* driver = find(values, "driver");
  if (chart != "gpu-operator" || driver == nullptr || find(*driver, "nodeSelector") == nullptr) {
    return {};
  }
  return fmt::format("driver.nodeSelector: {}", node_selector_advice);
}

Result<std::vector<Finding>> check_bundle(const Rules& rules, const FileMap& files,
                                          const CriteriaWords& words, const std::string& folder,
                                          std::vector<std::string>* left_out) {
  LOCKSTEP_TRY(BundleContents contents, read_contents(files, words, folder));
  Rules derived_here = rules;
  const std::vector<std::string>& without = contents.recipe.not_derived;
  if (left_out != nullptr) left_out->insert(left_out->end(), without.begin(), without.end());
  std::erase_if(derived_here.derived, [&](const DerivedRule& rule) {
    return std::find(without.begin(), without.end(), rule.name) != without.end();
  });
  std::vector<Finding> findings = check_recipe(derived_here, contents.recipe, folder);
  for (const auto& [kind, records] : contents.records) {
    ValuesMap values = by_component(contents.recipe, records);
    for (const Deviation& found : deviations(derived_here.derived, contents.recipe, values)) {
      if (records.values.count(found.component) == 0) continue;
      std::string file = file_of(records, found.component, found, rules);
      findings.push_back({folder + "/" + file, found.text()});
    }
    for (const auto& [release, version] : records.versions) {
      const ComponentRef* component = contents.recipe.find(release);
      if (component == nullptr || component->version == version) continue;
      findings.push_back({folder + "/" + records.files.at(release),
                          fmt::format("the version of {} is {}, and the recipe says {}", release,
                                      version, component->version)});
    }
    for (const auto& [release, own] : records.values) {
      const ComponentRef* component = contents.recipe.find(release);
      if (component == nullptr) continue;
      add_trapped_values(component->chart, own, folder + "/" + records.files.at(release), findings);
    }
  }
  for (const auto& [path, text] : files) {
    if (path.find("/templates/") == std::string::npos) continue;
    for (Finding& found : check_manifests(text, folder + "/" + path)) {
      findings.push_back(std::move(found));
    }
  }
  return findings;
}

Result<std::vector<Finding>> check_catalogue(const Rules& rules, const Catalogue& catalogue) {
  std::vector<Finding> findings;
  check_spec(rules, catalogue.base.spec, findings);
  for (const auto& [name, overlay] : catalogue.overlays) check_spec(rules, overlay.spec, findings);
  for (const auto& [name, mixin] : catalogue.mixins) check_spec(rules, mixin.spec, findings);
  for (const auto& [path, text] : catalogue.files) {
    std::vector<std::string_view> parts = split(path, '/');
    auto place = catalogue.places.find(path);
    std::string where = place == catalogue.places.end() ? path : place->second;
    if (parts.size() == 3 && parts[0] == "components" && parts[2].starts_with("values") &&
        parts[2].ends_with(".yaml")) {
      LOCKSTEP_TRY(YamlFile file, catalogue.yaml(path));
      if (!file.json.is_object()) continue;
      std::string component(parts[1]);
      add_hand_written(rules, component, file.json.get_object(), where, findings);
      add_trapped_values(component, file.json.get_object(), where, findings);
    } else if (path.ends_with(".yaml") && parts.size() > 2) {
      for (Finding& found : check_manifests(text, where)) findings.push_back(std::move(found));
    }
  }
  return findings;
}

}  // namespace lockstep::bundle
