// Reads a map of a catalogue file and refuses every key that nobody asked for: a misspelt key that
// is dropped in silence is a component that is configured in silence as nobody meant it.
//
//   StrictObject object(file);
//   object.text("name", entry.name).required("name");
//   object.within("helm", [&](StrictObject& helm) { helm.text("defaultChart", entry.chart); });
//   LOCKSTEP_CHECK(object.done());
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/yaml_place.h"
#include "data/json.h"

namespace lockstep::bundle {

// One file, read. The text is kept for places and for scalars as they are written.
struct YamlFile {
  std::shared_ptr<const SourceText> source;
  Json json;

  static Result<YamlFile> parse(std::string name, std::string text);
  // Of a file whose value is known already.
  static Result<YamlFile> from_json(std::string name, std::string text, std::string_view json);

  const std::string& name() const { return source->name; }
  const std::string& text() const { return source->text; }
};

// The first thing that is wrong is kept; what follows it does nothing, and done() returns it.
class StrictObject {
 public:
  explicit StrictObject(const YamlFile& file);
  StrictObject(const YamlFile& file, const Json& json, YamlPath path);

  using Reader = std::function<void(StrictObject&)>;

  // Each reads one key, if it is there and not null.
  StrictObject& text(std::string_view key, std::string& into);
  StrictObject& boolean(std::string_view key, bool& into);
  StrictObject& count(std::string_view key, int64_t& into);
  StrictObject& texts(std::string_view key, std::vector<std::string>& into);
  StrictObject& map(std::string_view key, JsonObject& into);  // with any keys
  StrictObject& within(std::string_view key, const Reader& read);
  StrictObject& each(std::string_view key, const Reader& read);  // a list of maps
  // Known to the format, and of no use to us.
  StrictObject& unused(std::initializer_list<std::string_view> keys);

  StrictObject& required(std::string_view key);
  // For what only the caller can see: says that the value of `key` is wrong.
  void refuse(std::string_view key, std::string what);
  void check(std::string_view key, const Result<void>& result);

  bool has(std::string_view key) const;
  // "overlays/eks.yaml:12:3"
  Place place(std::string_view key = {}) const;
  Result<void> done();

 private:
  const Json* take(std::string_view key);
  YamlPath path_to(std::string_view key) const;
  void keep(const Result<void>& result);
  void refuse_unknown();
  std::optional<std::string> scalar(const Json& value, const YamlPath& path) const;

  const YamlFile& file_;
  const Json& json_;
  YamlPath path_;
  std::vector<std::string> known_;
  std::vector<std::string> required_;
  std::optional<Error> error_;
};

// Result<T> of a reader that fills a value: the whole file, or its first error.
Result<void> read_strictly(const YamlFile& file, const StrictObject::Reader& read);

// "did you mean X?" where a known word is near, else the list of them.
std::string suggestion(std::string_view word, std::vector<std::string> known);

// A name that may become a directory, a release and a Kubernetes object: a DNS label.
Result<void> check_name(std::string_view name);

}  // namespace lockstep::bundle
