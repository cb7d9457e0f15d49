// Where faults come from: chance or a script.
#include <algorithm>
#include <utility>

#include "kube/fault_api.h"

namespace lockstep::kube {
namespace {

bool is_write(const Request& request) {
  return request.verb != Verb::get && request.verb != Verb::list;
}

bool is_change(const Request& request) {
  return request.verb == Verb::update || request.verb == Verb::patch;
}

// The first rule that matches, used up by one.
template <typename Rules, typename Asked>
auto take_plan(Rules& rules, const Asked& asked) -> std::optional<decltype(rules.front().plan)> {
  auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const auto& each) { return each.match(asked); });
  if (rule == rules.end()) return std::nullopt;
  auto plan = rule->plan;
  if (--rule->times == 0) rules.erase(rule);
  return plan;
}

}  // namespace

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "none";
    case Fault::request_lost:
      return "request lost";
    case Fault::request_late:
      return "request late";
    case Fault::reply_lost:
      return "reply lost";
    case Fault::conflict:
      return "conflict";
    case Fault::expired:
      return "expired";
    case Fault::throttled:
      return "throttled";
    case Fault::server_error:
      return "server error";
    case Fault::list_cut:
      return "list cut";
    case Fault::stale:
      return "stale";
    case Fault::away:
      return "away";
    case Fault::watch_dropped:
      return "watch dropped";
    case Fault::watch_expired:
      return "watch expired";
    case Fault::watch_silent:
      return "watch silent";
  }
  return "unknown";
}

FaultWeights FaultWeights::everything(double strength) {
  FaultWeights weights;
  weights.request_lost = 0.1 * strength;
  weights.request_late = 0.03 * strength;
  weights.reply_lost = 0.1 * strength;
  weights.conflict = 0.1 * strength;
  weights.expired = 0.1 * strength;
  weights.throttled = 0.1 * strength;
  weights.server_error = 0.1 * strength;
  weights.watch_refused = 0.2 * strength;
  weights.watch_dropped = 0.3 * strength;
  weights.watch_expired = 0.2 * strength;
  weights.watch_silent = 0.2 * strength;
  weights.latency = milliseconds(500);
  weights.watch_lag = seconds(3);
  return weights;
}

Duration FaultWeights::watch_lag_for(const ResourceType& type) const {
  if (watch_lag_of.empty()) return watch_lag;
  auto found = watch_lag_of.find(type.full_name());
  return found == watch_lag_of.end() ? watch_lag : found->second;
}

Duration RandomFaults::up_to(Duration most) {
  return Duration(static_cast<int64_t>(random_.below(static_cast<uint64_t>(most.count()) + 1)));
}

CallPlan RandomFaults::plan_call(const Request& request) {
  CallPlan plan;
  plan.request_delay = up_to(weights.latency);
  plan.reply_delay = up_to(weights.latency);
  // Each is drawn whatever came before, so that changing one weight does not shift all later draws.
  auto draw = [&](double probability, Fault fault, bool possible) {
    if (chance(probability) && possible && plan.fault == Fault::none) plan.fault = fault;
  };
  draw(weights.request_lost, Fault::request_lost, true);
  draw(weights.request_late, Fault::request_late, is_write(request));
  draw(weights.reply_lost, Fault::reply_lost, true);
  draw(weights.conflict, Fault::conflict, is_change(request));
  draw(weights.expired, Fault::expired, request.verb == Verb::list);
  draw(weights.throttled, Fault::throttled, true);
  draw(weights.server_error, Fault::server_error, true);
  bool says_when = plan.fault == Fault::throttled ? chance(0.8) : chance(0.2);
  Duration when = seconds(static_cast<int64_t>(in_seconds(up_to(weights.retry_after))) + 1);
  if (says_when) plan.retry_after = when;
  plan_read(request, plan);
  return plan;
}

// These are drawn only where they are wished for: runs without them stay what they were.
void RandomFaults::plan_read(const Request& request, CallPlan& plan) {
  if (is_write(request)) return;
  plan.page_size = weights.page_size;
  if (request.find_query("continue") != nullptr) {
    bool cut = weights.list_cut > 0 && chance(weights.list_cut);
    if (cut && plan.fault == Fault::none) plan.fault = Fault::list_cut;
    return;
  }
  bool newest = request.find_query("resourceVersion") == nullptr;
  double probability = newest ? weights.stale_reads : weights.stale_replica;
  if (probability > 0 && chance(probability)) plan.stale = up_to(weights.replica_lag);
}

WatchPlan RandomFaults::plan_watch(const WatchRequest&) {
  static constexpr Fault refusals[] = {Fault::expired, Fault::throttled, Fault::server_error,
                                       Fault::request_lost};
  WatchPlan plan;
  Fault refusal = refusals[random_.below(4)];
  if (chance(weights.watch_refused)) plan.begin = refusal;
  Duration life = up_to(weights.watch_life);
  if (chance(weights.watch_dropped)) plan.drop_after = life;
  life = up_to(weights.watch_life);
  if (chance(weights.watch_expired)) plan.expire_after = life;
  life = up_to(weights.watch_life);
  if (chance(weights.watch_silent)) plan.silent_after = life;
  if (weights.stale_replica > 0 && chance(weights.stale_replica)) {
    plan.lag = up_to(weights.replica_lag);
  }
  return plan;
}

Duration RandomFaults::event_delay(const WatchRequest& request) {
  return up_to(weights.watch_lag_for(request.type));
}

void ScriptedFaults::on_call(CallMatch match, CallPlan plan, size_t times) {
  calls_.push_back({std::move(match), plan, times});
}

void ScriptedFaults::on_watch(WatchMatch match, WatchPlan plan, size_t times) {
  watches_.push_back({std::move(match), plan, times});
}

ScriptedFaults::CallMatch ScriptedFaults::calls(Verb verb, const ResourceType& type) {
  return
      [verb, type](const Request& request) { return request.verb == verb && request.type == type; };
}

CallPlan ScriptedFaults::plan_call(const Request& request) {
  if (auto plan = take_plan(calls_, request)) return *plan;
  return otherwise_ == nullptr ? CallPlan{} : otherwise_->plan_call(request);
}

WatchPlan ScriptedFaults::plan_watch(const WatchRequest& request) {
  if (auto plan = take_plan(watches_, request)) return *plan;
  return otherwise_ == nullptr ? WatchPlan{} : otherwise_->plan_watch(request);
}

Duration ScriptedFaults::event_delay(const WatchRequest& request) {
  return otherwise_ == nullptr ? Duration::zero() : otherwise_->event_delay(request);
}

}  // namespace lockstep::kube
