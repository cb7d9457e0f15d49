#include "cli/demo_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "apiserver/door/embedded_server.h"
#include "cli/child_process.h"
#include "cli/cluster_session.h"
#include "cli/dashboard_host.h"
#include "cli/demo_git.h"
#include "cli/demo_rollout.h"
#include "cli/demo_screen.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/rollout_text.h"
#include "cli/signals.h"
#include "kube/sync_api.h"
#include "sim/actors/simulated_fleet.h"
#include "sim/scenario/rollout_part.h"
#include "upgrade/pod_names.h"

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

std::string temporary_path(std::string_view what) {
  const char* directory = std::getenv("TMPDIR");
  return fmt::format("{}/lockstep-demo-{}.{}", directory == nullptr ? "/tmp" : directory, getpid(),
                     what);
}

sim::SimulatedFleetOptions fleet_options(const DemoFlags& flags) {
  sim::SimulatedFleetOptions options;
  options.fleet.nodes = flags.nodes;
  options.fleet.driver_version = flags.from;
  int parallel = std::max(1, flags.nodes / 6);
  options.fleet.upgrade_policy =
      JsonObject{{"autoUpgrade", true},
                 {"maxParallelUpgrades", parallel},
                 {"maxUnavailable", "25%"},
                 // The node that is made to fail must not hold up the rest of a small fleet.
                 {"maxFailures", flags.nodes < 20 ? Json(2) : Json("10%")},
                 // Time runs faster here: five minutes of trying are long over.
                 {"deadlines", JsonObject{{"imagePullSeconds", 20}}},
                 {"podDeletion", JsonObject{{"force", false}, {"timeoutSeconds", 60}}}};
  // Every node is busy where events are to happen: only on those do they count.
  // More than has room while nodes are upgraded: a node that returns gets work at once, and its
  // bake sees it busy.
  options.fleet.workloads.deployment_replicas = flags.nodes;
  options.fleet.workloads.claim_pods = flags.bad_driver ? 0 : flags.nodes / 4;
  label_canary(flags, options.fleet);
  options.kubelets.latencies.speed = flags.speed;
  options.kubelets.lease_interval = seconds(10);
  if (flags.failing > 0 && flags.failing <= flags.nodes) {
    options.kubelets.behaviours[sim::node_name(flags.failing - 1)].image_pull_fails = flags.to;
  }
  return options;
}

// Everything that runs: the API's thread, the simulated fleet, the controller's process, our eyes.
class Demo {
 public:
  explicit Demo(const DemoFlags& flags)
      : flags_(flags),
        kubeconfig_(flags.kubeconfig_out.empty() ? temporary_path("kubeconfig")
                                                 : flags.kubeconfig_out),
        log_file_(temporary_path("log")) {}

  Result<void> begin() {
    apiserver::EmbeddedOptions options;
    options.tls = true;
    LOCKSTEP_TRY(server_, apiserver::EmbeddedServer::start(std::move(options)));
    LOCKSTEP_CHECK(SystemFiles().write(kubeconfig_.path(), server_->kubeconfig(), 0600));
    ClusterFlags cluster;
    cluster.kubeconfig = kubeconfig_.path();
    LOCKSTEP_TRY(session_, ClusterSession::open(cluster, LogLevel::error));
    stop_at_signal(session_->loop, &stopped_);
    fmt::print("An embedded Kubernetes API at {}, in memory.\n", server_->url());
    fmt::print("Starting {} simulated GPU nodes with driver {} and work on them ...\n",
               flags_.nodes, flags_.from);
    std::fflush(stdout);
    fleet_ = std::make_unique<sim::SimulatedFleet>(
        sim::Parts{*session_->api, session_->loop, session_->random, *session_->log},
        fleet_options(flags_));
    fleet_->start();
    LOCKSTEP_CHECK(make_rollout());
    watch_ = std::make_unique<view::FleetWatch>(*session_->api, session_->loop, session_->random,
                                                *session_->log, cluster.fleet());
    LOCKSTEP_CHECK(open_dashboard(cluster));
    LOCKSTEP_CHECK(wait_for_fleet(*session_, *watch_, minutes(1)));
    std::vector<std::string> words{own_program(),      "controller",
                                   "--kubeconfig",     kubeconfig_.path(),
                                   "--key-domain",     cluster.fleet().key_domain,
                                   "--identity",       "demo",
                                   "--status-address", ""};
    if (git_ != nullptr) {
      words.insert(words.end(), {"--allow-local-git", "--git-repository", git_->address()});
    }
    controller_ =
        std::make_unique<ChildProcess>(session_->loop, std::move(words), log_file_.path());
    if (!controller_->start()) return fail(ErrorKind::internal, "the controller does not start");
    // The rollout knows its rollback before anything changes.
    bool up = run_until(
        [&] {
          FleetStatus status = look_at_fleet(*watch_, session_->loop.now());
          const view::KnownRollout* rollout = find_rollout(*watch_);
          return status.pools.size() == 1 && status.pools[0].upgraded == flags_.nodes &&
                 rollout != nullptr && rollout->status.stable.is_set();
        },
        minutes(3));
    if (!up)
      return fail(ErrorKind::timed_out, "the fleet did not come up; see " + log_file_.path());
    return {};
  }

