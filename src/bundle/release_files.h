// What the bundles of several deployers have in common: a release's own folder, the recipe, the
// README, and where a GitOps deployer finds the bundle.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bundle/release.h"

namespace lockstep::bundle {

// A YAML file: what it is for, as comments, then the document. `about` is text of ours and names of
// releases, nothing from values.
std::string yaml_file(const std::vector<std::string>& about, const Json& document);

// values.yaml of one release. Every deployer hands Helm this text or the same values.
std::string values_file(const Release& release);

// Chart.yaml, templates/ and values.yaml of a local chart.
void add_chart_files(BundleFiles& files, const std::string& folder, const Release& release);

// NNN-<release>/ of every release: upstream.env, install.sh and values.yaml; or a local chart; or
// kustomization.yaml and install.sh. A local chart has an install.sh only if the deployer runs
// it.
void add_release_folders(BundleFiles& files, const BundleModel& model, bool install_local_charts);

// A kustomize source as kubectl takes it: "https://host/repository//path?ref=tag".
std::string kustomize_url(const Release& release);

// recipe.yaml, and README.md with the steps and a table of the releases.
void add_recipe_and_readme(BundleFiles& files, const BundleModel& model, std::string_view title,
                           const std::vector<std::string>& steps);

// Text in a line of Markdown, as it is.
std::string markdown_text(std::string_view text);

// Where no repository was given: an address that can never be one, to be replaced.
constexpr std::string_view git_placeholder = "https://example.invalid/REPLACE-ME.git";
std::string git_repository_of(const BundleModel& model);
// A folder of the bundle as a path of that repository.
std::string path_in_git(const BundleModel& model, std::string_view folder);
// A step for the README when the placeholder is in use; empty otherwise.
std::vector<std::string> placeholder_step(const BundleModel& model);

}  // namespace lockstep::bundle
