// The files of a catalogue that recipes are made of. An overlay says when it applies and what its
// base is; a mixin is a piece that several overlays name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/criteria.h"
#include "bundle/recipe_spec.h"

namespace lockstep::bundle {

struct Overlay {
  std::string name;
  std::string file;
  std::string base;  // empty: the base of all
  // An overlay without criteria applies only as the base of another.
  std::optional<Criteria> criteria;
  std::vector<std::string> mixins;
  RecipeSpec spec;
};

struct Mixin {
  std::string name;
  std::string file;
  RecipeSpec spec;
};

Result<Overlay> read_overlay(const YamlFile& file, const CriteriaWords& words);
Result<Mixin> read_mixin(const YamlFile& file);

}  // namespace lockstep::bundle
