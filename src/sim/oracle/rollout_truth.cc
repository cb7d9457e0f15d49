#include "sim/oracle/rollout_truth.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/rollout_spec.h"
#include "sim/actors/driver_image.h"
#include "sim/actors/time_zones.h"
#include "sim/oracle/truth.h"
#include "view/rollout_watch.h"

namespace lockstep::sim {

bool speaks_of(const Json& status, std::string_view which, const std::string& set,
               const std::string& revision) {
  const Json* revisions = find(status, which, "revisions");
  return revisions != nullptr && !revision.empty() && text_at(*revisions, set) == revision;
}

namespace {

// Every node that waits asks for the spec of the same object. One object is kept.
const rollout::RolloutSpec& spec_of(const apiserver::StoredPtr& rollout) {
  thread_local apiserver::StoredPtr last;
  thread_local rollout::RolloutSpec spec;
  if (last != rollout) {
    spec = rollout::read_rollout_spec(rollout->json());
    last = rollout;
  }
  return spec;
}

// The pod brings the version that a rollback takes away, or one that is not what it restores.
bool runs_another(const Json& pod, const Json& status, const std::string& set) {
  const std::string runs(label_of(pod, fleet::revision_label));
  if (runs.empty() || speaks_of(status, "from", set, runs)) return false;
  if (speaks_of(status, "to", set, runs)) return true;
  const Json* containers = find(pod, "spec", "containers");
  const bool has_image =
      containers != nullptr && containers->is_array() && !containers->get_array().empty();
  const std::string version =
      has_image ? driver_version_of_image(text_at(containers->get_array()[0], "image")) : "";
  // What the object says names a driver, though by a digest or a branch.
  return version != loaded_version(text_at(status, "from", "version"));
}

// The version that is rolled out or back, as its waves were written down for it: "set=revision,…".
std::string version_of_waves(const apiserver::StoredPtr& rollout) {
  std::string text;
  const Json* revisions = find(rollout->json(), "status", "to", "revisions");
  if (revisions == nullptr) return text;
  for (const auto& [set, hash] : revisions->get_object()) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}={}", std::string_view(set), as_text(&hash));
  }
  return text;
}

// What was written down for an earlier version's waves says nothing of this one's.
std::string_view recorded_nodes(const apiserver::StoredPtr& rollout, size_t wave,
                                const apiserver::Store& store) {
  auto map = store.shelf("configmaps")
                 .find({"lockstep-system", view::wave_name(rollout->key().name, wave)});
  if (!map) return {};
  const bool is_of_it = text_at(map->json(), "metadata", "annotations", "lockstep.dev/revision") ==
                        version_of_waves(rollout);
  // The store holds it.
  return is_of_it ? text_at(map->json(), "data", "nodes") : std::string_view();
}

bool has_line(std::string_view text, std::string_view line) {
  for (size_t at = text.find(line); at != std::string_view::npos; at = text.find(line, at + 1)) {
    const size_t end = at + line.size();
    if ((at == 0 || text[at - 1] == '\n') && (end == text.size() || text[end] == '\n')) return true;
  }
  return false;
}

// The wave that the node is recorded for; a node without a record is in the last. Called for each
// of a thousand nodes that wait.
size_t recorded_wave(const apiserver::StoredPtr& rollout, size_t waves,
                     const apiserver::Store& store, const std::string& node) {
  size_t wave = 0;
  while (wave + 1 < waves && !has_line(recorded_nodes(rollout, wave, store), node)) ++wave;
  return wave;
}

std::optional<TrueHold> held_by_wave(const apiserver::StoredPtr& rollout, const Json& status,
                                     const apiserver::Store& store, const std::string& node,
                                     const std::string& set, const std::string& revision,
                                     const Json* pod) {
  auto held = [](std::string why) {
    return TrueHold{fleet::Reason::wave_not_open, std::move(why)};
  };
  std::string_view phase = text_at(status, "phase");
  bool is_idle =
      phase.empty() || phase == "Pending" || phase == "Complete" || phase == "RolledBack";
  const std::string runs(pod == nullptr ? "" : label_of(*pod, fleet::revision_label));
  if (accepts_outsiders(rollout->json()) && !runs.empty() && runs == revision) return std::nullopt;
  if (is_idle) {
    if (speaks_of(status, "stable", set, revision)) return std::nullopt;
    return held("nothing has begun with this version");
  }
  if (as_bool(find(status, "closed"))) return held("the waves are closed");
  if (!speaks_of(status, "openFor", set, revision)) {
    return held("the waves are open for another version");
  }
  const rollout::RolloutSpec& spec = spec_of(rollout);
  const auto wave = static_cast<int64_t>(recorded_wave(rollout, spec.waves.size(), store, node));
  if (wave < as_integer(find(status, "openWaves"))) return std::nullopt;
  // A rollback includes nodes that got the rejected version although their wave was never open.
  const bool was_open = wave < as_integer(find(status, "wavesToReturn"));
  if (phase == "RollingBack" && !was_open && pod != nullptr && runs_another(*pod, status, set)) {
    return std::nullopt;
  }
  return held(fmt::format("its wave ({}) is not open", wave + 1));
}

}  // namespace

bool accepts_outsiders(const Json& rollout) {
  return text_at(rollout, "spec", "outsideWave") == "accept";
}

std::map<std::string, size_t> recorded_waves(const apiserver::StoredPtr& rollout, size_t waves,
                                             const apiserver::Store& store) {
  std::map<std::string, size_t> recorded;
  for (size_t i = 0; i < waves; ++i) {
    for (std::string_view node : split(recorded_nodes(rollout, i, store), '\n')) {
      if (!node.empty()) recorded.try_emplace(std::string(node), i);
    }
  }
  return recorded;
}

std::optional<TrueHold> true_hold(const apiserver::StoredPtr& rollout,
                                  const apiserver::Store& store, const std::string& node,
                                  const std::string& set, const std::string& revision, Time now,
                                  const Json* pod) {
  static const Json nothing = JsonObject{};
  const Json* status = find(rollout->json(), "status");
  if (auto held = held_by_wave(rollout, status == nullptr ? nothing : *status, store, node, set,
                               revision, pod)) {
    return held;
  }
  if (as_bool(find(rollout->json(), "spec", "paused"))) {
    return TrueHold{fleet::Reason::rollout_paused, "the rollout is paused"};
  }
  // A rollback waits for no window.
  if (text_at(rollout->json(), "status", "phase") == "RollingBack") return std::nullopt;
  const rollout::RolloutSpec& spec = spec_of(rollout);
  if (rollout::look_at_windows(spec.windows, rollout_time_zones(), now).open) return std::nullopt;
  return TrueHold{fleet::Reason::outside_window, "no window is open"};
}

bool is_rollout(const std::string& storage) {
  return storage == fleet::driver_rollouts.full_name();
}

std::string daemon_set_of(const Json& pod) {
  const Json* owner = controller_of(pod);
  return fmt::format("{}/{}", text_at(pod, "metadata", "namespace"),
                     owner == nullptr ? "" : text_at(*owner, "name"));
}

}  // namespace lockstep::sim
