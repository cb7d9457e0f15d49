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
  return plan;
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
  return plan;
}

Duration RandomFaults::event_delay(const WatchRequest&) { return up_to(weights.watch_lag); }

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
