// Writes that are retried until an answer says that retrying is useless: the layer between an actor
// and an API that loses answers, conflicts, throttles or fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "data/json.h"
#include "kube/api.h"
#include "kube/backoff.h"
#include "sim/actors/parts.h"
#include "world/loop.h"

namespace lockstep::sim {

struct WriterCounts {
  uint64_t sent = 0;
  uint64_t retried = 0;
  uint64_t gave_up = 0;
};

class Writer {
 public:
  // What was written; or the error that ended it: not found, already exists, invalid, …
  using Done = std::function<void(Result<Document>)>;

  explicit Writer(Parts parts) : parts_(parts) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // No answer, 409 Conflict, 429 and 5xx are tried again, up to `tries` times: for hours, unless
  // the caller has a better idea by then. A precondition that does not hold is an answer. The
  // request must be one that may be done twice: a named create whose answer was lost ends as
  // "exists".
  void send(kube::Request request, Done done = {}, uint32_t tries = 1000);
  const WriterCounts& counts() const { return counts_; }

 private:
  using SharedRequest = std::shared_ptr<const kube::Request>;
  void attempt(SharedRequest request, Done done, uint32_t failures, uint32_t tries);

  Parts parts_;
  WriterCounts counts_;
  Scope scope_;
};

// Shorthands. A patch is a merge patch; a status patch goes to the subresource.
kube::Request merge_patch(const ResourceType& type, const ObjectKey& key, Json patch);
kube::Request status_patch(const ResourceType& type, const ObjectKey& key, Json status);
// Only this very object; `grace_seconds` below zero: as the object says.
kube::Request remove_exactly(const ResourceType& type, const ObjectKey& key, std::string_view uid,
                             int64_t grace_seconds = -1);

}  // namespace lockstep::sim
