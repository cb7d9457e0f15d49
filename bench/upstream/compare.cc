// NVIDIA's upgrade library and Lockstep, one after the other, on a real API server of their own
// with the same simulated nodes and the same policy; what each of them cost, side by side.
//
//   make bench-upstream NODES=100 PARALLEL=10
//
// Calls are counted from the API server's audit log, by user; limits are checked from it too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/keys.h"
#include "fleet/state.h"
#include "kube/sync_api.h"
#include "real_cluster.h"
#include "sim/actors/simulated_fleet.h"
#include "sim/scenario/rollout_part.h"
#include "world/log.h"

namespace lockstep::real {
namespace {

constexpr Duration half = milliseconds(500);
constexpr Duration quarter = milliseconds(250);
const std::string new_version = "580.126.20";
const std::string upstream_user = "nvidia-upgrade";

struct Settings {
  int nodes = 100;
  int parallel = 10;
  int idle = 300;
  std::string upstream;  // NVIDIA's controller
  std::string only;      // one of the two; empty: both
  bool upgrade = true;   // false: only the rest is watched
};

// Every node takes the same time: its driver is ready 5.5 s after its pod was deleted; a client and
// then a validator that are restarted take 2 s more.
sim::Latencies steady_latencies() {
  sim::Latencies latencies;
  latencies.pod_stop = {half, half};
  latencies.init_container = {quarter, quarter};
  latencies.driver_unload = {seconds(1), seconds(1)};
  latencies.image_pull = {quarter, quarter};
  latencies.driver_load = {milliseconds(3500), milliseconds(3500)};
  latencies.client_start = {quarter, quarter};
  latencies.validator_run = {quarter, quarter};
  return latencies;
}
constexpr Duration work_of_a_node = milliseconds(7500);

struct Cost {
  double cpu_seconds = 0;
  double peak_mib = 0;
};

// Of a process that runs, as the kernel counts it.
Cost cost_of(pid_t pid) {
  Cost cost;
  SystemFiles files;
  const std::string stat = files.read(fmt::format("/proc/{}/stat", pid)).value_or("");
  // The name, in parentheses, may have spaces.
  auto words =
      split(std::string_view(stat).substr(std::min(stat.rfind(')') + 2, stat.size())), ' ');
  constexpr size_t user_time = 11;
  if (words.size() > user_time + 1) {
    const auto ticks = static_cast<double>(parse_integer(words[user_time]).value_or(0) +
                                           parse_integer(words[user_time + 1]).value_or(0));
    cost.cpu_seconds = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  for (std::string_view line :
       split(files.read(fmt::format("/proc/{}/status", pid)).value_or(""), '\n')) {
    if (!line.starts_with("VmHWM:")) continue;
    line = trim(line.substr(6));
    cost.peak_mib =
        static_cast<double>(parse_integer(line.substr(0, line.find(' '))).value_or(0)) / 1024;
  }
  return cost;
}

struct Figures {
  bool finished = false;
  Duration wall{0};
  std::map<std::string, size_t> calls;
  Most most;
  Cost cost;
  std::vector<Duration> replacements;
  std::map<std::string, size_t> idle_calls;
  double idle_cpu = 0;
  size_t accidents = 0;
};

// One contender on a cluster of its own.
class Contest {
 public:
  Contest(const Settings& settings, std::string user)
      : settings_(settings), user_(std::move(user)) {
    kube::ConnectOptions options;
    options.kubeconfig = cluster_.plane.kubeconfig(fleet_user);
    options.version = "fleet";
    auto connected = kube::connect(options, {}, files_, processes_, cluster_.loop());
    if (!connected) throw std::runtime_error(connected.error().text());
    connection_ = std::move(*connected);
    sim::SimulatedFleetOptions simulated;
    simulated.fleet.nodes = settings.nodes;
    simulated.kubelets.latencies = steady_latencies();
    simulated.kubelets.lease_interval = seconds(10);
    simulated.actors = sim::Actors::beside_controllers();
    fleet_ = std::make_unique<sim::SimulatedFleet>(
        sim::Parts{*connection_.api, cluster_.loop(), random_, log_}, simulated);
    fleet_->start();
    // As the chart does it: a kind that is not served would be asked for again and again.
    auto defined =
        kube::SyncApi(*connection_.api, cluster_.loop())
            .create(resource::custom_resource_definitions, "", sim::driver_rollout_definition());
    if (!defined) throw std::runtime_error(defined.error().text());
    wait("the fleet", [&] { return fleet_->running() && daemon_sets_are_ready(); });
    // What the GPU Operator's chart sets: NVIDIA's library wants it to be there.
    cluster_.set_policy(fmt::format(
        R"({{"autoUpgrade": true, "maxParallelUpgrades": {0}, "maxUnavailable": {0}, )"
        R"("podDeletion": {{"force": false, "timeoutSeconds": 300, "deleteEmptyDir": false}}, )"
        R"("waitForCompletion": {{"timeoutSeconds": 0, "podSelector": ""}}, )"
        R"("drain": {{"enable": false, "force": false, "timeoutSeconds": 300}}}})",
        settings.parallel));
  }

  Figures run() {
    commands::Child& controller = start();
    wait("the controller to know every node", [&] { return cluster_.all_are("upgrade-done"); });
    rest_for_an_hour();
    pass(seconds(5));
    if (!settings_.upgrade) return at_rest(controller);
    const size_t log_before = cluster_.log().size();
    const Cost before = cost_of(controller.pid());
    const Time began = now();
    cluster_.set_version(new_version);
    Figures figures;
    // NVIDIA's controller requeues after two minutes, wave by wave.
    const Duration limit = minutes(10) + minutes(3) * (settings_.nodes / settings_.parallel + 1);
    figures.finished = wait_for(
        [&] {
          if (controller.exit_code())
            throw std::runtime_error("the controller ended:\n" + controller.output());
          return cluster_.all_are("upgrade-done", new_version);
        },
        limit);
    const std::string log = cluster_.log().substr(log_before);
    const std::vector<NodeVersion> history = node_history(log);
    Time ended = began;
    for (const NodeVersion& version : history) {
      if (version.user == user_ && version.state == "upgrade-done")
        ended = std::max(ended, version.at);
    }
    figures.wall = ended - began;
    figures.calls = calls_of(log, user_);
    figures.most = most_at_once(history);
    figures.cost = cost_of(controller.pid());
    figures.replacements = replacement_times(cluster_.log(), "nvidia-driver-daemonset", fleet_user);
    measure_idleness(controller, figures);
    figures.cost.cpu_seconds -= before.cpu_seconds;
    figures.accidents = fleet_->kubelets().accidents().size();
    return figures;
  }

 private:
  commands::Child& start() {
    if (user_ == controller_user) return cluster_.start_real_controller("controller");
    upstream_ = std::make_unique<commands::Child>(
        std::vector<std::string>{settings_.upstream, "--kubeconfig",
                                 cluster_.plane.kubeconfig(user_)},
        std::map<std::string, std::string>{}, cluster_.directory() + "/upstream.log");
    return *upstream_;
  }

  // A fleet is upgraded after weeks, not seconds after its controller has first seen it: Lockstep
  // reads a node once more that it takes for done since less than ten minutes (docs/UPGRADE.md).
  void rest_for_an_hour() {
    if (user_ != controller_user) return;
    const Json patch(JsonObject{
        {"metadata", JsonObject{{"annotations", JsonObject{{fleet::since_annotation,
                                                            format_rfc3339(now() - hours(1))}}}}}});
    kube::SyncApi api(*connection_.api, cluster_.loop());
    for (const auto& [name, node] : cluster_.nodes()) {
      auto patched = api.patch(resource::nodes, {"", name}, kube::PatchType::merge, patch);
      if (!patched) throw std::runtime_error(patched.error().text());
    }
  }

  Figures at_rest(const commands::Child& controller) {
    Figures figures;
    measure_idleness(controller, figures);
    figures.cost.peak_mib = cost_of(controller.pid()).peak_mib;
    figures.finished = true;
    return figures;
  }

  void measure_idleness(const commands::Child& controller, Figures& figures) {
    // What an upgrade leaves behind (events, status) is not idleness yet.
    pass(seconds(15));
    const size_t before = cluster_.log().size();
    const double cpu = cost_of(controller.pid()).cpu_seconds;
    pass(seconds(settings_.idle));
    figures.idle_calls = calls_of(cluster_.log().substr(before), user_);
    figures.idle_cpu = cost_of(controller.pid()).cpu_seconds - cpu;
  }

  bool daemon_sets_are_ready() {
    auto sets = cluster_.list(resource::daemon_sets);
    return !sets.empty() && std::all_of(sets.begin(), sets.end(), [this](const Json& set) {
      return as_integer(find(set, "status", "numberAvailable")) == settings_.nodes;
    });
  }

  Time now() { return cluster_.loop().now(); }
  void pass(Duration time) {
    cluster_.loop().run_until([] { return false; }, time);
  }
  // Every look is a list of all nodes.
  bool wait_for(const std::function<bool()>& done, Duration limit, Duration every = seconds(1)) {
    const Duration end = cluster_.loop().uptime() + limit;
    while (!done()) {
      if (cluster_.loop().uptime() > end) return false;
      pass(every);
    }
    return true;
  }
  // Of what is not measured: thousands of nodes take their time, and are not disturbed every
  // second.
  void wait(const std::string& what, const std::function<bool()>& done) {
    const Duration limit = minutes(10) + milliseconds(600) * settings_.nodes;
    const Duration every = seconds(1) + milliseconds(5) * settings_.nodes;
    if (!wait_for(done, limit, every)) throw std::runtime_error("it did not come: " + what);
  }

  Settings settings_;
  std::string user_;
  RealCluster cluster_{ControlPlaneOptions{.users = {{upstream_user, {"system:masters"}}}}};
  SystemFiles files_;
  SystemProcesses processes_;
  SystemRandom random_;
  SilentLog log_;
  kube::Connection connection_;
  std::unique_ptr<sim::SimulatedFleet> fleet_;
  std::unique_ptr<commands::Child> upstream_;
};

size_t total_of(const std::map<std::string, size_t>& calls) {
  return std::accumulate(calls.begin(), calls.end(), size_t{0},
                         [](size_t sum, const auto& call) { return sum + call.second; });
}

// "get" -> how often, whatever was asked for.
std::map<std::string, size_t> by_verb(const std::map<std::string, size_t>& calls) {
  std::map<std::string, size_t> verbs;
  for (const auto& [what, count] : calls) verbs[what.substr(0, what.find(' '))] += count;
  return verbs;
}

class Table {
 public:
  explicit Table(const std::vector<std::string>& heads) { row("", heads); }
  void row(const std::string& name, const std::vector<std::string>& cells) {
    std::string line = fmt::format("{:42}", name);
    for (const std::string& cell : cells) line += fmt::format("{:>20}", cell);
    fmt::print("{}\n", line);
  }
};

std::string in_text(Duration duration) { return fmt::format("{:.1f} s", in_seconds(duration)); }

void show(const Settings& settings, const std::vector<std::string>& names,
          const std::vector<Figures>& all) {
  const int waves = (settings.nodes + settings.parallel - 1) / settings.parallel;
  const Duration ideal = work_of_a_node * waves;
  Table table(names);
  auto row = [&](const std::string& name, auto&& cell) {
    std::vector<std::string> cells;
    for (const Figures& figures : all) cells.push_back(cell(figures));
    table.row(name, cells);
  };
  const auto per_node = [&](size_t calls) {
    return fmt::format("{:.2f}", static_cast<double>(calls) / settings.nodes);
  };
  auto idle_rows = [&] {
    row("peak memory",
        [](const Figures& one) { return fmt::format("{:.0f} MiB", one.cost.peak_mib); });
    row(fmt::format("API calls in {} s of rest", settings.idle),
        [](const Figures& one) { return std::to_string(total_of(one.idle_calls)); });
    row(fmt::format("CPU in {} s of rest", settings.idle),
        [](const Figures& one) { return fmt::format("{:.2f} s", one.idle_cpu); });
  };
  if (!settings.upgrade) return idle_rows();
  row("all nodes done", [](const Figures& one) { return one.finished ? "yes" : "NO"; });
  row("wall time", [](const Figures& one) { return in_text(one.wall); });
  row("ideal", [&](const Figures&) { return in_text(ideal); });
  row("times the ideal", [&](const Figures& one) {
    return fmt::format("{:.2f}", in_seconds(one.wall) / in_seconds(ideal));
  });
  row("of it the control plane, for each wave", [](const Figures& one) {
    if (one.replacements.empty()) return std::string("-");
    Duration sum = std::accumulate(one.replacements.begin(), one.replacements.end(), Duration(0));
    return fmt::format("{:.2f} s", in_seconds(sum) / static_cast<double>(one.replacements.size()));
  });
  row(fmt::format("most nodes at once (limit {})", settings.parallel),
      [](const Figures& one) { return std::to_string(one.most.active); });
  row("API calls", [](const Figures& one) { return std::to_string(total_of(one.calls)); });
  row("API calls for each node", [&](const Figures& one) { return per_node(total_of(one.calls)); });
  std::map<std::string, size_t> verbs;
  for (const Figures& figures : all) verbs.merge(by_verb(figures.calls));
  for (const auto& [verb, count] : verbs) {
    row("  " + verb,
        [&, name = verb](const Figures& one) { return per_node(by_verb(one.calls)[name]); });
  }
  row("CPU", [](const Figures& one) { return fmt::format("{:.2f} s", one.cost.cpu_seconds); });
  idle_rows();
}

void show_calls(const std::vector<std::string>& names, const std::vector<Figures>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    fmt::print("\n{}:\n", names[i]);
    for (const auto& [what, count] : all[i].calls) fmt::print("{:8} {}\n", count, what);
    fmt::print("  at rest:\n");
    for (const auto& [what, count] : all[i].idle_calls) fmt::print("{:8} {}\n", count, what);
  }
}

int compare(const Settings& settings) {
  std::vector<std::string> names;
  std::vector<Figures> all;
  auto contest = [&](const std::string& name, const std::string& user) {
    fmt::print(stderr, "{}: {} nodes, {} at once\n", name, settings.nodes, settings.parallel);
    names.push_back(name);
    all.push_back(Contest(settings, user).run());
  };
  if (settings.only != "lockstep") contest("NVIDIA's library", upstream_user);
  if (settings.only != "upstream") contest("Lockstep", controller_user);
  show(settings, names, all);
  show_calls(names, all);
  const bool finished =
      std::all_of(all.begin(), all.end(), [](const Figures& one) { return one.finished; });
  const bool within = settings.only == "upstream" ||
                      all.back().most.active <= static_cast<size_t>(settings.parallel);
  if (!within) fmt::print("Lockstep was above its limit\n");
  return finished && within ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::real

int main() {
  using lockstep::real::ControlPlane;
  if (std::string why = ControlPlane::missing(); !why.empty()) {
    fmt::print(stderr, "SKIPPED: {}\n", why);
    return 0;
  }
  auto number = [](const char* name, int otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise
                            : static_cast<int>(lockstep::parse_integer(value).value_or(otherwise));
  };
  auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  lockstep::real::Settings settings;
  settings.nodes = number("NODES", settings.nodes);
  settings.parallel = number("PARALLEL", settings.parallel);
  settings.idle = number("IDLE", settings.idle);
  settings.upstream = text("UPSTREAM_CONTROLLER");
  settings.only = text("ONLY");
  settings.upgrade = text("UPGRADE") != "no";
  if (settings.nodes < 1 || settings.parallel < 1 || settings.idle < 0) {
    fmt::print(stderr, "NODES and PARALLEL are 1 or more, IDLE 0 or more\n");
    return 2;
  }
  if (settings.only != "lockstep" && access(settings.upstream.c_str(), X_OK) != 0) {
    fmt::print(stderr, "SKIPPED: NVIDIA's controller was not built ({})\n", settings.upstream);
    settings.only = "lockstep";
  }
  try {
    return lockstep::real::compare(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
