#include "node/driver_manager.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/typed.h"
#include "upgrade/pod_names.h"

namespace lockstep::node {

namespace {

// Changes come in bursts: one pass for all of a moment.
constexpr Duration moment = milliseconds(200);
// For the case that no news come.
constexpr Duration heartbeat = seconds(30);
constexpr Duration after_failed_unload = seconds(1);
constexpr Duration first_refusal_pause = seconds(1);
constexpr Duration longest_refusal_pause = seconds(30);
// The kubelet's usual grace period is half a minute.
constexpr Duration closing_limit = seconds(25);
constexpr std::string_view event_reason = "GPUDriverManager";

kube::ReflectorOptions watch_of(const ResourceType& type, const std::string& field,
                                const std::string& node) {
  kube::ReflectorOptions options;
  options.type = type;
  options.query = {{"fieldSelector", field + "=" + node}};
  options.backoff.maximum = seconds(10);
  return options;
}

kube::EventRecorderOptions event_options(const ManagerSettings& settings) {
  kube::EventRecorderOptions options;
  options.component = "lockstep-driver-manager";
  options.instance = settings.node;
  return options;
}

bool is_refusal(ErrorKind kind) {
  return kind == ErrorKind::forbidden || kind == ErrorKind::unauthorized;
}

kube::Request removal_request(const upgrade::PodRemoval& removal) {
  const Pod& pod = *removal.pod;
  // By its uid: a namesake that has come meanwhile is another.
  JsonObject options{{"preconditions", JsonObject{{"uid", pod.meta.uid.view()}}}};
  if (removal.how != upgrade::Removal::evict) {
    return kube::remove(resource::pods, pod.meta.key(), std::move(options));
  }
  kube::Request request;
  request.verb = kube::Verb::create;
  request.type = resource::pods;
  request.ns = pod.meta.ns.str();
  request.name = pod.meta.name.str();
  request.subresource = "eviction";
  request.body = std::make_shared<const Json>(JsonObject{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", JsonObject{{"name", pod.meta.name.view()}, {"namespace", pod.meta.ns.view()}}},
      {"deleteOptions", std::move(options)}});
  return request;
}

ObjectReference reference_to(const std::string& node) {
  // Events about nodes have the name as uid, as the kubelet's do: kubectl describe uses
  // it.
  return {"v1", "Node", "", Text(node), Text(node), "", ""};
}

}  // namespace

DriverManager::DriverManager(kube::Api& api, Loop& loop, Random& random, Log& log, Host& host,
                             ManagerSettings settings)
    : api_(api),
      loop_(loop),
      log_(log),
      host_(host),
      settings_(std::move(settings)),
      labels_(operand_labels(settings_.plugin_label)),
      reader_(api, settings_.gpu_pods),
      node_watch_(api, loop, random, log, context_,
                  watch_of(resource::nodes, "metadata.name", settings_.node)),
      pod_watch_(api, loop, random, log, context_,
                 watch_of(resource::pods, "spec.nodeName", settings_.node)),
      events_(api, loop, random, log, event_options(settings_)),
      backoff_({milliseconds(500), seconds(10), 2.0, 0.5}, random) {
  node_watch_.cache.on_change([this](const auto&) { look_within(moment); });
  pod_watch_.cache.on_change([this](const auto&) { look_within(moment); });
}

void DriverManager::start() {
  last_read_ = loop_.uptime();
  last_done_ = loop_.uptime();
  auto installed = host_.installed_driver();
  if (!installed) return give_up(installed.error().at("driver of the host"));
  installed_driver_ = *installed;
  node_watch_.reflector.start();
  pod_watch_.reflector.start();
  look();
}

void DriverManager::look_within(Duration delay) {
  if (outcome_ || closing_) return;
  Duration due = loop_.uptime() + delay;
  if (timer_ != 0 && timer_due_ <= due) return;
  loop_.cancel(timer_);
  timer_due_ = due;
  timer_ = loop_.after(delay, scope_.bind([this] {
    timer_ = 0;
    look();
  }));
}

void DriverManager::look() {
  if (outcome_ || closing_) return;
  if (busy_) {
    // What is being read may be from before.
    again_ = true;
    return;
  }
  busy_ = true;
  again_ = false;
  reader_.read(settings_.node, scope_.bind([this](Result<NodeReading> reading) {
    busy_ = false;
    if (closing_) return close();
    on_read(std::move(reading));
  }));
}

void DriverManager::on_read(Result<NodeReading> reading) {
  if (!reading) return on_trouble(reading.error());
  last_read_ = loop_.uptime();
  backoff_.reset();
  auto host = host_.look();
  if (!host) return give_up(host.error().at("looking at the machine"));
  ManagerView view = view_of(std::move(*reading), std::move(*host));
  ManagerDecision decision = decide_manager(view, settings_);
  first_at_.try_emplace(decision.step, loop_.uptime());
  step_ = decision.step;
  say(decision);
  look_within(again_ ? moment : std::min(decision.look_again.value_or(heartbeat), heartbeat));
  carry_out(decision);
}

ManagerView DriverManager::view_of(NodeReading reading, HostView host) const {
  ManagerView view;
  view.node = std::move(reading.node);
  view.pods = std::move(reading.pods);
  view.host = std::move(host);
  view.installed_driver = installed_driver_;
  view.restarted_clients = restarted_clients_;
  view.unload_error = unload_error_;
  Duration now = loop_.uptime();
  view.quiet = now - last_done_;
  for (const auto& [step, since] : first_at_) view.elapsed[step] = now - since;
  for (PodHere& here : view.pods) {
    auto tries = tries_.find(here.pod().meta.uid.str());
    if (tries == tries_.end()) continue;
    here.entry.tries = tries->second;
    here.entry.pause = std::max(tries->second.not_before - now, Duration::zero());
  }
  return view;
}

void DriverManager::carry_out(const ManagerDecision& decision) {
  if (const auto* change = std::get_if<NodePatch>(&decision.action)) return patch(*change);
  if (const auto* pods = std::get_if<upgrade::PodRemovals>(&decision.action)) return remove(*pods);
  if (const auto* modules = std::get_if<UnloadModules>(&decision.action)) return unload(*modules);
  if (const auto* rest = std::get_if<CleanUp>(&decision.action)) return clean_up(*rest);
  if (const auto* error = std::get_if<Error>(&decision.action)) return give_up(*error);
  const auto* end = std::get_if<Finish>(&decision.action);
  if (end == nullptr) return;
  if (!end->installed_on_host) {
    return finish({ManagerOutcome::Kind::ready, decision.says, std::nullopt});
  }
  // Ending well would start the driver container.
  finish({ManagerOutcome::Kind::pre_installed, decision.says,
          Error{ErrorKind::conflict,
                fmt::format("{}, and this driver pod was not deleted within {}", decision.says,
                            format_duration(settings_.installed_wait)),
                ""}});
}

void DriverManager::patch(const NodePatch& patch) {
  busy_ = true;
  api_.call(
      kube::patch(resource::nodes, {"", settings_.node}, kube::PatchType::merge, patch.body()),
      scope_.bind([this](kube::Reply reply) {
        busy_ = false;
        if (closing_) return close();
        auto answer = kube::document_of(std::move(reply));
        // Another client was faster: the next read sees what it did.
        bool changed = !answer && answer.error().kind == ErrorKind::conflict;
        if (!answer && !changed) return on_trouble(answer.error().at("Node " + settings_.node));
        last_done_ = loop_.uptime();
        look_within(changed ? moment : Duration::zero());
      }));
}

void DriverManager::remove(const upgrade::PodRemovals& removals) {
  busy_ = true;
  removals_open_ = removals.size();
  for (const auto& removal : removals) {
    api_.call(removal_request(removal), scope_.bind([this, removal](const kube::Reply& reply) {
      if (!closing_) on_removed(removal, reply);
      if (--removals_open_ > 0) return;
      busy_ = false;
      if (closing_) return close();
      last_done_ = loop_.uptime();
      look_within(moment);
    }));
  }
}

void DriverManager::on_removed(const upgrade::PodRemoval& removal, const kube::Reply& reply) {
  auto answer = kube::document_of(reply);
  const Pod& pod = *removal.pod;
  std::string uid = pod.meta.uid.str();
  // Gone already, or another one by now: the next pass shows it.
  bool moved_on = !answer && (answer.error().kind == ErrorKind::not_found ||
                              answer.error().kind == ErrorKind::conflict);
  if (answer || moved_on) {
    tries_.erase(uid);
    const OwnerReference* owner = pod.meta.controller();
    if (removal.how != upgrade::Removal::evict && owner != nullptr) {
      restarted_clients_.insert(pod.meta.ns.str() + "/" + owner->name.str());
    }
    return;
  }
  if (is_refusal(answer.error().kind)) {
    closing_ = answer.error().at("pod " + upgrade::name_pod(pod));
    log_.error(closing_->text(), {{"node", settings_.node}});
    return;
  }
  fleet::EvictionTries& tries = tries_[uid];
  ++tries.refusals;
  tries.message = answer.error().message;
  kube::BackoffPolicy pauses{first_refusal_pause, longest_refusal_pause, 2.0, 0.0};
  tries.not_before = loop_.uptime() + kube::backoff_delay(pauses, tries.refusals);
}

void DriverManager::unload(const UnloadModules& action) {
  for (const auto& module : action.order) {
    auto unloaded = host_.unload(module);
    if (unloaded) continue;
    unload_error_ = unloaded.error().text();
    log_.warning("a kernel module was not unloaded",
                 {{"module", module}, {"error", unload_error_}});
    if (unloaded.error().kind != ErrorKind::conflict) return give_up(unloaded.error());
    // A program opened a device in this very moment.
    return look_within(after_failed_unload);
  }
  last_done_ = loop_.uptime();
  look_within(Duration::zero());
}

void DriverManager::clean_up(const CleanUp& action) {
  for (const auto& target : action.mounts) {
    if (auto undone = host_.unmount(target); !undone) return give_up(undone.error());
  }
  for (const auto& file : action.files) {
    if (auto removed = host_.remove(file); !removed) return give_up(removed.error());
  }
  last_done_ = loop_.uptime();
  look_within(Duration::zero());
}

void DriverManager::say(const ManagerDecision& decision) {
  if (decision.says == said_) return;
  said_ = decision.says;
  log_.info(said_, {{"node", settings_.node}, {"step", std::string(to_string(decision.step))}});
}

// Trying again may help, for a while.
void DriverManager::on_trouble(const Error& error) {
  bool is_hopeless = is_refusal(error.kind) || error.kind == ErrorKind::not_found ||
                     error.kind == ErrorKind::invalid;
  if (is_hopeless || loop_.uptime() - last_read_ >= settings_.wait_limit) return give_up(error);
  log_.warning("unexpected answer of the cluster; retries",
               {{"node", settings_.node}, {"error", error.text()}});
  look_within(backoff_.next());
}

void DriverManager::stop() {
  if (outcome_ || closing_) return;
  if (step_ == ManagerStep::host_driver && !busy_) {
    return finish({ManagerOutcome::Kind::pre_installed,
                   "this driver pod was deleted: the host has its own driver", std::nullopt});
  }
  give_up({ErrorKind::cancelled, "was asked to stop", ""});
}

void DriverManager::give_up(Error error) {
  if (outcome_ || closing_) return;
  log_.error(error.text(), {{"node", settings_.node}});
  closing_ = std::move(error);
  if (!busy_) close();
}

// Restores the node, however often it takes.
void DriverManager::close() {
  if (outcome_) return;
  if (closing_since_ == Duration::zero()) {
    closing_since_ = loop_.uptime();
    loop_.cancel(timer_);
    timer_ = 0;
  }
  busy_ = true;
  api_.call(kube::get(resource::nodes, {"", settings_.node}),
            scope_.bind([this](kube::Reply reply) {
              on_closing_node(kube::document_of(std::move(reply)));
            }));
}

void DriverManager::on_closing_node(Result<Document> node) {
  auto decoded = node ? decode_object<Node>(**node, context_) : Result<Node>(fail(node.error()));
  if (!decoded) return retry_closing(decoded.error());
  auto patch = restore_node(*decoded, labels_);
  if (!patch) {
    return finish({ManagerOutcome::Kind::failed, closing_->text(), closing_});
  }
  api_.call(
      kube::patch(resource::nodes, {"", settings_.node}, kube::PatchType::merge, patch->body()),
      scope_.bind([this](kube::Reply reply) {
        auto answer = kube::document_of(std::move(reply));
        if (!answer && answer.error().kind != ErrorKind::conflict) {
          return retry_closing(answer.error());
        }
        // Checks once more whether there is anything left.
        close();
      }));
}

void DriverManager::retry_closing(const Error& error) {
  bool is_hopeless = is_refusal(error.kind) || error.kind == ErrorKind::not_found;
  if (!is_hopeless && loop_.uptime() - closing_since_ < closing_limit) {
    loop_.after(backoff_.next(), scope_.bind([this] { close(); }));
    return;
  }
  Error last = *closing_;
  // A node that is gone needs nothing back.
  if (error.kind != ErrorKind::not_found) {
    last.message +=
        fmt::format("; the node could not be restored, which the next run does: {}", error.text());
  }
  finish({ManagerOutcome::Kind::failed, last.text(), last});
}

void DriverManager::finish(ManagerOutcome outcome) {
  node_watch_.reflector.stop();
  pod_watch_.reflector.stop();
  loop_.cancel(timer_);
  timer_ = 0;
  bool is_well = !outcome.error;
  events_.record(reference_to(settings_.node),
                 is_well ? kube::EventType::normal : kube::EventType::warning, event_reason,
                 outcome.text);
  outcome_ = std::move(outcome);
}

}  // namespace lockstep::node
