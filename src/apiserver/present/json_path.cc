#include "apiserver/present/json_path.h"

#include <compare>
#include <optional>

#include "base/strings.h"

namespace lockstep::apiserver {

struct JsonPathStep {
  enum class Kind { field, wildcard, slice, recursive, filter, alternatives };

  Kind kind = Kind::field;
  std::string name;                                 // field
  std::optional<int64_t> begin, end, stride;        // slice
  bool single = false;                              // slice: [n], one element
  std::string relation;                             // filter: "==", "exists", …
  std::optional<Json> literal;                      // filter: the right side, if it is not a path
  std::vector<JsonPathStep> left, right;            // filter
  std::vector<std::vector<JsonPathStep>> branches;  // alternatives: [0,1]
};

namespace {

using Step = JsonPathStep;
using Steps = std::vector<Step>;
using Values = std::vector<const Json*>;

// ---- reading ----

bool ends_name(char c) {
  return std::string_view(" \t\r\n.,[]$@{}").find(c) != std::string_view::npos;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Steps> read() {
    Steps steps;
    while (position_ < text_.size()) {
      LOCKSTEP_CHECK(read_step(steps));
    }
    return steps;
  }

 private:
  std::string_view rest() const { return text_.substr(position_); }

  Result<void> read_step(Steps& steps) {
    const char c = text_[position_];
    if (c == ' ' || c == '@' || c == '$') {
      ++position_;
      return {};
    }
    if (rest().starts_with("[?(")) return read_filter(steps);
    if (rest().starts_with("..")) return read_recursive(steps);
    if (c == '[') return read_bracket(steps);
    if (c == '.') {
      ++position_;
      return read_name(steps);
    }
    return failf(ErrorKind::invalid, "unexpected '{}' in the path {}", c, text_);
  }

  Result<void> read_name(Steps& steps) {
    const size_t begin = position_;
    std::string name;
    while (position_ < text_.size() && !ends_name(text_[position_])) {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      name += text_[position_++];
    }
    // ".[0]" and a lone "." are the value itself.
    if (position_ == begin) return {};
    Step step;
    step.kind = name == "*" ? Step::Kind::wildcard : Step::Kind::field;
    step.name = std::move(name);
    steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_recursive(Steps& steps) {
    if (!steps.empty() && steps.back().kind == Step::Kind::recursive) {
      return fail(ErrorKind::invalid, "'..' follows '..'");
    }
    position_ += 2;
    steps.push_back({});
    steps.back().kind = Step::Kind::recursive;
    return position_ < text_.size() && !ends_name(text_[position_]) ? read_name(steps)
                                                                    : Result<void>();
  }

  Result<void> read_bracket(Steps& steps) {
    const size_t close = text_.find(']', position_);
    if (close == std::string_view::npos) {
      return failf(ErrorKind::invalid, "a '[' is not closed in the path {}", text_);
    }
    const std::string_view inside = text_.substr(position_ + 1, close - position_ - 1);
    position_ = close + 1;
    const std::vector<std::string_view> parts = split(inside, ',');
    if (parts.size() == 1) return read_subscript(inside, steps);
    Step step;
    step.kind = Step::Kind::alternatives;
    for (const std::string_view part : parts) {
      step.branches.emplace_back();
      LOCKSTEP_CHECK(read_subscript(trim(part), step.branches.back()));
    }
    steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_subscript(std::string_view inside, Steps& steps) {
    if (inside.size() >= 2 && inside.front() == '\'' && inside.back() == '\'') {
      return read_quoted_name(inside.substr(1, inside.size() - 2), steps);
    }
    return read_slice(inside == "*" ? ":" : inside, steps);
  }

  // Kubernetes reads ['a.b'] as .a.b and wants ['a\.b'] for one name; users write the former and
  // mean the latter, so the literal name comes first.
  Result<void> read_quoted_name(std::string_view quoted, Steps& steps) {
    LOCKSTEP_TRY(Steps nested, Reader("." + std::string(quoted)).read_owned());
    if (nested.size() < 2) {
      for (Step& step : nested) steps.push_back(std::move(step));
      return {};
    }
    Step literal;
    literal.name = quoted;
    Step step;
    step.kind = Step::Kind::alternatives;
    step.branches.push_back({});
    step.branches.back().push_back(std::move(literal));
    step.branches.push_back(std::move(nested));
    steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_slice(std::string_view inside, Steps& steps) {
    const std::vector<std::string_view> parts = split(inside, ':');
    Step step;
    step.kind = Step::Kind::slice;
    step.single = parts.size() == 1;
    std::optional<int64_t>* targets[] = {&step.begin, &step.end, &step.stride};
    if (parts.size() > 3) return failf(ErrorKind::invalid, "[{}] is no index", inside);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].empty() && !step.single) continue;
      *targets[i] = parse_integer(parts[i]);
      if (!*targets[i]) return failf(ErrorKind::invalid, "[{}] is no index", inside);
    }
    if (step.stride && *step.stride <= 0) return fail(ErrorKind::invalid, "a step must be above 0");
    steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_filter(Steps& steps) {
    position_ += 3;
    const size_t begin = position_;
    char quote = 0;
    while (position_ < text_.size() && (quote != 0 || text_[position_] != ')')) {
      const char c = text_[position_];
      if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      }
      ++position_;
    }
    if (!rest().starts_with(")]")) {
      return failf(ErrorKind::invalid, "a filter is not closed in the path {}", text_);
    }
    const std::string_view condition = text_.substr(begin, position_ - begin);
    position_ += 2;
    Step step;
    step.kind = Step::Kind::filter;
    LOCKSTEP_CHECK(read_condition(condition, step));
    steps.push_back(std::move(step));
    return {};
  }

  static Result<void> read_condition(std::string_view condition, Step& step) {
    const size_t begin = condition.find_first_of("!<>=");
    if (begin == std::string_view::npos) {
      step.relation = "exists";
      LOCKSTEP_TRY(step.left, Reader(condition).read());
      return {};
    }
    size_t end = begin;
    while (end < condition.size() &&
           std::string_view("!<>=").find(condition[end]) != std::string_view::npos) {
      ++end;
    }
    step.relation = condition.substr(begin, end - begin);
    LOCKSTEP_TRY(step.left, Reader(trim(condition.substr(0, begin))).read());
    const std::string_view right = trim(condition.substr(end));
    if (right.size() >= 2 && (right.front() == '"' || right.front() == '\'')) {
      step.literal = Json(right.substr(1, right.size() - 2));
    } else if (right.starts_with('@') || right.starts_with('.')) {
      LOCKSTEP_TRY(step.right, Reader(right).read());
    } else {
      LOCKSTEP_TRY(step.literal, parse_json(right));
    }
    return {};
  }

 public:
  explicit Reader(std::string&& text) : owned_(std::move(text)), text_(owned_) {}
  Result<Steps> read_owned() { return read(); }

 private:
  std::string owned_;
  std::string_view text_;
  size_t position_ = 0;
};

// ---- walking ----

// How many more values may be visited.
class Budget {
 public:
  explicit Budget(size_t left) : left_(left) {}
  bool take() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  bool is_spent() const { return left_ == 0; }

