// Kubernetes' IntOrString for a number or a percentage: 5, "25%".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

enum class Rounding { up, down };

struct IntOrPercent {
  int64_t value = 0;
  bool percent = false;

  static constexpr IntOrPercent count(int64_t number) { return {number, false}; }
  static constexpr IntOrPercent percentage(int64_t number) { return {number, true}; }

  // "5" or "25%": as written on a command line.
  static Result<IntOrPercent> parse(std::string_view text);
  // 5 or "25%", as Kubernetes reads it: the string "5" is refused.
  static Result<IntOrPercent> from_json(const Json& json);

  // How many of `total`. A percentage of a whole is rounded; a number stays itself, even above
  // total.
  int64_t of(int64_t total, Rounding rounding) const;

  // "5" or "25%".
  std::string text() const;
  Json to_json() const;
  bool operator==(const IntOrPercent&) const = default;
};

}  // namespace lockstep
