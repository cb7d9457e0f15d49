// The command line: every flag of every command, in the one file that includes CLI11.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/apiserver_command.h"
#include "cli/demo_command.h"
#include "cli/exit_codes.h"

namespace {

using namespace lockstep::cli;

int run(int argc, char** argv) {
  CLI::App app(
      "Lockstep upgrades the GPU drivers of a Kubernetes fleet without breaking what runs on it.",
      "lockstep");
  app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  int result = ExitCode::ok;

  ApiserverFlags apiserver;
  CLI::App* apiserver_command = app.add_subcommand(
      "apiserver", "An embedded Kubernetes API in memory: for demos, simulations and tests");
  apiserver_command->add_option("--address", apiserver.address, "Where to listen")
      ->capture_default_str();
  apiserver_command->add_option("--port", apiserver.port, "Port; 0 takes a free one")
      ->capture_default_str();
  apiserver_command->add_option(
      "--kubeconfig-out", apiserver.kubeconfig_out,
      "File to write a kubeconfig to, once it serves; removed at the end");
  apiserver_command->add_flag(
      "--tls", apiserver.tls,
      "Serve HTTPS with a certificate made for this run, and ask for a token or certificate");
  apiserver_command->add_option("--token", apiserver.token,
                                "A bearer token to let in (with --tls)");
  apiserver_command->add_flag("--gzip", apiserver.gzip,
                              "Compress long answers for clients that take it");
  apiserver_command
      ->add_flag("--reap-pods,!--no-reap-pods", apiserver.reap_pods,
                 "Remove deleted pods when their grace period is over, as there is no kubelet")
      ->capture_default_str();
  apiserver_command->callback([&] { result = run_apiserver(apiserver); });

  DemoFlags demo;
  CLI::App* demo_command =
      app.add_subcommand("demo", "A GPU fleet on an embedded cluster, shown through kubectl");
  demo_command->add_option("--nodes", demo.nodes, "How many GPU nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  demo_command->add_option("--kubectl", demo.kubectl, "The kubectl program to show it with")
      ->capture_default_str();
  demo_command->add_flag("--keep", demo.keep,
                         "Leave the cluster running until Ctrl-C, and print its kubeconfig");
  demo_command->callback([&] { result = run_demo(demo); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    int code = app.exit(problem);
    return code == 0 ? ExitCode::ok : ExitCode::bad_input;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lockstep: internal error: {}\n", problem.what());
    return ExitCode::failed;
  }
}
