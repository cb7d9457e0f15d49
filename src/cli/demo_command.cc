#include "cli/demo_command.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>

#include "apiserver/embedded_server.h"
#include "cli/demo_fleet.h"
#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::cli {

namespace {

// A file of ours that is gone when we are.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() { (void)SystemFiles().remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<void> load_fleet(apiserver::EmbeddedServer& server, int nodes) {
  Result<void> outcome;
  server.with_backend([&](apiserver::Backend& backend) {
    apiserver::Caller caller{"demo", {}, "lockstep-demo"};
    for (const auto& request : demo_fleet(nodes, backend.loop.now())) {
      auto answer = apiserver::handle(backend, request, caller);
      if (answer) continue;
      outcome = fail(ErrorKind::internal, answer.error().message, request.describe());
      return;
    }
  });
  return outcome;
}

Result<void> show(Processes& processes, const std::string& kubectl, const std::string& kubeconfig,
                  std::vector<std::string> arguments) {
  std::string line = "kubectl";
  for (const auto& argument : arguments) {
    bool quote = argument.find_first_of(" {}\\'\"") != std::string::npos;
    line += quote ? " '" + argument + "'" : " " + argument;
  }
  fmt::print("\n$ {}\n", line);
  std::fflush(stdout);
  ProcessSpec spec;
  spec.command = {kubectl, "--kubeconfig", kubeconfig};
  spec.command.insert(spec.command.end(), arguments.begin(), arguments.end());
  auto ran = processes.run(spec);
  if (!ran) return fail(ran.error());
  fmt::print("{}", ran->output);
  std::fflush(stdout);
  if (ran->exit_code != 0) return failf(ErrorKind::internal, "kubectl failed: {}", ran->error);
  return {};
}

Result<void> show_fleet(Processes& processes, const std::string& kubectl,
                        const std::string& kubeconfig) {
  LOCKSTEP_CHECK(
      show(processes, kubectl, kubeconfig, {"get", "nodes", "-L", "nvidia.com/gpu.product"}));
  LOCKSTEP_CHECK(
      show(processes, kubectl, kubeconfig,
           {"get", "node", "-l", "nvidia.com/gpu.present",
            "-ojsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.metadata.labels.nvidia\\.com/"
            "gpu-driver-upgrade-state}{\"\\n\"}{end}"}));
  LOCKSTEP_CHECK(show(processes, kubectl, kubeconfig, {"get", "daemonsets", "-n", "gpu-operator"}));
  return show(processes, kubectl, kubeconfig, {"get", "pods", "-n", "ml-training", "-o", "wide"});
}

}  // namespace

int run_demo(const DemoFlags& flags) {
  block_signals();
  apiserver::EmbeddedOptions options;
  options.backend.reap_pods = true;
  auto server = apiserver::EmbeddedServer::start(std::move(options));
  if (!server) return report(server.error());
  fmt::print("An embedded Kubernetes API serves at {}, in memory.\n", (*server)->url());
  if (auto loaded = load_fleet(**server, flags.nodes); !loaded) return report(loaded.error());
  fmt::print("Loaded {} GPU nodes with their driver DaemonSet and a training job.\n", flags.nodes);

  const char* directory = std::getenv("TMPDIR");
  TemporaryFile kubeconfig(fmt::format("{}/lockstep-demo-{}.kubeconfig",
                                       directory == nullptr ? "/tmp" : directory, getpid()));
  if (auto written = SystemFiles().write(kubeconfig.path(), (*server)->kubeconfig(), 0600);
      !written) {
    return report(written.error());
  }
  SystemProcesses processes;
  auto shown = show_fleet(processes, flags.kubectl, kubeconfig.path());
  if (!shown) {
    Error error = shown.error();
    if (error.kind == ErrorKind::not_found) {
      error.message += "; `make demo` brings a kubectl of its own, or name one with --kubectl";
    }
    if (!flags.keep) return report(error);
    report(error);
  }
  if (flags.keep) {
    fmt::print("\nLook around; Ctrl-C ends it:\n  kubectl --kubeconfig {} get nodes\n",
               kubeconfig.path());
    std::fflush(stdout);
    wait_for_signal();
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli
