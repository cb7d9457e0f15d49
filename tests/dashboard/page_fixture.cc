// The dashboard's own server and model over a fleet that does not exist: any number of nodes, moved
// by lines on standard input. The page's tests and its benchmark use it.
//
//   page_fixture NODES [PORT]
//
// Prints its address. Commands: "step N" takes N nodes a step further, "rate N" does so N times a
// second (one node each), "fail NAME", "add NAME", "remove NAME", "part NAME JSON", "usage" (prints
// the seconds of CPU that it has taken), "quit".
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "dashboard/dashboard.h"
#include "dashboard/matrix_card.h"
#include "dashboard/rollout_card.h"
#include "world/event_loop.h"
#include "world/log.h"
#include "world/random.h"

namespace lockstep::dashboard {
namespace {

using fleet::State;

constexpr std::array way = {State::required,    State::cordon,     State::pod_deletion,
                            State::pod_restart, State::validation, State::uncordon,
                            State::done};
constexpr int64_t gpus_per_node = 8;
constexpr int64_t nodes_per_rack = 32;
constexpr size_t most_attention = 20;

class Fixture final : public Source {
 public:
  Fixture(int64_t nodes, const std::string& port, Log& log) {
    for (int64_t i = 0; i < nodes; ++i) add(fmt::format("gpu-{}", i + 1), i, nodes);
    show();
    DashboardOptions options;
    options.address = "127.0.0.1:" + port;
    options.epoch = SystemRandom().suffix(8);
    options.version = "0.1.0";
    options.cluster = "fixture";
    auto started = Dashboard::start(loop, log, model_, *this, embedded_page(), options);
    if (!started) {
      fmt::print(stderr, "{}\n", started.error().text());
      std::exit(1);
    }
    dashboard_ = std::move(*started);
    fmt::print("{}\n", dashboard_->url());
    std::fflush(stdout);
    loop.watch_descriptor(STDIN_FILENO, true, false, [this](EventLoop::Readiness) { read(); });
    tick();
  }

