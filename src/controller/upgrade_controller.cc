#include "controller/upgrade_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/typed.h"
#include "upgrade/decide.h"
#include "upgrade/slots.h"
#include "upgrade/transition.h"

namespace lockstep::controller {

using upgrade::Freshness;

namespace {

constexpr std::string_view event_reason = "GPUDriverUpgrade";
constexpr Duration first_refusal_pause = seconds(1);
constexpr Duration longest_refusal_pause = seconds(30);
// A cluster's node controller answers a cordon with a taint: a step within these milliseconds would
// be refused, because there is a newer version of the node.
constexpr Duration cordon_settles = milliseconds(50);
// Otherwise two replicas whose watches are behind would retry every second until they catch up.
constexpr Duration longest_conflict_pause = seconds(16);
// Watch events requeue a node by themselves; this is for the case that they do not come.
constexpr Duration pause_of_watches = seconds(10);
// What was read may have been wrong itself, a list that was cut off: then the watches never show
// it.
constexpr Duration patience_with_watches = minutes(1);

kube::EventRecorderOptions event_options(const UpgradeOptions& options) {
  kube::EventRecorderOptions events;
  events.component = "lockstep";
  events.instance = options.instance;
  // A node's upgrade has up to a dozen different messages of one reason within minutes. Each must
  // become an event, also those of a second upgrade right after.
  events.limits.similar = 50;
  events.limits.burst = 100;
  return events;
}

view::FleetWatchOptions watch_options(const UpgradeOptions& options) {
  view::FleetWatchOptions fleet = options.fleet;
  fleet.reads_notes = false;
  return fleet;
}

kube::WorkQueueOptions queue_options(const UpgradeOptions& options) {
  kube::WorkQueueOptions queue;
  queue.concurrency = options.parallel_writes;
  return queue;
}

// Twice as long each time.
Duration pause_after(uint32_t refusals_before, Duration longest) {
  return std::min(longest,
                  first_refusal_pause * (int64_t{1} << std::min<uint32_t>(refusals_before, 5)));
}

kube::Request removal_request(const upgrade::PodRemoval& removal) {
  const Pod& pod = *removal.pod;
  JsonObject preconditions{{"uid", pod.meta.uid.view()}};
  if (removal.how == upgrade::Removal::evict) {
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
        {"deleteOptions", JsonObject{{"preconditions", std::move(preconditions)}}}});
    return request;
  }
  JsonObject options{
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", std::move(preconditions)}};
  if (removal.how == upgrade::Removal::force_remove) options["gracePeriodSeconds"] = 0;
  return kube::remove(resource::pods, pod.meta.key(), std::move(options));
}

// A server that has too much to do answers an eviction with 429 too, and names no budget.
bool is_refused_by_budget(const kube::Reply& reply) {
  if (!reply || reply->code != 429) return false;
  auto status = reply->document();
  const Json* causes = status ? find(**status, "details", "causes") : nullptr;
  if (causes == nullptr || !causes->is_array()) return false;
  return std::any_of(causes->get_array().begin(), causes->get_array().end(), [](const Json& cause) {
    return text_at(cause, "reason") == "DisruptionBudget";
  });
}

}  // namespace

UpgradeController::UpgradeController(kube::Api& api, Loop& loop, Random& random, Log& log,
                                     UpgradeOptions options)
    : api_(api),
      loop_(loop),
      log_(log),
      options_(std::move(options)),
      watch_(api, loop, random, log, watch_options(options_)),
      reader_(api, watch_.context(), watch_.caches().claims()),
      ledger_(api, loop, random, log, ObjectKey{options_.ns, std::string(view::ledger_name)}),
      notes_(api, loop, random, log, ObjectKey{options_.ns, std::string(view::notes_name)},
             [this] { return collect_notes(); }),
      events_(api, loop, random, log, event_options(options_)),
      queue_(loop, random, queue_options(options_),
             [this](const std::string& node) { work(node); }) {
  watch_.on_node([this](const std::string& node) { look(node); });
  watch_.on_pod([this](const kube::Cache<Pod>::Change& change) {
    if (!change.after) tries_.erase(change.before->meta.uid.str());
  });
  watch_.on_pool([this] {
    warn_about_policy();
    give_slots();
  });
}

