// From one state into the next, as one patch: the label, the time, the timers of the state that is
// entered, and the end of those of the state that is left.
#pragma once

#include <optional>
#include <string>

#include "upgrade/decision.h"

namespace lockstep::upgrade {

// What every state's rules are handed.
struct Situation {
  const fleet::NodeView& view;
  const PoolView& pool;
  const Rules& rules;
  Time now;

  const Node& node() const { return *view.node; }
  const Policy& policy() const { return *pool.policy; }
  State state() const { return fleet::state_of(*view.node, rules.keys); }
  // How long the node has been in its state; zero when that is not known.
  Duration in_state() const;
  // The part of the passed time that a controller saw: a deadline does not pass while no controller
  // is running to do the state's work.
  Duration seen_of(Duration passed) const;
  // The rest of a length of time that began when the state was entered, as far as it was seen;
  // never negative.
  Duration left_of(Duration limit) const;
  // A change of mind soon after the last one, or by a replica whose watches are behind, may be
  // wrong. For example, a former leader that has not seen the newest revision or the new pod would
  // restart what the other replica has ended. So the API server is asked first, but not for every
  // node: when a version changes, ten thousand nodes are required at once.
  bool is_suspicious_change() const;
  // How long ago the timer of this annotation began; the time in the state when it does not say, or
  // says what cannot be.
  Duration since_timer(const std::string& key) const;
  // Time that passed by the clock, without the jumps of the clock since the state was entered, as
  // far as a controller saw them.
  Duration without_gained(Duration passed) const;
  // since_timer() without that.
  Duration really_since_timer(const std::string& key) const;
};

Decision enter(const Situation& situation, State to, Reason reason);

// Delays a step back if the state was entered only just now. Otherwise two replicas, one with a
// stale view, would send the node to and fro as fast as they can write. Nothing: step back now.
std::optional<Decision> before_step_back(const Situation& situation, const Reason& reason);

// Into upgrade-failed: reason and sentence stay on the node while it is failed.
Decision fail_node(const Situation& situation, Reason reason);

// A slot that was given and no longer fits the limits (holds_slot). A slot is valid for one version
// of its node, so a write to the node ends it for every replica.
Decision return_slot(const Situation& situation, Reason reason);

// Records with which driver pod the upgrade begins, if that is not recorded yet.
void note_beginning(Decision& decision, const Situation& situation);

// The end of an upgrade that succeeded or is no longer wanted: uncordon, unless a user had cordoned
// the node before.
Decision leave_upgrade(const Situation& situation, Reason reason);

// Sets or removes an annotation in the patch of a decision, or in a patch of its own. Removing what
// is not there changes nothing.
void annotate(Decision& decision, const Situation& situation, const std::string& key,
              std::optional<std::string> value);
// Cordons the node and records the owner of the cordon: a user who had cordoned it already, or else
// Lockstep.
void take_out_of_service(Decision& decision, const Situation& situation);
void set_unschedulable(Decision& decision, const Situation& situation, bool unschedulable);

}  // namespace lockstep::upgrade
