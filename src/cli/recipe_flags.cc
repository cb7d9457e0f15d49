#include "cli/recipe_flags.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

namespace {

void add_catalogue_flags(CLI::App* command, CatalogueFlags& flags) {
  command
      ->add_option("--data", flags.data,
                   "A folder of recipes that overrides the built-in catalogue; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_flag("--data-only", flags.data_only,
                    "Use the folder of --data instead of the built-in catalogue");
}

// A variable of a script that was not set.
std::string refuse_empty(const std::string& word) {
  return word.empty() ? "must not be empty: name one, use any, or omit the flag" : "";
}

void add_criteria_flags(CLI::App* command, CriteriaFlags& flags) {
  command->add_option("--service", flags.said.service, "Kubernetes service: eks, gke, aks, …")
      ->check(refuse_empty);
  command->add_option("--accelerator,--gpu", flags.said.accelerator, "GPU: h100, gb200, …")
      ->check(refuse_empty);
  command->add_option("--intent", flags.said.intent, "training or inference")->check(refuse_empty);
  command->add_option("--os", flags.said.os, "Operating system of the GPU nodes: ubuntu, rhel, …")
      ->check(refuse_empty);
  command->add_option("--platform", flags.said.platform, "What runs on it: kubeflow, dynamo, …")
      ->check(refuse_empty);
  command->add_option("--nodes", flags.said.nodes, "Number of GPU nodes")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  command->add_option("-c,--criteria", flags.criteria_file, "A file with criteria; flags win")
      ->type_name("FILE");
  command
      ->add_option("-s,--snapshot", flags.snapshot_file,
                   "Measurements of a cluster: gives criteria, and leaves out overlays whose "
                   "constraints it does not meet")
      ->type_name("FILE");
}

// In the order of the command line, whichever of the three they are.
void add_settings(CLI::App* command, std::vector<GivenSetting>& settings) {
  const std::pair<const char*, const char*> kinds[] = {
      {"--set", "component:path.to.key=value; repeatable, the last wins"},
      {"--set-string", "Like --set, always a string"},
      {"--set-json", "Like --set, as JSON"}};
  for (const auto& [name, about] : kinds) {
    command
        ->add_option_function<std::string>(
            name,
            [&settings, flag = std::string(name)](const std::string& text) {
              settings.push_back({flag, text});
            },
            about)
        ->trigger_on_parse()
        ->take_last();
  }
}

}  // namespace

void add_recipe(CLI::App& app, RecipesFlags& flags, int& result) {
  CLI::App* recipe =
      app.add_subcommand("recipe", "Resolve a recipe: components, versions and order");
  add_catalogue_flags(recipe, flags.recipe.catalogue);
  add_criteria_flags(recipe, flags.recipe.criteria);
  recipe
      ->add_option("-o,--output", flags.recipe.output,
                   "yaml, json or table; or a file to write to, in the format of its name")
      ->capture_default_str();
  recipe->add_option("-t,--format", flags.recipe.format, "Format, when -o names a file")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  recipe->require_subcommand(0, 1);

  CLI::App* list = recipe->add_subcommand("list", "Show what the catalogue covers");
  add_catalogue_flags(list, flags.list.catalogue);
  add_output_flag(list, flags.list.output);
  list->callback([&] { result = run_recipe_list(flags.list); });

  CLI::App* diff = recipe->add_subcommand(
      "diff", "Show what an upgrade would change, by component: two recipes or two bundles");
  add_catalogue_flags(diff, flags.diff.catalogue);
  diff->add_option("before", flags.diff.before, "A recipe file or a bundle")->required();
  diff->add_option("after", flags.diff.after, "A recipe file or a bundle")->required();
  diff->add_flag("--exit-code", flags.diff.exit_code, "Exit 1 when there is a difference");
  add_output_flag(diff, flags.diff.output);
  diff->callback([&] { result = run_recipe_diff(flags.diff); });

  recipe->callback([recipe, &flags, &result] {
    if (recipe->get_subcommands().empty()) result = run_recipe(flags.recipe);
  });
}