UpgradeController::~UpgradeController() = default;

void UpgradeController::start() {
  watch_.start();
  begin();
}

// Every node is reconciled once when all has been listed; from then on, what changes.
void UpgradeController::begin() {
  if (!watch_.synced()) {
    loop_.after(milliseconds(100), scope_.bind([this] { begin(); }));
    return;
  }
  begun_ = true;
  if (!leading_) watch_.read_notes();
  counts_.last_sync = loop_.now();
  watch_.caches().nodes().for_each([this](const auto& node) { look(node->meta.name.str()); });
}

void UpgradeController::lead() {
  if (leading_) return;
  leading_ = true;
  ledger_.forget();
  const std::set<std::string> reserved = watch_.tally().reserved();
  for (const auto& node : reserved) watch_.tally().release(node);
  for (auto& [node, memory] : memories_) memory.granted.clear();
  watch_.know_by(this);
  notes_.lead();
  if (!begun_) return;
  watch_.caches().nodes().for_each([this](const auto& node) { look(node->meta.name.str()); });
  warn_about_policy();
  give_slots();
}

void UpgradeController::follow() {
  leading_ = false;
  notes_.follow();
  watch_.know_by(nullptr);
  tries_.clear();
  if (begun_) watch_.read_notes();
}

void UpgradeController::look(const std::string& node) {
  if (begun_) queue_.add(node);
}

void UpgradeController::forget(const std::string& node) {
  memories_.erase(node);
  queue_.cancel_delay(node);
  queue_.forget(node);
}

void UpgradeController::work(const std::string& name) {
  Duration began = options_.stopwatch ? options_.stopwatch() : Duration::zero();
  auto view = watch_.view(name);
  if (!view) {
    forget(name);
    return queue_.done(name);
  }
  counts_.last_sync = loop_.now();
  watch_.count(*view);
  drop_spent(name);
  // The cache does not show a write of ours yet: when it does, the node is requeued.
  if (!watch_.is_current(name) || lets_cordon_settle(*view->node)) return queue_.done(name);
  upgrade::Decision decision = decide(*view, began);
  if (leading_ && freshness_for(name, decision) != Freshness::as_shown) {
    return verify(*view, decision);
  }
  act(*view, decision);
}

bool UpgradeController::has_slot(const Node& node) const {
  const NodeMemory* memory = memory_of(node.meta.name.view());
  return memory != nullptr && !memory->granted.empty() &&
         memory->granted == node.meta.resource_version;
}

bool UpgradeController::lets_cordon_settle(const Node& node) {
  auto memory = memories_.find(node.meta.name.view());
  if (memory == memories_.end() || !memory->second.cordon) return false;
  std::optional<NodeMemory::Cordon>& cordon = memory->second.cordon;
  const Duration left = cordon->at + cordon_settles - loop_.uptime();
  if (left <= Duration::zero() || node.meta.resource_version != cordon->version) {
    cordon.reset();
    return false;
  }
  queue_.add_after(node.meta.name.str(), left);
  return true;
}

// Also for a step for the second time in one upgrade: another replica with a newer view may have
// sent the node back, and would do so repeatedly.
Freshness UpgradeController::freshness_for(const std::string& name,
                                           const upgrade::Decision& decision) const {
  if (decision.freshness != Freshness::as_shown) return decision.freshness;
  if (decision.patch() == nullptr || !decision.patch()->to) return Freshness::as_shown;
  const NodeMemory* memory = memory_of(name);
  const bool is_repeated = memory != nullptr && memory->entered.contains(*decision.patch()->to);
  return is_repeated ? Freshness::driver : Freshness::as_shown;
}

