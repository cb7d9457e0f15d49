// What the families of printers share: common columns, ages, labels and selectors as text.
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

Column text_column(std::string name, std::string description, int priority) {
  Column column;
  column.name = std::move(name);
  column.description = std::move(description);
  column.priority = priority;
  return column;
}

Column integer_column(std::string name, std::string description, int priority) {
  Column column = text_column(std::move(name), std::move(description), priority);
  column.type = "integer";
  return column;
}

Column boolean_column(std::string name, std::string description, int priority) {
  Column column = text_column(std::move(name), std::move(description), priority);
  column.type = "boolean";
  return column;
}

Column name_column() {
  Column column = text_column("Name", "The object's name, unique among its kind in its namespace.");
  column.format = "name";
  return column;
}

Column age_column() { return text_column("Age", "How long ago the object was created."); }

std::vector<Column> name_and_age(std::vector<Column> between, std::vector<Column> wide) {
  std::vector<Column> columns;
  columns.push_back(name_column());
  std::move(between.begin(), between.end(), std::back_inserter(columns));
  columns.push_back(age_column());
  std::move(wide.begin(), wide.end(), std::back_inserter(columns));
  return columns;
}

Json text_cell(std::string_view text) { return Json(text); }

Json text_or(std::string_view text, std::string_view otherwise) {
  return Json(text.empty() ? otherwise : text);
}

Json name_cell(const Json& object) { return text_cell(text_at(object, "metadata", "name")); }

std::string age_of(const Json* timestamp, Time now) {
  const std::string_view text = as_text(timestamp);
  if (text.empty()) return "<unknown>";
  const Result<Time> time = parse_rfc3339(text);
  if (!time || !time->is_set()) return "<unknown>";
  return human_duration(now - *time);
}

Json age_cell(const Json& object, Time now) {
  return text_cell(age_of(find(object, "metadata", "creationTimestamp"), now));
}

std::span<const Json> elements(const Json* array) {
  if (array == nullptr || !array->is_array()) return {};
  const JsonArray& items = array->get_array();
  return {items.data(), items.size()};
}

size_t count_of(const Json* container) {
  if (container == nullptr) return 0;
  if (container->is_array()) return container->get_array().size();
  if (container->is_object()) return container->get_object().size();
  return 0;
}

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& condition : elements(find(object, "status", "conditions"))) {
    if (text_at(condition, "type") == type) return &condition;
  }
  return nullptr;
}

bool is_condition_true(const Json& object, std::string_view type) {
  const Json* condition = condition_of(object, type);
  return condition != nullptr && text_at(*condition, "status") == "True";
}

bool is_deleting(const Json& object) {
  const Json* deleted = find(object, "metadata", "deletionTimestamp");
  return deleted != nullptr && !deleted->is_null();
}

std::string format_labels(const Json* labels) {
  if (count_of(labels) == 0 || !labels->is_object()) return "<none>";
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels->get_object()) {
    parts.push_back(fmt::format("{}={}", std::string_view(key), as_text(&value)));
  }
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

namespace {

std::string requirement_text(const Json& expression) {
  const std::string_view key = text_at(expression, "key");
  const std::string_view relation = text_at(expression, "operator");
  if (relation == "Exists") return std::string(key);
  if (relation == "DoesNotExist") return fmt::format("!{}", key);
  std::vector<std::string> values;
  for (const Json& value : elements(find(expression, "values")))
    values.emplace_back(as_text(&value));
  std::sort(values.begin(), values.end());
  return fmt::format("{} {} ({})", key, relation == "In" ? "in" : "notin", join(values, ","));
}

}  // namespace

std::string selector_text(const Json* selector) {
  if (selector == nullptr) return "";
  std::vector<std::pair<std::string, std::string>> requirements;  // by key
  if (const Json* labels = find(*selector, "matchLabels");
      labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      requirements.emplace_back(key, fmt::format("{}={}", std::string_view(key), as_text(&value)));
    }
  }
  for (const Json& expression : elements(find(*selector, "matchExpressions"))) {
    requirements.emplace_back(text_at(expression, "key"), requirement_text(expression));
  }
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> parts;
  for (auto& [key, text] : requirements) parts.push_back(std::move(text));
  return join(parts, ",");
}

std::string format_selector(const Json* selector) {
  std::string text = selector_text(selector);
  return text.empty() ? "<none>" : text;
}

std::string first_three(const std::vector<std::string>& items, std::string_view otherwise) {
  constexpr size_t most = 3;
  if (items.size() <= most) {
    std::string text = join(items, ",");
    return text.empty() ? std::string(otherwise) : text;
  }
  return fmt::format("{} + {} more...", join({items.begin(), items.begin() + most}, ","),
                     items.size() - most);
}

std::string joined_texts(const Json* array, std::string_view field, std::string_view separator) {
  std::vector<std::string> parts;
  for (const Json& item : elements(array)) {
    parts.emplace_back(field.empty() ? as_text(&item) : text_at(item, field));
  }
  return join(parts, separator);
}

void add_container_cells(const Json* pod_spec, JsonArray& cells) {
  const Json* containers = pod_spec == nullptr ? nullptr : find(*pod_spec, "containers");
  cells.push_back(text_cell(joined_texts(containers, "name", ",")));
  cells.push_back(text_cell(joined_texts(containers, "image", ",")));
}

std::vector<Column> container_columns() {
  return {text_column("Containers", "Names of the containers in the pod template.", 1),
          text_column("Images", "Images of the containers in the pod template.", 1)};
}

}  // namespace lockstep::apiserver
