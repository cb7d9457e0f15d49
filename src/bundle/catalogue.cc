#include "bundle/catalogue.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view base_name = "base";
constexpr std::string_view base_path = "overlays/base.yaml";

bool is_yaml_under(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.ends_with(".yaml");
}

std::string place_in(const Layer& layer, std::string_view path) {
  return layer.name.empty() ? std::string(path) : fmt::format("{}/{}", layer.name, path);
}

// Files with other names are ignored (README.md, checks/). A folder whose name is almost one of
// ours is a mistake that would lose everything in it.
Result<void> check_folder(std::string_view path, const std::string& place) {
  static const std::vector<std::string> known = {"overlays", "mixins", "components", "checks",
                                                 "validators"};
  size_t slash = path.find('/');
  if (slash == std::string_view::npos || !path.ends_with(".yaml")) return {};
  std::string folder(path.substr(0, slash));
  if (std::find(known.begin(), known.end(), folder) != known.end()) return {};
  if (!nearest(folder, known)) return {};
  return fail(ErrorKind::invalid, unknown_word("folder", folder, known), place);
}

Result<YamlFile> parse(const std::string& place, const std::string& text, const FileMap& json,
                       std::string_view path) {
  auto known = json.find(path);
  return known == json.end() ? YamlFile::parse(place, text)
                             : YamlFile::from_json(place, text, known->second);
}

bool is_rule_file(std::string_view path) {
  return path == "derived.yaml" || path == "hooks.yaml" || path == "releases.yaml";
}

struct CatalogueReader {
  Catalogue catalogue;
  FileMap effective;  // of each path the text of the highest layer
  bool knows_no_registry_yet = true;

  Result<void> read_layer(const Layer& layer) {
    const bool has_registry = layer.files.count("registry.yaml") > 0;
    if (has_registry && knows_no_registry_yet && !catalogue.rules.empty()) {
      catalogue.has_foreign_rules = true;
    }
    knows_no_registry_yet = knows_no_registry_yet && !has_registry;
    for (const auto& [path, text] : layer.files) {
      std::string place = place_in(layer, path);
      LOCKSTEP_CHECK(check_folder(path, place));
      if (path == "registry.yaml") {
        LOCKSTEP_TRY(YamlFile file, parse(place, text, layer.json, path));
        LOCKSTEP_CHECK(catalogue.registry.add(file));
      } else if (path == "criteria.yaml") {
        LOCKSTEP_TRY(YamlFile file, parse(place, text, layer.json, path));
        LOCKSTEP_CHECK(catalogue.words.add(file));
      } else if (is_rule_file(path)) {
        LOCKSTEP_TRY(YamlFile file, parse(place, text, layer.json, path));
        catalogue.rules[path].push_back(std::move(file));
      } else {
        effective[path] = text;
        catalogue.places[path] = place;
        auto known = layer.json.find(path);
        if (known != layer.json.end()) {
          catalogue.json[path] = known->second;
        } else {
          catalogue.json.erase(path);
        }
      }
    }
    return {};
  }

  Result<void> read_recipes() {
    for (const auto& [path, text] : effective) {
      if (path.starts_with("components/") || path.starts_with("hooks/")) {
        catalogue.files[path] = text;
      } else if (is_yaml_under(path, "overlays/")) {
        LOCKSTEP_TRY(YamlFile file, parse(catalogue.places[path], text, catalogue.json, path));
        LOCKSTEP_TRY(Overlay overlay, read_overlay(file, catalogue.words));
        LOCKSTEP_CHECK(keep(path, std::move(overlay)));
      } else if (is_yaml_under(path, "mixins/")) {
        LOCKSTEP_TRY(YamlFile file, parse(catalogue.places[path], text, catalogue.json, path));
        LOCKSTEP_TRY(Mixin mixin, read_mixin(file));
        auto [at, inserted] = catalogue.mixins.emplace(mixin.name, mixin);
        if (!inserted) return named_twice("mixin", mixin.name, at->second.file, mixin.file);
      }
    }
    if (catalogue.base.name.empty()) {
      return failf(ErrorKind::not_found, "the catalogue has no {}", base_path);
    }
    return {};
  }

  Result<void> keep(std::string_view path, Overlay overlay) {
    if ((path == base_path) != (overlay.name == base_name)) {
      return fail(ErrorKind::invalid,
                  fmt::format("the name \"{}\" belongs to {} and to no other overlay", base_name,
                              base_path),
                  overlay.file);
    }
    if (path == base_path) {
      if (!overlay.base.empty() || overlay.criteria) {
        return fail(ErrorKind::invalid, "the base of all has neither base nor criteria",
                    overlay.file);
      }
      catalogue.base = std::move(overlay);
      return {};
    }
    auto at = catalogue.overlays.find(overlay.name);
    if (at != catalogue.overlays.end()) {
      return named_twice("overlay", overlay.name, at->second.file, overlay.file);
    }
    catalogue.overlays.emplace(overlay.name, std::move(overlay));
    return {};
  }