void UpgradeController::act(const fleet::NodeView& view, const upgrade::Decision& decision) {
  std::string name(view.name());
  if (decision.look_again) queue_.add_after(name, *decision.look_again);
  // A patch is announced when it is done.
  if (leading_ && decision.patch() == nullptr) announce(*view.node, decision);
  NodeMemory& memory = memories_[name];
  memory.reason = decision.reason;
  memory.delay.reset();
  notes_.look();
  if (!leading_ || !decision.writes()) return queue_.done(name);
  if (decision.patch() != nullptr) {
    write_patch(view, decision);
  } else {
    remove_pods(view, decision);
  }
}

// A watch may be late and undetected: a pod that was bound a minute ago, or a validator that has
// become ready, may not be known yet. One read per node and step, only for nodes that hold a slot;
// none while the watches have not even shown what the last read found.
void UpgradeController::verify(const fleet::NodeView& view, const upgrade::Decision& decision) {
  std::string name(view.name());
  NodeMemory& memory = memories_[name];
  if (memory.backlog) {
    bool is_young = loop_.uptime() - memory.backlog->since < patience_with_watches;
    const view::FleetCaches& shown = watch_.caches();
    if (is_young && memory.backlog->what.remains(shown.nodes(), shown.pods())) {
      queue_.add_after(name, pause_of_watches);
      return queue_.done(name);
    }
    memory.backlog.reset();
  }
  memory.reason = decision.reason;
  view::FreshNeeds needs;
  // What is written to the node itself is refused if there is a newer version of it; only the one
  // that has been refused may be behind for long.
  if (decision.patch() != nullptr && memory.refusals == 0) needs.node = view.node;
  const Freshness freshness = freshness_for(name, decision);
  needs.driver = freshness >= Freshness::driver;
  needs.driver_set = view.driver.set_to_ask();
  needs.revisions = freshness >= Freshness::revisions;
  needs.slices = decision.reads_slices;
  reader_.read(name, needs, [this, name](Result<view::FreshNode> fresh) {
    on_verified(name, std::move(fresh));
  });
}

void UpgradeController::on_verified(const std::string& name, Result<view::FreshNode> fresh) {
  if (!fresh) {
    ++counts_.fresh_views["error"];
    log_.warning("a node could not be read", {{"node", name}, {"error", fresh.error().text()}});
    delay(name, {fleet::Reason::not_verified,
                 fmt::format("the controller must read the node's pods before the next step, and "
                             "that failed: {}; it retries",
                             fresh.error().text()),
                 ""});
    queue_.retry(name);
    return queue_.done(name);
  }
  queue_.forget(name);
  // Gone: the watch will say so too.
  if (!fresh->node) return queue_.done(name);
  fleet::NodeView view = watch_.view(*fresh);
  // As long as a watch is silent, nothing begins.
  view.known.granted = view.known.granted && !watch_.is_blind();
  upgrade::Decision decision = decide(view, options_.stopwatch ? options_.stopwatch() : Duration());
  if (view::is_behind_on_driver(*fresh, view)) {
    return wait_for_watches(
        name, *fresh, {fleet::Reason::driver_changed, "the driver's DaemonSet has changed", ""});
  }
  const Freshness freshness = freshness_for(name, decision);
  // It was read for another step than the one that it leads to.
  const bool is_enough = (fresh->has_read_node || decision.patch() != nullptr) &&
                         (fresh->slices || !decision.reads_slices) &&
                         (fresh->has_read_driver || freshness < Freshness::driver) &&
                         (fresh->has_read_revisions || freshness < Freshness::revisions);
  if (freshness == Freshness::as_shown || !is_enough) {
    return wait_for_watches(name, *fresh, decision.reason);
  }
  ++counts_.fresh_views["confirmed"];
  act(view, decision);
}

// What is decided on the cluster's own word is not done: the next decision would again be made on
// what the watches show, and undo it.
void UpgradeController::wait_for_watches(const std::string& name, const view::FreshNode& fresh,
                                         const fleet::Reason& really) {
  ++counts_.fresh_views["overturned"];
  memories_[name].backlog = {view::Backlog(fresh, name, watch_.caches().pods()), loop_.uptime()};
  delay(name, {fleet::Reason::watches_behind,
               fmt::format("the next step waits until the watches show the current state: {}",
                           really.text),
               really.remedy});
  log_.info("the watches are behind", {{"node", name}, {"really", really.text}});
  queue_.add_after(name, pause_of_watches);
  queue_.done(name);
}

upgrade::Decision UpgradeController::decide(fleet::NodeView& view, Duration began) {
  note_sighting(view);
  tell_progress(view);
  // Whether it still waits for that is to be decided.
  view.known.delay.reset();
  const upgrade::PoolView pool = watch_.pool(view.pool);
  auto decision = upgrade::decide(view, pool, watch_.rules(), loop_.now());
  if (view.known.granted && decision.patch() != nullptr && decision.patch()->to) {
    const upgrade::Situation situation{view, pool, watch_.rules(), loop_.now()};
    const std::string name(view.name());
    if (auto reason = upgrade::holds_slot(watch_.tally(), view.pool, name, *pool.policy)) {
      decision = upgrade::return_slot(situation, std::move(*reason));
    }
  }
  ++counts_.decisions;
  if (options_.stopwatch) counts_.decision_time += options_.stopwatch() - began;
  return decision;
}

// Every step is an event; a wait is one when it begins, not at each reconciliation.
void UpgradeController::announce(const Node& node, const upgrade::Decision& decision) {
  bool said = reason_of(node.meta.name.view()) == decision.reason.name;
  if (decision.patch() == nullptr && said) return;
  for (const auto& event : decision.events) {
    events_.record(node_reference(node.meta.name),
                   event.warning ? kube::EventType::warning : kube::EventType::normal, event_reason,
                   event.message);
  }
}

void UpgradeController::write_patch(const fleet::NodeView& view,
                                    const upgrade::Decision& decision) {
  api_.call(kube::patch(resource::nodes, view.node->meta.key(), kube::PatchType::merge,
                        decision.patch()->body()),
            scope_.bind([this, node = view.node, decision](kube::Reply reply) {
              on_patched(node, decision, std::move(reply));
            }));
}

void UpgradeController::on_patched(const std::shared_ptr<const Node>& node,
                                   const upgrade::Decision& decision, kube::Reply reply) {
  std::string name = node->meta.name.str();
  if (reply && reply->ok()) {
    const std::string version(kube::peek_body_version(reply->body));
    watch_.expect_node(node->meta.name.str(), version);
    NodeMemory& memory = memories_[name];
    if (decision.patch()->unschedulable.value_or(false)) {
      memory.cordon = {version, loop_.uptime()};
    }
    queue_.forget(name);
    memory.refusals = 0;
    announce(*node, decision);
    if (decision.patch()->to) {
      memory.entered.insert(*decision.patch()->to);
      ++counts_.transitions;
      if (decision.patch()->to == fleet::State::failed) ++counts_.failures;
      Time since = fleet::state_since(*node);
      if (since.is_set()) {
        counts_.time_in_state[fleet::state_of(*node, watch_.rules().keys)].add(loop_.now() - since);
      }
      log_.info("state", {{"node", name},
                          {"to", std::string(to_string(*decision.patch()->to))},
                          {"reason", decision.reason.name.str()},
                          {"because", decision.reason.text}});
    }
  } else if (reply && (reply->code == 409 || reply->code == 404)) {
    // Another client changed it: the watch reports it. If it does not, the node is requeued anyway.
    ++counts_.conflicts;
    queue_.add_after(name, pause_after(memories_[name].refusals++, longest_conflict_pause));
  } else {
    ++counts_.errors;
    Error error = reply ? reply->error() : reply.error();
    log_.warning("a node could not be written", {{"node", name}, {"error", error.text()}});
    queue_.retry(name);
  }
  queue_.done(name);
}

void UpgradeController::remove_pods(const fleet::NodeView& view,
                                    const upgrade::Decision& decision) {
  std::string name(view.name());
  auto left = std::make_shared<size_t>(decision.removals()->size());
  for (const auto& removal : *decision.removals()) {
    auto renewal = Renewals::of(view, *removal.pod, watch_.daemon_set_of(*removal.pod).get());
    auto done = [this, name, removal, renewal, left](kube::Reply reply) {
      // Not where it was gone already: what came in its place may have come before.
      if (renewal && reply && reply->ok()) memories_[name].renewals.add(*renewal);
      on_removed(name, removal, std::move(reply));
      if (--*left == 0) queue_.done(name);
    };
    api_.call(removal_request(removal), scope_.bind(std::move(done)));
  }
}

void UpgradeController::on_removed(const std::string& node, const upgrade::PodRemoval& removal,
                                   kube::Reply reply) {
  const Pod& pod = *removal.pod;
  std::string how(to_string(removal.how));
  // Gone, or another pod of that name: what was wanted.
  bool gone = reply && (reply->code == 404 || reply->code == 409);
  std::string uid = pod.meta.uid.str();
  if (gone || (reply && reply->ok())) {
    ++counts_.removals[{how, gone ? "gone" : "done"}];
    if (removal.how == upgrade::Removal::force_remove) {
      fleet::EvictionTries& tries = tries_[uid];
      tries.forced = true;
      // Leaves time for the event of its end, before it is called stuck.
      tries.not_before = loop_.uptime() + seconds(30);
    } else if (!gone) {
      watch_.expect_pod_gone(pod.meta.key(), pod.meta.uid);
    }
    if (gone) queue_.add_after(node, seconds(1));
  } else {
    note_refusal(removal, reply);
    Duration pause = tries_[uid].not_before - loop_.uptime();
    queue_.add_after(node, std::max(pause, milliseconds(1)));
  }
  notes_.look();
  // There is no second event of its deletion.
  auto held = watch_.caches().pods().find(pod.meta.key());
  if (!held || held->meta.uid != pod.meta.uid) tries_.erase(uid);
}

void UpgradeController::note_refusal(const upgrade::PodRemoval& removal, const kube::Reply& reply) {
  fleet::EvictionTries& tries = tries_[removal.pod->meta.uid.str()];
  Error error = reply ? reply->error() : reply.error();
  tries.by_budget = is_refused_by_budget(reply);
  tries.message = error.message;
  Duration pause = pause_after(tries.refusals, longest_refusal_pause);
  if (reply && reply->retry_after) {
    pause = std::clamp(*reply->retry_after, pause, longest_refusal_pause);
  }
  ++tries.refusals;
  tries.not_before = loop_.uptime() + pause;
  ++counts_.removals[{std::string(to_string(removal.how)),
                      tries.by_budget ? "refused_by_budget" : "error"}];
}

bool UpgradeController::is_spent(const std::string& node, const std::string& version) const {
  auto held = watch_.node(node);
  return held == nullptr || held->meta.resource_version != version;
}

// The node changed, by our patch or another client's: the slot no longer counts by itself.
void UpgradeController::drop_spent(const std::string& node) {
  auto at = memories_.find(node);
  if (at == memories_.end() || at->second.granted.empty()) return;
  if (!is_spent(node, at->second.granted)) return;
  at->second.granted.clear();
  watch_.tally().release(node);
  give_slots();
}

// A user who reads the policy must see that it holds everything, and why.
void UpgradeController::warn_about_policy() {
  if (!leading_ || !begun_) return;
  std::string warning;
  if (watch_.conflicting_controller()) {
    warning = fmt::format("{}: {}", watch_.conflicting_controller()->text,
                          watch_.conflicting_controller()->remedy);
  }
  for (const auto& pool : watch_.tally().pools()) {
    const upgrade::Policy& policy = watch_.policy(pool);
    for (const auto& problem : policy.problems) {
      warning += fmt::format("{}{}: {}", warning.empty() ? "" : "; ", policy.source, problem);
    }
  }
  for (const auto& set : watch_.rolled_driver_sets()) {
    warning += fmt::format("{}{}: RollingUpdateDriver: its update strategy must be OnDelete",
                           warning.empty() ? "" : "; ", set);
  }
  if (warning == policy_warning_) return;
  policy_warning_ = warning;
  auto about = watch_.policy_reference();
  if (warning.empty() || !about) return;
  events_.record(*about, kube::EventType::warning, event_reason, "No upgrade starts: " + warning);
  log_.warning("no upgrade starts", {{"because", warning}});
}

void UpgradeController::give_slots() {
  if (slots_due_ || !leading_ || !begun_) return;
  slots_due_ = true;
  // Once for all changes of this moment.
  loop_.post(scope_.bind([this] {
    slots_due_ = false;
    if (!leading_) return;
    ledger_.update([this](const Ledger& current) { return plan_slots(current); },
                   [this](const Ledger& written) {
                     take_slots(written);
                     give_again();
                   });
  }));
}

std::optional<Ledger> UpgradeController::plan_slots(const Ledger& current) {
  if (!leading_ || watch_.conflicting_controller()) return std::nullopt;
  watch_.count_changed();
  const Text& seen = watch_.caches().nodes().version();
  // Another one saw more of the nodes than we have: what it dropped from the ledger we would count
  // neither here nor there.
  if (!current.seen.empty() && compare_versions(seen, current.seen) == VersionOrder::older) {
    wait_for_news();
    return std::nullopt;
  }
  // What seemed spent when the ledger was read, because we were behind, may be valid now.
  take_slots(current);
  given_.clear();
  Ledger wanted;
  wanted.seen = current.seen;
  for (const auto& [node, version] : current.slots) {
    if (!is_spent(node, version)) wanted.slots[node] = version;
  }
  bool starts = false;
  for (const auto& pool : watch_.tally().pools()) {
    for (const auto& name : upgrade::choose_starts(watch_.tally(), pool, watch_.policy(pool))) {
      auto node = watch_.node(name);
      if (node == nullptr) continue;
      if (!watch_.is_current(name)) {
        // It is this node's turn; the only news may be that of our own write to it.
        wait_for_news();
        continue;
      }
      wanted.slots[name] = node->meta.resource_version.str();
      given_[name] = node->meta.resource_version.str();
      starts = true;
    }
  }
  // Spent entries alone are not worth a write.
  if (!starts) return std::nullopt;
  wanted.seen = seen.str();
  return wanted;
}

// A node that changed while its slot was being written has none, and may have nothing more to say.
void UpgradeController::give_again() {
  bool lost = std::any_of(given_.begin(), given_.end(), [this](const auto& slot) {
    const NodeMemory* memory = memory_of(slot.first);
    return is_spent(slot.first, slot.second) && (memory == nullptr || memory->granted.empty());
  });
  given_.clear();
  if (lost) give_slots();
}

void UpgradeController::wait_for_news() {
  if (waits_for_news_) return;
  waits_for_news_ = true;
  loop_.after(seconds(1), scope_.bind([this] {
    waits_for_news_ = false;
    give_slots();
  }));
}

void UpgradeController::take_slots(const Ledger& ledger) {
  for (const auto& [node, version] : ledger.slots) {
    if (is_spent(node, version)) continue;
    // One of an older version is spent and not dropped yet: this one takes its place.
    std::string& granted = memories_[node].granted;
    if (granted == version) continue;
    granted = version;
    watch_.tally().reserve(node);
    look(node);
  }
}

}  // namespace lockstep::controller
