// The flags of the commands about recipes and bundles.
#pragma once

#include "cli/bundle_command.h"
#include "cli/recipe_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct RecipesFlags {
  RecipeFlags recipe;
  RecipeListFlags list;
  RecipeDiffFlags diff;
  QueryFlags query;
  BundleFlags bundle;
  VerifyFlags verify;
  CheckFlags check;
};

// Each adds its command; `result` becomes its exit code when it is the one that is asked for.
void add_recipe(CLI::App& app, RecipesFlags& flags, int& result);
void add_query(CLI::App& app, RecipesFlags& flags, int& result);
void add_bundle(CLI::App& app, RecipesFlags& flags, int& result);
void add_verify(CLI::App& app, RecipesFlags& flags, int& result);
void add_check(CLI::App& app, RecipesFlags& flags, int& result);

}  // namespace lockstep::cli
