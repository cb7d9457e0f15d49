#include "objects/names.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep {

namespace {

constexpr size_t label_limit = 63;
constexpr size_t subdomain_limit = 253;

constexpr std::string_view dns_label_pattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view dns1035_label_pattern = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view dns_subdomain_pattern =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view qualified_name_pattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view label_value_pattern = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

bool matches_dns_label(std::string_view value) {
  auto ends = [](char c) { return is_lower(c) || is_digit(c); };
  if (value.empty() || !ends(value.front()) || !ends(value.back())) return false;
  return std::all_of(value.begin(), value.end(), [&](char c) { return ends(c) || c == '-'; });
}

bool matches_dns_subdomain(std::string_view value) {
  auto parts = split(value, '.');
  return !value.empty() && std::all_of(parts.begin(), parts.end(), matches_dns_label);
}

// The name part of a qualified name, and a label value that is not empty.
bool matches_name_part(std::string_view value) {
  auto ends = [](char c) { return is_letter(c) || is_digit(c); };
  if (value.empty() || !ends(value.front()) || !ends(value.back())) return false;
  return std::all_of(value.begin(), value.end(),
                     [&](char c) { return ends(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(size_t limit) {
  return fmt::format("must be no more than {} characters", limit);
}

// The two spaces before "or" are Kubernetes' own.
std::string not_matching(std::string_view message, std::string_view pattern,
                         std::initializer_list<std::string_view> examples) {
  std::string text(message);
  text += " (e.g. ";
  bool first = true;
  for (std::string_view example : examples) {
    if (!first) text += " or ";
    first = false;
    text += fmt::format("'{}', ", example);
  }
  return text + fmt::format("regex used for validation is '{}')", pattern);
}

std::string not_a_name_part() {
  return not_matching(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character",
      qualified_name_pattern, {"MyName", "my.name", "123-abc"});
}

}  // namespace

Complaints check_dns_label(std::string_view value) {
  Complaints complaints;
  if (value.size() > label_limit) complaints.push_back(too_long(label_limit));
  if (!matches_dns_label(value)) {
    if (matches_dns_subdomain(value)) {
      complaints.emplace_back("must not contain dots");
    } else {
      complaints.push_back(not_matching(
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
          "and must start and end with an alphanumeric character",
          dns_label_pattern, {"my-name", "123-abc"}));
    }
  }
  return complaints;
}

Complaints check_dns1035_label(std::string_view value) {
  Complaints complaints;
  if (value.size() > label_limit) complaints.push_back(too_long(label_limit));
  if (!matches_dns_label(value) || !is_lower(value.front())) {
    complaints.push_back(not_matching(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character",
        dns1035_label_pattern, {"my-name", "abc-123"}));
  }
  return complaints;
}

Complaints check_dns_subdomain(std::string_view value) {
  Complaints complaints;
  if (value.size() > subdomain_limit) complaints.push_back(too_long(subdomain_limit));
  if (!matches_dns_subdomain(value)) {
    complaints.push_back(not_matching(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character",
        dns_subdomain_pattern, {"example.com"}));
  }
  return complaints;
}

Complaints check_qualified_name(std::string_view value) {
  Complaints complaints;
  auto parts = split(value, '/');
  if (parts.size() > 2) {
    return {"a qualified name " + not_a_name_part() +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  std::string_view name = parts.empty() ? std::string_view() : parts.back();
  if (parts.size() == 2) {
    if (parts[0].empty()) {
      complaints.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& complaint : check_dns_subdomain(parts[0])) {
        complaints.push_back("prefix part " + complaint);
      }
    }
  }
  if (name.empty()) {
    complaints.emplace_back("name part must be non-empty");
  } else if (name.size() > label_limit) {
    complaints.push_back("name part " + too_long(label_limit));
  }
  if (!matches_name_part(name)) complaints.push_back("name part " + not_a_name_part());
  return complaints;
}

Complaints check_annotation_key(std::string_view value) {
  return check_qualified_name(lower(value));
}

Complaints check_label_value(std::string_view value) {
  Complaints complaints;
  if (value.size() > label_limit) complaints.push_back(too_long(label_limit));
  if (!value.empty() && !matches_name_part(value)) {
    complaints.push_back(not_matching(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        label_value_pattern, {"MyValue", "my_value", "12345"}));
  }
  return complaints;
}

Complaints check_config_map_key(std::string_view value) {
  Complaints complaints;
  if (value.size() > subdomain_limit) complaints.push_back(too_long(subdomain_limit));
  bool fits = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
  });
  if (!fits) {
    complaints.push_back(
        not_matching("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                     "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  }
  if (value == "." || value == "..") {
    complaints.push_back(fmt::format("must not be '{}'", value));
  } else if (value.starts_with("..")) {
    complaints.emplace_back("must not start with '..'");
  }
  return complaints;
}

Complaints check_percent(std::string_view value) {
  bool fits = value.size() > 1 && value.back() == '%' &&
              std::all_of(value.begin(), value.end() - 1, is_digit);
  if (fits) return {};
  return {not_matching("a valid percent string must be a numeric string followed by an ending '%'",
                       "[0-9]+%", {"1%", "93%"})};
}

Complaints check_path_segment(std::string_view value) {
  Complaints complaints;
  if (value == "." || value == "..") {
    complaints.push_back(fmt::format("may not be '{}'", value));
  }
  for (char c : {'/', '%'}) {
    if (value.find(c) != std::string_view::npos) {
      complaints.push_back(fmt::format("may not contain '{}'", c));
    }
  }
  return complaints;
}

std::string join_complaints(const Complaints& complaints) { return join(complaints, "; "); }

}  // namespace lockstep
