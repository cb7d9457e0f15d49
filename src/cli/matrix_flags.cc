#include "cli/matrix_flags.h"

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

namespace {

void add_matrix_place(CLI::App* command, MatrixPlace& place) {
  command
      ->add_option("--repo", place.repository,
                   "The git repository: a URL, a bare repository, or a working directory (its push "
                   "remote is used)")
      ->capture_default_str();
  command->add_option("--branch", place.branch,
                      "The branch; default: the branch that is checked out");
  command->add_option("--path", place.path, "The matrix inside the repository")
      ->capture_default_str();
}

void add_matrix_fleet(CLI::App* command, MatrixFleet& fleet) {
  command->add_option("--gpu", fleet.gpus, "A GPU model of the fleet: H100, NVIDIA-B200")
      ->allow_extra_args(false);
  command->add_option("--kubernetes", fleet.kubernetes, "The cluster's version, without OpenShift");
  command->add_flag("--mig", fleet.mig, "Nodes have GPUs partitioned by MIG");
  command->add_flag("--minor-version-compatibility", fleet.minor_compatibility,
                    "Allow a driver older than the CUDA toolkit's, of the same major version");
  command->add_option("--rules", fleet.rules,
                      "A file of rules instead of the built-in recipes/compatibility.yaml");
}

void add_matrix_change(CLI::App* command, MatrixChangeFlags& flags) {
  add_matrix_place(command, flags.place);
  add_matrix_fleet(command, flags.fleet);
  add_output_flag(command, flags.output);
  command
      ->add_option("--evidence", flags.evidence,
                   "A line for the commit's message: \"gate training: Passed\"")
      ->allow_extra_args(false);
  command->add_option("--approved-by", flags.approved_by, "The approver");
  command->add_option("--reason", flags.reason, "Reason, for the commit's message");
  command->add_option("--rollout", flags.rollout, "The rollout of the change");
  command->add_option("--tries", flags.tries, "Number of tries when another push is first")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_flag("--dry-run", flags.dry_run, "Print the diff, and commit nothing");
  command->add_flag("--apply", flags.apply, "Also patch the cluster, if no GitOps tool syncs it");
  command->add_option("--apply-to", flags.apply_to,
                      "clusterpolicy/NAME or nvidiadriver/NAME; default: the ClusterPolicy");
  command->add_option("--kubeconfig", flags.cluster.kubeconfig, "Of --apply");
  command->add_option("--context", flags.cluster.context, "Of --apply");
}

}  // namespace

void add_matrix(CLI::App& app, MatrixFlags& flags, int& result) {
  CLI::App* matrix = app.add_subcommand(
      "matrix",
      "Read and change the version matrix in Git: versions of the fleet and of the canary");
  matrix->require_subcommand(1);

  CLI::App* show = matrix->add_subcommand("show", "Show the matrix");
  add_matrix_place(show, flags.show.place);
  show->add_option("-f,--file", flags.show.place.file, "Read a file instead of a repository");
  add_output_flag(show, flags.show.output);
  show->callback([&] { result = run_matrix_show(flags.show); });

  CLI::App* check = matrix->add_subcommand(
      "check", "Check that the versions are compatible; exit 1 and the broken rule");
  add_matrix_place(check, flags.check.place);
  add_matrix_fleet(check, flags.check.fleet);
  check->add_option("-f,--file", flags.check.place.file, "Read a file instead of a repository");
  check->add_flag("--strict", flags.check.strict, "Unknown versions fail too");
  add_output_flag(check, flags.check.output);
  check->callback([&] { result = run_matrix_check(flags.check); });

  CLI::App* set = matrix->add_subcommand("set", "Commit other versions");
  add_matrix_change(set, flags.set);
  set->add_option("values", flags.set.assignments, "KEY=VALUE: driver=580.65.06");
  set->add_option("--slot", flags.set.slot, "canary or current")
      ->check(CLI::IsMember({"canary", "current"}))
      ->capture_default_str();
  set->add_flag("--skip-check", flags.set.skip_check, "Also incompatible versions");
  set->callback([&] { result = run_matrix_set(flags.set); });

  CLI::App* promote = matrix->add_subcommand("promote", "Commit the canary's versions as current");
  add_matrix_change(promote, flags.promote);
  promote->add_flag("--skip-check", flags.promote.skip_check, "Also incompatible versions");
  promote->callback([&] { result = run_matrix_promote(flags.promote); });

  CLI::App* revert =
      matrix->add_subcommand("revert", "Revert the commit that introduced the version, and push");
  add_matrix_change(revert, flags.revert);
  revert->add_option("--version", flags.revert.version, "The version to remove");
  revert->add_option("--commit", flags.revert.commit, "The commit to revert");
  revert->callback([&] { result = run_matrix_revert(flags.revert); });
}

}  // namespace lockstep::cli
