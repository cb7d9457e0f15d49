// The flags of the kubelet plugin.
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dra/nvml_process.h"
#include "dra_plugin/plugin_command.h"

namespace {

void add_flags(CLI::App& app, lockstep::dra::PluginFlags& flags) {
  app.add_option("--kubeconfig", flags.kubeconfig, "By default the pod's own account");
  app.add_option("--driver-name", flags.driver, "As claims and device classes name it")
      ->capture_default_str();
  app.add_option("--node-name", flags.node, "The node that this runs on")->envname("NODE_NAME");
  app.add_option("--pod-uid", flags.instance,
                 "Makes the sockets this pod's own, so that an update can start the new plugin "
                 "before the old one ends")
      ->envname("POD_UID");
  app.add_option("--kubelet-dir", flags.kubelet_folder, "The kubelet's directory")
      ->capture_default_str();
  app.add_option("--cdi-dir", flags.cdi_folder, "Where the container runtime looks for CDI specs")
      ->capture_default_str();
  app.add_option("--root", flags.root, "Where the host's file system is seen")
      ->capture_default_str();
  app.add_option("--host-root", flags.host_root, "What the host calls that place; \"\": /");
  app.add_option("--library-dir", flags.library_folder, "Where NVML is, and nowhere else");
  app.add_option("--container-dir", flags.container_folder,
                 "Where containers find the driver's libraries")
      ->capture_default_str();
  app.add_option("--listen", flags.listen, "Address of /metrics, /healthz and /readyz")
      ->capture_default_str();
  app.add_option("--call-limit", flags.call_limit,
                 "How long a call of the kubelet may wait for what will be well in a moment")
      ->capture_default_str();
  app.add_option("--health-interval", flags.health_interval, "How often NVML is asked")
      ->capture_default_str();
  app.add_option("--nvml-limit", flags.nvml_limit, "After which a call of NVML is ended")
      ->capture_default_str();
  app.add_flag("--send-error-type", flags.send_error_type,
               "Tell the kubelet which failures are permanent (KEP-5322)");
  app.add_flag("-v,--verbose", flags.verbose, "Say more");
}

}  // namespace

int main(int argc, char** argv) {
  // A process of the plugin's own; no other caller starts it.
  if (argc == 3 && std::string_view(argv[1]) == lockstep::dra::nvml_word) {
    return lockstep::dra::run_nvml_process(argv[2]);
  }
  CLI::App app("The kubelet plugin for dynamic resource allocation of GPUs.",
               "lockstep dra-plugin");
  app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  lockstep::dra::PluginFlags flags;
  add_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    constexpr int bad_input = 2;
    return app.exit(problem) == 0 ? 0 : bad_input;
  }
  try {
    return lockstep::dra::run_plugin(flags);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lockstep: internal error: {}\n", problem.what());
    return 1;
  }
}
