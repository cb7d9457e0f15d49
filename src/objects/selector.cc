#include "objects/selector.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "objects/names.h"

namespace lockstep {

namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

// A contradiction, for a selector that matches nothing: the empty text would match everything.
constexpr std::string_view nothing_text = "lockstep.dev/nothing,!lockstep.dev/nothing";

Unexpected invalid_value(std::string_view place, std::string_view value, std::string_view why) {
  return fail(ErrorKind::invalid, fmt::format("Invalid value: {}: {}", quoted(value), why),
              std::string(place));
}

bool matches_requirement(const Requirement& requirement, std::optional<std::string_view> value) {
  const auto& values = requirement.values;
  auto listed = [&] { return std::binary_search(values.begin(), values.end(), *value); };
  switch (requirement.op) {
    case Operator::equals:
    case Operator::in:
      return value && listed();
    case Operator::not_equals:
    case Operator::not_in:
      return !value || !listed();
    case Operator::exists:
      return value.has_value();
    case Operator::not_exists:
      return !value;
    case Operator::greater:
    case Operator::less: {
      if (!value || values.size() != 1) return false;
      auto actual = parse_integer(*value);
      auto bound = parse_integer(values.front());
      if (!actual || !bound) return false;
      return requirement.op == Operator::greater ? *actual > *bound : *actual < *bound;
    }
  }
  return false;
}

std::string requirement_text(const Requirement& requirement) {
  const std::string& key = requirement.key;
  std::string values = join(requirement.values, ",");
  switch (requirement.op) {
    case Operator::equals:
      return key + "=" + values;
    case Operator::not_equals:
      return key + "!=" + values;
    case Operator::in:
      return key + " in (" + values + ")";
    case Operator::not_in:
      return key + " notin (" + values + ")";
    case Operator::exists:
      return key;
    case Operator::not_exists:
      return "!" + key;
    case Operator::greater:
      return key + ">" + values;
    case Operator::less:
      return key + "<" + values;
  }
  return key;
}

void sort_values(std::vector<std::string>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void sort_requirements(std::vector<Requirement>& requirements) {
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const Requirement& a, const Requirement& b) { return a.key < b.key; });
}

