#include "gpu/gate.h"

#include <algorithm>
#include <chrono>
#include <poll.h>

#include "base/strings.h"
#include "gpu/host_facts.h"
#include "gpu/judge.h"
#include "gpu/rdma.h"
#include "gpu/worker_process.h"
#include "gpu/xid.h"

namespace lockstep::gpu {

namespace {

const std::vector<std::string> cuda_checks = {"training", "inference", "pcie", "memory"};

Duration uptime() { return std::chrono::steady_clock::now().time_since_epoch(); }

// A worker, its task and its state.
struct Job {
  WorkerProcess process;
  Role role;
  std::string owner;                // whose failures are its own: a GPU's UUID, or "" for the node
  std::vector<std::string> checks;  // that it has not finished
  std::string call;                 // that it is in
  std::string doing;
  bool over = false;
};

Json& at_path(Json& facts, const JsonArray& path) {
  Json* place = &facts;
  for (const Json& step : path) {
    if (!place->is_object()) *place = JsonObject();
    place = &place->as_object()[as_text(&step)];
  }
  return *place;
}

class Gate {
 public:
  Gate(const GateOptions& options, std::vector<std::string> checks)
      : options_(options), checks_(std::move(checks)), log_(options.root), begin_(uptime()) {}

  Result<void> run();
  Json take_facts() { return std::move(facts_); }
  bool over_budget() const { return over_budget_; }
  double elapsed() const { return in_seconds(uptime() - begin_); }

 private:
  bool wants(std::string_view check) const {
    return std::find(checks_.begin(), checks_.end(), check) != checks_.end();
  }
  Result<void> start(Role role, std::string owner, std::vector<std::string> checks,
                     std::vector<std::string> gpus);
  Result<void> on_listed();
  Result<void> begin_what_can_begin();
  void wait();
  void take_line(Job& job, std::string_view line);
  void watch_deadlines();
  void give_up(Job& job, const std::string& why, bool unfinished);
  void end_of(Job& job);
  void show_progress();
  bool busy(Role role) const;
  void close_facts();

  const GateOptions& options_;
  std::vector<std::string> checks_;
  KernelLog log_;
  Duration begin_;
  Json facts_ = JsonObject();
  std::vector<Job> jobs_;
  std::vector<std::string> selected_;
  bool listed_ = false;
  bool peers_begun_ = false;
  bool stopping_ = false;
  bool over_budget_ = false;
};

Result<void> Gate::start(Role role, std::string owner, std::vector<std::string> checks,
                         std::vector<std::string> gpus) {
  WorkerOrders orders{role, checks, gpus, options_.places, options_.measure};
  orders.measure.budget_seconds = in_seconds(options_.budget);
  WorkerCommand command;
  command.words = options_.worker;
  command.orders = orders_text(orders);
  // A process that sees one GPU opens CUDA faster, and cannot disturb the others. The order is
  // NVML's.
  if (role != Role::nvml) {
    command.environment = {"CUDA_VISIBLE_DEVICES=" + join(gpus, ","),
                           "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
  }
  LOCKSTEP_TRY(WorkerProcess process, WorkerProcess::start(command, uptime()));
  jobs_.push_back(
      Job{std::move(process), role, std::move(owner), std::move(checks), {}, {}, false});
  return {};
}

Result<void> Gate::on_listed() {
  listed_ = true;
  // A copy: what is added to the facts moves what they hold.
  const JsonObject all = find(facts_, "all_gpus")->as_object();
  std::vector<int> minors;
  for (const auto& [uuid, identity] : all) {
    if (const Json* minor = find(identity, "minor"))
      minors.push_back(static_cast<int>(as_integer(minor)));
    if (options_.gpus.empty()) selected_.emplace_back(uuid);
  }
  for (const std::string& uuid : options_.gpus) {
    if (all.find(uuid) == all.end()) {
      std::vector<std::string> there;
      for (const auto& member : all) there.emplace_back(member.key());
      return fail(ErrorKind::invalid,
                  fmt::format("there is no GPU {}; there are {}", uuid, join(there, ", ")),
                  "--gpus");
    }
    selected_.push_back(uuid);
  }
  facts_.as_object()["host"] = host_facts(options_.root, minors);
  JsonObject& gpus = ensure_object(facts_.as_object(), "gpus");
  std::vector<std::string> checks;
  for (const std::string& check : cuda_checks) {
    if (wants(check)) checks.push_back(check);
  }
  for (const std::string& uuid : selected_) {
    const Json identity = *all.if_contains(uuid);
    ensure_object(gpus, uuid)["identity"] = identity;
    if (checks.empty() || as_bool(find(identity, "lost"))) continue;
    if (as_bool(find(identity, "mig"))) {
      for (const std::string& check : checks)
        at_path(facts_, {"troubles", uuid, check}) =
            JsonObject{{"failed", false},
                       {"unfinished", true},
                       {"text", "MIG is on: the GPU cannot be used as a whole"}};
      continue;
    }
    LOCKSTEP_CHECK(start(Role::cuda, uuid, checks, {uuid}));
  }
  return {};
}

bool Gate::busy(Role role) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const Job& job) { return job.role == role && !job.over; });
}