  Result<void> change_version() {
    fmt::print(
        "\nA rollout takes it wave by wave: a canary of {} with three gates and a bake ({} here, "
        "two "
        "days in production), then the rest.\n",
        upgrade::counted(canary_nodes(), "node"), format_duration(demo_bake(flags_)));
    if (git_ != nullptr) {
      LOCKSTEP_TRY(const std::string commit, git_->set_driver(flags_.to));
      fmt::print("\n$ lockstep matrix set driver={} --repo {}\ncommit {}\n\n", flags_.to,
                 git_->address(), commit);
      return {};
    }
    kube::SyncApi api(*session_->api, session_->loop);
    fmt::print(
        "\n$ kubectl patch clusterpolicy/cluster-policy --type=json -p='[{{\"op\": \"replace\", "
        "\"path\": \"/spec/driver/version\", \"value\":\"{}\"}}]'\n\n",
        flags_.to);
    LOCKSTEP_CHECK(
        api.patch(fleet::cluster_policies, {"", "cluster-policy"}, kube::PatchType::json,
                  JsonArray{JsonObject{
                      {"op", "replace"}, {"path", "/spec/driver/version"}, {"value", flags_.to}}}));
    return {};
  }

  Result<void> upgrade() {
    LOCKSTEP_CHECK(change_version());
    began_ = session_->loop.uptime();
    DemoScreen screen(Terminal::of_output());
    bool moved = false;
    auto finished = [&] {
      FleetStatus status = look_at_fleet(*watch_, session_->loop.now());
      const view::KnownRollout* rollout = find_rollout(*watch_);
      const std::string line =
          rollout == nullptr
              ? ""
              : operate::progress_line(operate::report_rollout(*watch_, *rollout, status));
      screen.show(status, line, session_->loop.uptime() - began_, controller_->pid());
      if (rollout == nullptr) return false;
      moved = moved || rollout->is_active();
      bool held = rollout->status.phase == rollout::Phase::held;
      return moved && (held || (!rollout->is_active() && status.at_rest()));
    };
    if (run_until(finished, minutes(30))) return {};
    return fail(stopped_ ? ErrorKind::cancelled : ErrorKind::timed_out,
                stopped_ ? "stopped" : "the upgrade did not end within 30m");
  }

  void summarize() {
    FleetStatus status = look_at_fleet(*watch_, session_->loop.now());
    Duration took = session_->loop.uptime() - began_;
    if (flags_.bad_driver) {
      for (const PoolStatus& pool : status.pools) {
        fmt::print("\n{} of {} nodes run {}, {} after driver {} was tried.\n", pool.running,
                   pool.counts.total, pool.target, human_duration(took), flags_.to);
      }
    } else {
      print_text("\n" + demo_summary(status, took, Terminal::of_output()));
    }
    if (const view::KnownRollout* rollout = find_rollout(*watch_)) {
      print_text(fmt::format("\n$ lockstep rollout history {}\n{}", demo_rollout_name,
                             rollout_history(*rollout->object->document)));
      show_git(rollout->status);
    }
    if (controller_->restarts() > 0) {
      fmt::print("The controller was killed {} times and continued each time.\n",
                 controller_->restarts());
    }
  }