// Reads a selector's text token by token; the messages are those of Kubernetes' own parser, because
// kubectl shows them.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> requirements;
    if (token_ == Token::end) return requirements;
    if (!starts_requirement()) {
      return failf(ErrorKind::invalid, "found '{}', expected: !, identifier, or 'end of string'",
                   literal_);
    }
    for (;;) {
      auto requirement = parse_requirement();
      if (!requirement) {
        return failf(ErrorKind::invalid, "unable to parse requirement: {}",
                     requirement.error().text());
      }
      requirements.push_back(std::move(*requirement));
      if (token_ == Token::end) break;
      if (token_ != Token::comma) {
        return failf(ErrorKind::invalid, "found '{}', expected: ',' or 'end of string'", literal_);
      }
      advance();
      if (!starts_requirement()) {
        return failf(ErrorKind::invalid, "found '{}', expected: identifier after ','", literal_);
      }
    }
    sort_requirements(requirements);
    return requirements;
  }

 private:
  enum class Token { end, word, open, close, comma, bang, equals, not_equals, greater, less };

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_special(char c) {
    return std::string_view("=!(),><").find(c) != std::string_view::npos;
  }

  bool starts_requirement() const { return token_ == Token::word || token_ == Token::bang; }

  void take(Token token, size_t size) {
    token_ = token;
    literal_ = text_.substr(position_, size);
    position_ += size;
  }

  void advance() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
    if (position_ == text_.size()) return take(Token::end, 0);
    bool equals_next = position_ + 1 < text_.size() && text_[position_ + 1] == '=';
    switch (text_[position_]) {
      case '(':
        return take(Token::open, 1);
      case ')':
        return take(Token::close, 1);
      case ',':
        return take(Token::comma, 1);
      case '>':
        return take(Token::greater, 1);
      case '<':
        return take(Token::less, 1);
      case '=':
        return take(Token::equals, equals_next ? 2 : 1);
      case '!':
        return equals_next ? take(Token::not_equals, 2) : take(Token::bang, 1);
      default:
        break;
    }
    size_t end = position_;
    while (end < text_.size() && !is_space(text_[end]) && !is_special(text_[end])) ++end;
    take(Token::word, end - position_);
  }

  Result<Requirement> parse_requirement() {
    Requirement requirement;
    bool negated = token_ == Token::bang;
    if (negated) advance();
    if (token_ != Token::word) {
      return failf(ErrorKind::invalid, "found '{}', expected: identifier", literal_);
    }
    requirement.key = literal_;
    if (auto complaints = check_qualified_name(literal_); !complaints.empty()) {
      return invalid_value("<nil>", literal_, join_complaints(complaints));
    }
    advance();
    if (negated) {
      requirement.op = Operator::not_exists;
      return requirement;
    }
    if (token_ == Token::end || token_ == Token::comma) return requirement;

    bool set = false;
    if (token_ == Token::word && (literal_ == "in" || literal_ == "notin")) {
      requirement.op = literal_ == "in" ? Operator::in : Operator::not_in;
      set = true;
    } else if (token_ == Token::equals) {
      requirement.op = Operator::equals;
    } else if (token_ == Token::not_equals) {
      requirement.op = Operator::not_equals;
    } else if (token_ == Token::greater) {
      requirement.op = Operator::greater;
    } else if (token_ == Token::less) {
      requirement.op = Operator::less;
    } else {
      return failf(ErrorKind::invalid, "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                   literal_);
    }
    advance();
    LOCKSTEP_CHECK(set ? parse_set(requirement.values) : parse_one(requirement.values));
    sort_values(requirement.values);
    LOCKSTEP_CHECK(check_values(requirement));
    return requirement;
  }

  // "(a,b)". Nothing between two commas or parentheses is the empty value.
  Result<void> parse_set(std::vector<std::string>& values) {
    if (token_ != Token::open) {
      return failf(ErrorKind::invalid, "found '{}' expected: '('", literal_);
    }
    advance();
    for (bool after_value = false;;) {
      if (token_ == Token::word) {
        if (after_value) {
          return failf(ErrorKind::invalid, "found '{}', expected: ',' or ')'", literal_);
        }
        values.emplace_back(literal_);
        after_value = true;
      } else if (token_ == Token::comma || token_ == Token::close) {
        if (!after_value) values.emplace_back();
        after_value = false;
        if (token_ == Token::close) break;
      } else if (after_value) {
        return failf(ErrorKind::invalid, "found '{}', expected: ',' or ')'", literal_);
      } else if (values.empty()) {
        return failf(ErrorKind::invalid, "found '{}', expected: ',', ')' or identifier", literal_);
      } else {
        return failf(ErrorKind::invalid, "found '{}', expected: ',', or identifier", literal_);
      }
      advance();
    }
    advance();
    return {};
  }

  Result<void> parse_one(std::vector<std::string>& values) {
    if (token_ == Token::end || token_ == Token::comma) {
      values.emplace_back();
      return {};
    }
    if (token_ != Token::word) {
      return failf(ErrorKind::invalid, "found '{}', expected: identifier", literal_);
    }
    values.emplace_back(literal_);
    advance();
    return {};
  }

  static Result<void> check_values(const Requirement& requirement) {
    for (size_t i = 0; i < requirement.values.size(); ++i) {
      const std::string& value = requirement.values[i];
      if ((requirement.op == Operator::greater || requirement.op == Operator::less) &&
          !parse_integer(value)) {
        return invalid_value(fmt::format("values[{}]", i), value,
                             "for 'Gt', 'Lt' operators, the value must be an integer");
      }
      if (auto complaints = check_label_value(value); !complaints.empty()) {
        return invalid_value(fmt::format("values[{}][{}]", i, requirement.key), value,
                             join_complaints(complaints));
      }
    }
    return {};
  }

  std::string_view text_;
  size_t position_ = 0;
  Token token_ = Token::end;
  std::string_view literal_;
};

std::string_view view_of(const JsonString& text) { return {text.data(), text.size()}; }

