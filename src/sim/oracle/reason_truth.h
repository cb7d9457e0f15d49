// What each reason that a node may show says of the world, and what contradicts it: one small
// function for each name, in the files reasons_of_*.cc, which are named after those of src/upgrade
// that give the reasons. They read the store and the machines, never what the controller believes.
// A name that is in none of the tables is not a reason: a new reason needs a function here for what
// must be true of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "fleet/reason.h"
#include "sim/oracle/reason_evidence.h"
#include "sim/oracle/truth.h"

namespace lockstep::sim {

// The nodes of a pool by state, counted from the nodes and from the slots that were
// given.
struct PoolTruth {
  PoolTruth(const Truth& truth, const std::string& pool);

  int64_t active = 0;
  int64_t unavailable = 0;
  int64_t failed = 0;
  std::set<std::string> reserved;  // nodes with a slot that they have not used yet
};

// A reason that a node shows, or with which it fails.
struct Said {
  const Truth& truth;
  const ReasonEvidence& evidence;
  const PoolTruth& pool;
  const std::string& name;  // the node's
  const NodeTruth& node;    // of one that fails: as it was just before
  bool fails = false;
};

// Why it is not true; empty: it is, or that is unknown.
using Objection = std::string (*)(const Said& said);
using Objections = std::map<fleet::ReasonName, Objection>;

const Objections& objections_to_starting();
const Objections& objections_to_slots();
const Objections& objections_to_evicting();
const Objections& objections_to_restarting();
const Objections& objections_to_validating();

std::string objection_to(const fleet::ReasonName& reason, const Said& said);

// What the functions share.

// The node has such a pod now, or had one that may still be believed in.
template <typename Holds>
bool may_have_pod(const Said& said, const Holds& holds) {
  if (said.truth.may_be_unknown(said.truth.pod_gone(said.name))) return true;
  for (const auto& [key, pod] : said.truth.pods_on(said.name)) {
    if (said.truth.may_be_unknown(pod.changed) || holds(key, *pod.object)) return true;
  }
  return false;
}
// It has one, and every controller has to know.
template <typename Holds>
bool surely_has_pod(const Said& said, const Holds& holds) {
  for (const auto& [key, pod] : said.truth.pods_on(said.name)) {
    if (!said.truth.may_be_unknown(pod.changed) && holds(key, *pod.object)) return true;
  }
  return false;
}
// By one of the policies that may be believed in.
template <typename Holds>
bool by_some_policy(const Said& said, const Holds& holds) {
  for (const upgrade::Policy* policy : said.truth.policies(said.node.pool)) {
    if (holds(*policy)) return true;
  }
  return false;
}
// A node that fails because its time was up has had it; `limit` is the policy's.
template <typename Limit>
std::string objection_to_haste(const Said& said, const Limit& limit) {
  if (!said.fails || said.node.state_changed == Duration::min()) return {};
  // What is read from the node has whole seconds.
  Duration spent = said.truth.uptime() - said.node.state_changed + seconds(1);
  bool is_over =
      by_some_policy(said, [&](const upgrade::Policy& policy) { return spent >= limit(policy); });
  return is_over ? "" : "its time was not up";
}

// The DaemonSet that brings the node's driver: the one that made its pod, or, without a pod, one
// that wants one there. Null: none.
const DriverTruth* driver_for(const Said& said);
// Its driver pod is of the newest revision and ready, and every controller has to know.
bool is_surely_settled(const Said& said);

}  // namespace lockstep::sim
