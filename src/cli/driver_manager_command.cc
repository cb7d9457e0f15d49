#include "cli/driver_manager_command.h"

#include <cerrno>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "node/driver_manager.h"
#include "node/system_host.h"

namespace lockstep::cli {

namespace {

// For the event about the end: it is sent if the server can be reached.
constexpr Duration last_words = seconds(3);

Result<Duration> duration_of(const std::string& text, std::string_view flag) {
  // The variable is called DRAIN_TIMEOUT_SECONDS: a plain number means seconds.
  if (auto number = parse_unsigned(text)) return seconds(static_cast<int64_t>(*number));
  auto duration = parse_duration(text);
  if (!duration) return fail(duration.error().at(flag));
  if (*duration < Duration::zero()) {
    return fail(ErrorKind::invalid, "a time cannot be negative", std::string(flag));
  }
  return duration;
}

Result<node::ManagerSettings> settings_of(const DriverManagerFlags& flags) {
  node::ManagerSettings settings;
  if (flags.node.empty()) {
    return fail(ErrorKind::invalid, "name the node with this flag or NODE_NAME", "--node-name");
  }
  settings.node = flags.node;
  settings.operator_namespace = flags.operator_namespace;
  settings.key_domain = flags.cluster.fleet().key_domain;
  settings.evict_gpu_pods = flags.evict_gpu_pods;
  settings.drain = flags.drain;
  settings.force = flags.force;
  settings.delete_empty_dir = flags.delete_empty_dir;
  settings.digest = flags.digest;
  settings.force_reinstall = flags.force_reinstall;
  settings.plugin_label = flags.plugin_label;
  settings.gpu_pods.dra_drivers = flags.cluster.dra_drivers;
  settings.clients = flags.cluster.clients;
  // From GPU Operator 26.7 on the plugin runs beside the other operands.
  if (!settings.clients.namespaces.empty()) {
    settings.clients.namespaces.push_back(flags.operator_namespace);
  }
  auto selector = LabelSelector::parse(flags.drain_pods);
  if (!selector) return fail(selector.error().at("--drain-pod-selector-label"));
  settings.drain_pods = std::move(*selector);
  LOCKSTEP_TRY(settings.drain_timeout, duration_of(flags.drain_timeout, "--drain-timeout-seconds"));
  LOCKSTEP_TRY(settings.wait_limit, duration_of(flags.wait_timeout, "--wait-timeout"));
  return settings;
}

node::SystemHostOptions host_options(const std::string& root) {
  std::string prefix = root == "/" ? "" : root;
  node::SystemHostOptions options;
  options.proc = prefix + "/proc";
  options.run = prefix + "/run/nvidia";
  options.host_root = prefix + "/host";
  if (root == "/") options.enter = {"/proc/self/exe", "enter-root", options.host_root};
  return options;
}

}  // namespace

int run_driver_manager(const DriverManagerFlags& flags) {
  auto settings = settings_of(flags);
  if (!settings) return report(settings.error());
  block_signals();
  auto opened = ClusterSession::open(flags.cluster, LogLevel::info);
  if (!opened) return report(opened.error());
  ClusterSession& session = **opened;
  node::SystemKernel real_kernel;
  node::NoKernel no_kernel;
  bool is_real = flags.root == "/";
  node::SystemHost host(session.files, session.processes,
                        is_real ? static_cast<node::Kernel&>(real_kernel) : no_kernel,
                        host_options(flags.root));
  node::DriverManager manager(*session.api, session.loop, session.random, *session.log, host,
                              *settings);
  stop_at_signal(session.loop);
  manager.start();
  auto is_over = [&] { return manager.outcome().has_value(); };
  if (!session.loop.run_until(is_over, Duration::max())) {
    session.log->info("stopping: restores the node");
    manager.stop();
    session.loop.run_until(is_over, Duration::max());
  }
  session.loop.run_until([&] { return manager.is_finished(); }, last_words);
  const node::ManagerOutcome& outcome = *manager.outcome();
  if (outcome.error) return report(*outcome.error);
  print_text(outcome.text + "\n");
  return ExitCode::ok;
}

int enter_root(int argc, char** argv) {
  constexpr int program_at = 3;
  if (argc <= program_at) return ExitCode::bad_input;
  if (chroot(argv[2]) != 0 || chdir("/") != 0) {
    return report({ErrorKind::forbidden, std::generic_category().message(errno),
                   fmt::format("enter {}", argv[2])});
  }
  execv(argv[program_at], argv + program_at);
  return report({ErrorKind::not_found, std::generic_category().message(errno), argv[program_at]});
}

}  // namespace lockstep::cli
