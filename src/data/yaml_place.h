// A YAML file, and where in it a value is. Readers work on the typed value, which has no places:
// the text is searched only when something is wrong with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

// Keys from the root, and positions in lists as decimal text.
using YamlPath = std::vector<std::string>;

// "overlays/eks.yaml:12:3", the place of the last key of the path. Where the path ends early, the
// place of what was found; the bare name where nothing was.
std::string place_of(std::string_view text, std::string_view name, const YamlPath& path);

// A file's text, for places in it.
struct SourceText {
  std::string name;
  std::string text;
};

// Where something is. The line is searched only when a caller asks for it.
class Place {
 public:
  Place() = default;
  Place(std::string known) : known_(std::move(known)) {}
  Place(const char* known) : known_(known) {}
  Place(std::shared_ptr<const SourceText> source, YamlPath path)
      : source_(std::move(source)), path_(std::move(path)) {}

  std::string text() const;

 private:
  std::string known_;
  std::shared_ptr<const SourceText> source_;
  YamlPath path_;
};

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

// A scalar as it is written, before it has a type: a version 25.10 is not the number 25.1.
std::optional<std::string> scalar_text(std::string_view text, const YamlPath& path);

}  // namespace lockstep
