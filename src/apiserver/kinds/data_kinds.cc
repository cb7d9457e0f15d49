#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

constexpr size_t data_limit = 1 << 20;

void check_data_keys(const Json& object, std::string_view map, size_t& size, Causes& causes) {
  for (const auto& entry : object_at(object, map).get_object()) {
    std::string place = fmt::format("{}[{}]", map, std::string_view(entry.key()));
    take_complaints(check_config_map_key(entry.key()), entry.key(), place, causes);
    size += as_text(&entry.value()).size();
  }
}

void check_immutable_data(const Json& object, const Json* before,
                          std::initializer_list<const char*> maps, Causes& causes) {
  if (before == nullptr || !as_bool(find(*before, "immutable"))) return;
  constexpr std::string_view why = "field is immutable when `immutable` is set";
  if (!as_bool(find(object, "immutable"))) causes.push_back(cause_forbidden("immutable", why));
  for (const char* map : maps) {
    if (!json_equal(object_at(object, map), object_at(*before, map))) {
      causes.push_back(cause_forbidden(map, why));
    }
  }
}

void check_config_map(const Json& object, const Json* before, Causes& causes) {
  size_t size = 0;
  check_data_keys(object, "data", size, causes);
  check_data_keys(object, "binaryData", size, causes);
  for (const auto& entry : object_at(object, "data").get_object()) {
    if (!object_at(object, "binaryData").get_object().contains(entry.key())) continue;
    std::string_view key = entry.key();
    causes.push_back(cause_invalid(fmt::format("data[{}]", key), Json(key),
                                   "duplicate of key present in binaryData"));
  }
  // The empty place means the whole object.
  if (size > data_limit) {
    causes.push_back(cause_too_long("", fmt::format("may not be more than {} bytes", data_limit)));
  }
  check_immutable_data(object, before, {"data", "binaryData"}, causes);
}

void check_secret(const Json& object, const Json* before, Causes& causes) {
  size_t size = 0;
  check_data_keys(object, "data", size, causes);
  if (size / 4 * 3 > data_limit) {
    causes.push_back(
        cause_too_long("data", fmt::format("may not be more than {} bytes", data_limit)));
  }
  std::string_view type = text_at(object, "type");
  auto need = [&](std::string_view key) {
    if (find(object, "data", key) == nullptr) {
      causes.push_back(cause_required(fmt::format("data[{}]", key)));
    }
  };
  if (type == "kubernetes.io/dockerconfigjson") need(".dockerconfigjson");
  if (type == "kubernetes.io/dockercfg") need(".dockercfg");
  if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
  check_immutable_data(object, before, {"data"}, causes);
  if (before != nullptr && text_at(*before, "type") != type) {
    causes.push_back(cause_invalid("type", Json(type), immutable_message));
  }
}

// stringData is for writing only: it ends up in data.
void default_secret(JsonObject& object) {
  Json* texts = object.if_contains("stringData");
  if (texts == nullptr || !texts->is_object()) return;
  JsonObject given = texts->get_object();
  erase_key(object, "stringData");
  JsonObject& data = ensure_object(object, "data");
  for (const auto& entry : given) data[entry.key()] = base64_encode(as_text(&entry.value()));
}

}  // namespace

std::vector<Kind> data_kinds() {
  return {
      {.plural = "configmaps", .check = check_config_map},
      {.plural = "secrets",
       .selectable = {"type"},
       .defaults = {{"type", "\"Opaque\""}},
       .set_defaults = default_secret,
       .check = check_secret},
      {.plural = "persistentvolumes",
       .defaults = {{"spec.persistentVolumeReclaimPolicy", "\"Retain\""},
                    {"spec.volumeMode", "\"Filesystem\""},
                    {"status.phase", "\"Pending\""}},
       .has_status_defaults = true},
      {.plural = "persistentvolumeclaims",
       .defaults = {{"spec.volumeMode", "\"Filesystem\""}, {"status.phase", "\"Pending\""}},
       .has_status_defaults = true},
      {.group = "storage.k8s.io",
       .plural = "storageclasses",
       .defaults = {{"reclaimPolicy", "\"Delete\""}, {"volumeBindingMode", "\"Immediate\""}}},
  };
}

}  // namespace lockstep::apiserver
