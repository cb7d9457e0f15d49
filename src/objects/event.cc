#include "objects/event.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

void put_text(JsonObject& object, std::string_view key, const Text& text) {
  if (!text.empty()) object[key] = text.view();
}

}  // namespace

template <typename Reader>
void decode(Reader& in, ObjectReference& reference, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "apiVersion") {
      reference.api_version = in.text(context.pool);
    } else if (key == "kind") {
      reference.kind = in.text(context.pool);
    } else if (key == "namespace") {
      reference.ns = in.text(context.pool);
    } else if (key == "name") {
      reference.name = in.text(context.pool);
    } else if (key == "uid") {
      reference.uid = in.text(context.pool);
    } else if (key == "resourceVersion") {
      reference.resource_version = read_unique(in);
    } else if (key == "fieldPath") {
      reference.field_path = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(ObjectReference);

template <typename Reader>
void decode(Reader& in, Event& event, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, event.meta, context);
    } else if (key == "involvedObject") {
      decode(in, event.about, context);
    } else if (key == "type") {
      event.type = in.text(context.pool);
    } else if (key == "reason") {
      event.reason = in.text(context.pool);
    } else if (key == "message") {
      event.message = in.text(context.pool);
    } else if (key == "source") {
      in.object([&](std::string_view field) {
        if (field == "component") {
          event.component = in.text(context.pool);
        } else if (field == "host") {
          event.host = in.text(context.pool);
        } else {
          in.skip();
        }
      });
    } else if (key == "reportingComponent") {
      event.reporting_controller = in.text(context.pool);
    } else if (key == "reportingInstance") {
      event.reporting_instance = in.text(context.pool);
    } else if (key == "action") {
      event.action = in.text(context.pool);
    } else if (key == "count") {
      event.count = static_cast<int32_t>(in.integer());
    } else if (key == "firstTimestamp") {
      event.first = read_time(in, context);
    } else if (key == "lastTimestamp") {
      event.last = read_time(in, context);
    } else if (key == "eventTime") {
      event.at = read_time(in, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Event);

Json to_json(const Event& event) {
  JsonObject about;
  put_text(about, "apiVersion", event.about.api_version);
  put_text(about, "kind", event.about.kind);
  put_text(about, "namespace", event.about.ns);
  put_text(about, "name", event.about.name);
  put_text(about, "uid", event.about.uid);
  put_text(about, "resourceVersion", event.about.resource_version);
  put_text(about, "fieldPath", event.about.field_path);

  JsonObject object;
  object["apiVersion"] = resource::events.api_version();
  object["kind"] = resource::events.kind;
  object["metadata"] = meta_to_json(event.meta);
  object["involvedObject"] = std::move(about);
  put_text(object, "type", event.type);
  put_text(object, "reason", event.reason);
  put_text(object, "message", event.message);
  if (!event.component.empty() || !event.host.empty()) {
    JsonObject source;
    put_text(source, "component", event.component);
    put_text(source, "host", event.host);
    object["source"] = std::move(source);
  }
  put_text(object, "reportingComponent", event.reporting_controller);
  put_text(object, "reportingInstance", event.reporting_instance);
  put_text(object, "action", event.action);
  if (event.count != 0) object["count"] = event.count;
  if (event.first.is_set()) object["firstTimestamp"] = format_rfc3339(event.first);
  if (event.last.is_set()) object["lastTimestamp"] = format_rfc3339(event.last);
  if (event.at.is_set()) object["eventTime"] = format_rfc3339_micro(event.at);
  return object;
}

}  // namespace lockstep