 private:
  size_t left_;
};

// False: the document has another shape than the path expects, or the budget is spent, and there is
// no result at all.
bool walk(const Steps& steps, Values& values, Budget& budget);

void add_children(const Json& value, Values& into, Budget& budget) {
  if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      if (!budget.take()) return;
      into.push_back(&member.value());
    }
  } else if (value.is_array()) {
    for (const Json& item : value.get_array()) {
      if (!budget.take()) return;
      into.push_back(&item);
    }
  }
}

void add_descendants(const Json& value, Values& into, Budget& budget) {
  Values children;
  add_children(value, children, budget);
  if (children.empty() || !budget.take()) return;
  into.push_back(&value);
  for (const Json* child : children) add_descendants(*child, into, budget);
}

bool take_slice(const Step& step, const Json& value, Values& into, Budget& budget) {
  if (value.is_null()) return true;
  if (!value.is_array()) return false;
  const JsonArray& items = value.get_array();
  const int64_t size = static_cast<int64_t>(items.size());
  int64_t begin = step.begin.value_or(0);
  if (begin < 0) begin += size;
  int64_t end = step.single ? begin + 1 : step.end.value_or(size);
  if (end < 0) end += size;
  if (begin == end) return true;
  if (begin < 0 || begin >= size || end < 0 || end > size || begin > end) return false;
  for (int64_t i = begin; i < end; i += step.stride.value_or(1)) {
    if (!budget.take()) return false;
    into.push_back(&items[static_cast<size_t>(i)]);
  }
  return true;
}