Result<Requirement> expression_from_json(const Json& expression, const std::string& place) {
  if (!expression.is_object()) return fail(ErrorKind::invalid, "must be an object", place);
  Requirement requirement;
  if (const Json* values = find(expression, "values"); values != nullptr && !values->is_null()) {
    if (!values->is_array()) {
      return fail(ErrorKind::invalid, "must be a list of strings", place + ".values");
    }
    for (const Json& value : values->get_array()) {
      if (!value.is_string()) {
        return fail(ErrorKind::invalid, "must be a list of strings", place + ".values");
      }
      requirement.values.emplace_back(view_of(value.get_string()));
    }
  }
  std::string_view op = text_at(expression, "operator");
  if (op == "In" || op == "NotIn") {
    requirement.op = op == "In" ? Operator::in : Operator::not_in;
    if (requirement.values.empty()) {
      return fail(ErrorKind::invalid,
                  "Required value: must be specified when `operator` is 'In' or 'NotIn'",
                  place + ".values");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    requirement.op = op == "Exists" ? Operator::exists : Operator::not_exists;
    if (!requirement.values.empty()) {
      return fail(ErrorKind::invalid,
                  "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                  place + ".values");
    }
  } else {
    return invalid_value(place + ".operator", op, "not a valid selector operator");
  }
  requirement.key = text_at(expression, "key");
  if (auto complaints = check_qualified_name(requirement.key); !complaints.empty()) {
    return invalid_value(place + ".key", requirement.key, complaints.front());
  }
  for (size_t i = 0; i < requirement.values.size(); ++i) {
    if (auto complaints = check_label_value(requirement.values[i]); !complaints.empty()) {
      return invalid_value(fmt::format("{}.values[{}]", place, i), requirement.values[i],
                           complaints.front());
    }
  }
  sort_values(requirement.values);
  return requirement;
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LOCKSTEP_TRY(auto requirements, Parser(text).parse());
  LabelSelector selector;
  selector.requirements_ = std::move(requirements);
  return selector;
}

Result<LabelSelector> LabelSelector::from_json(const Json* json) {
  if (json == nullptr || json->is_null()) return nothing();
  if (!json->is_object()) return fail(ErrorKind::invalid, "a label selector must be an object");
  LabelSelector selector;
  if (const Json* labels = lockstep::find(*json, "matchLabels"); labels && !labels->is_null()) {
    if (!labels->is_object()) {
      return fail(ErrorKind::invalid, "must be a map of strings", "matchLabels");
    }
    for (const auto& [json_key, value] : labels->get_object()) {
      std::string_view key(json_key.data(), json_key.size());
      if (!value.is_string()) {
        return fail(ErrorKind::invalid, "must be a map of strings", "matchLabels");
      }
      if (auto complaints = check_qualified_name(key); !complaints.empty()) {
        return invalid_value("matchLabels", key, complaints.front());
      }
      std::string_view text = view_of(value.get_string());
      if (auto complaints = check_label_value(text); !complaints.empty()) {
        return invalid_value("matchLabels", text, complaints.front());
      }
      selector.requirements_.push_back(
          Requirement{std::string(key), Operator::equals, {std::string(text)}});
    }
  }
  if (const Json* list = lockstep::find(*json, "matchExpressions"); list && !list->is_null()) {
    if (!list->is_array()) return fail(ErrorKind::invalid, "must be a list", "matchExpressions");
    for (size_t i = 0; i < list->get_array().size(); ++i) {
      LOCKSTEP_TRY(auto requirement, expression_from_json(list->get_array()[i],
                                                          fmt::format("matchExpressions[{}]", i)));
      selector.requirements_.push_back(std::move(requirement));
    }
  }
  sort_requirements(selector.requirements_);
  return selector;
}

LabelSelector LabelSelector::nothing() {
  LabelSelector selector;
  selector.nothing_ = true;
  return selector;
}

bool LabelSelector::matches(const Labels& labels) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& each) {
    return matches_requirement(each, labels(each.key));
  });
}

bool LabelSelector::matches(const StringMap& labels) const {
  return matches([&labels](std::string_view key) { return labels.value_of(key); });
}

bool LabelSelector::matches_object(const Json& object) const {
  const Json* labels = find(object, "metadata", "labels");
  return matches([labels](std::string_view key) -> std::optional<std::string_view> {
    const Json* value = labels == nullptr ? nullptr : find(*labels, key);
    if (value == nullptr) return std::nullopt;
    return as_text(value);
  });
}

std::string LabelSelector::text() const {
  if (nothing_) return std::string(nothing_text);
  std::vector<std::string> parts;
  for (const Requirement& requirement : requirements_) {
    parts.push_back(requirement_text(requirement));
  }
  return join(parts, ",");
}

}  // namespace lockstep
