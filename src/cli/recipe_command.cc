#include "cli/recipe_command.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/bundle_reader.h"
#include "bundle/difference.h"
#include "bundle/value_path.h"
#include "bundle/values.h"
#include "cli/exit_codes.h"
#include "cli/status_command.h"
#include "data/json.h"
#include "data/yaml.h"
#include "world/directories.h"
#include "world/output_folder.h"

namespace lockstep::cli {

namespace {

std::string pad(std::string_view text, size_t width) { return fmt::format("{:<{}}", text, width); }

// Columns as wide as what is in them; the last is not padded.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : pad(row[i], widths[i] + 2);
    }
    text += line + "\n";
  }
  return text;
}

bool is_off(const bundle::ComponentRef& component) {
  return !as_bool(find(component.overrides, "enabled"), true);
}

std::string recipe_table(const bundle::ResolvedRecipe& recipe) {
  std::vector<std::vector<std::string>> rows = {
      {"", "COMPONENT", "VERSION", "NAMESPACE", "SOURCE"}};
  int position = 0;
  for (const std::string& name : recipe.deployment_order) {
    const bundle::ComponentRef& component = *recipe.find(name);
    std::string version = component.version.empty() ? component.tag : component.version;
    rows.push_back({std::to_string(++position), is_off(component) ? name + " (off)" : name,
                    version.empty() ? "-" : version, component.ns.empty() ? "-" : component.ns,
                    component.source.empty() ? "manifests of the catalogue" : component.source});
  }
  std::string text =
      fmt::format("criteria:  {}\noverlays:  {}\n", bundle::describe(recipe.criteria),
                  join(recipe.applied_overlays, ", "));
  if (!recipe.applied_mixins.empty()) {
    text += fmt::format("mixins:    {}\n", join(recipe.applied_mixins, ", "));
  }
  for (const bundle::Constraint& constraint : recipe.constraints) {
    text += fmt::format("needs:     {} {}\n", constraint.name, constraint.value);
  }
  return text + "\n" + table(rows);
}

std::string printed(const Json& document, std::string_view format) {
  return format == "json" ? print_json_pretty(document) + "\n" : print_yaml(document);
}

bool is_format(std::string_view text) {
  return text == "yaml" || text == "json" || text == "table";
}

// The bundle in a folder, or the recipe in a file.
Result<bundle::Described> described(const bundle::Catalogue& catalogue, const std::string& path) {
  if (is_directory(path)) {
    LOCKSTEP_TRY(auto files, read_tree(path));
    return bundle::read_bundle({files.begin(), files.end()}, catalogue.words, path);
  }
  bundle::Described side;
  LOCKSTEP_TRY(side.recipe, read_recipe_file(catalogue, path));
  return side;
}

// The recipe with every component's values, by name: the input of selectors.
Result<Json> hydrated(const bundle::Catalogue& catalogue, const bundle::ResolvedRecipe& recipe) {
  JsonObject json = to_json(recipe);
  json.erase("componentRefs");
  JsonObject components;
  for (const bundle::ComponentRef& component : recipe.components) {
    JsonObject item = to_json(component);
    item.erase("overrides");
    LOCKSTEP_TRY(JsonObject values, component_values(catalogue, component));
    item["values"] = std::move(values);
    components[component.name] = std::move(item);
  }
  json["components"] = std::move(components);
  return Json(std::move(json));
}

Result<Json> select(const Json& document, const std::string& selector) {
  if (selector.empty() || selector == ".") return document;
  std::string_view trimmed = selector;
  if (trimmed.starts_with('.')) trimmed.remove_prefix(1);
  LOCKSTEP_TRY(bundle::ValuePath path, bundle::parse_value_path(trimmed));
  const Json* at = &document;
  std::string walked;
  for (const std::string& name : path) {
    const Json* next = nullptr;
    if (at->is_array()) {
      auto index = parse_unsigned(name);
      if (index && *index < at->get_array().size()) next = &at->get_array()[*index];
    } else {
      next = find(*at, name);
    }
    if (next == nullptr) {
      std::vector<std::string> known;
      if (at->is_object()) {
        for (const auto& [key, value] : at->get_object()) known.emplace_back(key);
      }
      return fail(ErrorKind::not_found,
                  fmt::format("no \"{}\" in {}{}", name, walked.empty() ? "the recipe" : walked,
                              suggestion(name, known)),
                  selector);
    }
    at = next;
    walked += (walked.empty() ? "" : ".") + name;
  }
  return *at;
}

}  // namespace

