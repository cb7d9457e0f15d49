#include "view/rollout_watch.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::view {

namespace {

constexpr std::string_view revision_annotation = "lockstep.dev/revision";
constexpr std::string_view wave_prefix = "lockstep-wave-";

kube::ReflectorOptions watch_of_waves(const std::string& ns) {
  kube::ReflectorOptions options = kube::watch_of(resource::config_maps, ns);
  options.query.emplace_back("labelSelector", std::string(fleet::rollout_label));
  return options;
}

rollout::RecordedWave read_wave(const ConfigMap& map) {
  rollout::RecordedWave wave;
  wave.revision = std::string(map.meta.annotations.get(revision_annotation));
  for (std::string_view name : split(map.data.get("nodes"), '\n')) {
    if (!name.empty()) wave.nodes.emplace_back(name);
  }
  return wave;
}

void refuse_job_gates(rollout::RolloutSpec& spec) {
  for (const rollout::WaveSpec& wave : spec.waves) {
    for (const rollout::GateSpec& gate : wave.gates) {
      if (gate.kind != rollout::GateKind::job) continue;
      spec.problems.push_back(
          fmt::format("gate {} of wave {}: {}", gate.name, wave.name, job_gates_are_off));
    }
  }
}

Result<rollout::TimeZone> no_zones(const std::string&) {
  return fail(ErrorKind::unsupported, "no time zone but UTC is installed");
}

}  // namespace

std::string wave_name(const std::string& rollout, size_t wave) {
  return fmt::format("{}{}-{}", wave_prefix, rollout, wave);
}

Json wave_to_json(const ObjectKey& key, const std::string& rollout, size_t wave,
                  const rollout::RecordedWave& record, const std::string& resource_version) {
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"},
                                            {fleet::rollout_label, rollout},
                                            {"lockstep.dev/wave", std::to_string(wave)}}},
                      {"annotations", JsonObject{{revision_annotation, record.revision}}}};
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", std::move(metadata)},
                    {"data", JsonObject{{"nodes", join(record.nodes, "\n")}}}};
}

bool KnownRollout::is_active() const {
  return status.phase != rollout::Phase::pending && !rollout::is_over(status.phase);
}

bool KnownRollout::covers(const std::string& pool, const std::string& set) const {
  switch (spec.driver.kind) {
    case rollout::DriverKind::cluster_policy:
      return pool.empty();
    case rollout::DriverKind::nvidia_driver:
      return pool == spec.driver.name;
    case rollout::DriverKind::daemon_set:
      return set == spec.driver.name || set.ends_with("/" + spec.driver.name);
  }
  return false;
}

RolloutWatch::RolloutWatch(kube::Api& api, Loop& loop, Random& random, Log& log,
                           DecodeContext& context, RolloutWatchOptions options)
    : loop_(loop),
      options_(std::move(options)),
      rollouts_(api, loop, random, log, context, kube::watch_of(fleet::driver_rollouts)),
      waves_(api, loop, random, log, context, watch_of_waves(options_.ns)) {
  if (!options_.time_zones) options_.time_zones = no_zones;
  rollouts_.cache.on_change([this](const auto&) { read(); });
  rollouts_.cache.on_settled([this](const ObjectKey&) {
    for (const auto& listener : listeners_) listener();
  });
  waves_.cache.on_change([this](const kube::Cache<ConfigMap>::Change& change) {
    // What bakes keep is there, too, and concerns no node.
    if (change.object().meta.name.view().starts_with(wave_prefix)) {
      take_wave(change.object(), change.after != nullptr);
      return read();
    }
    for (const auto& listener : listeners_) listener();
  });
}

void RolloutWatch::start() {
  if (!options_.enabled) return;
  rollouts_.reflector.start();
  waves_.reflector.start();
}

void RolloutWatch::take_wave(const ConfigMap& map, bool is_there) {
  std::string name = map.meta.name.str();
  if (is_there) {
    records_[name] = {map.meta.resource_version.str(), read_wave(map)};
  } else {
    records_.erase(name);
  }
}

void RolloutWatch::read() {
  std::map<std::string, KnownRollout> known;
  rollouts_.cache.for_each([&](const std::shared_ptr<const GenericObject>& object) {
    KnownRollout rollout;
    rollout.object = object;
    rollout.spec = rollout::read_rollout_spec(*object->document);
    if (!options_.allows_job_gates) refuse_job_gates(rollout.spec);
    rollout.status = rollout::read_rollout_status(*object->document);
    rollout.gate.rollout = rollout.name();
    rollout.gate.status = rollout.status;
    rollout.gate.paused = rollout.spec.paused;
    rollout.gate.outside_wave = rollout.spec.outside_wave;
    rollout.gate.created = object->meta.created;
    rollout.gate.windows = rollout.spec.windows;
    rollout.gate.group_by = rollout.spec.group_by;
    rollout.gate.window =
        rollout::look_at_windows(rollout.spec.windows, options_.time_zones, loop_.now());
    rollout.gate.wave_names = rollout::waves_in_force(rollout.spec, rollout.status);
    read_records(rollout);
    known.emplace(rollout.name(), std::move(rollout));
  });
  known_ = std::move(known);
  wait_for_windows();
  std::string now = signature();
  if (now != signature_) {
    signature_ = std::move(now);
    for (const auto& listener : gate_listeners_) listener();
  }
  for (const auto& listener : listeners_) listener();
}

