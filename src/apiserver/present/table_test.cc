#include "apiserver/present/table.h"

#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_test {
namespace {

ResourceInfo custom(std::vector<Column> columns) {
  ResourceInfo info = info_of("example.com", "Widget");
  info.custom = true;
  info.columns = std::move(columns);
  return info;
}

Column column(std::string name, std::string type, std::string path) {
  Column result;
  result.name = std::move(name);
  result.type = std::move(type);
  result.json_path = std::move(path);
  return result;
}

std::string cells_of(const ResourceInfo& info, const Json& object) {
  return print_json(*find(table_row(info, object, IncludeObject::none, table_now), "cells"));
}

TEST(Table, AKindWithoutPrinterShowsWhenItWasMade) {
  const ResourceInfo info = info_of("apiextensions.k8s.io", "CustomResourceDefinition");
  EXPECT_EQ(column_names("apiextensions.k8s.io", "CustomResourceDefinition"), "Name,Created At");
  EXPECT_EQ(table_columns(info)[1].type, "date");
  EXPECT_EQ(cells_of(info, object_of("")), R"(["x","2026-03-01T12:00:00Z"])");
}

TEST(Table, ACustomResourceWithoutColumnsShowsItsAge) {
  const ResourceInfo info = custom({});
  ASSERT_EQ(table_columns(info).size(), 2u);
  EXPECT_EQ(table_columns(info)[1].name, "Age");
  EXPECT_EQ(table_columns(info)[1].type, "date");
  EXPECT_EQ(cells_of(info, object_of("")), R"(["x","24h"])");
}

TEST(Table, CustomCells) {
  struct Case {
    std::string_view type, value, cell;
  };
  const Case cases[] = {
      {"string", R"("a")", R"("a")"},
      {"string", "3", R"("3")"},
      {"string", "2.0", R"("2")"},
      {"string", "2.5", R"("2.5")"},
      {"string", "true", R"("true")"},
      {"string", "null", R"("null")"},
      {"string", R"({"a":[1]})", R"("{\"a\":[1]}")"},
      {"integer", "3", "3"},
      {"integer", "3.9", "3"},
      {"integer", R"("3")", "null"},
      {"number", "3.5", "3.5"},
      {"boolean", "true", "true"},
      {"boolean", R"("true")", "null"},
      {"date", R"("2026-03-02T11:00:00Z")", R"("60m")"},
      {"date", R"("soon")", R"("<invalid>")"},
      {"date", "5", "null"},
      {"date", "null", "null"},
  };
  for (const Case& one : cases) {
    const ResourceInfo info = custom({column("C", std::string(one.type), ".spec.v")});
    const Json object = object_of("\"spec\":{\"v\":" + std::string(one.value) + "}");
    EXPECT_EQ(cells_of(info, object), "[\"x\"," + std::string(one.cell) + "]")
        << one.type << " " << one.value;
  }
}

TEST(Table, CustomCellsThatFindNothing) {
  const ResourceInfo info =
      custom({column("A", "string", ".spec.missing"), column("B", "string", ".spec[0]"),
              column("C", "string", "not a path")});
  EXPECT_EQ(cells_of(info, object_of(R"("spec":{})")), R"(["x",null,null,null])");
}

TEST(Table, CustomColumnsCarryTheirDeclaration) {
  Column declared = column("Phase", "string", ".status.phase");
  declared.priority = 1;
  declared.format = "byte";
  const ResourceInfo info = custom({declared});
  const std::vector<Column> columns = table_columns(info);
  EXPECT_EQ(columns[0].format, "name");
  EXPECT_EQ(columns[1].priority, 1);
  EXPECT_EQ(columns[1].format, "byte");
  EXPECT_EQ(columns[1].description,
            "Custom resource definition column (in JSONPath format): .status.phase");
}

TEST(Table, RowsCarryTheObjectAsAskedFor) {
  const ResourceInfo info = info_of("", "ConfigMap");
  const Json object =
      parse_json(
          R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"}})")
          .value();
  const auto row_object = [&](IncludeObject include) {
    return print_json(*find(table_row(info, object, include, table_now), "object"));
  };
  EXPECT_EQ(row_object(IncludeObject::none), "null");
  EXPECT_EQ(
      row_object(IncludeObject::metadata),
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x"}})");
  EXPECT_EQ(row_object(IncludeObject::object), print_json(object));
}

TEST(Table, Whole) {
  const ResourceInfo info = info_of("resource.k8s.io", "DeviceClass");
  const std::vector<Document> objects = {std::make_shared<const Json>(object_of(""))};
  const Json table =
      make_table(info, objects, "42", "next", 7, IncludeObject::none, true, table_now);
  EXPECT_EQ(text_at(table, "kind"), "Table");
  EXPECT_EQ(text_at(table, "apiVersion"), "meta.k8s.io/v1");
  EXPECT_EQ(print_json(*find(table, "metadata")),
            R"({"resourceVersion":"42","continue":"next","remainingItemCount":7})");
  const Json& name = find(table, "columnDefinitions")->as_array()[0];
  EXPECT_EQ(text_at(name, "name"), "Name");
  EXPECT_EQ(text_at(name, "type"), "string");
  EXPECT_EQ(text_at(name, "format"), "name");
  EXPECT_EQ(as_integer(find(name, "priority"), -1), 0);
  EXPECT_EQ(print_json(*find(table, "rows")), R"([{"cells":["x","24h"],"object":null}])");
}

TEST(Table, LaterEventsOfAWatchHaveNoColumns) {
  const ResourceInfo info = info_of("", "Pod");
  const Json table = make_table(info, {}, "1", "", 0, IncludeObject::none, false, table_now);
  EXPECT_EQ(print_json(table),
            R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},)"
            R"("columnDefinitions":null,"rows":[]})");
}

}  // namespace
}  // namespace lockstep::apiserver::table_test
