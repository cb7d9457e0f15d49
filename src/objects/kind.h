// What generic code (cache, reflector) asks of a type of object. Each typed object has, in its
// header,
//
//   template <> struct Kind<Node> { static const ResourceType& type() { return resource::nodes; }
//   }; template <typename Reader> void decode(Reader& in, Node& node, DecodeContext& context);
//
// and a member `meta` of type ObjectMeta.
#pragma once

#include "objects/resource_type.h"

namespace lockstep {

template <typename T>
struct Kind;

}  // namespace lockstep
