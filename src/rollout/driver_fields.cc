#include "rollout/driver_fields.h"

#include <algorithm>
#include <array>

namespace lockstep::rollout {

namespace {

constexpr std::array<std::string_view, 4> field_names = {"version", "image", "repository",
                                                         "usePrecompiled"};

DriverFields fields_in(const Json& holder) {
  DriverFields fields;
  for (std::string_view name : field_names) {
    if (const Json* value = find(holder, name)) fields.values[name] = *value;
  }
  return fields;
}

std::string_view text_of(const DriverFields& fields, std::string_view name) {
  auto at = fields.values.find(name);
  return at == fields.values.end() ? std::string_view() : as_text(&at->value());
}

}  // namespace

std::string DriverFields::version() const { return std::string(text_of(*this, "version")); }

bool DriverFields::is_complete() const {
  return !text_of(*this, "version").empty() && !text_of(*this, "image").empty() &&
         !text_of(*this, "repository").empty();
}

bool DriverFields::operator==(const DriverFields& other) const {
  return json_equal(values, other.values);
}

std::optional<DriverFields> read_driver_fields(DriverKind kind, const Json& object) {
  if (kind == DriverKind::daemon_set) return std::nullopt;
  const Json* spec = find(object, "spec");
  if (spec != nullptr && kind == DriverKind::cluster_policy) spec = find(*spec, "driver");
  return spec == nullptr ? DriverFields{} : fields_in(*spec);
}

std::optional<DriverFields> read_driver_fields(const Json* values) {
  if (values == nullptr || !values->is_object()) return std::nullopt;
  return fields_in(*values);
}

bool fits(const DriverFields& fields, std::string_view image) {
  const std::string repository(text_of(fields, "repository"));
  const std::string name(text_of(fields, "image"));
  std::string_view rest = image;
  if (!repository.empty()) {
    if (!rest.starts_with(repository + "/")) return false;
    rest.remove_prefix(repository.size() + 1);
    if (!name.empty() && !(rest.starts_with(name + ":") || rest.starts_with(name + "@"))) {
      return false;
    }
  }
  const std::string version = fields.version();
  if (version.empty()) return true;
  if (rest.ends_with("@" + version)) return true;
  const size_t at = rest.rfind(":" + version);
  if (at == std::string_view::npos) return false;
  rest.remove_prefix(at + 1 + version.size());
  return rest.empty() || rest.front() == '-';
}

Json restoring_patch(DriverKind kind, const DriverFields& now, const DriverFields& then,
                     std::string_view resource_version) {
  JsonObject changes;
  for (std::string_view name : field_names) {
    const bool was = then.values.contains(name);
    if (was) changes[name] = then.values.at(name);
    if (!was && now.values.contains(name)) changes[name] = nullptr;
  }
  Json spec = kind == DriverKind::cluster_policy ? JsonObject{{"driver", std::move(changes)}}
                                                 : std::move(changes);
  return JsonObject{{"metadata", JsonObject{{"resourceVersion", resource_version}}},
                    {"spec", std::move(spec)}};
}

}  // namespace lockstep::rollout
