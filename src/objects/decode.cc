#include "objects/decode.h"

namespace lockstep {

namespace {

template <typename Reader>
ObjectKey read_key(Reader& in) {
  ObjectKey found;
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view field) {
      if (field == "name") {
        found.name = in.text();
      } else if (field == "namespace") {
        found.ns = in.text();
      } else {
        in.skip();
      }
    });
  });
  return found;
}

}  // namespace

std::string object_place(std::string_view kind, const ObjectKey& key) {
  std::string place(kind);
  if (!key.name.empty()) place += " " + key.text();
  return place;
}

ObjectKey peek_key(std::string_view bytes) {
  JsonReader in(bytes);
  return read_key(in);
}

ObjectKey peek_key(const Json& tree) {
  TreeReader in(tree);
  return read_key(in);
}

template <typename Reader>
void decode_list_meta(Reader& in, ListPage& page) {
  in.object([&](std::string_view key) {
    if (key == "resourceVersion") {
      page.resource_version = in.text();
    } else if (key == "continue") {
      page.continue_token = in.text();
    } else if (key == "remainingItemCount") {
      page.remaining = in.integer();
    } else {
      in.skip();
    }
  });
}
template void decode_list_meta(JsonReader&, ListPage&);
template void decode_list_meta(TreeReader&, ListPage&);

}  // namespace lockstep
