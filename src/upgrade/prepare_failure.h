// Pods that cannot start because a DRA driver does not prepare their claims: which of them wait for
// something that never happens by itself, and what to do for them. The kubelet's events decide,
// so this works with any DRA driver and any kubelet of today:
//
//   * A stale plugin still has the previous driver open. Its pod is restarted once for each start
//     of the driver, and never while the node is upgraded. Any user can create such an event about
//     their own pod, so only a plugin that is older than the driver is restarted.
//   * An invalid request stays invalid. The pod says so, and fails if the policy says so.
//   * Everything else passes by itself, or is a broken device, which Kubernetes evicts by its
//     taint.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/node_view.h"
#include "fleet/reason.h"
#include "objects/meta.h"
#include "objects/pod.h"
#include "upgrade/decision.h"

namespace lockstep::upgrade {

enum class PrepareFailure { passing, stale_plugin, bad_config };

// Words of a DRA driver by which a failure is known, in lower case.
struct PreparePhrase {
  std::string_view driver;
  std::string_view words;
  PrepareFailure kind;
};
// Those of the drivers that we know. Not "error applying GPU config" alone: NVIDIA's driver says
// that of a daemon that is not up yet, too.
std::span<const PreparePhrase> known_phrases();

// `message`: of the kubelet's event, with the driver's own words in it. `bad_config_words`: more of
// them, for drivers that we do not know.
PrepareFailure classify_prepare_failure(std::string_view message,
                                        const std::vector<std::string>& bad_config_words = {});

// On the node: for which driver its plugin was restarted, and which pod that plugin was.
inline constexpr std::string_view healing_annotation = "lockstep.dev/plugin-healing";
inline constexpr std::string_view bad_config_condition = "lockstep.dev/PrepareFailedPermanently";

// A pod and the newest event about its claims.
struct HeldPod {
  fleet::PodPtr pod;
  std::string message;
  Time last;  // by the clock of its node's kubelet
  // It has an allocated claim of a GPU, which only the scheduler writes.
  bool has_gpu_claim = false;
};

// The pod has a node, has not started, and is not being deleted. Its containers wait for nothing
// that comes after its claims.
bool is_held(const Pod& pod);

struct Healing {
  enum class Step {
    none,     // nothing to do, or nothing that we may do: the reason says why, if there is one
    wait,     // reconcile after a change, or after `again`
    note,     // write `annotation` onto the node, then decide again
    restart,  // delete the plugin's pod: its annotation is written
  };
  Step step = Step::none;
  Reason reason;
  std::optional<Duration> again;
  std::string annotation;
};

// `plugin`: the DRA plugin of this node. Two steps, so that a crash between them neither restarts a
// plugin twice nor forgets that it was done.
Healing decide_healing(const fleet::NodeView& view, const fleet::ClientView& plugin,
                       const std::vector<HeldPod>& held, const fleet::Keys& keys, Time now);

enum class OnBadConfig {
  leave,  // a ReplicaSet would recreate the same pod indefinitely
  fail,   // so that a Job's podFailurePolicy can stop
};

// The patch of a pod's status that its wrong request asks for, or that it started after all; none:
// it says already what is to be said.
struct PodVerdict {
  Json status;
  Reason reason;
  bool fails = false;   // the pod is ended by it
  bool clears = false;  // it started after all
};
std::optional<PodVerdict> judge_bad_config(const HeldPod& held, OnBadConfig policy, Time now,
                                           const std::vector<std::string>& bad_config_words = {});

}  // namespace lockstep::upgrade
