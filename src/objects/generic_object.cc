#include "objects/generic_object.h"

#include "objects/decode.h"
#include "objects/reading.h"

namespace lockstep {

namespace {

void decode_known_fields(GenericObject& object, DecodeContext& context) {
  TreeReader in(*object.document);
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, object.meta, context);
    } else if (key == "apiVersion") {
      object.api_version = in.text(context.pool);
    } else if (key == "kind") {
      object.kind = in.text(context.pool);
    } else {
      in.skip();
    }
  });
  if (in.failed()) context.fail(in.error().text());
}

}  // namespace

bool GenericObject::operator==(const GenericObject& other) const {
  if (document == other.document) return true;
  return document != nullptr && other.document != nullptr && json_equal(*document, *other.document);
}

const ResourceType& Kind<GenericObject>::type() {
  static const ResourceType any{"", "", "object", "objects", true};
  return any;
}

template <typename Reader>
void decode(Reader& in, GenericObject& object, DecodeContext& context) {
  object.document = std::make_shared<const Json>(in.tree());
  if (!in.failed()) decode_known_fields(object, context);
}
LOCKSTEP_INSTANTIATE_DECODE(GenericObject);

Result<GenericObject> generic_object(Document document, DecodeContext& context) {
  GenericObject object;
  object.document = std::move(document);
  context.problem.clear();
  decode_known_fields(object, context);
  if (context.problem.empty() && object.meta.name.empty()) {
    context.fail("the object has no metadata.name");
  }
  if (!context.problem.empty()) {
    return fail(ErrorKind::invalid, context.problem,
                object_place(text_at(*object.document, "kind"), peek_key(*object.document)));
  }
  return object;
}

}  // namespace lockstep
