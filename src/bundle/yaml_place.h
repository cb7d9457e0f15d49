// Where in a YAML file a value stands. Readers work on the typed value, which has no places; only
// when something is wrong with it is the text looked at a second time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::bundle {

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

// Where something was said. The line is looked for when somebody asks: almost nobody does.
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

// A scalar as it is written, before it has a type: a version 25.10 is not the number 25.1.
std::optional<std::string> scalar_text(std::string_view text, const YamlPath& path);

}  // namespace lockstep::bundle