  static Unexpected named_twice(std::string_view kind, std::string_view name,
                                std::string_view first, std::string second) {
    return fail(ErrorKind::invalid,
                fmt::format("a second {} with the name {}: the first is {}", kind, name, first),
                std::move(second));
  }
};

std::vector<std::string> names_of(const auto& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

Result<void> check_component(const Catalogue& catalogue, const ComponentRef& component) {
  std::vector<std::string> known = names_of(catalogue.registry.components());
  auto refuse = [&](std::string what) {
    return fail(ErrorKind::invalid, std::move(what), component.place.text());
  };
  if (catalogue.registry.find(component.name) == nullptr) {
    return refuse(unknown_word("component", component.name, known));
  }
  for (const std::string& name : component.dependencies) {
    if (catalogue.registry.find(name) == nullptr) {
      return refuse(fmt::format("{} depends on \"{}\", which the registry does not have{}",
                                component.name, name, suggestion(name, known)));
    }
  }
  std::vector<std::string> paths = component.manifest_files;
  paths.insert(paths.end(), component.pre_manifest_files.begin(),
               component.pre_manifest_files.end());
  if (!component.values_file.empty()) paths.push_back(component.values_file);
  for (const std::string& path : paths) {
    if (catalogue.files.count(path) > 0) continue;
    return refuse(fmt::format("{} names the file \"{}\", which is not in the catalogue{}",
                              component.name, path, suggestion(path, names_of(catalogue.files))));
  }
  return {};
}

Result<void> check_spec(const Catalogue& catalogue, const RecipeSpec& spec) {
  for (const ComponentRef& component : spec.components) {
    LOCKSTEP_CHECK(check_component(catalogue, component));
  }
  return {};
}

// That the chain of bases ends, and everything named in it exists.
Result<void> check_chain(const Catalogue& catalogue, const Overlay& overlay) {
  std::vector<std::string> path = {overlay.name};
  const Overlay* at = &overlay;
  while (!at->base.empty() && at->base != base_name) {
    auto below = catalogue.overlays.find(at->base);
    if (below == catalogue.overlays.end()) {
      return fail(ErrorKind::invalid,
                  fmt::format("the base \"{}\" of {} does not exist{}", at->base, at->name,
                              suggestion(at->base, names_of(catalogue.overlays))),
                  at->file);
    }
    bool seen = std::find(path.begin(), path.end(), at->base) != path.end();
    path.push_back(at->base);
    if (seen) {
      return fail(ErrorKind::invalid,
                  "overlays are each other's base in a circle: " + join(path, " -> "),
                  overlay.file);
    }
    at = &below->second;
  }
  return {};
}

Result<void> check_overlay(const Catalogue& catalogue, const Overlay& overlay) {
  LOCKSTEP_CHECK(check_chain(catalogue, overlay));
  for (const std::string& name : overlay.mixins) {
    if (catalogue.mixins.count(name) > 0) continue;
    return fail(ErrorKind::invalid, unknown_word("mixin", name, names_of(catalogue.mixins)),
                overlay.file);
  }
  return check_spec(catalogue, overlay.spec);
}

}  // namespace

Result<Catalogue> Catalogue::read(const std::vector<Layer>& layers) {
  CatalogueReader reader;
  for (const Layer& layer : layers) LOCKSTEP_CHECK(reader.read_layer(layer));
  if (reader.catalogue.registry.components().empty()) {
    return fail(ErrorKind::not_found, "the catalogue has no registry.yaml with components");
  }
  LOCKSTEP_CHECK(reader.read_recipes());
  const Catalogue& catalogue = reader.catalogue;
  LOCKSTEP_CHECK(check_overlay(catalogue, catalogue.base));
  for (const auto& [name, overlay] : catalogue.overlays) {
    LOCKSTEP_CHECK(check_overlay(catalogue, overlay));
  }
  for (const auto& [name, mixin] : catalogue.mixins) {
    LOCKSTEP_CHECK(check_spec(catalogue, mixin.spec));
  }
  return std::move(reader.catalogue);
}

Result<YamlFile> Catalogue::yaml(const std::string& path) const {
  auto text = files.find(path);
  if (text == files.end()) {
    return failf(ErrorKind::not_found, "the catalogue has no file {}", path);
  }
  auto place = places.find(path);
  return parse(place == places.end() ? path : place->second, text->second, json, path);
}

std::vector<const Overlay*> Catalogue::chain(const Overlay& overlay) const {
  std::vector<const Overlay*> chain = {&overlay};
  while (!chain.back()->base.empty() && chain.back()->base != base_name) {
    chain.push_back(&overlays.at(chain.back()->base));
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool Catalogue::is_ancestor(const Overlay& above, const Overlay& of) const {
  std::vector<const Overlay*> line = chain(of);
  return &above != &of && std::find(line.begin(), line.end(), &above) != line.end();
}

}  // namespace lockstep::bundle
