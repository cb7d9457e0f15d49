// A bundle of any deployer, read back from its files: the recipe, and the values of every release,
// as often as the files contain them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/catalogue.h"
#include "bundle/difference.h"
#include "bundle/resolve.h"
#include "bundle/values_map.h"

namespace lockstep::bundle {

// What one kind of file says of every release: "values.yaml", "helmrelease.yaml",
// "application.yaml".
struct ReleaseRecords {
  ValuesMap values;                             // by release
  std::map<std::string, std::string> versions;  // of upstream charts, where the file says it
  std::map<std::string, std::string> files;     // where, by release
};

struct BundleContents {
  ResolvedRecipe recipe;
  std::map<std::string, ReleaseRecords> records;  // by the kind of file
};

// `folder` begins the places of errors. A folder without recipe.yaml is not a bundle.
Result<BundleContents> read_contents(const FileMap& files, const CriteriaWords& words,
                                     const std::string& folder);

// The recipe with one set of values, for comparing.
Result<Described> read_bundle(const FileMap& files, const CriteriaWords& words,
                              const std::string& folder);

}  // namespace lockstep::bundle
