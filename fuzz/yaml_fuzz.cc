// Any bytes: the reader must end without a crash, what it reads must survive printing and reading
// again, and an edit must change the one value it was asked to.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "data/json.h"
#include "data/yaml.h"

namespace {

using lockstep::Json;

void require(bool holds, std::string_view what, const std::string& text) {
  if (holds) return;
  fmt::print(stderr, "{}:\n{}\n", what, text);
  std::abort();
}

void check_print(const Json& document) {
  const std::string text = lockstep::print_yaml(document);
  const auto again = lockstep::parse_yaml(text, "printed");
  require(again.has_value(), again ? "" : again.error().text(), text);
  require(lockstep::json_equal(*again, document), "reads back as another value", text);
}

// The paths of all scalars of a document, up to a number that keeps a run short.
void collect(const Json& value, std::vector<std::string>& path,
             std::vector<std::vector<std::string>>& paths) {
  if (paths.size() > 8) return;
  if (value.is_object()) {
    for (const auto& [key, child] : value.get_object()) {
      path.emplace_back(key.data(), key.size());
      collect(child, path, paths);
      path.pop_back();
    }
  } else if (value.is_array()) {
    for (size_t index = 0; index < value.get_array().size(); ++index) {
      path.push_back(std::to_string(index));
      collect(value.get_array()[index], path, paths);
      path.pop_back();
    }
  } else {
    paths.push_back(path);
  }
}

Json& at(Json& document, const std::vector<std::string>& path) {
  Json* here = &document;
  for (const std::string& step : path) {
    here = here->is_array() ? &here->at(std::stoul(step)) : &here->at(step);
  }
  return *here;
}

void check_edit(std::string_view text, const std::vector<Json>& documents) {
  std::vector<std::string> path;
  std::vector<std::vector<std::string>> paths;
  collect(documents.front(), path, paths);
  for (const auto& scalar : paths) {
    if (scalar.empty()) continue;  // an empty document before this one has that path too
    for (const Json& value : {Json("1.10"), Json("a\n b\n"), Json(7), Json(nullptr)}) {
      const auto edited = lockstep::edit_yaml_scalar(text, scalar, value, "fuzz");
      if (!edited) continue;
      std::vector<Json> expected = documents;
      at(expected.front(), scalar) = value;
      const auto found = lockstep::parse_yaml_stream(*edited);
      require(found.has_value(), "an edit broke it", *edited);
      require(std::equal(found->begin(), found->end(), expected.begin(), expected.end(),
                         [](const Json& a, const Json& b) { return lockstep::json_equal(a, b); }),
              "an edit changed something else", *edited);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const lockstep::YamlLimits limits{.depth = 50, .bytes = 1 << 16, .nodes = 2000};
  const auto documents = lockstep::parse_yaml_stream(text, "fuzz", limits);
  (void)lockstep::parse_yaml(text, "fuzz", limits);
  (void)lockstep::resolve_yaml_scalar(text);
  // Any text as a string, too: it must come back as the string it is.
  if (documents) {
    check_print(Json(text));
    for (const Json& document : *documents) check_print(document);
    if (!documents->empty()) check_edit(text, *documents);
  }
  return 0;
}
