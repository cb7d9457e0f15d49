#include "bundle/values.h"

#include <fmt/format.h>

namespace lockstep::bundle {

namespace {

Result<Json> read_values(const Catalogue& catalogue, const std::string& path,
                         const ComponentRef& component) {
  if (catalogue.files.count(path) == 0) {
    return fail(ErrorKind::not_found,
                fmt::format("{} names the values file \"{}\", which is not in the catalogue",
                            component.name, path),
                component.place.text());
  }
  LOCKSTEP_TRY(YamlFile file, catalogue.yaml(path));
  // A file of nothing but comments sets nothing.
  if (file.json.is_null()) return Json(JsonObject());
  if (!file.json.is_object()) return fail(ErrorKind::invalid, "values must be a map", file.name());
  return std::move(file.json);
}

}  // namespace

Result<JsonObject> component_values(const Catalogue& catalogue, const ComponentRef& component) {
  Json values = JsonObject();
  std::string common = fmt::format("components/{}/values.yaml", component.name);
  if (catalogue.files.count(common) > 0) {
    LOCKSTEP_TRY(values, read_values(catalogue, common, component));
  }
  if (!component.values_file.empty() && component.values_file != common) {
    LOCKSTEP_TRY(Json own, read_values(catalogue, component.values_file, component));
    deep_merge(values, own);
  }
  deep_merge(values, Json(component.overrides));
  return std::move(values.get_object());
}

}  // namespace lockstep::bundle
