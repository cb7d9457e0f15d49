// A lease: its holder, and since when.
#pragma once

#include <cstdint>

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct Lease {
  ObjectMeta meta;
  Text holder;  // spec.holderIdentity
  int32_t duration_seconds = 0;
  int32_t transitions = 0;
  Time acquired;
  Time renewed;

  bool operator==(const Lease&) const = default;
};

template <>
struct Kind<Lease> {
  static const ResourceType& type() { return resource::leases; }
};
template <typename Reader>
void decode(Reader& in, Lease& lease, DecodeContext& context);

// The whole object, to create or replace it.
Json to_json(const Lease& lease);

}  // namespace lockstep