  void node(const std::string& name, JsonCallback done) override {
    const NodeRow* row = model_.find(name);
    if (row == nullptr) return done(fail(ErrorKind::not_found, "unknown node"));
    bool failed = row->state == State::failed;
    done(Json(
        JsonObject{{"name", name},
                   {"pool", ""},
                   {"state", fleet::display_name(row->state)},
                   {"since", row->since * 1000},
                   {"reason", reason_of(*row)},
                   {"cordoned", row->is_out()},
                   {"cordonedByUs", true},
                   {"ready", true},
                   {"skipped", row->skipped},
                   {"driver", JsonObject{{"version", row->version},
                                         {"target", "580.126.20"},
                                         {"inSync", row->in_sync},
                                         {"ready", !failed}}},
                   {"gpuPods", 1},
                   {"pods", JsonArray{JsonObject{{"name", "default/train-1"}, {"fate", "moves"}}}},
                   {"conditions", JsonArray{}},
                   {"wave", row->wave},
                   {"zone", row->zone},
                   {"rack", row->rack},
                   {"gpus", row->gpus},
                   {"states", model_.states_of(name)},
                   {"events", JsonArray{JsonObject{{"at", row->since * 1000},
                                                   {"type", failed ? "Warning" : "Normal"},
                                                   {"reason", "Upgrade"},
                                                   {"message", "an event of " + name},
                                                   {"count", 1}}}}}));
  }
  void plan(bool, JsonCallback done) override {
    JsonArray nodes;
    model_.for_each([&](const NodeRow& row) {
      if (row.state != State::required || nodes.size() == 500) return;
      JsonArray blocked;
      if (nodes.empty()) blocked.emplace_back("default/bare has no controller");
      nodes.push_back(JsonObject{{"name", row.name},
                                 {"state", fleet::display_name(row.state)},
                                 {"wave", row.wave},
                                 {"outcome", "done"},
                                 {"startSeconds", 0},
                                 {"endSeconds", 300},
                                 {"restartOnly", false},
                                 {"moved", JsonArray{"default/train-1"}},
                                 {"waitedFor", JsonArray{}},
                                 {"waitsUnlimited", false},
                                 {"blocked", std::move(blocked)}});
    });
    auto reason = [](const char* name, const char* text) {
      return JsonObject{{"name", name}, {"text", text}, {"remedy", ""}};
    };
    JsonObject weekly{{"name", "weekly"},
                      {"phase", "Pending"},
                      {"rollback", "the previous version is set in the driver's object"},
                      {"refused", JsonArray{reason("RolloutPaused", "rollout weekly is paused")}},
                      {"excluded", JsonArray{"gpu-9 (skipped by a user)"}},
                      {"endPhase", "Held"},
                      {"end", reason("BakeInconclusive", "the nodes were not busy enough")}};
    JsonObject bake{{"seconds", 7200},
                    {"at", "2027-01-15T10:00:00Z"},
                    {"rollout", "weekly"},
                    {"wave", "canary"},
                    {"text", "bake for 48h"}};
    done(Json(JsonObject{{"at", "2027-01-15T08:00:00Z"},
                         {"seconds", 1200},
                         {"nodeSeconds", 300},
                         {"mostAtOnce", 8},
                         {"refused", JsonArray{}},
                         {"nodes", std::move(nodes)},
                         {"failed", JsonArray{}},
                         {"rollouts", JsonArray{std::move(weekly)}},
                         {"events", JsonArray{std::move(bake)}}}));
  }
  void access(const std::string& token, JsonCallback done) override {
    if (token != "steer" && token != "read")
      return done(fail(ErrorKind::unauthorized, "the cluster does not know this token"));
    bool may = token == "steer";
    done(Json(JsonObject{{"user", may ? "ada" : "ben"},
                         {"allowed", JsonObject{{"pool", may}, {"rollout", may}, {"node", may}}}}));
  }
  void act(const std::string& token, const operate::Action& action, JsonCallback done) override {
    if (token != "steer") return done(fail(ErrorKind::forbidden, "ben may not do this"));
    if (action.target == operate::ActionTarget::pool)
      paused_ = action.verb == "pause" ? "by ada: " + action.reason : "";
    if (action.target == operate::ActionTarget::node) {
      const NodeRow* held = model_.find(action.name);
      if (held == nullptr) return done(fail(ErrorKind::not_found, "unknown node"));
      NodeRow row = *held;
      if (action.verb == "retry") row.state = State::required;
      row.skipped = action.verb == "skip";
      put(row);
    }
    if (action.verb == "promote") approved_by_ = "ada";
    show();
    dashboard_->publish();
    done(Json(JsonObject{{"done", action.verb}}));
  }

  EventLoop loop;

 private:
  void add(const std::string& name, int64_t index, int64_t nodes) {
    NodeRow row;
    row.name = name;
    row.state = index % 3 == 0 ? State::done : State::required;
    row.since = loop.now().unix_seconds() - 60;
    row.in_sync = row.state == State::done;
    row.reason = row.in_sync ? "UpToDate" : "WaitsForSlot";
    row.wave = index < nodes / 24 ? "canary" : index < nodes / 8 ? "tenth" : "rest";
    row.zone = fmt::format("zone-{}", static_cast<char>('a' + index % 3));
    row.rack = fmt::format("rack-{}", index / nodes_per_rack + 1);
    row.version = row.in_sync ? "580.126.20" : "580.105.08";
    row.model = "NVIDIA-H100-80GB-HBM3";
    row.gpus = gpus_per_node;
    put(row);
  }
  void put(const NodeRow& row) {
    if (const NodeRow* before = model_.find(row.name)) --counts_[before->state];
    ++counts_[row.state];
    model_.put(row, loop.now());
  }
  static Json reason_of(const NodeRow& row) {
    if (row.state == State::failed) {
      return JsonObject{{"name", "ImagePullFails"},
                        {"text", "the driver image cannot be pulled: ErrImagePull for 22s"},
                        {"remedy", "make the image reachable, then retry"}};
    }
    return JsonObject{{"name", row.reason},
                      {"text", "8 upgrades in progress, and maxParallelUpgrades is 8"}};
  }

