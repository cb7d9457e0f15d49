#include "bundle/difference.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace lockstep::bundle {

namespace {

using Fields = std::map<std::string, std::string>;

// Leaves by their path. A key with a dot is written as --set takes it.
void flatten(const Json& value, const std::string& path, Fields& into) {
  if (!value.is_object() || value.get_object().empty()) {
    into[path] = print_json(value);
    return;
  }
  for (const auto& [key, child] : value.get_object()) {
    std::string name;
    for (char c : key) name += c == '.' ? "\\." : std::string(1, c);
    flatten(child, path.empty() ? name : path + "." + name, into);
  }
}

Fields flatten(const Json& value) {
  Fields fields;
  if (value.is_object() && value.get_object().empty()) return fields;
  flatten(value, "", fields);
  return fields;
}

std::vector<FieldChange> compare(const Fields& before, const Fields& after) {
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : after) names.insert(name);
  std::vector<FieldChange> changes;
  for (const std::string& name : names) {
    auto was = before.find(name);
    auto is = after.find(name);
    FieldChange change{name, was == before.end() ? "" : was->second,
                       is == after.end() ? "" : is->second};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  std::stable_partition(changes.begin(), changes.end(),
                        [](const FieldChange& change) { return change.field == "version"; });
  return changes;
}

Fields constraints_of(const ResolvedRecipe& recipe) {
  Fields fields;
  for (const Constraint& constraint : recipe.constraints) {
    fields[constraint.name] = print_json(Json(JsonString(constraint.value)));
  }
  return fields;
}

// Everything by the component's or release's name.
std::map<std::string, Fields> parts_of(const Described& side) {
  std::map<std::string, Fields> parts;
  for (const ComponentRef& component : side.recipe.components) {
    JsonObject json = to_json(component);
    json.erase("name");
    // A bundle's values have the overrides in them.
    if (!side.values.empty()) json.erase("overrides");
    parts[component.name] = flatten(json);
  }
  for (const auto& [release, values] : side.values) {
    Fields& fields = parts[release];
    for (auto& [path, value] : flatten(values)) fields["values." + path] = std::move(value);
  }
  return parts;
}

std::string_view to_string(ComponentChange::Kind kind) {
  switch (kind) {
    case ComponentChange::Kind::added:
      return "added";
    case ComponentChange::Kind::removed:
      return "removed";
    case ComponentChange::Kind::changed:
      break;
  }
  return "changed";
}

JsonArray to_json(const std::vector<FieldChange>& changes) {
  JsonArray list;
  for (const FieldChange& change : changes) {
    JsonObject item;
    item["field"] = change.field;
    if (!change.before.empty()) item["before"] = *parse_json(change.before);
    if (!change.after.empty()) item["after"] = *parse_json(change.after);
    list.push_back(std::move(item));
  }
  return list;
}

std::string shown(const std::string& json) {
  if (json.empty()) return "(not set)";
  auto value = parse_json(json);
  return value && value->is_string() && !value->get_string().empty()
             ? std::string(value->get_string())
             : json;
}

void append(std::string& text, const std::vector<FieldChange>& changes) {
  for (const FieldChange& change : changes) {
    text +=
        fmt::format("  {}: {} -> {}\n", change.field, shown(change.before), shown(change.after));
  }
}

}  // namespace

Difference difference(const Described& before, const Described& after) {
  Difference result;
  std::map<std::string, Fields> was = parts_of(before);
  std::map<std::string, Fields> is = parts_of(after);
  std::set<std::string> names;
  for (const auto& [name, fields] : was) names.insert(name);
  for (const auto& [name, fields] : is) names.insert(name);
  for (const std::string& name : names) {
    ComponentChange change{.name = name, .fields = compare(was[name], is[name])};
    if (before.recipe.find(name) == nullptr && before.values.count(name) == 0) {
      change.kind = ComponentChange::Kind::added;
    } else if (after.recipe.find(name) == nullptr && after.values.count(name) == 0) {
      change.kind = ComponentChange::Kind::removed;
    } else if (change.fields.empty()) {
      continue;
    }
    result.components.push_back(std::move(change));
  }
  result.constraints = compare(constraints_of(before.recipe), constraints_of(after.recipe));
  result.criteria =
      compare(flatten(to_json(before.recipe.criteria)), flatten(to_json(after.recipe.criteria)));
  return result;
}

Json to_json(const Difference& difference) {
  JsonObject json;
  JsonArray components;
  for (const ComponentChange& change : difference.components) {
    JsonObject item;
    item["name"] = change.name;
    item["change"] = to_string(change.kind);
    item["fields"] = to_json(change.fields);
    components.push_back(std::move(item));
  }
  json["components"] = std::move(components);
  json["constraints"] = to_json(difference.constraints);
  json["criteria"] = to_json(difference.criteria);
  return json;
}

std::string describe(const Difference& difference) {
  if (difference.empty()) return "no difference\n";
  std::string text;
  if (!difference.criteria.empty()) text += "criteria\n";
  append(text, difference.criteria);
  for (const ComponentChange& change : difference.components) {
    if (change.kind == ComponentChange::Kind::changed) {
      text += change.name + "\n";
      append(text, change.fields);
      continue;
    }
    bool added = change.kind == ComponentChange::Kind::added;
    std::string version;
    for (const FieldChange& field : change.fields) {
      if (field.field == "version") version = " " + shown(added ? field.after : field.before);
    }
    text += fmt::format("{}: {}{}\n", change.name, to_string(change.kind), version);
  }
  if (!difference.constraints.empty()) text += "constraints\n";
  append(text, difference.constraints);
  return text;
}

}  // namespace lockstep::bundle
