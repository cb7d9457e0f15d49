// What a gate's number must be: "result < 0.01", "result >= 0 && result <= 5". Comparisons of the
// result with a number, joined by && and ||, of which && binds tighter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::rollout {

class Condition {
 public:
  static Result<Condition> parse(std::string_view text);

  // False for a result that is not a number.
  bool holds(double result) const;
  const std::string& text() const { return text_; }
  bool operator==(const Condition& other) const { return text_ == other.text_; }

 private:
  enum class Relation { less, at_most, greater, at_least, equal, unequal };
  struct Comparison {
    Relation relation = Relation::less;
    double number = 0;
    bool holds(double result) const;
  };
  static Result<Comparison> parse_comparison(std::string_view text);

  std::string text_;
  std::vector<std::vector<Comparison>> ways_;  // any of these, of each all
};

}  // namespace lockstep::rollout
