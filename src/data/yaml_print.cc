#include <fmt/format.h>

#include "data/yaml.h"
#include "data/yaml_style.h"

namespace lockstep {

namespace {

constexpr size_t kStep = 2;
// Readers search at most 1024 characters for the colon behind a key.
constexpr size_t kLongestSimpleKey = 1000;

bool is_container(const Json& value) {
  if (value.is_object()) return !value.get_object().empty();
  return value.is_array() && !value.get_array().empty();
}

class Printer {
 public:
  std::string run(const Json& value) {
    if (is_container(value)) {
      print_container(value, 0);
    } else {
      print_leaf(value, kStep);
      // The top of a document has no indentation to count from.
      if (out_.starts_with("|2")) {
        out_ = yaml::print_scalar(value) + '\n';
      }
    }
    return std::move(out_);
  }

 private:
  // Begins where a first line may begin; ends behind a line break.
  void print_container(const Json& value, size_t indentation) {
    if (value.is_object()) return print_object(value.get_object(), indentation);
    print_array(value.get_array(), indentation);
  }

  // The first key follows whatever is on the line already: "- ", or its indentation.
  void print_object(const JsonObject& object, size_t indentation) {
    bool is_first = true;
    for (const auto& [key, value] : object) {
      if (!is_first) indent(indentation);
      is_first = false;
      print_key({key.data(), key.size()}, indentation);
      if (!is_container(value)) {
        out_ += ' ';
        print_leaf(value, indentation + kStep);
        continue;
      }
      out_ += '\n';
      // As kubectl does: a list is directly below its key, not indented.
      const size_t inner = value.is_array() ? indentation : indentation + kStep;
      indent(inner);
      print_container(value, inner);
    }
  }

  void print_key(std::string_view key, size_t indentation) {
    const size_t begin = out_.size();
    yaml::append_string(out_, key);
    if (out_.size() - begin > kLongestSimpleKey) {
      out_.insert(begin, "? ");
      out_ += '\n';
      indent(indentation);
    }
    out_ += ':';
  }

  void print_array(const JsonArray& array, size_t indentation) {
    bool is_first = true;
    for (const Json& value : array) {
      if (!is_first) indent(indentation);
      is_first = false;
      out_ += "- ";
      if (is_container(value)) {
        print_container(value, indentation + kStep);
      } else {
        print_leaf(value, indentation + kStep);
      }
    }
  }

  void print_leaf(const Json& value, size_t indentation) {
    if (value.is_object()) {
      out_ += "{}";
    } else if (value.is_array()) {
      out_ += "[]";
    } else {
      print_text(value, indentation);
    }
    out_ += '\n';
  }

  void print_text(const Json& value, size_t indentation) {
    if (value.is_string()) {
      const auto& text = value.get_string();
      if (auto block = yaml::print_block({text.data(), text.size()}, indentation, kStep)) {
        out_ += *block;
        return;
      }
      return yaml::append_string(out_, {text.data(), text.size()});
    }
    out_ += yaml::print_scalar(value);
  }

  void indent(size_t indentation) { out_.append(indentation, ' '); }

  std::string out_;
};

}  // namespace

std::string print_yaml(const Json& value) { return Printer().run(value); }

std::string print_yaml_stream(const std::vector<Json>& documents) {
  std::string out;
  for (const Json& document : documents) {
    if (!out.empty()) out += "---\n";
    out += print_yaml(document);
  }
  return out;
}

}  // namespace lockstep
