// Every query that can be made of a catalogue's words, "any" among them: for tests and benchmarks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bundle/criteria.h"

namespace lockstep::bundle {

inline std::vector<Criteria> all_queries(const CriteriaWords& words) {
  std::vector<Criteria> queries = {{}};
  for (const CriteriaField& field : criteria_fields) {
    std::vector<Criteria> more = queries;
    for (const std::string& word : words.words(field.name)) {
      for (Criteria query : queries) {
        query.*field.value = word;
        more.push_back(std::move(query));
      }
    }
    queries = std::move(more);
  }
  return queries;
}

}  // namespace lockstep::bundle
