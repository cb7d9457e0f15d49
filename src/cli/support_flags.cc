#include "cli/support_flags.h"

#include <CLI/CLI.hpp>

#include "cli/common_flags.h"

namespace lockstep::cli {

namespace {

void add_doctor_flags(CLI::App* command, DoctorFlags& flags) {
  add_cluster_flags(command, flags.cluster);
  command->add_option("-n,--namespace", flags.ns, "Namespace of the controller")
      ->capture_default_str();
  command
      ->add_option("--service-account", flags.service_account,
                   "Its service account, whose rights are checked")
      ->capture_default_str();
  command
      ->add_option("--stuck-after", flags.stuck_after,
                   "Time after which a claim that is being deleted counts as stuck")
      ->capture_default_str();
  command->add_option("--matrix", flags.matrix,
                      "A version matrix to compare the fleet's versions with");
}

}  // namespace

void add_doctor(CLI::App& app, DoctorFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Find what is wrong with the cluster or this machine, with the command that repairs it");
  add_doctor_flags(command, flags);
  add_output_flag(command, flags.output);
  command->add_flag("--strict", flags.strict,
                    "Exit 1 also for warnings and for checks that could not run");
  command->add_flag(
      "--node", flags.node,
      "Check this machine instead of the cluster: driver, libraries, CDI, checkpoint");
  command->add_option("--root", flags.root, "With --node: root of the machine's file system");
  command->add_option("--checkpoint", flags.checkpoint, "With --node: the DRA plugin's checkpoint")
      ->capture_default_str();
  command->callback([&] { result = run_doctor(flags); });
}

void add_support_bundle(CLI::App& app, SupportBundleFlags& flags, int& result) {
  CLI::App* command = app.add_subcommand(
      "support-bundle", "Collect what a maintainer needs in one file, without secrets");
  add_doctor_flags(command, flags.doctor);
  command->add_option("-f,--file", flags.file,
                      "File to write; default: lockstep-support-TIME.tar.gz");
  command
      ->add_option("--namespaces", flags.namespaces,
                   "More namespaces whose pods and Events are collected")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--log-lines", flags.log_lines, "Number of lines of each pod's log")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->callback([&] { result = run_support_bundle(flags); });
}

}  // namespace lockstep::cli
