#include "deploy/chart.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "deploy/json_schema.h"
#include "deploy/manifest_kinds.h"
#include "deploy/template_render.h"
#include "objects/names.h"

namespace lockstep::deploy {

namespace {

Result<Json> yaml_file(const ChartFiles& files, std::string_view name) {
  auto at = files.find(name);
  if (at == files.end())
    return fail(ErrorKind::not_found, "the chart has no such file", std::string(name));
  return parse_yaml(at->second, name);
}

// As in Helm: a null removes a default. Without a default it is an ordinary value.
void drop_nulls(Json& value, const Json& defaults) {
  if (!value.is_object() || !defaults.is_object()) return;
  for (const auto& [key, by_default] : defaults.get_object()) {
    Json* child = find(value, key);
    if (child != nullptr && child->is_null()) {
      erase_key(value.get_object(), key);
    } else if (child != nullptr) {
      drop_nulls(*child, by_default);
    }
  }
}

Result<void> check_release(const ReleaseName& release) {
  // Helm's limit: what is derived from it must still be a name.
  constexpr size_t longest = 53;
  if (release.name.size() > longest || !check_dns_label(release.name).empty()) {
    return failf(ErrorKind::invalid,
                 "invalid release name \"{}\": use at most {} lower-case letters, digits and -",
                 release.name, longest);
  }
  if (!check_dns_label(release.ns).empty()) {
    return failf(ErrorKind::invalid, "invalid namespace name \"{}\"", release.ns);
  }
  return {};
}

}  // namespace

Result<Chart> Chart::read(const ChartFiles& files) {
  Chart chart;
  LOCKSTEP_TRY(Json about, yaml_file(files, "Chart.yaml"));
  chart.name_ = text_at(about, "name");
  chart.version_ = text_at(about, "version");
  chart.app_version_ = text_at(about, "appVersion");
  LOCKSTEP_TRY(chart.defaults_, yaml_file(files, "values.yaml"));
  auto schema = files.find("values.schema.json");
  if (schema == files.end())
    return fail(ErrorKind::not_found, "the chart has no such file", "values.schema.json");
  auto read = parse_json(schema->second);
  if (!read) return fail(read.error().at("values.schema.json"));
  chart.schema_ = std::move(*read);
  LOCKSTEP_CHECK(chart.read_templates(files));
  return chart;
}

Result<void> Chart::read_templates(const ChartFiles& files) {
  for (const auto& [path, text] : files) {
    bool is_template =
        path.starts_with("templates/") && (path.ends_with(".yaml") || path.ends_with(".tpl"));
    if (!is_template) continue;
    LOCKSTEP_TRY(Template parsed, parse_template(text, path));
    for (auto& [name, nodes] : parsed.definitions) helpers_[name] = std::move(nodes);
    if (path.ends_with(".yaml")) templates_[path] = std::move(parsed.nodes);
  }
  return {};
}

Result<Json> Chart::values(const std::vector<Json>& layers) const {
  Json merged = defaults_;
  for (const Json& layer : layers) {
    if (layer.is_null()) continue;
    if (!layer.is_object()) return failf(ErrorKind::invalid, "values must be a map");
    deep_merge(merged, layer);
  }
  drop_nulls(merged, defaults_);
  LOCKSTEP_TRY(std::vector<std::string> problems, check_by_schema(schema_, merged));
  if (!problems.empty()) return fail(ErrorKind::invalid, join(problems, "; "), "values");
  return merged;
}

Result<std::vector<Manifest>> Chart::render(const ReleaseName& release, const Json& values) const {
  LOCKSTEP_CHECK(check_release(release));
  Json root = JsonObject{
      {"Values", values},
      {"Release", JsonObject{{"Name", release.name}, {"Namespace", release.ns}}},
      {"Chart", JsonObject{{"Name", name_}, {"Version", version_}, {"AppVersion", app_version_}}}};
  std::vector<Manifest> manifests;
  for (const auto& [path, nodes] : templates_) {
    LOCKSTEP_TRY(std::string text, render_template(nodes, helpers_, root, path));
    LOCKSTEP_TRY(std::vector<Json> objects, parse_yaml_stream(text, path));
    for (Json& object : objects) manifests.push_back({name_ + "/" + path, std::move(object)});
  }
  for (const Manifest& manifest : manifests) {
    if (auto known = kind_of(manifest.object); !known)
      return fail(known.error().at(manifest.source));
  }
  std::stable_sort(manifests.begin(), manifests.end(), [](const Manifest& a, const Manifest& b) {
    return apply_rank(a.object) < apply_rank(b.object);
  });
  return manifests;
}

std::string print_manifests(const std::vector<Manifest>& manifests) {
  std::string text;
  for (const Manifest& manifest : manifests) {
    text += fmt::format("---\n# Source: {}\n{}", manifest.source, print_yaml(manifest.object));
  }
  return text;
}

}  // namespace lockstep::deploy
