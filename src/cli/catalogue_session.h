// What the commands about recipes share: which catalogue, which criteria, and a resolved recipe of
// them or of a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/catalogue.h"
#include "bundle/criteria.h"
#include "bundle/resolve.h"

namespace lockstep::cli {

struct CatalogueFlags {
  std::vector<std::string> data;  // folders, each over those before it
  bool data_only = false;         // without the catalogue of the program
};

struct CriteriaFlags {
  bundle::Criteria said;
  std::string criteria_file;
  std::string snapshot_file;
};

Result<bundle::Catalogue> open_catalogue(const CatalogueFlags& flags);

// A user has said which recipe; how many nodes is not enough.
bool has_criteria(const CriteriaFlags& flags);
// Flags win over the criteria file, which wins over the snapshot. Without any it is an error.
Result<bundle::ResolvedRecipe> resolve(const bundle::Catalogue& catalogue,
                                       const CriteriaFlags& flags);

// What `recipe` wrote.
Result<bundle::ResolvedRecipe> read_recipe_file(const bundle::Catalogue& catalogue,
                                                const std::string& path);

// On standard error, each with "warning: ".
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace lockstep::cli
