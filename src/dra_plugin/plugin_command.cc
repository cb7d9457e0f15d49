#include "dra_plugin/plugin_command.h"

#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "dra/nvml_process.h"
#include "dra/plugin.h"
#include "dra/sockets.h"
#include "dra_plugin/grpc_adapter.h"
#include "http/status_pages.h"
#include "kube/connect.h"
#include "kube/limited_api.h"
#include "world/directories.h"

namespace lockstep::dra {

namespace {

// For the events and the answers that are on their way.
constexpr Duration last_words = seconds(2);

kube::Environment system_environment() {
  kube::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return environment;
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// Before any thread is there: all of them inherit it.
void block_signals() {
  sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void stop_at_signal(EventLoop& loop, const sigset_t& set) {
  int descriptor = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor < 0) return;
  loop.watch_descriptor(descriptor, true, false, [&loop, descriptor](EventLoop::Readiness) {
    loop.unwatch_descriptor(descriptor);
    loop.stop();
  });
}

std::string without_slash(const std::string& root) { return root == "/" ? "" : root; }

struct Settings {
  PluginOptions plugin;
  AdapterOptions adapter;
  NvmlProcessOptions nvml;
};

Result<Duration> duration_of(const std::string& text, const char* flag) {
  auto duration = parse_duration(text);
  if (!duration) return fail(duration.error().at(flag));
  if (*duration <= Duration(0)) return fail(ErrorKind::invalid, "must be greater than zero", flag);
  return duration;
}

Result<Settings> settings_of(const PluginFlags& flags) {
  if (flags.node.empty()) {
    return fail(ErrorKind::invalid, "name the node: by this flag or by NODE_NAME", "--node-name");
  }
  Settings settings;
  std::string root = without_slash(flags.root);
  LOCKSTEP_TRY(settings.adapter.sockets,
               socket_paths(flags.kubelet_folder, flags.driver, flags.instance));
  settings.adapter.driver = flags.driver;
  settings.adapter.send_error_type = flags.send_error_type;
  LOCKSTEP_TRY(settings.adapter.call_limit, duration_of(flags.call_limit, "--call-limit"));
  settings.plugin.driver = flags.driver;
  settings.plugin.node = flags.node;
  settings.plugin.dev_root = root;
  settings.plugin.state_folder = settings.adapter.sockets.state_folder;
  settings.plugin.edits.root = root;
  settings.plugin.edits.host_root = without_slash(flags.host_root);
  settings.plugin.edits.container_folder = flags.container_folder;
  settings.plugin.cdi.directory = flags.cdi_folder;
  settings.plugin.cdi.vendor = flags.driver;
  LOCKSTEP_TRY(settings.plugin.watch.health_every,
               duration_of(flags.health_interval, "--health-interval"));
  settings.nvml.places = {
      root + "/proc", root + "/sys", root + "/dev", {flags.library_folder, root}};
  LOCKSTEP_TRY(settings.nvml.limit, duration_of(flags.nvml_limit, "--nvml-limit"));
  settings.nvml.command = {"/proc/self/exe", nvml_word};
  return settings;
}

bool is_character_device(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
}

std::vector<std::string> list_folder(const std::string& path) {
  return list_directory(path).value_or(std::vector<std::string>());
}

// XIDs of the kernel log that say that a GPU is not fit.
class FatalXids {
 public:
  explicit FatalXids(const std::string& root) : log_(root), classes_(gpu::XidClasses::embedded()) {}
  std::vector<gpu::Xid> read() {
    std::vector<gpu::Xid> fatal;
    if (!classes_) return fatal;
    for (gpu::Xid& xid : log_.read()) {
      if (classes_->meaning(xid.code).kind == gpu::XidClass::fatal) fatal.push_back(std::move(xid));
    }
    return fatal;
  }

 private:
  gpu::KernelLog log_;
  Result<gpu::XidClasses> classes_;
};

http::StatusPages status_pages(const Plugin& plugin) {
  http::StatusPages pages;
  pages["/healthz"] = [] { return http::readiness(true); };
  pages["/readyz"] = [&plugin] {
    return http::readiness(plugin.is_ready(), plugin.why_not_ready());
  };
  pages["/metrics"] = [&plugin] { return http::metrics_page(plugin.metrics()); };
  return pages;
}

// The servers wait for answers that only the loop can give: it goes on while they end.
void end_calls(EventLoop& loop, GrpcAdapter& adapter) {
  bool is_over = false;
  std::thread ending([&] {
    adapter.stop();
    loop.post_from_thread([&] { is_over = true; });
  });
  while (!is_over) loop.run_until([&] { return is_over; }, seconds(1));
  ending.join();
}

Result<void> serve(const PluginFlags& flags, const Settings& settings, Log& log,
                   const sigset_t& signals) {
  EventLoop loop;
  SystemStateFiles files;
  SystemRandom random;
  SystemProcesses processes;
  kube::ConnectOptions connect;
  connect.kubeconfig = flags.kubeconfig;
  connect.version = LOCKSTEP_VERSION;
  LOCKSTEP_TRY(kube::Connection connection,
               kube::connect(connect, system_environment(), files, processes, loop));
  kube::LimitedApi api(*connection.api, loop, random);

  const SocketPaths& sockets = settings.adapter.sockets;
  LOCKSTEP_CHECK(make_directories(sockets.state_folder));
  LOCKSTEP_CHECK(make_directories(flags.kubelet_folder + "/plugins_registry"));
  LOCKSTEP_CHECK(make_directories(flags.cdi_folder));
  LOCKSTEP_TRY(FileLock lock, FileLock::open(sockets.state_folder + "/lock"));
  // Another instance writes for milliseconds; one that holds the lock for longer is ill.
  loop.run_until([&] { return lock.try_lock(); }, seconds(5));
  NvmlProcess probe(processes, loop, settings.nvml);
  auto opened =
      Checkpoint::open(files, sockets.state_folder + "/checkpoint", probe.state().boot_id, log);
  lock.unlock();
  if (!opened) return fail(opened.error());

  FatalXids xids(without_slash(flags.root));
  SmiTimeSlicer slicer(processes, loop);
  Plugin plugin({loop, api, random, log, files, lock, *opened, probe, slicer, list_folder,
                 is_character_device, [&xids] { return xids.read(); }},
                settings.plugin);
  HealthBoard board;
  plugin.on_health([&] { board.post(plugin.health()); });
  LOCKSTEP_TRY(auto status, http::serve_status(loop, log, flags.listen, status_pages(plugin)));
  plugin.start();
  LOCKSTEP_TRY(auto adapter, GrpcAdapter::start(loop, plugin, board, settings.adapter));
  stop_at_signal(loop, signals);
  log.info("serving", {{"driver", flags.driver},
                       {"node", flags.node},
                       {"socket", sockets.service},
                       {"status", fmt::format("port {}", status->port())}});
  loop.run();
  log.info("ending");
  end_calls(loop, *adapter);
  loop.run_until([&] { return plugin.is_settled(); }, last_words);
  return {};
}

}  // namespace

int run_plugin(const PluginFlags& flags) {
  constexpr int failed = 1;
  constexpr int bad_input = 2;
  auto settings = settings_of(flags);
  if (!settings) {
    fmt::print(stderr, "lockstep: {}\n", settings.error().text());
    return bad_input;
  }
  sigset_t signals = ending_signals();
  block_signals();
  auto log = make_stderr_log(flags.verbose ? LogLevel::debug : LogLevel::info);
  auto served = serve(flags, *settings, *log, signals);
  if (served) return 0;
  fmt::print(stderr, "lockstep: {}\n", served.error().text());
  return failed;
}

}  // namespace lockstep::dra