  // What Git says of it, by git itself.
  void show_git(const rollout::RolloutStatus& status) {
    if (git_ == nullptr) return;
    if (auto log = git_->log()) fmt::print("\n$ git log --oneline\n{}", *log);
    if (status.revert_commit.empty()) return;
    if (auto shown = git_->show(status.revert_commit)) {
      fmt::print("\n$ git show {}\n{}", status.revert_commit, *shown);
    }
    fmt::print("\nThe regression was caught in the canary. Commit {} reverted driver {}.\n",
               status.revert_commit, flags_.to);
  }

  // The commands of NVIDIA's documentation, with the real kubectl.
  void show_kubectl() {
    if (flags_.kubectl.empty()) return;
    run_kubectl({"get", "node", "-l", "nvidia.com/gpu.present",
                 "-ojsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.metadata.labels.nvidia\\."
                 "com/gpu-driver-upgrade-state}{\"\\n\"}{end}"},
                6);
    if (flags_.failing > 0 && flags_.failing <= flags_.nodes) {
      run_kubectl({"get", "events", "--field-selector",
                   "involvedObject.name=" + sim::node_name(flags_.failing - 1), "--sort-by",
                   ".lastTimestamp"},
                  12);
    }
  }

  void keep() {
    fmt::print("\nThe cluster keeps running; Ctrl-C ends it. Explore it:\n");
    fmt::print("  kubectl --kubeconfig {} get nodes\n", kubeconfig_.path());
    fmt::print("  lockstep status --kubeconfig {}\n", kubeconfig_.path());
    std::fflush(stdout);
    run_until([] { return false; }, hours(24 * 365));
  }

  // A user who has the page open must not be left with a dead one.
  void wait_for_pages() {
    if (!dashboard_ || dashboard_->pages() == 0) return;
    fmt::print(
        "\nThe dashboard is open in a browser; the demo ends when the page is closed, or with "
        "Ctrl-C.\n");
    std::fflush(stdout);
    run_until([&] { return dashboard_->pages() == 0; }, hours(24));
  }

  void how_to_keep() {
    fmt::print("\nTo explore it: lockstep demo --keep, then kubectl --kubeconfig FILE get nodes\n");
  }

  void end() {
    controller_.reset();
    dashboard_.reset();
    git_.reset();
    health_.reset();
    fleet_.reset();
    watch_.reset();
    session_.reset();
    server_.reset();
  }

 private:
  Result<void> open_dashboard(const ClusterFlags& cluster) {
    if (flags_.dashboard_address.empty()) return {};
    DashboardPlace place;
    place.address = flags_.dashboard_address;
    place.cluster = "demo";
    const std::vector<std::string> own =
        git_ == nullptr ? std::vector<std::string>{} : std::vector<std::string>{git_->address()};
    LOCKSTEP_TRY(place.rollouts_repositories,
                 git::AllowedRepositories::read(own, git::Local::accepted));
    place.matrix_interval = seconds(5);
    auto started = DashboardHost::start(*session_, cluster, *watch_, place);
    bool usual = place.address == DashboardPlace().address;
    if (!started && usual) {
      // Another demo has the usual port.
      place.address = "127.0.0.1:0";
      started = DashboardHost::start(*session_, cluster, *watch_, place);
    }
    if (!started) return fail(started.error().at("--dashboard-address"));
    dashboard_ = std::move(*started);
    // The API's own token signs in.
    fmt::print("Dashboard: {}#token={}\n", dashboard_->url(), server_->token());
    std::fflush(stdout);
    return {};
  }

