#include "apiserver/kinds/builtin_defaults.h"

#include "apiserver/kinds/kind.h"

namespace lockstep::apiserver {

namespace {

void set_at(JsonObject& object, std::string_view path, const Json& value) {
  size_t dot = path.find('.');
  if (dot == std::string_view::npos) return set_default(object, path, value);
  set_at(ensure_object(object, path.substr(0, dot)), path.substr(dot + 1), value);
}

}  // namespace

void default_builtin(const ResourceInfo& info, Json& value) {
  if (info.custom || !value.is_object()) return;
  JsonObject& object = value.get_object();
  const Kind& kind = kind_of(info);
  for (const PlainDefault& plain : kind.defaults) {
    if (Result<Json> given = parse_json(plain.value)) set_at(object, plain.path, *given);
  }
  if (kind.set_defaults != nullptr) kind.set_defaults(object);
}

}  // namespace lockstep::apiserver
