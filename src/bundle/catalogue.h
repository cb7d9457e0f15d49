// A catalogue of recipes, from files that the caller has read: registry, overlays, mixins and the
// files of the components. An error in any of them is found here, not only in the recipe that
// happens to need it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/criteria.h"
#include "bundle/overlay.h"
#include "bundle/registry.h"

namespace lockstep::bundle {

// By path from the catalogue's root: "overlays/eks.yaml".
using FileMap = std::map<std::string, std::string, std::less<>>;

// One data directory.
struct Layer {
  std::string name;  // begins the places of errors: "recipes", "/home/me/data"; may be empty
  FileMap files;
  // The values of the YAML files among them, as JSON, where the caller has parsed them already.
  FileMap json = {};
};

struct Catalogue {
  Registry registry;
  CriteriaWords words;
  Overlay base;
  std::map<std::string, Overlay, std::less<>> overlays;  // without the base
  std::map<std::string, Mixin, std::less<>> mixins;
  FileMap files;                                           // components/ and hooks/
  FileMap json;                                            // of those whose value is known
  std::map<std::string, std::string, std::less<>> places;  // what errors call each file
  // derived.yaml, releases.yaml and hooks.yaml of every layer that has one, the lowest first.
  std::map<std::string, std::vector<YamlFile>, std::less<>> rules;
  // The rules came without a registry: their author did not know this one.
  bool has_foreign_rules = false;

  // Later layers lie over earlier ones: registries are merged by component and rules by name,
  // criteria.yaml adds its words, any other file replaces that of the same path.
  static Result<Catalogue> read(const std::vector<Layer>& layers);

  // One of `files` as YAML; if it is missing, the error says which file refers to it.
  Result<YamlFile> yaml(const std::string& path) const;

  // The overlay and its bases: the root first, itself last, without the base of all.
  std::vector<const Overlay*> chain(const Overlay& overlay) const;
  bool is_ancestor(const Overlay& above, const Overlay& of) const;
};

}  // namespace lockstep::bundle
