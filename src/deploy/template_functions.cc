#include "deploy/template_functions.h"

#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::deploy {

namespace {

using Arguments = std::vector<Json>;

Json text_value(std::string_view text) { return Json(JsonString(text)); }

std::string without_last_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<Json> nindent(const Arguments& arguments) {
  LOCKSTEP_TRY(std::string text, template_text(arguments[1]));
  if (!arguments[0].is_int64()) return failf(ErrorKind::invalid, "it needs a number of spaces");
  std::string space(static_cast<size_t>(arguments[0].get_int64()), ' ');
  std::string out;
  for (std::string_view line : split(text, '\n')) out += fmt::format("\n{}{}", space, line);
  return text_value(out);
}

Result<Json> quote(const Arguments& arguments) {
  LOCKSTEP_TRY(std::string text, template_text(arguments[0]));
  return text_value(print_json(text_value(text)));
}

Result<Json> print_format(const Arguments& arguments) {
  if (arguments.empty()) return failf(ErrorKind::invalid, "it needs a format");
  std::string_view format = as_text(&arguments[0]);
  std::string out;
  size_t used = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    char verb = ++i < format.size() ? format[i] : '\0';
    if ((verb != 's' && verb != 'd') || ++used >= arguments.size()) {
      return failf(ErrorKind::invalid,
                   "\"{}\" is not a format for {} values: %s and %d are supported", format,
                   arguments.size() - 1);
    }
    const Json& value = arguments[used];
    bool fits = verb == 's' ? value.is_string() : value.is_int64();
    if (!fits) return failf(ErrorKind::invalid, "%{} does not fit {}", verb, print_json(value));
    LOCKSTEP_TRY(std::string text, template_text(value));
    out += text;
  }
  return text_value(out);
}

Result<Json> join_texts(const Arguments& arguments) {
  if (!arguments[1].is_array()) return failf(ErrorKind::invalid, "it needs a list");
  std::vector<std::string> texts;
  for (const Json& item : arguments[1].get_array()) {
    LOCKSTEP_TRY(std::string text, template_text(item));
    texts.push_back(std::move(text));
  }
  return text_value(join(texts, as_text(&arguments[0])));
}

Result<Json> integer(const Arguments& arguments) {
  const Json& value = arguments[0];
  if (value.is_int64()) return value;
  if (value.is_double()) return Json(static_cast<int64_t>(value.get_double()));
  return failf(ErrorKind::invalid, "{} is not a number", print_json(value));
}

Result<Json> greater(const Arguments& arguments) {
  if (!arguments[0].is_int64() || !arguments[1].is_int64()) {
    return failf(ErrorKind::invalid, "it compares whole numbers: use int");
  }
  return Json(arguments[0].get_int64() > arguments[1].get_int64());
}

// The first that is as asked for, or else the last.
Result<Json> first_that(bool truth, const Arguments& arguments) {
  if (arguments.empty()) return failf(ErrorKind::invalid, "it needs a value");
  for (const Json& argument : arguments) {
    if (is_true(argument) == truth) return argument;
  }
  return arguments.back();
}

struct Function {
  int arguments;  // -1: any number
  std::function<Result<Json>(const Arguments&)> call;
};

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"toYaml",
       {1,
        [](const Arguments& a) -> Result<Json> {
          return text_value(without_last_line_end(print_yaml(a[0])));
        }}},
      {"nindent", {2, nindent}},
      {"quote", {1, quote}},
      {"default",
       {2, [](const Arguments& a) -> Result<Json> { return is_true(a[1]) ? a[1] : a[0]; }}},
      {"required",
       {2,
        [](const Arguments& a) -> Result<Json> {
          if (is_true(a[1])) return a[1];
          return failf(ErrorKind::invalid, "{}", as_text(&a[0]));
        }}},
      {"printf", {-1, print_format}},
      {"join", {2, join_texts}},
      {"int", {1, integer}},
      {"not", {1, [](const Arguments& a) -> Result<Json> { return Json(!is_true(a[0])); }}},
      {"and", {-1, [](const Arguments& a) { return first_that(false, a); }}},
      {"or", {-1, [](const Arguments& a) { return first_that(true, a); }}},
      {"eq", {2, [](const Arguments& a) -> Result<Json> { return Json(json_equal(a[0], a[1])); }}},
      {"gt", {2, greater}},
  };
  return all;
}

}  // namespace

bool is_true(const Json& value) {
  switch (value.kind()) {
    case JsonKind::null:
      return false;
    case JsonKind::bool_:
      return value.get_bool();
    case JsonKind::int64:
      return value.get_int64() != 0;
    case JsonKind::uint64:
      return value.get_uint64() != 0;
    case JsonKind::double_:
      return value.get_double() != 0;
    case JsonKind::string:
      return !value.get_string().empty();
    case JsonKind::array:
      return !value.get_array().empty();
    case JsonKind::object:
      return !value.get_object().empty();
  }
  return false;
}

Result<std::string> template_text(const Json& value) {
  if (value.is_string()) return std::string(as_text(&value));
  if (value.is_bool() || value.is_int64()) return print_json(value);
  return failf(ErrorKind::invalid,
               "{} cannot be printed: only strings, whole numbers and booleans can",
               print_json(value));
}

Result<Json> call_function(const std::string& name, const std::vector<Json>& arguments) {
  auto at = functions().find(name);
  if (at == functions().end()) return failf(ErrorKind::unsupported, "unknown function {}", name);
  int wanted = at->second.arguments;
  if (wanted >= 0 && arguments.size() != static_cast<size_t>(wanted)) {
    return failf(ErrorKind::invalid, "{} needs {} values and has {}", name, wanted,
                 arguments.size());
  }
  auto value = at->second.call(arguments);
  if (!value) return failf(value.error().kind, "{}: {}", name, value.error().text());
  return value;
}

}  // namespace lockstep::deploy
