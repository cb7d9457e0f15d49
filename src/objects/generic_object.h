// Any object, of a kind that has no type of its own here: its metadata and the whole document.
#pragma once

#include "data/json.h"
#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct GenericObject {
  ObjectMeta meta;
  Text api_version;  // often missing in the items of a list
  Text kind;
  Document document;  // never null once decoded

  bool operator==(const GenericObject& other) const;
};

template <>
struct Kind<GenericObject> {
  // A placeholder for messages; the caller that requests the objects gives the real type.
  static const ResourceType& type();
};
template <typename Reader>
void decode(Reader& in, GenericObject& object, DecodeContext& context);

// Shares the document instead of copying it.
Result<GenericObject> generic_object(Document document, DecodeContext& context);

}  // namespace lockstep
