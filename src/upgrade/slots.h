// How many nodes of a pool may be upgraded at once, and which is next (section 3).
//
// A slot is given in two steps, so that no crash, second controller or stale view takes a pool
// beyond its limits. First the node's name is written into one ledger object for all pools, with
// that object's version as a precondition. Then the node's own label is changed. The limits count
// both what the nodes show and what the ledger says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/node_view.h"
#include "fleet/tally.h"
#include "upgrade/decision.h"

namespace lockstep::upgrade {

struct Limits {
  int64_t unavailable = 0;
  int64_t parallel = 0;  // zero: none
  int64_t failures = 1;
};
Limits limits_of(const Policy& policy, int64_t total);

// The switches that hold a whole pool: off, invalid, paused.
std::optional<Reason> held_by_switch(const Policy& policy);

// What keeps the whole pool from starting another node that is in service; nothing: one may start.
// `cordoned`: a user had cordoned the node. A retry may start where other nodes may not.
std::optional<Reason> held_back(const PoolView& pool, bool cordoned);

// What keeps this node from starting, by the first rule that does not hold; nothing: it may start
// as soon as those before it in the line have started.
std::optional<Reason> held_back(const fleet::NodeView& view, const PoolView& pool,
                                const Rules& rules);

// A user has a failed node tried again: no failures of others, nor its own, hold it.
bool is_users_retry(const fleet::NodeView& view);

// What keeps a failed node whose driver is ready after all from its validation; nothing: it may go.
std::optional<Reason> holds_recovery(const fleet::NodeView& view, const PoolView& pool);

// The node waits, or could recover from its failure, and nothing about the node itself keeps it
// from taking a slot.
bool is_startable(const fleet::NodeView& view, const Policy& policy, const Rules& rules);

// What the tally needs to know of the node.
fleet::NodeFacts facts_of(const fleet::NodeView& view, const Policy& policy, const Rules& rules);

// What keeps a whole group from starting: one of them that may not, or a limit that is too small
// for all of them, now or ever. Nothing: it may start.
std::optional<Reason> holds_group(const fleet::Tally& tally, const std::string& pool,
                                  const std::string& group, const Policy& policy);

// The next nodes to start, in order. Each counts against those after it. No node overtakes an
// earlier one that only a limit holds. A group starts as a whole or not at all.
std::vector<std::string> choose_starts(const fleet::Tally& tally, const std::string& pool,
                                       const Policy& policy);

// Why the node may no longer use its slot: the limits have changed, or more nodes are away. Slots
// that were given together are checked in order of their names, so that as many as possible are
// used. Nothing: the node may use it, or has no slot.
std::optional<Reason> holds_slot(const fleet::Tally& tally, const std::string& pool,
                                 const std::string& node, const Policy& policy);

}  // namespace lockstep::upgrade