void RolloutWatch::read_records(KnownRollout& rollout) const {
  rollout.recorded.resize(rollout.spec.waves.size());
  const size_t all = std::max(rollout.spec.waves.size(), rollout.gate.wave_names.size());
  for (size_t i = 0; i < all; ++i) {
    auto at = records_.find(wave_name(rollout.name(), i));
    if (at == records_.end()) continue;
    const rollout::RecordedWave& record = at->second.second;
    if (i < rollout.recorded.size()) rollout.recorded[i] = record;
    const bool counts = i < rollout.gate.wave_names.size();
    if (!counts || !rollout::is_of_rollout(record, rollout.status)) continue;
    for (const std::string& node : record.nodes) rollout.gate.wave_of.try_emplace(node, i);
  }
}

// Everything that a node's decision depends on; counts and messages are not among it.
std::string RolloutWatch::signature() const {
  std::string text;
  for (const auto& [name, rollout] : known_) {
    const rollout::RolloutStatus& status = rollout.status;
    text += fmt::format("{} {} {} {} {} {} {} {}\n", name, rollout.object->meta.generation,
                        to_string(status.phase), status.closed, status.open_waves,
                        rollout::revision_id(status.open_for), rollout::revision_id(status.stable),
                        rollout.gate.window.open);
  }
  for (const auto& [name, record] : records_) text += name + " " + record.first + "\n";
  return text;
}

void RolloutWatch::wait_for_windows() {
  Time next;
  for (const auto& [name, rollout] : known_) {
    Time until = rollout.gate.window.until;
    if (until.is_set() && (!next.is_set() || until < next)) next = until;
  }
  loop_.cancel(timer_);
  timer_ = 0;
  if (!next.is_set()) return;
  // Not for days at once: the clock may be set meanwhile.
  Duration wait = std::clamp<Duration>(next - loop_.now(), milliseconds(100), minutes(10));
  timer_ = loop_.after(wait, scope_.bind([this] {
    timer_ = 0;
    read();
  }));
}

const KnownRollout* RolloutWatch::governing(const std::string& pool, const std::string& set) const {
  const KnownRollout* best = nullptr;
  for (const auto& [name, rollout] : known_) {
    if (!rollout.covers(pool, set)) continue;
    if (best == nullptr) {
      best = &rollout;
      continue;
    }
    bool is_newer = rollout.object->meta.created > best->object->meta.created;
    bool better = best->is_active() == rollout.is_active() ? is_newer != rollout.is_active()
                                                           : rollout.is_active();
    if (better) best = &rollout;
  }
  return best;
}

const KnownRollout* RolloutWatch::possibly_governing(const std::string& pool) const {
  if (const KnownRollout* known = governing(pool, "")) return known;
  auto of_a_set = std::find_if(known_.begin(), known_.end(), [](const auto& entry) {
    return entry.second.spec.driver.kind == rollout::DriverKind::daemon_set;
  });
  return of_a_set == known_.end() ? nullptr : &of_a_set->second;
}

const KnownRollout* RolloutWatch::rollout_of(const fleet::NodeView& view) const {
  if (known_.empty()) return nullptr;
  // A DaemonSet that is deleted and created again is missing for a moment: its nodes are held all
  // the same, because its newest revision is not known.
  std::optional<ObjectKey> asked = view.driver.set_to_ask();
  return asked ? governing(view.pool, asked->text()) : possibly_governing(view.pool);
}

void RolloutWatch::add_to(fleet::NodeView& view) const {
  if (const KnownRollout* rollout = rollout_of(view)) rollout::apply_gate(rollout->gate, view);
}

void RolloutWatch::change_policy(const std::string& pool, const Json& object, bool own_switch,
                                 const upgrade::Policy& fallback, upgrade::Policy& policy) const {
  const KnownRollout* rollout = governing(pool, "");
  if (rollout == nullptr || !rollout->spec.policy.is_object()) return;
  const Json& over = rollout->spec.policy;
  policy = pool.empty() ? upgrade::policy_of_cluster_policy(object, own_switch, &over)
                        : upgrade::policy_of_nvidia_driver(object, fallback, own_switch, &over);
}

void RolloutWatch::limit_to_wave(const std::string& pool, upgrade::Policy& policy) const {
  const KnownRollout* rollout = governing(pool, "");
  if (rollout != nullptr) rollout::limit_to_wave(rollout->spec, rollout->status, policy);
}

}  // namespace lockstep::view
