#include "rollout/condition.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

std::vector<std::string_view> split_by(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; (at = text.find(separator)) != std::string_view::npos;) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

bool Condition::Comparison::holds(double result) const {
  switch (relation) {
    case Relation::less:
      return result < number;
    case Relation::at_most:
      return result <= number;
    case Relation::greater:
      return result > number;
    case Relation::at_least:
      return result >= number;
    case Relation::equal:
      return result == number;
    case Relation::unequal:
      return result != number;
  }
  return false;
}

Result<Condition::Comparison> Condition::parse_comparison(std::string_view text) {
  constexpr std::string_view subject = "result";
  // The longer ones first: "<=" begins with "<".
  static constexpr std::pair<std::string_view, Relation> relations[] = {
      {"<=", Relation::at_most}, {">=", Relation::at_least}, {"==", Relation::equal},
      {"!=", Relation::unequal}, {"<", Relation::less},      {">", Relation::greater}};
  std::string_view rest = trim(text);
  auto wrong = [&] {
    return failf(ErrorKind::invalid, "\"{}\" must be such as result < 0.01", trim(text));
  };
  if (!rest.starts_with(subject)) return wrong();
  rest = trim(rest.substr(subject.size()));
  for (const auto& [sign, relation] : relations) {
    if (!rest.starts_with(sign)) continue;
    std::string number(trim(rest.substr(sign.size())));
    char* end = nullptr;
    double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || std::isnan(value)) return wrong();
    return Comparison{relation, value};
  }
  return wrong();
}

Result<Condition> Condition::parse(std::string_view text) {
  Condition condition;
  condition.text_ = std::string(trim(text));
  for (std::string_view way : split_by(text, "||")) {
    auto& all = condition.ways_.emplace_back();
    for (std::string_view part : split_by(way, "&&")) {
      LOCKSTEP_TRY(Comparison comparison, parse_comparison(part));
      all.push_back(comparison);
    }
  }
  return condition;
}

bool Condition::holds(double result) const {
  if (std::isnan(result)) return false;
  return std::any_of(ways_.begin(), ways_.end(), [&](const auto& all) {
    return std::all_of(all.begin(), all.end(),
                       [&](const auto& each) { return each.holds(result); });
  });
}

}  // namespace lockstep::rollout
