// How each built-in kind becomes a row. Internal to table.cc and its families.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/resources.h"
#include "base/time.h"
#include "data/json.h"

namespace lockstep::apiserver {

// One kind: its columns, and the function that adds a cell for each of them.
struct Printer {
  std::string_view group;
  std::string_view kind;
  std::vector<Column> columns;
  void (*cells)(const Json& object, Time now, JsonArray& cells);
  // Of the row; null: none.
  Json (*conditions)(const Json& object) = nullptr;
};

// The families.
std::vector<Printer> pod_printers();
std::vector<Printer> node_printers();
std::vector<Printer> workload_printers();
std::vector<Printer> core_printers();
std::vector<Printer> network_printers();
std::vector<Printer> storage_printers();
std::vector<Printer> policy_printers();

// Columns that nearly every kind has.
Column name_column();
Column age_column();
Column text_column(std::string name, std::string description, int priority = 0);
Column integer_column(std::string name, std::string description, int priority = 0);
Column boolean_column(std::string name, std::string description, int priority = 0);
// NAME and AGE around the columns in between.
std::vector<Column> name_and_age(std::vector<Column> between = {}, std::vector<Column> wide = {});

// Cells. JSON strings are made from views: cells outlive the object they were read from.
Json text_cell(std::string_view text);
Json text_or(std::string_view text, std::string_view otherwise);
Json name_cell(const Json& object);
// "5d3h", or "<unknown>" when the time is missing or no time.
std::string age_of(const Json* timestamp, Time now);
Json age_cell(const Json& object, Time now);

// The elements of an array field; empty if it is not an array.
std::span<const Json> elements(const Json* array);
size_t count_of(const Json* container);
const Json* condition_of(const Json& object, std::string_view type);
bool is_condition_true(const Json& object, std::string_view type);
bool is_deleting(const Json& object);

// "a=1,b=2", or "<none>".
std::string format_labels(const Json* labels);
// "a=1,b in (x,y),!c". Empty for a selector that says nothing.
std::string selector_text(const Json* selector);
// selector_text, or "<none>".
std::string format_selector(const Json* selector);
// "a,b + 2 more...": at most three of a list, as kubectl's tables cut it; `otherwise` for an empty
// one.
std::string first_three(const std::vector<std::string>& items, std::string_view otherwise);
// Names and images of a pod template's containers, comma separated: the two wide cells of
// workloads.
void add_container_cells(const Json* pod_spec, JsonArray& cells);
std::vector<Column> container_columns();
std::string joined_texts(const Json* array, std::string_view field, std::string_view separator);

}  // namespace lockstep::apiserver
