#include "kube/typed.h"

namespace lockstep::kube {

namespace {

template <typename Reader>
std::string read_version(Reader& in) {
  std::string version;
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view field) {
      if (field == "resourceVersion") {
        version = in.text();
      } else {
        in.skip();
      }
    });
  });
  return version;
}

}  // namespace

ObjectKey peek_body_key(const Body& body) {
  if (const auto* bytes = std::get_if<std::string>(&body))
    return peek_key(std::string_view(*bytes));
  const auto* document = std::get_if<Document>(&body);
  return document != nullptr && *document ? peek_key(**document) : ObjectKey();
}

std::string peek_body_version(const Body& body) {
  if (const auto* bytes = std::get_if<std::string>(&body)) {
    JsonReader in(*bytes);
    return read_version(in);
  }
  if (const auto* document = std::get_if<Document>(&body); document != nullptr && *document) {
    TreeReader in(**document);
    return read_version(in);
  }
  return {};
}

}  // namespace lockstep::kube