  void step(int64_t count) {
    std::vector<std::string> names = model_.names();
    for (int64_t i = 0; i < count && !names.empty(); ++i) {
      NodeRow row = *model_.find(names[random_.below(names.size())]);
      if (row.state == State::failed) continue;
      const auto* at = std::find(way.begin(), way.end(), row.state);
      row.state = at == way.end() || at + 1 == way.end() ? way.front() : *(at + 1);
      row.in_sync = row.state == State::done;
      row.reason = row.in_sync                    ? "UpToDate"
                   : row.state == State::required ? "WaitsForSlot"
                                                  : "UnderWay";
      row.version = row.in_sync ? "580.126.20" : "580.105.08";
      row.since = loop.now().unix_seconds();
      put(row);
    }
  }
  void fail_node(const std::string& name) {
    const NodeRow* held = model_.find(name);
    if (held == nullptr) return;
    NodeRow row = *held;
    row.state = State::failed;
    row.reason = "ImagePullFails";
    row.since = loop.now().unix_seconds();
    put(row);
  }

  void show() {
    auto count = [&](State state) { return counts_[state]; };
    int64_t total = static_cast<int64_t>(model_.size());
    int64_t active = total - count(State::done) - count(State::required) - count(State::failed);
    JsonObject pool{{"name", ""},
                    {"policy", "ClusterPolicy cluster-policy"},
                    {"target", "580.126.20"},
                    {"total", total},
                    {"upgraded", count(State::done)},
                    {"running", count(State::done)},
                    {"waiting", count(State::required)},
                    {"active", active},
                    {"unavailable", active + count(State::failed)},
                    {"failed", count(State::failed)},
                    {"maxUnavailable", total / 4},
                    {"maxParallel", 8},
                    {"maxFailures", 5},
                    {"secondsLeft", 300}};
    if (!paused_.empty()) pool["paused"] = paused_;
    JsonArray failed;
    JsonArray under_way;
    model_.for_each([&](const NodeRow& row) {
      JsonArray& list = row.state == State::failed ? failed : under_way;
      if (!row.is_out() || list.size() >= most_attention) return;
      Json card = reason_of(row);
      card.as_object()["node"] = row.name;
      card.as_object()["state"] = static_cast<int>(row.state);
      list.push_back(std::move(card));
    });
    for (const Json& card : std::as_const(under_way)) failed.push_back(card);
    auto set_part = [&](std::string_view name, const Json& value) {
      auto said = said_.find(name);
      model_.set_part(name, said == said_.end() ? value : said->second);
    };
    set_part("pools", total == 0 ? JsonArray{} : JsonArray{std::move(pool)});
    set_part("attention", std::move(failed));
    set_part("contact", JsonObject{{"ok", true}, {"listed", true}});
    set_part("frozen", nullptr);
    set_part("matrices", total == 0 ? JsonArray{} : JsonArray{matrix()});
    set_part("rollouts", total == 0 ? JsonArray{} : JsonArray{rollout()});
  }
  static Json matrix() {
    using rollout::Slot;
    rollout::MatrixReport report;
    report.repository = "https://git.example/gpu-versions";
    report.branch = "main";
    report.path = "gpu-version-matrix.yaml";
    report.commit = "5f2b8c0d9e1a7b34";
    report.matrix.current = {{"driver", "580.105.08"}, {"cuda", "12.9"}, {"status", "production"}};
    report.matrix.canary = {{"driver", "580.126.20"}, {"status", "testing"}};
    const Time tried = Time::from_unix(1'800'000'000);
    report.entries = {
        {report.commit,
         "Ada",
         tried,
         "Try driver 580.126.20\n\nEvidence:\n- release notes of 12 November",
         {},
         {{Slot::canary, "driver", "", "580.126.20"}, {Slot::canary, "status", "", "testing"}}},
        {"b77aa01c44d2f0e5",
         "Lockstep",
         tried - hours(200),
         "Revert \"Try driver 580.119.02\"",
         {"91c3d5a2b8e60f47"},
         {{Slot::canary, "driver", "580.119.02", ""}}}};
    Json card = matrix_card(report);
    card.as_object()["rollouts"] = JsonArray{"weekly"};
    card.as_object()["readable"] = true;
    return card;
  }
  Json rollout() const {
    rollout::RolloutSpec spec;
    rollout::RolloutStatus status;
    for (const char* name : {"canary", "tenth", "rest"}) {
      rollout::WaveSpec wave;
      wave.name = name;
      wave.needs_approval = spec.waves.empty();
      wave.bake = rollout::BakeSpec{};
      wave.bake->min_gpu_hours = 100;
      spec.waves.push_back(wave);
      rollout::WaveStatus seen;
      seen.name = name;
      status.waves.push_back(seen);
    }
    status.phase = rollout::Phase::awaiting_approval;
    status.phase_since = Time::from_unix(1'800'000'000);
    status.open_waves = 1;
    status.from.version = "580.105.08";
    status.to.version = "580.126.20";
    status.message = "wave canary waits for a person's approval";
    status.reason = fleet::Reason::awaiting_approval;
    rollout::WaveStatus& canary = status.waves[0];
    canary.nodes = canary.done = 2;
    canary.opened = canary.bake_began = status.phase_since;
    canary.gates = {{"training", rollout::Outcome::passed, "loss within 1e-3 on 16 GPUs", false}};
    canary.bake = "no more events than on nodes that wait";
    canary.detectable = "would have found a rate 14 times as high";
    canary.approved_by = approved_by_;
    rollout::BakeVerdict verdict;
    verdict.outcome = rollout::BakeOutcome::passed;
    verdict.gpu_hours = 120;
    verdict.min_gpu_hours = 100;
    verdict.passed = hours(48);
    verdict.evidence = 0.8;
    return rollout_card(operate::report_rollout("weekly", spec, status, {verdict}));
  }

  void tick() {
    loop.after(seconds(1), [this] { tick(); });
    model_.sample(loop.now());
    show();
    dashboard_->publish();
  }
  void go_on() {
    if (rate_ == 0) return;
    loop.after(Duration(seconds(1)) / rate_, [this] { go_on(); });
    step(1);
    dashboard_->publish();
  }

  void read() {
    std::array<char, 65536> buffer{};
    ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size <= 0) return loop.stop();
    input_.append(buffer.data(), static_cast<size_t>(size));
    for (size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      obey(line);
    }
  }
  void obey(const std::string& line) {
    size_t space = line.find(' ');
    std::string word = line.substr(0, space);
    std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "quit") return loop.stop();
    if (word == "usage") {
      fmt::print("{:.3f}\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
      std::fflush(stdout);
      return;
    }
    if (word == "step") step(parse_integer(rest).value_or(1));
    if (word == "rate") {
      bool stood = rate_ == 0;
      rate_ = parse_integer(rest).value_or(0);
      if (stood) go_on();
    }
    if (word == "fail") fail_node(rest);
    if (word == "add")
      add(rest, static_cast<int64_t>(model_.size()), static_cast<int64_t>(model_.size()) + 1);
    if (word == "remove") {
      if (const NodeRow* row = model_.find(rest)) --counts_[row->state];
      model_.remove(rest, loop.now());
    }
    if (word == "part") {
      size_t at = rest.find(' ');
      auto json = parse_json(rest.substr(at + 1));
      if (json) said_[rest.substr(0, at)] = *json;
    }
    if (word != "rate") show();
    dashboard_->publish();
  }

  SeededRandom random_{7};
  FleetModel model_;
  std::map<State, int64_t> counts_;
  std::map<std::string, Json, std::less<>> said_;  // parts that a test has set
  std::string paused_;
  std::string approved_by_;
  int64_t rate_ = 0;
  std::string input_;
  std::unique_ptr<Dashboard> dashboard_;
};

}  // namespace
}  // namespace lockstep::dashboard

int main(int argc, char** argv) {
  auto nodes = argc > 1 ? lockstep::parse_integer(argv[1]) : std::nullopt;
  if (!nodes) {
    fmt::print(stderr, "usage: page_fixture NODES [PORT]\n");
    return 2;
  }
  auto log = lockstep::make_stderr_log(lockstep::LogLevel::warning);
  lockstep::dashboard::Fixture fixture(*nodes, argc > 2 ? argv[2] : "0", *log);
  fixture.loop.run();
  return 0;
}
