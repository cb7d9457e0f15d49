#include "api_reference.h"

#include <algorithm>
#include <set>
#include <vector>

namespace lockstep::documentation {

namespace {

std::string plain(const Json& value) {
  return value.is_string() ? std::string(as_text(&value)) : print_json(value);
}

// In a cell of a table a bar would begin the next one.
std::string for_cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.replace(at, 1, "\\|");
  }
  return text;
}

std::string type_of(const Json& schema) {
  std::string type(text_at(schema, "type"));
  if (type == "array") {
    const Json* items = find(schema, "items");
    std::string of = items == nullptr ? "" : type_of(*items);
    return "list of " + (of.empty() ? "values" : of);
  }
  if (type == "object") {
    if (const Json* values = find(schema, "additionalProperties"); values && values->is_object()) {
      return "map of " + type_of(*values);
    }
    return "map";
  }
  return type.empty() ? "any" : type;
}

std::string limits_of(const Json& schema) {
  std::vector<std::string> limits;
  if (const Json* words = find(schema, "enum"); words && words->is_array()) {
    std::string list;
    for (const Json& word : words->as_array()) list += (list.empty() ? "" : ", ") + plain(word);
    limits.push_back("one of " + list);
  }
  const std::pair<const char*, const char*> numbers[] = {{"minimum", "at least "},
                                                         {"maximum", "at most "},
                                                         {"minLength", "characters at least "},
                                                         {"maxLength", "characters at most "},
                                                         {"minItems", "entries at least "},
                                                         {"maxItems", "entries at most "},
                                                         {"pattern", "pattern "}};
  for (const auto& [key, words] : numbers) {
    const Json* value = find(schema, key);
    if (value == nullptr) continue;
    std::string text = plain(*value);
    limits.push_back(words + (std::string_view(key) == "pattern" ? "`" + text + "`" : text));
  }
  std::string text;
  for (const std::string& limit : limits) text += (text.empty() ? "" : "; ") + limit;
  return text;
}

void add_rows(const Json& schema, const std::string& path, std::string& rows);

void add_children(const Json& schema, const std::string& path, std::string& rows) {
  const Json* properties = find(schema, "properties");
  if (properties == nullptr || !properties->is_object()) return;
  std::set<std::string> required;
  if (const Json* names = find(schema, "required"); names && names->is_array()) {
    for (const Json& name : names->as_array()) required.insert(plain(name));
  }
  for (const auto& [key, child] : properties->as_object()) {
    std::string name(key);
    std::string about(text_at(child, "description"));
    std::string limits = limits_of(child);
    if (!about.empty() && !limits.empty()) about += " ";
    if (!limits.empty()) about += "(" + limits + ")";
    const Json* preset = find(child, "default");
    std::string place = path.empty() ? name : path + "." + name;
    rows += "| `" + place + "`" + (required.contains(name) ? " (required)" : "") + " | " +
            type_of(child) + " | " + (preset == nullptr ? "" : "`" + plain(*preset) + "`") + " | " +
            for_cell(about) + " |\n";
    add_rows(child, place, rows);
  }
}

void add_rows(const Json& schema, const std::string& path, std::string& rows) {
  add_children(schema, path, rows);
  if (const Json* items = find(schema, "items")) add_rows(*items, path + "[]", rows);
}

// Rules that the API server itself holds objects to.
void add_rules(const Json& schema, std::vector<std::string>& rules) {
  if (schema.is_array()) {
    for (const Json& item : schema.as_array()) add_rules(item, rules);
    return;
  }
  if (!schema.is_object()) return;
  if (const Json* list = find(schema, "x-kubernetes-validations"); list && list->is_array()) {
    for (const Json& rule : list->as_array()) rules.emplace_back(text_at(rule, "message"));
  }
  for (const auto& [key, child] : schema.as_object()) add_rules(child, rules);
}

}  // namespace

std::string api_reference(const Json& definition) {
  const Json& version = find(definition, "spec", "versions")->as_array()[0];
  const Json& schema = *find(version, "schema", "openAPIV3Schema");
  std::string kind(text_at(definition, "spec", "names", "kind"));
  std::string text = "# API: " + kind + "\n\nReference: every field of a " + kind + ". " +
                     std::string(text_at(schema, "description")) +
                     "\n\n`make docs` makes this page from "
                     "`deploy/chart/lockstep/templates/driverrollouts.yaml`; a test compares the "
                     "two.\n[ROLLOUT.md](ROLLOUT.md) says how the fields work together. "
                     "`kubectl explain` shows the same descriptions.\n\n" +
                     "`apiVersion: " + std::string(text_at(definition, "spec", "group")) + "/" +
                     std::string(text_at(version, "name")) + "`, `kind: " + kind + "`, scope " +
                     std::string(text_at(definition, "spec", "scope")) + ", `kubectl get " +
                     std::string(text_at(definition, "spec", "names", "plural")) + "`\n";
  for (const char* part : {"spec", "status"}) {
    const Json* half = find(schema, "properties", part);
    if (half == nullptr) continue;
    std::string rows;
    add_children(*half, part, rows);
    text += std::string("\n## ") + part + "\n\n";
    text += rows.empty() ? "The definition has no fields.\n"
                         : "| field | type | default | meaning |\n|---|---|---|---|\n" + rows;
  }
  std::vector<std::string> rules;
  add_rules(schema, rules);
  if (!rules.empty()) text += "\n## Rules that the API server enforces\n\n";
  for (const std::string& rule : rules) text += "- " + rule + "\n";
  return text;
}

}  // namespace lockstep::documentation
