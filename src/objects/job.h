// A Job, as far as gates and waits need it: whether it is done, and how it ended.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct Job {
  ObjectMeta meta;
  int32_t completions = 1;
  int32_t parallelism = 1;
  bool suspended = false;
  // Status.
  int32_t active = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  Time started;
  Time completed;
  std::vector<Condition> conditions;

  bool is_complete() const { return has("Complete"); }
  bool has_failed() const { return has("Failed"); }
  bool is_finished() const { return is_complete() || has_failed(); }
  bool operator==(const Job&) const = default;

 private:
  bool has(std::string_view type) const {
    const Condition* condition = find_condition(conditions, type);
    return condition != nullptr && condition->is_true();
  }
};

template <>
struct Kind<Job> {
  static const ResourceType& type() { return resource::jobs; }
};
template <typename Reader>
void decode(Reader& in, Job& job, DecodeContext& context);

}  // namespace lockstep