Result<void> Gate::begin_what_can_begin() {
  if (!listed_ && as_bool(find(facts_, "listed"))) LOCKSTEP_CHECK(on_listed());
  if (!listed_ || busy(Role::cuda)) return {};
  // Copies between GPUs are measured when nothing else runs.
  if (wants("peer") && selected_.size() > 1 && !peers_begun_) {
    peers_begun_ = true;
    return start(Role::peer, "", {"peer"}, selected_);
  }
  if (!busy(Role::peer) && !stopping_) {
    stopping_ = true;
    for (Job& job : jobs_) job.process.close_input();
  }
  return {};
}

void Gate::take_line(Job& job, std::string_view line) {
  auto message = parse_json(line);
  // Whatever a library prints to our pipe is not ours.
  if (!message || !message->is_object()) return;
  if (const Json* call = find(*message, "call")) job.call = as_text(call);
  if (const Json* doing = find(*message, "doing")) job.doing = as_text(doing);
  if (const Json* path = find(*message, "fact"); path != nullptr && path->is_array()) {
    if (const Json* value = find(*message, "value")) at_path(facts_, path->as_array()) = *value;
  }
  if (const Json* check = find(*message, "trouble")) {
    at_path(facts_, {"troubles", job.owner, as_text(check)}) = JsonObject{
        {"failed", as_bool(find(*message, "failed"))}, {"text", text_at(*message, "text")}};
    std::erase(job.checks, as_text(check));
  }
  if (const Json* check = find(*message, "finished")) {
    if (const Json* seconds = find(*message, "seconds"))
      at_path(facts_, {"seconds", job.owner, as_text(check)}) = *seconds;
    std::erase(job.checks, as_text(check));
  }
}

void Gate::give_up(Job& job, const std::string& why, bool unfinished) {
  job.process.kill();
  job.over = true;
  for (const std::string& check : job.checks) {
    at_path(facts_, {"troubles", job.owner, check}) =
        JsonObject{{"failed", false}, {"unfinished", unfinished}, {"text", why}};
  }
  job.checks.clear();
}

void Gate::end_of(Job& job) {
  job.over = true;
  if (job.process.ended_well() && job.role == Role::nvml) job.checks.clear();
  if (!job.checks.empty()) {
    give_up(job,
            fmt::format("the worker ended with {} in {}", job.process.end_text(),
                        job.call.empty() ? "its start" : job.call),
            false);
  }
}

void Gate::wait() {
  std::vector<pollfd> descriptors;
  for (const Job& job : jobs_) descriptors.push_back({job.process.output(), POLLIN, 0});
  constexpr int look_again = 20;
  poll(descriptors.data(), descriptors.size(), look_again);
  for (Job& job : jobs_) {
    if (job.over) continue;
    job.process.read_lines(uptime(), [&](std::string_view line) { take_line(job, line); });
    if (job.process.ended()) end_of(job);
  }
}

void Gate::watch_deadlines() {
  const Duration now = uptime();
  over_budget_ = over_budget_ || now - begin_ > options_.budget;
  for (Job& job : jobs_) {
    if (job.over) continue;
    const Duration silent = now - job.process.last_heard();
    if (silent > options_.call_deadline) {
      give_up(job,
              fmt::format("hung in {}: no answer for {}", job.call.empty() ? "its start" : job.call,
                          format_duration(options_.call_deadline)),
              false);
    } else if (over_budget_) {
      give_up(job,
              fmt::format("the budget of {} was over in {}", format_duration(options_.budget),
                          job.call.empty() ? "its start" : job.call),
              true);
    }
  }
}

