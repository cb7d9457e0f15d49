// A Deployment: how many of its pods are wanted, and what they are labelled with.
#pragma once

#include <cstdint>

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct Deployment {
  ObjectMeta meta;
  int64_t replicas = 1;
  StringMap template_labels;

  bool operator==(const Deployment&) const = default;
};

template <>
struct Kind<Deployment> {
  static const ResourceType& type() { return resource::deployments; }
};
template <typename Reader>
void decode(Reader& in, Deployment& deployment, DecodeContext& context);

}  // namespace lockstep
