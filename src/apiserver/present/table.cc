#include "apiserver/present/table.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "apiserver/present/json_path.h"
#include "apiserver/present/table_printers.h"

namespace lockstep::apiserver {

namespace {

using PrinterKey = std::pair<std::string_view, std::string_view>;  // group, kind

// The columns of a kind never change, so they are built once and then only read.
const Printer* find_printer(const ResourceType& type) {
  static const std::map<PrinterKey, Printer> printers = [] {
    std::map<PrinterKey, Printer> all;
    for (auto family : {pod_printers, node_printers, workload_printers, core_printers,
                        network_printers, storage_printers, policy_printers}) {
      for (Printer& printer : family()) {
        all.emplace(PrinterKey(printer.group, printer.kind), std::move(printer));
      }
    }
    return all;
  }();
  const auto found = printers.find({type.group, type.kind});
  return found == printers.end() ? nullptr : &found->second;
}

Column created_column() {
  Column column = text_column("Created At", "When the object was created.");
  column.type = "date";
  return column;
}

// A custom resource that names no columns shows its age.
std::vector<Column> default_custom_columns() {
  Column age = age_column();
  age.type = "date";
  age.json_path = ".metadata.creationTimestamp";
  return {age};
}

std::vector<Column> custom_columns(const ResourceInfo& info) {
  std::vector<Column> columns = {name_column()};
  for (const Column& declared : info.columns.empty() ? default_custom_columns() : info.columns) {
    columns.push_back(declared);
    if (declared.description.empty()) {
      columns.back().description = fmt::format(
          "Custom resource definition column (in JSONPath format): {}", declared.json_path);
    }
  }
  return columns;
}

// A value of any type as Go prints it: structures as JSON, numbers plainly.
std::string printed(const Json& value) {
  if (value.is_string()) return std::string(as_text(&value));
  if (!value.is_double()) return print_json(value);
  const double number = value.get_double();
  // Go writes whole numbers without a point and leaves exponents to numbers from 1e21.
  return std::trunc(number) == number && std::abs(number) < 1e21 ? fmt::format("{:.0f}", number)
                                                                 : fmt::format("{}", number);
}

Json integer_cell(const Json& value) {
  if (value.is_int64() || value.is_uint64()) return value;
  if (value.is_double() && std::abs(value.get_double()) < 9.2e18) {
    return static_cast<int64_t>(value.get_double());
  }
  return nullptr;
}

Json date_cell(const Json& value, Time now) {
  if (!value.is_string()) return nullptr;
  if (as_text(&value).empty() || as_text(&value) == "null") return "<unknown>";
  const Result<Time> time = parse_rfc3339(as_text(&value));
  if (!time) return "<invalid>";
  return time->is_set() ? text_cell(human_duration(now - *time)) : "<unknown>";
}

Json custom_cell(const Column& column, const Json& object, Time now) {
  const Result<JsonPath> path = JsonPath::parse(column.json_path);
  if (!path) return nullptr;
  const std::vector<const Json*> found = path->find_all(object);
  if (found.empty()) return nullptr;
  const Json& value = *found.front();
  if (column.type == "string") return text_cell(printed(value));
  if (value.is_null()) return nullptr;
  if (column.type == "integer") return integer_cell(value);
  if (column.type == "number") return value.is_number() ? Json(as_number(value)) : nullptr;
  if (column.type == "boolean") return value.is_bool() ? value : nullptr;
  if (column.type == "date") return date_cell(value, now);
  return nullptr;
}

JsonArray row_cells(const ResourceInfo& info, const Json& object, Time now) {
  JsonArray cells;
  if (info.custom) {
    cells.push_back(name_cell(object));
    static const std::vector<Column> only_age = default_custom_columns();
    for (const Column& column : info.columns.empty() ? only_age : info.columns) {
      cells.push_back(custom_cell(column, object, now));
    }
    return cells;
  }
  if (const Printer* printer = find_printer(info.type)) {
    printer->cells(object, now, cells);
    return cells;
  }
  const std::string_view created = text_at(object, "metadata", "creationTimestamp");
  cells.push_back(name_cell(object));
  cells.push_back(text_or(created, "0001-01-01T00:00:00Z"));
  return cells;
}

Json row_conditions(const ResourceInfo& info, const Json& object) {
  const Printer* printer = info.custom ? nullptr : find_printer(info.type);
  return printer == nullptr || printer->conditions == nullptr ? Json()
                                                              : printer->conditions(object);
}

Json row_object(const Json& object, IncludeObject include) {
  if (include == IncludeObject::none) return nullptr;
  if (include == IncludeObject::object) return object;
  const Json* metadata = find(object, "metadata");
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", metadata == nullptr ? Json(JsonObject()) : *metadata}};
}

Json column_json(const Column& column) {
  return {{"name", column.name},
          {"type", column.type},
          {"format", column.format},
          {"description", column.description},
          {"priority", column.priority}};
}

Json list_metadata(const std::string& resource_version, const std::string& continue_token,
                   int64_t remaining) {
  JsonObject metadata;
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  if (!continue_token.empty()) metadata["continue"] = continue_token;
  if (remaining > 0) metadata["remainingItemCount"] = remaining;
  return metadata;
}

}  // namespace

std::vector<Column> table_columns(const ResourceInfo& info) {
  if (info.custom) return custom_columns(info);
  const Printer* printer = find_printer(info.type);
  if (printer != nullptr) return printer->columns;
  return {name_column(), created_column()};
}

Json table_row(const ResourceInfo& info, const Json& object, IncludeObject include, Time now) {
  JsonObject row;
  row["cells"] = row_cells(info, object, now);
  if (Json conditions = row_conditions(info, object); !conditions.is_null()) {
    row["conditions"] = std::move(conditions);
  }
  row["object"] = row_object(object, include);
  return row;
}

Json make_table(const ResourceInfo& info, const std::vector<Document>& objects,
                const std::string& resource_version, const std::string& continue_token,
                int64_t remaining, IncludeObject include, bool with_columns, Time now) {
  JsonObject table;
  table["kind"] = "Table";
  table["apiVersion"] = "meta.k8s.io/v1";
  table["metadata"] = list_metadata(resource_version, continue_token, remaining);
  Json& columns = table["columnDefinitions"] = nullptr;
  if (with_columns) {
    JsonArray& definitions = columns.emplace_array();
    for (const Column& column : table_columns(info)) definitions.push_back(column_json(column));
  }
  JsonArray rows;
  rows.reserve(objects.size());
  for (const Document& object : objects) rows.push_back(table_row(info, *object, include, now));
  table["rows"] = std::move(rows);
  return table;
}

}  // namespace lockstep::apiserver
