#include "objects/custom_resource_definition.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

template <typename Reader>
void decode_names(Reader& in, CustomResourceDefinition& definition, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "kind") {
      definition.kind = in.text(context.pool);
    } else if (key == "listKind") {
      definition.list_kind = in.text(context.pool);
    } else if (key == "plural") {
      definition.plural = in.text(context.pool);
    } else if (key == "singular") {
      definition.singular = in.text(context.pool);
    } else if (key == "shortNames") {
      read_texts(in, definition.short_names, context);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_version(Reader& in, CustomResourceDefinition::Version& version,
                    DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      version.name = in.text(context.pool);
    } else if (key == "served") {
      version.served = in.boolean();
    } else if (key == "storage") {
      version.storage = in.boolean();
    } else if (key == "subresources") {
      in.object([&](std::string_view field) {
        if (field == "status" && !in.at_null()) version.has_status = true;
        in.skip();
      });
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_spec(Reader& in, CustomResourceDefinition& definition, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "group") {
      definition.group = in.text(context.pool);
    } else if (key == "names") {
      decode_names(in, definition, context);
    } else if (key == "scope") {
      definition.namespaced = in.text() == "Namespaced";
    } else if (key == "versions") {
      definition.versions.clear();
      in.array([&] { decode_version(in, definition.versions.emplace_back(), context); });
    } else {
      in.skip();
    }
  });
}

}  // namespace

template <typename Reader>
void decode(Reader& in, CustomResourceDefinition& definition, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, definition.meta, context);
    } else if (key == "spec") {
      decode_spec(in, definition, context);
    } else if (key == "status") {
      in.object([&](std::string_view field) {
        if (field != "conditions") return in.skip();
        in.array([&] {
          Condition condition;
          decode(in, condition, context);
          if (condition.type == "Established") definition.established = condition.is_true();
        });
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(CustomResourceDefinition);

}  // namespace lockstep
