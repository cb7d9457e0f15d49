// What the tests of the printers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "apiserver/present/table.h"

namespace lockstep::apiserver {

// The time of every test; "created" is a day earlier.
inline const Time table_now = parse_rfc3339("2026-03-02T12:00:00Z").value();
inline constexpr std::string_view created = "\"creationTimestamp\":\"2026-03-01T12:00:00Z\"";

inline ResourceInfo info_of(std::string_view group, std::string_view kind) {
  ResourceInfo info;
  info.type = {std::string(group), "v1", std::string(kind), "things", true};
  return info;
}

// {"metadata":{"name":"x","creationTimestamp":…}, …}
inline Json object_of(std::string_view rest) {
  const std::string text = "{\"metadata\":{\"name\":\"x\"," + std::string(created) + "}" +
                           (rest.empty() ? "" : ",") + std::string(rest) + "}";
  Result<Json> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : Json(nullptr);
}

struct RowCase {
  std::string_view name;
  std::string_view group;
  std::string_view kind;
  std::string_view object;  // without metadata; or the whole object, when it begins with '{'
  std::string_view cells;   // as JSON
};

// The cells that the object is printed as. As many as there are columns.
inline std::string cells_of(const RowCase& row) {
  const ResourceInfo info = info_of(row.group, row.kind);
  const Json object =
      row.object.starts_with('{') ? parse_json(row.object).value() : object_of(row.object);
  const Json cells = *find(table_row(info, object, IncludeObject::none, table_now), "cells");
  EXPECT_EQ(cells.as_array().size(), table_columns(info).size()) << row.kind;
  return print_json(cells);
}

// "Name,Ready,Status|IP,Node": the columns, with those of -o wide after the bar.
inline std::string column_names(std::string_view group, std::string_view kind) {
  std::string narrow, wide;
  for (const Column& column : table_columns(info_of(group, kind))) {
    std::string& names = column.priority == 0 ? narrow : wide;
    names += (names.empty() ? "" : ",") + column.name;
  }
  return wide.empty() ? narrow : narrow + "|" + wide;
}

struct ColumnCase {
  std::string_view group;
  std::string_view kind;
  std::string_view names;
};

// Every column says what it is; only the name's has a format.
inline bool are_described(const ColumnCase& one) {
  for (const Column& column : table_columns(info_of(one.group, one.kind))) {
    if (column.description.empty()) return false;
    if (column.format != (column.name == "Name" ? "name" : "")) return false;
  }
  return true;
}

}  // namespace lockstep::apiserver