void add_query(CLI::App& app, RecipesFlags& flags, int& result) {
  CLI::App* query = app.add_subcommand("query", "Print one value of a resolved recipe");
  add_catalogue_flags(query, flags.query.catalogue);
  add_criteria_flags(query, flags.query.criteria);
  query->add_option("selector", flags.query.selector,
                    "Such as components.gpu-operator.values.driver.version");
  query->add_option("--selector", flags.query.selector, "The same")->group("");
  query->add_option("-o,--output,-t,--format", flags.query.output, "json or yaml")
      ->check(CLI::IsMember({"json", "yaml"}))
      ->capture_default_str();
  query->callback([&] { result = run_query(flags.query); });
}

void add_bundle(CLI::App& app, RecipesFlags& flags, int& result) {
  BundleFlags& bundle = flags.bundle;
  CLI::App* command = app.add_subcommand(
      "bundle", "Write the files of a deployer: Helm, Helmfile, Flux or Argo CD");
  add_catalogue_flags(command, bundle.catalogue);
  add_criteria_flags(command, bundle.criteria);
  command->add_option("-r,--recipe", bundle.recipe, "A resolved recipe instead of criteria")
      ->type_name("FILE");
  command
      ->add_option("-d,--deployer", bundle.deployer, "helm, helmfile, flux, argocd or argocd-helm")
      ->capture_default_str();
  command
      ->add_option("-o,--output", bundle.output,
                   "A folder; oci://registry/repository:tag to push; oci:///folder:tag for a "
                   "local OCI layout")
      ->required();
  add_settings(command, bundle.settings);
  command
      ->add_option("--system-node-selector", bundle.system_node_selector,
                   "key=value of the nodes for controllers; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--system-node-toleration", bundle.system_node_toleration,
                   "key=value:Effect; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--accelerated-node-selector", bundle.accelerated_node_selector,
                   "key=value of the GPU nodes; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--accelerated-node-toleration", bundle.accelerated_node_toleration,
                   "key=value:Effect; repeatable")
      ->allow_extra_args(false);
  command->add_option("--workload-gate", bundle.workload_gate,
                      "Taint that keeps work off a node until it is ready: key=value:Effect");
  command
      ->add_option("--workload-selector", bundle.workload_selector,
                   "key=value label of the pods that count as work; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--no-derived", bundle.no_derived,
                   "Leave out a derived value by its name, or all of them by \"all\"")
      ->allow_extra_args(false);
  command->add_option("--repo", bundle.repository,
                      "URL of the Git repository that will hold the bundle (Argo CD, Flux)");
  command->add_option("--revision", bundle.revision, "Its branch or tag");
  command->add_option("--repo-path", bundle.path, "The bundle's folder in it");
  command->add_option("--image-refs", bundle.image_refs,
                      "File to write the pushed artifact's reference by digest to");
  command->add_flag("--plain-http", bundle.plain_http, "Push without TLS");
  command->add_flag("--insecure-tls", bundle.insecure_tls,
                    "Push without verifying the registry's certificate");
  command->add_flag("--dry-run", bundle.dry_run, "List the files and write none");
  command->callback([&] { result = run_bundle(flags.bundle); });
}

void add_verify(CLI::App& app, RecipesFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "verify", "Find files of a bundle that were changed, removed or added since it was written");
  command->add_option("bundle", flags.verify.folder, "Its folder")->required();
  add_output_flag(command, flags.verify.output);
  command->callback([&] { result = run_verify(flags.verify); });
}

void add_check(CLI::App& app, RecipesFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "check", "Fail when a value that must follow a version does not, and say where");
  add_catalogue_flags(command, flags.check.catalogue);
  command->add_option("paths", flags.check.paths,
                      "Recipes, bundles and data directories; none: the built-in catalogue");
  add_output_flag(command, flags.check.output);
  command->callback([&] { result = run_check(flags.check); });
}

}  // namespace lockstep::cli