std::optional<std::partial_ordering> compare(const Json& left, const Json& right) {
  if (left.is_string() && right.is_string()) {
    return as_text(&left).compare(as_text(&right)) <=> 0;
  }
  if (left.is_number() && right.is_number()) {
    return as_number(left) <=> as_number(right);
  }
  if (left.is_bool() && right.is_bool()) {
    return static_cast<int>(left.get_bool()) <=> static_cast<int>(right.get_bool());
  }
  return std::nullopt;
}

std::optional<bool> holds(std::string_view relation, const Json& left, const Json& right) {
  const std::optional<std::partial_ordering> order = compare(left, right);
  if (!order) return std::nullopt;
  if (relation == "==") return std::is_eq(*order);
  if (relation == "!=") return std::is_neq(*order);
  if (relation == "<") return std::is_lt(*order);
  if (relation == "<=") return std::is_lteq(*order);
  if (relation == ">") return std::is_gt(*order);
  if (relation == ">=") return std::is_gteq(*order);
  return std::nullopt;
}

std::optional<bool> passes(const Step& step, const Json& item, Budget& budget) {
  Values left = {&item};
  const bool walked = walk(step.left, left, budget);
  if (step.relation == "exists") return walked && !left.empty();
  if (!walked || left.size() > 1) return std::nullopt;
  if (left.empty()) return false;
  if (step.literal) return holds(step.relation, *left[0], *step.literal);
  Values right = {&item};
  if (!walk(step.right, right, budget) || right.size() > 1) return std::nullopt;
  if (right.empty()) return false;
  return holds(step.relation, *left[0], *right[0]);
}

bool filter(const Step& step, const Json& value, Values& into, Budget& budget) {
  if (!value.is_array()) return false;
  for (const Json& item : value.get_array()) {
    const std::optional<bool> passed = passes(step, item, budget);
    if (!passed) return false;
    if (*passed) into.push_back(&item);
  }
  return true;
}

bool take(const Step& step, const Json& value, Values& into, Budget& budget) {
  switch (step.kind) {
    case Step::Kind::field:
      if (const Json* child = find(value, step.name)) into.push_back(child);
      return true;
    case Step::Kind::wildcard:
      add_children(value, into, budget);
      return true;
    case Step::Kind::recursive:
      add_descendants(value, into, budget);
      return true;
    case Step::Kind::slice:
      return take_slice(step, value, into, budget);
    case Step::Kind::filter:
      return filter(step, value, into, budget);
    case Step::Kind::alternatives:
      for (const Steps& branch : step.branches) {
        Values found = {&value};
        if (!walk(branch, found, budget)) return false;
        into.insert(into.end(), found.begin(), found.end());
      }
      return true;
  }
  return false;
}

bool walk(const Steps& steps, Values& values, Budget& budget) {
  for (const Step& step : steps) {
    Values next;
    for (const Json* value : values) {
      if (!budget.take() || !take(step, *value, next, budget)) return false;
    }
    values = std::move(next);
  }
  return !budget.is_spent();
}

}  // namespace

JsonPath::JsonPath() = default;
JsonPath::JsonPath(JsonPath&&) noexcept = default;
JsonPath& JsonPath::operator=(JsonPath&&) noexcept = default;
JsonPath::~JsonPath() = default;

Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  LOCKSTEP_TRY(path.steps_, Reader(text).read());
  return path;
}

std::vector<const Json*> JsonPath::find_all(const Json& document) const {
  Values values = {&document};
  Budget budget(most_values);
  if (!walk(steps_, values, budget)) return {};
  return values;
}

}  // namespace lockstep::apiserver
