// An event (core/v1): what kubectl describe shows under an object.
#pragma once

#include <cstdint>
#include <string_view>

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct ObjectReference {
  Text api_version;
  Text kind;
  Text ns;
  Text name;
  Text uid;
  Text resource_version;
  Text field_path;

  bool operator==(const ObjectReference&) const = default;
};

// Events about nodes carry the name as uid, as the kubelet's do: kubectl describe searches for it.
inline ObjectReference node_reference(const Text& name) {
  return {"v1", "Node", "", name, name, "", ""};
}

struct Event {
  ObjectMeta meta;
  ObjectReference about;      // involvedObject
  Text type;                  // "Normal" or "Warning"
  Text reason;                // CamelCase, for machines
  Text message;               // for users
  Text component;             // source.component
  Text host;                  // source.host
  Text reporting_controller;  // reportingComponent
  Text reporting_instance;
  Text action;
  int32_t count = 0;
  Time first;
  Time last;
  Time at;  // eventTime; a series has no first and last

  bool operator==(const Event&) const = default;
};

template <>
struct Kind<Event> {
  static const ResourceType& type() { return resource::events; }
};
template <typename Reader>
void decode(Reader& in, ObjectReference& reference, DecodeContext& context);
template <typename Reader>
void decode(Reader& in, Event& event, DecodeContext& context);

// The whole object, to create it.
Json to_json(const Event& event);

}  // namespace lockstep
