// A namespace.
#pragma once

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct Namespace {
  ObjectMeta meta;
  Text phase;  // "Active", "Terminating"

  bool is_terminating() const { return phase == "Terminating" || meta.is_deleting(); }
  bool operator==(const Namespace&) const = default;
};

template <>
struct Kind<Namespace> {
  static const ResourceType& type() { return resource::namespaces; }
};
template <typename Reader>
void decode(Reader& in, Namespace& ns, DecodeContext& context);

}  // namespace lockstep