int run_recipe(const RecipeFlags& flags) {
  auto catalogue = open_catalogue(flags.catalogue);
  if (!catalogue) return report(catalogue.error());
  auto recipe = resolve(*catalogue, flags.criteria);
  if (!recipe) return report(recipe.error());
  print_warnings(recipe->warnings);
  std::string file = is_format(flags.output) || flags.output == "-" ? "" : flags.output;
  if (!file.empty() && file.find_first_of("./") == std::string::npos) {
    return report({ErrorKind::invalid, "must be yaml, json or table, or a file such as recipe.yaml",
                   "-o " + file});
  }
  std::string format = !flags.format.empty()     ? flags.format
                       : file.empty()            ? flags.output
                       : file.ends_with(".json") ? "json"
                                                 : "yaml";
  std::string text = format == "table" ? recipe_table(*recipe) : printed(to_json(*recipe), format);
  if (file.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return ExitCode::ok;
  }
  auto written = write_output(file, text);
  return written ? ExitCode::ok : report(written.error().at("-o"));
}

int run_recipe_list(const RecipeListFlags& flags) {
  auto catalogue = open_catalogue(flags.catalogue);
  if (!catalogue) return report(catalogue.error());
  std::vector<std::vector<std::string>> rows = {
      {"OVERLAY", "SERVICE", "ACCELERATOR", "INTENT", "OS", "PLATFORM", "COMPONENTS"}};
  JsonArray list;
  for (const auto& [name, overlay] : catalogue->overlays) {
    if (!overlay.criteria) continue;
    auto recipe = bundle::resolve(*catalogue, *overlay.criteria);
    if (!recipe) return report(recipe.error().at(overlay.file));
    std::vector<std::string> row = {name};
    for (const bundle::CriteriaField& field : bundle::criteria_fields) {
      const std::string& word = *overlay.criteria.*field.value;
      row.push_back(word.empty() ? "any" : word);
    }
    row.push_back(std::to_string(
        std::count_if(recipe->components.begin(), recipe->components.end(),
                      [](const bundle::ComponentRef& component) { return !is_off(component); })));
    rows.push_back(std::move(row));
    JsonObject item;
    item["name"] = name;
    item["criteria"] = to_json(*overlay.criteria);
    JsonObject versions;
    for (const bundle::ComponentRef& component : recipe->components) {
      versions[component.name] = component.version.empty() ? component.tag : component.version;
    }
    item["components"] = std::move(versions);
    list.push_back(std::move(item));
  }
  if (flags.output != "table") {
    print_document(JsonObject{{"overlays", std::move(list)}}, flags.output);
    return ExitCode::ok;
  }
  fmt::print("{}", table(rows));
  fmt::print("\naccepted values:\n");
  for (const bundle::CriteriaField& field : bundle::criteria_fields) {
    const auto& words = catalogue->words.words(field.name);
    fmt::print("  --{:<12} {}\n", field.name, join({words.begin(), words.end()}, ", "));
  }
  return ExitCode::ok;
}

int run_recipe_diff(const RecipeDiffFlags& flags) {
  auto catalogue = open_catalogue(flags.catalogue);
  if (!catalogue) return report(catalogue.error());
  auto before = described(*catalogue, flags.before);
  if (!before) return report(before.error());
  auto after = described(*catalogue, flags.after);
  if (!after) return report(after.error());
  if (before->values.empty() != after->values.empty()) {
    return report({ErrorKind::invalid,
                   "one is a recipe and the other a bundle: compare two of the same kind",
                   flags.before + " and " + flags.after});
  }
  bundle::Difference found = difference(*before, *after);
  if (flags.output == "table") {
    fmt::print("{}", describe(found));
  } else {
    print_document(to_json(found), flags.output);
  }
  return flags.exit_code && !found.empty() ? ExitCode::failed : ExitCode::ok;
}

int run_query(const QueryFlags& flags) {
  if (flags.selector.empty()) {
    return report({ErrorKind::invalid,
                   "name a value, such as components.gpu-operator.values.driver.version, or "
                   "\".\" for all of it",
                   "query"});
  }
  auto catalogue = open_catalogue(flags.catalogue);
  if (!catalogue) return report(catalogue.error());
  auto recipe = resolve(*catalogue, flags.criteria);
  if (!recipe) return report(recipe.error());
  print_warnings(recipe->warnings);
  auto document = hydrated(*catalogue, *recipe);
  if (!document) return report(document.error());
  auto value = select(*document, flags.selector);
  if (!value) return report(value.error());
  // A scalar is what a script asked for: as it is, without quotes.
  if (flags.output == "yaml" && value->is_string()) {
    fmt::print("{}\n", std::string_view(value->get_string()));
  } else {
    std::string text = printed(*value, flags.output);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli
