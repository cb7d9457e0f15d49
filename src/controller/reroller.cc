#include "controller/reroller.h"

#include <algorithm>

#include <fmt/format.h>

#include "upgrade/pod_names.h"

namespace lockstep::controller {

namespace {

// Changes come in bursts: one pass for all of a moment.
constexpr Duration burst = milliseconds(200);
// There is no event when a watch opens or breaks.
constexpr Duration reroll_heartbeat = seconds(1);

// Times have whole seconds: a successor from the second in which the driver became ready would seem
// stale to the next run.
constexpr Duration reroll_settles = seconds(2);

// Twenty minutes are all there is: no half minute of them for waiting.
kube::ReflectorOptions impatient_watch_of(const ResourceType& type, std::string ns = {}) {
  kube::ReflectorOptions options = kube::watch_of(type, std::move(ns));
  options.backoff.maximum = seconds(5);
  return options;
}

template <typename T>
std::vector<std::shared_ptr<const T>> all_of(const kube::Cache<T>& cache) {
  std::vector<std::shared_ptr<const T>> objects;
  objects.reserve(cache.size());
  cache.for_each([&](const auto& object) { objects.push_back(object); });
  return objects;
}

bool is_refusal(ErrorKind kind) {
  return kind == ErrorKind::forbidden || kind == ErrorKind::unauthorized;
}

// Trying again may help.
bool is_transient(ErrorKind kind) {
  return kind == ErrorKind::throttled || kind == ErrorKind::unreachable ||
         kind == ErrorKind::timed_out || kind == ErrorKind::internal;
}

// A kind that the cluster does not serve has no objects.
bool is_synced(const kube::Reflector& reflector) {
  const auto& status = reflector.status();
  return status.synced || (status.last_error && status.last_error->kind == ErrorKind::not_found);
}

}  // namespace

std::string_view to_string(RerollOutcome::Kind kind) {
  switch (kind) {
    case RerollOutcome::Kind::rerolled:
      return "rerolled";
    case RerollOutcome::Kind::nothing_to_do:
      return "nothing-to-do";
    case RerollOutcome::Kind::dry_run:
      return "dry-run";
    case RerollOutcome::Kind::failed:
      return "failed";
  }
  return "failed";
}

Reroller::Reroller(kube::Api& api, Loop& loop, Random& random, Log& log, RerollOptions options,
                   std::function<void(const std::string&)> say)
    : loop_(loop),
      options_(std::move(options)),
      rules_{fleet::Keys(options_.key_domain), options_.plugin_selector, options_.driver_version,
             options_.chart_version, fleet::DriverOptions{{options_.driver_namespace}}},
      say_(std::move(say)),
      nodes_(api, loop, random, log, context_, impatient_watch_of(resource::nodes)),
      policies_(api, loop, random, log, context_, impatient_watch_of(fleet::cluster_policies)),
      driver_sets_(api, loop, random, log, context_,
                   impatient_watch_of(resource::daemon_sets, options_.driver_namespace)),
      driver_pods_(api, loop, random, log, context_,
                   impatient_watch_of(resource::pods, options_.driver_namespace)),
      plugin_sets_(api, loop, random, log, context_,
                   impatient_watch_of(resource::daemon_sets, options_.plugin_namespace)),
      plugin_pods_(api, loop, random, log, context_,
                   impatient_watch_of(resource::pods, options_.plugin_namespace)),
      api_(api),
      backoff_({milliseconds(500), seconds(10), 2.0, 0.5}, random) {
  auto listen = [this](auto& watch) {
    watch.cache.on_change([this](const auto&) { look_within(burst); });
  };
  listen(nodes_);
  listen(policies_);
  listen(driver_sets_);
  listen(driver_pods_);
  listen(plugin_sets_);
  listen(plugin_pods_);
  plugin_pods_.cache.on_settled([this](const ObjectKey&) { look_within(burst); });
}

template <typename Visit>
void Reroller::for_each_watch(Visit visit) const {
  visit(nodes_, "nodes");
  visit(policies_, "clusterpolicies");
  visit(driver_sets_, "driver daemonsets");
  visit(driver_pods_, "driver pods");
  visit(plugin_sets_, "plugin daemonsets");
  visit(plugin_pods_, "plugin pods");
}

void Reroller::start() {
  began_ = loop_.uptime();
  nodes_.reflector.start();
  policies_.reflector.start();
  driver_sets_.reflector.start();
  driver_pods_.reflector.start();
  plugin_sets_.reflector.start();
  plugin_pods_.reflector.start();
  look_within(burst);
}

bool Reroller::synced() const {
  bool all = true;
  for_each_watch([&](const auto& watch, std::string_view) { all &= is_synced(watch.reflector); });
  return all;
}

bool Reroller::watching() const {
  bool all = true;
  for_each_watch([&](const auto& watch, std::string_view) {
    const auto& status = watch.reflector.status();
    all &= status.watching || !status.synced;
  });
  return all;
}

// Waiting does not change a refusal, so the log has it at once.
std::optional<Error> Reroller::refusal() const {
  std::optional<Error> found;
  for_each_watch([&](const auto& watch, std::string_view) {
    const auto& status = watch.reflector.status();
    bool is_last = status.last_error && status.last_error_time >= status.last_success;
    if (is_last && is_refusal(status.last_error->kind) && !found) found = *status.last_error;
  });
  return found;
}

Error Reroller::unsynced() const {
  Error error{ErrorKind::timed_out, "", ""};
  std::vector<std::string> missing;
  for_each_watch([&](const auto& watch, std::string_view name) {
    if (is_synced(watch.reflector)) return;
    const auto& last = watch.reflector.status().last_error;
    if (last) error.kind = last->kind;
    missing.push_back(last ? fmt::format("{} ({})", name, last->text()) : std::string(name));
  });
  error.message = fmt::format("the cluster could not be read in {}: {}",
                              format_duration(options_.timeout), upgrade::name_some(missing, 10));
  return error;
}

upgrade::RerollWorld Reroller::world() const {
  return {all_of(nodes_.cache),
          all_of(policies_.cache),
          all_of(driver_sets_.cache),
          all_of(driver_pods_.cache),
          all_of(plugin_sets_.cache),
          all_of(plugin_pods_.cache),
          rerolled_};
}

void Reroller::look_within(Duration delay) {
  if (outcome_) return;
  Duration due = loop_.uptime() + delay;
  if (timer_ != 0 && timer_due_ <= due) return;
  loop_.cancel(timer_);
  timer_due_ = due;
  timer_ = loop_.after(delay, scope_.bind([this] {
    timer_ = 0;
    look();
  }));
}

void Reroller::look() {
  if (outcome_) return;
  look_within(reroll_heartbeat);
  if (auto refused = refusal()) return give_up(*refused);
  if (!synced()) {
    if (loop_.uptime() - began_ >= options_.timeout) give_up(unsynced());
    return;
  }
  view_ = upgrade::look_at_reroll(world(), rules_);
  for_each_watch([&](const auto& watch, std::string_view) {
    for (const auto& [key, error] : watch.cache.unreadable()) {
      view_.migrating.push_back({"object " + key.text(), "it cannot be read: " + error.text()});
    }
  });
  if (!view_.nothing_to_do.empty()) {
    return finish(RerollOutcome::Kind::nothing_to_do, "nothing to do: " + view_.nothing_to_do);
  }
  if (options_.dry_run) {
    std::string text = describe_rollout(view_);
    return finish(RerollOutcome::Kind::dry_run,
                  text.empty() ? "no pod would be restarted" : "now " + text);
  }
  if (!rollout_began_) wait_for_migration(view_);
  if (rollout_began_ && !outcome_) wait_for_plugins(view_);
  if (!outcome_) restart_stale(view_);
}

void Reroller::wait_for_migration(const upgrade::RerollView& view) {
  Duration now = loop_.uptime();
  if (!view.migrated() || !watching()) {
    migrated_since_.reset();
    if (!view.migrated()) say("waiting for the driver: " + describe_migration(view));
    if (now - began_ >= options_.timeout) {
      give_up({ErrorKind::timed_out,
               fmt::format(
                   "the driver's migration did not finish within {}: {}",
                   format_duration(options_.timeout),
                   view.migrated() ? "the watches did not reconnect" : describe_migration(view)),
               ""});
    }
    return;
  }
  if (!migrated_since_) {
    migrated_since_ = now;
    say(describe_migration(view));
  }
  Duration left = *migrated_since_ + options_.settle - now;
  if (left > Duration::zero()) return look_within(left);
  rollout_began_ = now;
}

void Reroller::wait_for_plugins(const upgrade::RerollView& view) {
  Duration now = loop_.uptime();
  if (view.finished() && watching() && deletions_in_flight_ == 0) {
    std::string text = restarted_.empty()
                           ? "no plugin pod is older than its node's driver"
                           : fmt::format("restarted {}; all are ready",
                                         upgrade::counted(restarted_.size(), "plugin pod"));
    return finish(RerollOutcome::Kind::rerolled, std::move(text));
  }
  if (now - *rollout_began_ >= options_.rollout_timeout) {
    std::string missing =
        view.finished() ? "the watches did not reconnect" : describe_rollout(view);
    if (last_deletion_error_) missing += "; last error: " + last_deletion_error_->text();
    return give_up({ErrorKind::timed_out,
                    fmt::format("not all plugins were new and ready within {}: {}",
                                format_duration(options_.rollout_timeout), missing),
                    ""});
  }
  if (!view.finished()) say("waiting for the plugins: " + describe_rollout(view));
}

// Each when its own node is done, whatever the others are waiting for.
void Reroller::restart_stale(const upgrade::RerollView& view) {
  // What was deleted is to be seen first: the next choice counts on it.
  bool is_current =
      watching() && deletions_in_flight_ == 0 && plugin_pods_.cache.expectations().empty();
  if (!is_current || loop_.uptime() < no_deletion_before_) return;
  for (const auto& plugin : choose_rerolls(view, options_.parallel)) {
    auto& [driver, since] = stale_since_[plugin.key];
    if (driver != plugin.reroll.driver_ready) {
      driver = plugin.reroll.driver_ready;
      since = loop_.uptime();
    }
    Duration left = since + reroll_settles - loop_.uptime();
    if (left > Duration::zero()) {
      look_within(left);
    } else {
      restart(plugin);
    }
  }
}

void Reroller::restart(const upgrade::StalePlugin& plugin) {
  ++deletions_in_flight_;
  // Now, not when the answer comes: it may be lost, and its successor is waited for anyway.
  rerolled_[plugin.key] = plugin.reroll;
  // By its uid: a namesake that has come meanwhile is new.
  JsonObject options{{"preconditions", JsonObject{{"uid", plugin.pod->meta.uid.str()}}}};
  api_.call(
      kube::remove(resource::pods, plugin.pod->meta.key(), std::move(options)),
      scope_.bind([this, plugin](kube::Reply reply) { on_deleted(plugin, std::move(reply)); }));
}

void Reroller::on_deleted(const upgrade::StalePlugin& plugin, kube::Reply reply) {
  --deletions_in_flight_;
  look_within(burst);
  auto answer = kube::document_of(std::move(reply));
  // Gone already, or another one by now: the next pass shows it.
  bool moved_on = !answer && (answer.error().kind == ErrorKind::not_found ||
                              answer.error().kind == ErrorKind::conflict);
  if (answer || moved_on) {
    backoff_.reset();
    if (!answer) return;
    restarted_.push_back(fmt::format("{} ({})", plugin.key.second, upgrade::name_pod(*plugin.pod)));
    plugin_pods_.cache.expect_deleted(plugin.pod->meta.key(), plugin.pod->meta.uid);
    return;
  }
  Error error = answer.error().at("delete pod " + upgrade::name_pod(*plugin.pod));
  if (!is_transient(error.kind)) return give_up(std::move(error));
  last_deletion_error_ = std::move(error);
  no_deletion_before_ = loop_.uptime() + backoff_.next();
  look_within(no_deletion_before_ - loop_.uptime());
}

void Reroller::say(std::string text) {
  if (text == said_) return;
  said_ = std::move(text);
  say_(said_);
}

void Reroller::finish(RerollOutcome::Kind kind, std::string text) {
  if (!view_.left.empty()) text += "; not waited for: " + describe_left(view_);
  outcome_ = RerollOutcome{kind, std::move(text), std::nullopt, view_};
}

void Reroller::give_up(Error error) {
  if (outcome_) return;
  std::string text = error.text();
  outcome_ = RerollOutcome{RerollOutcome::Kind::failed, std::move(text), std::move(error), view_};
}

}  // namespace lockstep::controller