void Gate::show_progress() {
  std::vector<std::string> parts;
  size_t number = 0;
  for (const Job& job : jobs_) {
    if (job.role == Role::cuda) {
      if (!job.over)
        parts.push_back(
            fmt::format("GPU {} {}", number, job.doing.empty() ? "opening" : job.doing));
      ++number;
    } else if (!job.over && (job.role == Role::peer || jobs_.size() == 1)) {
      parts.push_back(job.role == Role::peer ? "peer copies" : "driver");
    }
  }
  options_.progress(join(parts, ", "));
}

// What the gate itself reads, once everything has run.
void Gate::close_facts() {
  JsonObject& facts = facts_.as_object();
  if (facts.find("host") == facts.end()) facts["host"] = host_facts(options_.root, {});
  if (wants("rdma")) ensure_object(facts, "rdma")["after"] = rdma_ports(options_.root);
  if (!wants("xid")) return;
  JsonArray sources;
  JsonArray xids;
  if (const Json* events = facts.if_contains("nvml_xids")) xids = events->as_array();
  if (as_bool(facts.if_contains("nvml_events"))) sources.emplace_back("NVML events");
  if (log_.readable()) {
    sources.emplace_back("kernel log");
    for (const Xid& xid : log_.read())
      xids.emplace_back(JsonObject{{"code", xid.code}, {"pci", xid.pci}, {"line", xid.line}});
  }
  facts["xids"] = std::move(xids);
  facts["xid_sources"] = std::move(sources);
}

Result<void> Gate::run() {
  if (wants("rdma"))
    ensure_object(facts_.as_object(), "rdma")["before"] = rdma_ports(options_.root);
  std::vector<std::string> watched;
  for (const char* check : {"ecc", "nvlink", "throttle", "xid", "driver"}) {
    // The driver always: what happens to its list of GPUs affects every check.
    if (wants(check) || check == std::string_view("driver")) watched.emplace_back(check);
  }
  LOCKSTEP_CHECK(start(Role::nvml, "", watched, options_.gpus));
  while (std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return !job.over; })) {
    wait();
    watch_deadlines();
    LOCKSTEP_CHECK(begin_what_can_begin());
    show_progress();
  }
  close_facts();
  return {};
}

// NVML did not even list the GPUs: what was to be done with them is not possible.
void blame_the_start(Json& facts, const std::vector<std::string>& checks, const JsonObject& why) {
  for (const std::string& check : checks) {
    if (check == "driver" || check == "rdma") continue;
    Json& trouble = at_path(facts, {"troubles", "", check});
    if (trouble.is_null()) trouble = why;
  }
}

}  // namespace

Result<GateOutcome> run_gate(const GateOptions& options) {
  LOCKSTEP_TRY(std::vector<std::string> checks, chosen_checks(options.checks));
  LOCKSTEP_TRY(GpuModels models, GpuModels::embedded());
  LOCKSTEP_TRY(XidClasses xids, XidClasses::embedded());
  Gate gate(options, checks);
  LOCKSTEP_CHECK(gate.run());
  GateOutcome outcome;
  outcome.over_budget = gate.over_budget();
  outcome.facts = gate.take_facts();
  if (const Json* start = find(outcome.facts, "start")) {
    if (text_at(outcome.facts, "start_kind") == to_string(ErrorKind::not_found))
      return fail(ErrorKind::not_found, std::string(as_text(start)));
    blame_the_start(outcome.facts, checks,
                    {{"failed", false}, {"text", fmt::format("not possible: {}", as_text(start))}});
  } else if (!as_bool(find(outcome.facts, "listed"))) {
    const Json* trouble = find(outcome.facts, "troubles", "", "driver");
    const JsonObject unknown{{"failed", false}, {"text", "the GPUs were not listed"}};
    // A copy: the document that contains it changes.
    blame_the_start(outcome.facts, checks,
                    trouble == nullptr ? unknown : JsonObject(trouble->as_object()));
  }
  JudgeInput input{outcome.facts,
                   options.baseline ? &*options.baseline : nullptr,
                   models,
                   xids,
                   options.expect_driver,
                   checks,
                   !options.checks.empty()};
  outcome.results = judge(input);
  outcome.seconds = gate.elapsed();
  return outcome;
}

Verdict overall(const GateOutcome& outcome) {
  Verdict worst = Verdict::passed;
  for (const CheckResult& result : outcome.results) {
    if (result.verdict != Verdict::skipped) worst = worse(worst, result.verdict);
  }
  return worst;
}

int exit_code_of(const GateOutcome& outcome) {
  const Verdict verdict = overall(outcome);
  if (verdict == Verdict::failed) return 1;
  if (outcome.over_budget) return 5;
  return verdict == Verdict::passed ? 0 : 1;
}

}  // namespace lockstep::gpu
