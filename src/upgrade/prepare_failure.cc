#include "upgrade/prepare_failure.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::upgrade {

namespace {

// The driver must have been up for so long: while it comes up, a mismatch passes by itself.
constexpr Duration driver_settles = seconds(30);

constexpr std::string_view nvidia_dra = "gpu.nvidia.com";
constexpr std::string_view example_dra = "gpu.example.com";  // dra-example-driver
constexpr auto bad_kind = PrepareFailure::bad_config;
constexpr auto stale_kind = PrepareFailure::stale_plugin;

// Our own plugin ends its message with what kind of failure it is; the others are known by their
// words. The first that is found counts.
constexpr std::array prepare_phrases = {
    PreparePhrase{"gpu.lockstep.dev", "the request is wrong", bad_kind},
    PreparePhrase{nvidia_dra, "error decoding config parameters", bad_kind},
    PreparePhrase{nvidia_dra, "error getting opaque device configs", bad_kind},
    PreparePhrase{nvidia_dra, "strict decoding error", bad_kind},
    PreparePhrase{nvidia_dra, "only opaque parameters are supported by this driver", bad_kind},
    PreparePhrase{nvidia_dra, "error normalizing gpu config", bad_kind},
    PreparePhrase{nvidia_dra, "error validating gpu config", bad_kind},
    PreparePhrase{nvidia_dra, "error normalizing mig device config", bad_kind},
    PreparePhrase{nvidia_dra, "error validating mig device config", bad_kind},
    PreparePhrase{nvidia_dra, "error validating vfio config", bad_kind},
    PreparePhrase{nvidia_dra, "object is not a recognized configuration", bad_kind},
    // As it is spelt there.
    PreparePhrase{example_dra, "object is not a regognized configuration", bad_kind},
    PreparePhrase{example_dra, "error applying gpu config: too many partitions", bad_kind},
    PreparePhrase{nvidia_dra, "driver/library version mismatch", stale_kind},
    PreparePhrase{nvidia_dra, "empty device edits", stale_kind},
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// The driver that is up now, and since when: another one after each restart.
std::string generation_of(const Pod& driver) {
  return fmt::format("{}@{}", driver.meta.uid.view(), driver.ready_since.unix_seconds());
}

std::string names_of(const std::vector<const HeldPod*>& pods) {
  constexpr size_t most = 3;
  std::string names;
  for (size_t i = 0; i < std::min(pods.size(), most); ++i) {
    names += (i == 0 ? "" : ", ") + pods[i]->pod->meta.key().text();
  }
  if (pods.size() > most) names += fmt::format(" and {} more", pods.size() - most);
  return names;
}

Healing nothing(Reason reason = {}) { return {Healing::Step::none, std::move(reason), {}, {}}; }
Healing wait_for(Reason reason, std::optional<Duration> again = {}) {
  return {Healing::Step::wait, std::move(reason), again, {}};
}

// A kubelet prepares claims before it pulls an image or starts a container.
bool has_not_begun(const std::vector<ContainerStatus>& containers) {
  return std::all_of(containers.begin(), containers.end(), [](const ContainerStatus& status) {
    const std::string_view waits = status.waiting_reason.view();
    return !status.running() &&
           (waits.empty() || waits == "ContainerCreating" || waits == "PodInitializing");
  });
}

// As where an upgrade looks at its clients: it may have an earlier driver open.
bool may_be_stale(const fleet::NodeView& view, const Pod& plugin, const Pod& driver) {
  const auto& renewed = view.known.renewed;
  const bool is_new = std::find(renewed.begin(), renewed.end(), plugin.meta.uid) != renewed.end();
  return fleet::is_older_than_driver(plugin, driver.ready_since, is_new);
}

const Condition* condition_of(const Pod& pod) {
  for (const Condition& condition : pod.conditions) {
    if (condition.type == bad_config_condition) return &condition;
  }
  return nullptr;
}

JsonArray condition_patch(std::string_view status, std::string_view reason,
                          std::string_view message, Time now) {
  return {JsonObject{{"type", bad_config_condition},
                     {"status", status},
                     {"reason", reason},
                     {"message", message},
                     {"lastTransitionTime", format_rfc3339(now)}}};
}

}  // namespace

std::span<const PreparePhrase> known_phrases() { return prepare_phrases; }

PrepareFailure classify_prepare_failure(std::string_view message,
                                        const std::vector<std::string>& bad_config_words) {
  const std::string text = lower(message);
  for (const std::string& words : bad_config_words) {
    if (!words.empty() && text.find(lower(words)) != std::string::npos) return bad_kind;
  }
  for (const PreparePhrase& phrase : prepare_phrases) {
    if (text.find(phrase.words) != std::string::npos) return phrase.kind;
  }
  return PrepareFailure::passing;
}

bool is_held(const Pod& pod) {
  if (pod.phase != PodPhase::pending || pod.node_name.empty() || pod.meta.is_deleting()) {
    return false;
  }
  return has_not_begun(pod.init_container_statuses) && has_not_begun(pod.container_statuses);
}

Healing decide_healing(const fleet::NodeView& view, const fleet::ClientView& plugin,
                       const std::vector<HeldPod>& held, const fleet::Keys& keys, Time now) {
  if (!plugin.pod || plugin.pod->meta.is_deleting()) return nothing();
  std::vector<const HeldPod*> stale;
  for (const HeldPod& one : held) {
    // What was said of a plugin before this one is over. Both times are this node's own.
    bool is_of_this_plugin = plugin.pod->started.is_set() && one.last > plugin.pod->started;
    if (is_of_this_plugin && one.has_gpu_claim && is_held(*one.pod) &&
        classify_prepare_failure(one.message) == PrepareFailure::stale_plugin) {
      stale.push_back(&one);
    }
  }
  if (stale.empty()) return nothing();

  std::string who = plugin.pod->meta.key().text();
  State state = fleet::state_of(*view.node, keys);
  bool upgrading = fleet::is_active(state) || state == State::failed ||
                   view.node->meta.annotations.find(fleet::unvalidated_annotation) != nullptr;
  if (upgrading) {
    return wait_for({Reason::upgrade_in_progress,
                     fmt::format("the upgrade of this node restarts {} itself", who), ""});
  }
  const fleet::PodPtr& driver = view.driver.pod;
  if (!driver || !fleet::is_running_and_ready(*driver) || !driver->ready_since.is_set()) {
    return wait_for({Reason::driver_not_ready, "the driver of this node is not ready", ""});
  }
  Duration up = std::max(now - driver->ready_since, Duration::zero());
  if (up < driver_settles) {
    return wait_for({Reason::driver_settles, "the driver of this node started a moment ago", ""},
                    driver_settles - up);
  }

  std::string generation = generation_of(*driver);
  std::string wanted = generation + " " + plugin.pod->meta.uid.str();
  std::string_view noted = view.node->meta.annotations.get(healing_annotation);
  Reason reason{
      Reason::stale_plugin,
      fmt::format("{} still has the previous driver open; it blocks {}", who, names_of(stale)), ""};
  if (noted == wanted) return {Healing::Step::restart, std::move(reason), {}, {}};
  if (noted.substr(0, noted.find(' ')) == generation) {
    reason.text += "; it was already restarted once for this driver, without success";
    reason.remedy = fmt::format("read its log: kubectl -n {} logs {}", plugin.pod->meta.ns.view(),
                                plugin.pod->meta.name.view());
    reason.name = Reason::plugin_stays_stale;
    return nothing(std::move(reason));
  }
  if (!may_be_stale(view, *plugin.pod, *driver)) {
    reason.name = Reason::plugin_stays_stale;
    reason.text = fmt::format(
        "Events about {} say that {} has an earlier driver open, but it started after the driver; "
        "the controller does not restart it",
        names_of(stale), who);
    reason.remedy = fmt::format("look at its log: kubectl -n {} logs {}",
                                plugin.pod->meta.ns.view(), plugin.pod->meta.name.view());
    return nothing(std::move(reason));
  }
  return {Healing::Step::note, std::move(reason), {}, std::move(wanted)};
}

std::optional<PodVerdict> judge_bad_config(const HeldPod& held, OnBadConfig policy, Time now,
                                           const std::vector<std::string>& bad_config_words) {
  const Pod& pod = *held.pod;
  const Condition* condition = condition_of(pod);
  bool said = condition != nullptr && condition->is_true();
  if (pod.phase == PodPhase::running) {
    if (!said) return std::nullopt;
    Reason reason{Reason::prepared, "its claims are prepared now", ""};
    Json status =
        JsonObject{{"conditions", condition_patch("False", reason.name.view(), reason.text, now)}};
    return PodVerdict{std::move(status), std::move(reason), false, true};
  }
  const bool has_claims = !claims_of(pod).names.empty();
  bool wrong = has_claims && is_held(pod) &&
               classify_prepare_failure(held.message, bad_config_words) == bad_kind;
  if (!wrong) return std::nullopt;
  bool fails = policy == OnBadConfig::fail;
  if (said && condition->message == held.message && !fails) return std::nullopt;
  Reason reason{Reason::bad_config, held.message,
                "correct the parameters of its ResourceClaim (or of its template or DeviceClass) "
                "and create the pod again"};
  JsonObject status{{"conditions", condition_patch("True", reason.name.view(), reason.text, now)}};
  if (fails) {
    status["phase"] = "Failed";
    status["reason"] = to_string(Reason::prepare_failed_permanently);
    status["message"] = held.message;
  }
  return PodVerdict{std::move(status), std::move(reason), fails, false};
}

}  // namespace lockstep::upgrade
