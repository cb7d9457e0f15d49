// `lockstep recipe`, `recipe list`, `recipe diff` and `query`: what the catalogue comes to.
#pragma once

#include <string>

#include "cli/catalogue_session.h"

namespace lockstep::cli {

struct RecipeFlags {
  CatalogueFlags catalogue;
  CriteriaFlags criteria;
  std::string output = "yaml";  // json, yaml or table; or a file to write to, in its format
  std::string format;           // when `output` is a file
};
int run_recipe(const RecipeFlags& flags);

struct RecipeListFlags {
  CatalogueFlags catalogue;
  std::string output = "table";
};
int run_recipe_list(const RecipeListFlags& flags);

struct RecipeDiffFlags {
  CatalogueFlags catalogue;
  std::string before;  // recipe files, or bundles
  std::string after;
  std::string output = "table";
  bool exit_code = false;  // exit 1 when there is a difference
};
int run_recipe_diff(const RecipeDiffFlags& flags);

struct QueryFlags {
  CatalogueFlags catalogue;
  CriteriaFlags criteria;
  std::string selector;  // "components.gpu-operator.values.driver.version"
  std::string output = "yaml";
};
int run_query(const QueryFlags& flags);

}  // namespace lockstep::cli
