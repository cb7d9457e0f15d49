#include "controller/failure_controller.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "http/prometheus.h"
#include "kube/typed.h"

namespace lockstep::controller {

namespace {

using fleet::Reason;
using upgrade::Healing;
using upgrade::HeldPod;

constexpr std::string_view node_prefix = "node ";
constexpr std::string_view pod_prefix = "pod ";

kube::EventRecorderOptions event_options(const FailureOptions& options) {
  kube::EventRecorderOptions events;
  events.component = "lockstep";
  events.instance = options.instance;
  return events;
}

kube::ReflectorOptions events_of_failed_prepares() {
  kube::ReflectorOptions options;
  constexpr auto reason = Reason::failed_prepare_dynamic_resources;
  options.query = {{"fieldSelector", fmt::format("reason={}", to_string(reason))}};
  return options;
}

std::vector<kube::Cache<Event>::Index> by_pod() {
  return {{"pod", [](const Event& event, std::vector<Text>& values) {
             if (event.about.kind != "Pod") return;
             values.push_back(Text(ObjectKey{event.about.ns.str(), event.about.name.str()}.text()));
           }}};
}

Time time_of(const Event& event) { return std::max({event.last, event.at, event.first}); }

ObjectReference reference_to(const Pod& pod) {
  return {"v1", "Pod", pod.meta.ns, pod.meta.name, pod.meta.uid, "", ""};
}

}  // namespace

FailureController::FailureController(kube::Api& api, Loop& loop, Random& random, Log& log,
                                     view::FleetWatch& watch, FailureOptions options)
    : api_(api),
      loop_(loop),
      log_(log),
      watch_(watch),
      options_(std::move(options)),
      events_watch_(api, loop, random, log, watch.context(), events_of_failed_prepares(), by_pod()),
      events_(api, loop, random, log, event_options(options_)),
      queue_(loop, random, {}, [this](const std::string& key) { work(key); }) {
  events_watch_.cache.on_change([this](const auto& change) {
    const Event& event = change.object();
    if (change.after && event.about.kind == "Pod") {
      look_at({event.about.ns.str(), event.about.name.str()});
    }
  });
  watch_.on_pod(scope_.bind([this](const kube::Cache<Pod>::Change& change) {
    if (!change.after) return;
    // Of all the pods of a cluster only those of which there is such an event.
    ObjectKey key = change.after->meta.key();
    if (events_watch_.cache.count("pod", key.text()) > 0) look_at(key);
  }));
  watch_.on_node(scope_.bind([this](const std::string& node) {
    if (reasons_.contains(node)) queue_.add(std::string(node_prefix) + node);
  }));
}

void FailureController::lead() {
  if (leading_) return;
  leading_ = true;
  look_at_all();
}

void FailureController::look_at_all() {
  events_watch_.cache.for_each_value("pod",
                                     [this](const auto& pod) { look_at(ObjectKey::parse(pod)); });
}

void FailureController::look_at(const ObjectKey& pod) {
  queue_.add(std::string(pod_prefix) + pod.text());
}

void FailureController::work(const std::string& key) {
  std::string_view text = key;
  if (!leading_) return queue_.done(key);
  // The upgrade's own rules need all of the fleet; so do ours.
  if (!watch_.synced()) {
    queue_.add_after(key, seconds(1));
    return queue_.done(key);
  }
  if (text.starts_with(node_prefix)) {
    work_on_node(key, std::string(text.substr(node_prefix.size())));
  } else {
    work_on_pod(key, ObjectKey::parse(text.substr(pod_prefix.size())));
  }
}

bool FailureController::has_gpu_claim(const Pod& pod) const {
  const auto& drivers = watch_.options().gpu_pods.dra_drivers;
  auto is_of_gpu = [&](const ResourceClaim::Device& device) {
    return std::find(drivers.begin(), drivers.end(), device.driver.view()) != drivers.end();
  };
  const PodClaims used = claims_of(pod);
  return std::any_of(used.names.begin(), used.names.end(), [&](const Text& name) {
    const auto claim = watch_.caches().claims().find(kube::KeyView(pod.meta.ns, name));
    return claim != nullptr && claim->is_reserved_for(pod.meta.uid) &&
           std::any_of(claim->devices.begin(), claim->devices.end(), is_of_gpu);
  });
}

std::optional<HeldPod> FailureController::newest_event(const fleet::PodPtr& pod) const {
  std::optional<HeldPod> newest;
  events_watch_.cache.for_each("pod", pod->meta.key().text(), [&](const auto& event) {
    // The API server asks both namespaces to be the same; so does this.
    if (event->about.uid != pod->meta.uid || event->meta.ns != pod->meta.ns) return;
    Time at = time_of(*event);
    if (!newest || at > newest->last) newest = HeldPod{pod, event->message.str(), at};
  });
  if (newest) newest->has_gpu_claim = has_gpu_claim(*pod);
  return newest;
}

std::vector<HeldPod> FailureController::held_on(const std::string& node) const {
  std::vector<HeldPod> held;
  watch_.caches().pods().for_each("node", node, [&](const auto& pod) {
    if (!upgrade::is_held(*pod)) return;
    if (auto newest = newest_event(pod)) held.push_back(std::move(*newest));
  });
  return held;
}

void FailureController::work_on_pod(const std::string& key, const ObjectKey& pod_key) {
  fleet::PodPtr pod = watch_.caches().pods().find(pod_key);
  auto held = pod ? newest_event(pod) : std::nullopt;
  if (!held) return queue_.done(key);
  if (!pod->node_name.empty()) queue_.add(std::string(node_prefix) + pod->node_name.str());
  auto verdict = upgrade::judge_bad_config(*held, options_.on_bad_config, loop_.now(),
                                           options_.bad_config_words);
  if (!verdict) return queue_.done(key);
  write_verdict(key, pod, *verdict);
}

void FailureController::write_verdict(const std::string& key, const fleet::PodPtr& pod,
                                      const upgrade::PodVerdict& verdict) {
  Json body = JsonObject{{"metadata", JsonObject{{"uid", pod->meta.uid.view()}}},
                         {"status", verdict.status}};
  kube::Request request =
      kube::patch(resource::pods, pod->meta.key(), kube::PatchType::strategic, std::move(body));
  request.subresource = "status";
  api_.call(std::move(request), scope_.bind([this, key, pod, verdict](kube::Reply reply) {
    if (take(key, reply, "a pod's status could not be written")) {
      watch_.expect_pod(pod->meta.key(), kube::peek_body_version(reply->body));
      if (!verdict.clears) {
        ++counts_.bad_configs;
        if (verdict.fails) ++counts_.pods_failed;
        events_.record(reference_to(*pod), kube::EventType::warning,
                       to_string(Reason::prepare_failed_permanently),
                       fmt::format("{}; {}", verdict.reason.text, verdict.reason.remedy));
      }
      log_.info("prepare", {{"pod", pod->meta.key().text()},
                            {"reason", verdict.reason.name.str()},
                            {"because", verdict.reason.text}});
    }
    queue_.done(key);
  }));
}

void FailureController::work_on_node(const std::string& key, const std::string& name) {
  auto view = watch_.view(name);
  std::vector<HeldPod> held = held_on(name);
  if (!view || held.empty() || !watch_.is_current(name)) {
    if (!view || held.empty()) reasons_.erase(name);
    if (view && !held.empty()) queue_.add_after(key, seconds(1));
    return queue_.done(key);
  }
  Reason before = std::exchange(reasons_[name], {});
  for (const fleet::ClientView& plugin : watch_.clients_on(*view)) {
    Healing healing =
        upgrade::decide_healing(*view, plugin, held, watch_.rules().keys, loop_.now());
    if (healing.again) queue_.add_after(key, *healing.again);
    bool is_news = healing.reason.name != before.name;
    // Of several plugins the first that is waited for.
    if (reasons_[name].name.empty()) reasons_[name] = healing.reason;
    if (healing.step == Healing::Step::note) return write_note(key, *view, healing);
    if (healing.step == Healing::Step::restart) {
      return restart_plugin(key, *view, *plugin.pod, healing);
    }
    if (is_news && healing.step == Healing::Step::none && !healing.reason.name.empty()) {
      events_.record(node_reference(view->node->meta.name), kube::EventType::warning,
                     to_string(Reason::plugin_stays_stale),
                     fmt::format("{}; {}", healing.reason.text, healing.reason.remedy));
    }
  }
  if (reasons_[name].name.empty()) reasons_.erase(name);
  queue_.done(key);
}

void FailureController::write_note(const std::string& key, const fleet::NodeView& view,
                                   const Healing& healing) {
  upgrade::NodePatch patch;
  patch.resource_version = view.node->meta.resource_version.str();
  patch.annotations.emplace_back(upgrade::healing_annotation, healing.annotation);
  api_.call(
      kube::patch(resource::nodes, view.node->meta.key(), kube::PatchType::merge, patch.body()),
      scope_.bind([this, key, node = view.node](kube::Reply reply) {
        if (take(key, reply, "a node could not be written")) {
          watch_.expect_node(node->meta.name.str(), kube::peek_body_version(reply->body));
          // The second half of it.
          queue_.add_after(key, milliseconds(100));
        }
        queue_.done(key);
      }));
}

void FailureController::restart_plugin(const std::string& key, const fleet::NodeView& view,
                                       const Pod& plugin, const Healing& healing) {
  JsonObject options{{"apiVersion", "v1"},
                     {"kind", "DeleteOptions"},
                     {"preconditions", JsonObject{{"uid", plugin.meta.uid.view()}}}};
  api_.call(kube::remove(resource::pods, plugin.meta.key(), std::move(options)),
            scope_.bind([this, key, node = view.node, pod = plugin.meta.key(),
                         uid = plugin.meta.uid, healing](kube::Reply reply) {
              if (take(key, reply, "a stale plugin could not be restarted")) {
                watch_.expect_pod_gone(pod, uid);
                ++counts_.plugins_restarted;
                events_.record(node_reference(node->meta.name), kube::EventType::normal,
                               to_string(Reason::stale_plugin_restarted),
                               healing.reason.text + "; restarted");
                log_.info("plugin restarted",
                          {{"node", node->meta.name.str()}, {"because", healing.reason.text}});
              }
              queue_.done(key);
            }));
}

std::string FailureController::metrics() const {
  http::PrometheusText out;
  auto count = [&](std::string_view name, std::string_view help, uint64_t value) {
    out.counter(name, help).sample(value);
  };
  count("lockstep_stale_plugins_restarted_total",
        "DRA plugins that were restarted because they had the previous driver open.",
        counts_.plugins_restarted);
  count("lockstep_bad_configs_total",
        "Pods on which an invalid configuration of their claim was reported.", counts_.bad_configs);
  count("lockstep_bad_config_pods_failed_total",
        "Pods with an invalid claim configuration that were ended (--on-bad-config).",
        counts_.pods_failed);
  count("lockstep_failure_controller_errors_total",
        "Writes of the failure controller that failed and are retried.", counts_.errors);
  out.gauge("lockstep_stale_plugins", "Nodes whose DRA plugin is stale, by the action taken.");
  std::map<fleet::ReasonName, int> by_reason;
  for (const auto& [node, reason] : reasons_) ++by_reason[reason.name];
  for (const auto& [reason, nodes] : by_reason) out.sample(nodes, {{"reason", reason.str()}});
  return out.text();
}

bool FailureController::take(const std::string& key, const kube::Reply& reply,
                             std::string_view what) {
  if (reply && reply->ok()) {
    queue_.forget(key);
    return true;
  }
  // Changed or deleted meanwhile: the watch reports it. If it does not, the pod is requeued anyway.
  if (reply && (reply->code == 409 || reply->code == 404)) {
    queue_.add_after(key, seconds(5));
    return false;
  }
  ++counts_.errors;
  Error error = reply ? reply->error() : reply.error();
  log_.warning(std::string(what), {{"key", key}, {"error", error.text()}});
  queue_.retry(key);
  return false;
}

}  // namespace lockstep::controller
