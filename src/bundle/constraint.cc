#include "bundle/constraint.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

struct Spelling {
  std::string_view text;
  ConstraintOperator op;
};

// Those of two characters first: ">=" is not ">" before "=".
constexpr std::array<Spelling, 6> spellings = {{{">=", ConstraintOperator::at_least},
                                                {"<=", ConstraintOperator::at_most},
                                                {"==", ConstraintOperator::equal},
                                                {"!=", ConstraintOperator::not_equal},
                                                {">", ConstraintOperator::above},
                                                {"<", ConstraintOperator::below}}};

bool orders(ConstraintOperator op) {
  return op == ConstraintOperator::at_least || op == ConstraintOperator::at_most ||
         op == ConstraintOperator::above || op == ConstraintOperator::below;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Of any length: a number in a version need not fit 64 bits.
std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

bool equal(std::string_view wanted, std::string_view found) {
  auto wanted_version = version_numbers(wanted);
  auto found_version = version_numbers(found);
  if (wanted_version && wanted_version->size() > 1 && found_version) {
    return compare_versions(*found_version, *wanted_version) == 0;
  }
  return wanted == found;
}

}  // namespace

Result<ConstraintPath> parse_constraint_path(std::string_view text) {
  size_t first = text.find('.');
  size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || first == 0 || second == first + 1 ||
      second + 1 == text.size()) {
    return failf(ErrorKind::invalid,
                 "the constraint \"{}\" must be Type.Subtype.Key, like K8s.server.version", text);
  }
  return ConstraintPath{std::string(text.substr(0, first)),
                        std::string(text.substr(first + 1, second - first - 1)),
                        std::string(text.substr(second + 1))};
}

std::string to_string(const ConstraintPath& path) {
  return fmt::format("{}.{}.{}", path.type, path.subtype, path.key);
}

std::optional<std::vector<std::string>> version_numbers(std::string_view text) {
  text = trim(text);
  if (text.starts_with('v')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of("-+"));
  std::vector<std::string> numbers;
  for (std::string_view part : split(text, '.')) {
    if (!is_number(part)) return std::nullopt;
    size_t digits = std::min(part.find_first_not_of('0'), part.size() - 1);
    numbers.emplace_back(part.substr(digits));
  }
  return numbers;
}

std::strong_ordering compare_versions(const std::vector<std::string>& a,
                                      const std::vector<std::string>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    auto order = compare_numbers(a[i], b[i]);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

Result<ConstraintExpression> parse_constraint_expression(std::string_view text) {
  ConstraintExpression expression;
  std::string_view rest = trim(text);
  for (const Spelling& spelling : spellings) {
    if (!rest.starts_with(spelling.text)) continue;
    expression.op = spelling.op;
    rest = trim(rest.substr(spelling.text.size()));
    break;
  }
  if (rest.empty()) {
    return failf(ErrorKind::invalid, "the constraint's value \"{}\" says nothing: like \">= 1.32\"",
                 text);
  }
  if (rest.find_first_of("<>=!") == 0) {
    return failf(ErrorKind::invalid,
                 "the constraint's value \"{}\" has no operator that is known: they are >=, <=, >, "
                 "<, == and !=",
                 text);
  }
  if (orders(expression.op) && !version_numbers(rest)) {
    return failf(ErrorKind::invalid,
                 "the constraint's value \"{}\" orders by what is no version: like \">= 1.32\"; "
                 "texts can only be compared with == and !=",
                 text);
  }
  expression.value = rest;
  return expression;
}

bool evaluate(const ConstraintExpression& expression, std::string_view found) {
  found = trim(found);
  if (expression.op == ConstraintOperator::exact) return found == expression.value;
  if (expression.op == ConstraintOperator::equal) return equal(expression.value, found);
  if (expression.op == ConstraintOperator::not_equal) return !equal(expression.value, found);
  auto found_version = version_numbers(found);
  auto wanted_version = version_numbers(expression.value);
  if (!found_version || !wanted_version) return false;
  auto order = compare_versions(*found_version, *wanted_version);
  switch (expression.op) {
    case ConstraintOperator::at_least:
      return order >= 0;
    case ConstraintOperator::at_most:
      return order <= 0;
    case ConstraintOperator::above:
      return order > 0;
    default:
      return order < 0;
  }
}

}  // namespace lockstep::bundle