  Result<void> make_rollout() {
    kube::SyncApi api(*session_->api, session_->loop);
    LOCKSTEP_CHECK(
        api.create(resource::custom_resource_definitions, "", sim::driver_rollout_definition()));
    if (!run_until([&] { return fleet_->running(); }, minutes(1))) {
      return fail(ErrorKind::timed_out, "the simulated fleet did not start");
    }
    sim::Parts parts{*session_->api, session_->loop, session_->random, *session_->log};
    health_ = std::make_unique<sim::HealthReporter>(parts, fleet_->kubelets(), seconds(1),
                                                    demo_rates(flags_));
    health_->start();
    if (flags_.bad_driver) {
      LOCKSTEP_TRY(git_, DemoGit::make(parts, temporary_path("git"), flags_.from));
    }
    LOCKSTEP_CHECK(api.create(fleet::driver_rollouts, "",
                              demo_rollout(flags_, git_ == nullptr ? "" : git_->address())));
    return {};
  }

  size_t canary_nodes() const {
    sim::FleetOptions fleet;
    label_canary(flags_, fleet);
    return fleet.node_labels.size();
  }

  // A few times a second is enough for eyes.
  bool run_until(const std::function<bool()>& done, Duration limit) {
    Duration end = session_->loop.uptime() + limit;
    while (!stopped_ && session_->loop.uptime() < end) {
      if (done()) return true;
      session_->loop.run_until([] { return false; }, milliseconds(250));
    }
    return false;
  }

  void run_kubectl(const std::vector<std::string>& arguments, size_t lines) {
    std::string line;
    for (const auto& argument : arguments) {
      bool quote = argument.find_first_of(" {}\\'\"") != std::string::npos;
      line += quote ? " '" + argument + "'" : " " + argument;
    }
    fmt::print("\n$ kubectl{}\n", line);
    ProcessSpec spec;
    spec.command = {flags_.kubectl, "--kubeconfig", kubeconfig_.path()};
    spec.command.insert(spec.command.end(), arguments.begin(), arguments.end());
    // The fleet runs on this thread: it must not stop while kubectl runs.
    std::optional<Result<ProcessOutput>> outcome;
    session_->processes.start(spec, session_->loop,
                              [&](Result<ProcessOutput> result) { outcome = std::move(result); });
    session_->loop.run_until([&] { return outcome.has_value(); }, seconds(30));
    if (!outcome || !*outcome) return;
    std::string_view rest = (*outcome)->output;
    for (size_t i = 0; i < lines && !rest.empty(); ++i) {
      size_t at = std::min(rest.find('\n'), rest.size() - 1);
      fmt::print("{}", rest.substr(0, at + 1));
      rest.remove_prefix(at + 1);
    }
    if (!rest.empty()) fmt::print("...\n");
    std::fflush(stdout);
  }

  DemoFlags flags_;
  TemporaryFile kubeconfig_;
  TemporaryFile log_file_;
  std::unique_ptr<apiserver::EmbeddedServer> server_;
  std::unique_ptr<ClusterSession> session_;
  std::unique_ptr<sim::SimulatedFleet> fleet_;
  std::unique_ptr<sim::HealthReporter> health_;
  std::unique_ptr<DemoGit> git_;
  std::unique_ptr<view::FleetWatch> watch_;
  std::unique_ptr<DashboardHost> dashboard_;
  std::unique_ptr<ChildProcess> controller_;
  Duration began_{0};
  bool stopped_ = false;
};

}  // namespace

int run_demo(const DemoFlags& flags) {
  block_signals();
  calm_git();
  Demo demo(flags);
  auto outcome = demo.begin();
  if (outcome) outcome = demo.upgrade();
  if (outcome) {
    demo.summarize();
    demo.show_kubectl();
    if (flags.keep) {
      demo.keep();
    } else {
      demo.wait_for_pages();
      demo.how_to_keep();
    }
  }
  demo.end();
  return outcome ? static_cast<int>(ExitCode::ok) : report(outcome.error());
}

}  // namespace lockstep::cli
