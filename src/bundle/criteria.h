// What a recipe is requested for: Kubernetes service, accelerator, intent, operating system and
// platform. The accepted values are data (criteria.yaml); a missing value is "any".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"
#include "data/strict_reader.h"

namespace lockstep::bundle {

struct Criteria {
  // Empty is any. Initialized one by one so that a query may name what it says and no more.
  std::string service = {};
  std::string accelerator = {};
  std::string intent = {};
  std::string os = {};
  std::string platform = {};
  int64_t nodes = 0;

  bool operator==(const Criteria&) const = default;
};

struct CriteriaField {
  std::string_view name;
  std::string Criteria::* value;
};

inline constexpr std::array<CriteriaField, 5> criteria_fields = {{
    {"service", &Criteria::service},
    {"accelerator", &Criteria::accelerator},
    {"intent", &Criteria::intent},
    {"os", &Criteria::os},
    {"platform", &Criteria::platform},
}};

// The fields of `rule` that keep it from applying to `query`. What the rule leaves open fits
// everything; what it says, the query must say too: "any" is not enough.
std::set<std::string> mismatches(const Criteria& rule, const Criteria& query);
inline bool matches(const Criteria& rule, const Criteria& query) {
  return mismatches(rule, query).empty();
}

// How many fields it says.
int specificity(const Criteria& criteria);

// "service eks, os ubuntu"; "any" when nothing is said.
std::string describe(const Criteria& criteria);
// As AICR prints it: every word, "any" where none was said; nodes only when said.
JsonObject to_json(const Criteria& criteria);

// The accepted values and their aliases.
class CriteriaWords {
 public:
  // Adds the words of a criteria.yaml to those that are known.
  Result<void> add(const YamlFile& file);

  // The word that is meant: lower case, without its alias, empty for any. `field` must be one of
  // criteria_fields.
  Result<std::string> normalize(std::string_view field, std::string_view word) const;
  Result<Criteria> normalize(Criteria criteria) const;

  const std::set<std::string>& words(std::string_view field) const;

 private:
  struct Field {
    std::set<std::string> words;
    std::map<std::string, std::string> aliases;
  };

  std::map<std::string, Field, std::less<>> fields_;
};

// The map under an overlay's `criteria`.
void read_criteria(StrictReader& object, const CriteriaWords& words, Criteria& into);

}  // namespace lockstep::bundle
