#include "recipes/embedded_catalogue.h"

namespace lockstep::recipes {

namespace {

bool is_rule(std::string_view path) {
  return path == "criteria.yaml" || path == "derived.yaml" || path == "hooks.yaml" ||
         path == "releases.yaml" || path.starts_with("hooks/");
}

}  // namespace

bundle::Layer embedded_layer(Part part) {
  bundle::Layer layer{.name = "recipes", .files = {}};
  for (const EmbeddedFile& file : embedded_files()) {
    if (part == Part::rules && !is_rule(file.path)) continue;
    layer.files.emplace_hint(layer.files.end(), file.path, file.text);
    if (!file.json.empty()) layer.json.emplace_hint(layer.json.end(), file.path, file.json);
  }
  return layer;
}

}  // namespace lockstep::recipes
