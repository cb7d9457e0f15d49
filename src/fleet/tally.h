// How many nodes of each pool are in which state, kept up to date change by change, and which node
// is next: the basis for giving out slots. Counts come from labels and cordons, never from which
// pods happen to be bound.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/state.h"

namespace lockstep::fleet {

// What the tally needs to know of a node.
struct NodeFacts {
  std::string pool;
  State state = State::unknown;
  bool unschedulable = false;
  bool ready = true;
  // May be given a slot as far as the node itself is concerned: waiting, not skipped, Ready, …; or
  // failed, and its driver is ready after all.
  bool startable = false;
  // Cordoned by a user: upgrading it takes nothing more out of service.
  bool cordoned_by_others = false;
  // It failed, and a user has it tried again: no failures hold it.
  bool retry = false;
  int gpu_pods = 0;
  // Those of one group are given slots together or not at all; empty: by itself.
  std::string group;

  bool operator==(const NodeFacts&) const = default;
};

struct PoolCounts {
  int64_t total = 0;
  int64_t unavailable = 0;
  int64_t active = 0;
  int64_t failed = 0;
  int64_t waiting = 0;  // upgrade-required
  int64_t done = 0;
  std::map<State, int64_t> by_state;

  bool operator==(const PoolCounts&) const = default;
};

// In the order in which they get slots: fewest GPU pods first, then the natural order of names.
struct Waiting {
  int gpu_pods = 0;
  std::string name;

  bool operator<(const Waiting& other) const;
};

class Tally {
 public:
  // True when something changed.
  bool update(const std::string& node, const NodeFacts& facts);
  bool remove(const std::string& node);
  // Counts as active and unavailable from now on, whatever its label says: a slot was given to it,
  // and the label is on its way.
  void reserve(const std::string& node);
  void release(const std::string& node);
  bool is_reserved(const std::string& node) const { return reserved_.contains(node); }
  const std::set<std::string>& reserved() const { return reserved_; }

  const PoolCounts& counts(const std::string& pool) const;
  // Of those that were given a slot, how many are in service by their cordon and not Ready: they
  // are away already, and will be once more when they use it.
  int64_t reserved_not_ready(const std::string& pool) const;
  // Nodes that may be given a slot. Cordoned nodes are counted separately, because their rules
  // differ: those that a user cordoned, those still cordoned from an earlier attempt of ours, and
  // those that a user retries.
  const std::set<Waiting>& startable(const std::string& pool, bool retry = false) const;
  const std::set<Waiting>& startable_cordoned(const std::string& pool, bool retry = false) const;
  const std::set<Waiting>& startable_again(const std::string& pool, bool retry = false) const;
  // Failed nodes that may be validated: still out of service, or put into service by a user.
  const std::set<Waiting>& recovering(const std::string& pool) const;
  const std::set<Waiting>& recovering_in_service(const std::string& pool) const;
  // All nodes of the group, whatever their state.
  const std::set<std::string>& group(const std::string& pool, const std::string& name) const;
  // Every pool that has a node, in order.
  std::vector<std::string> pools() const;
  // Null when the node is not counted.
  const NodeFacts* facts(const std::string& node) const;
  size_t size() const { return nodes_.size(); }

 private:
  struct Lines {
    std::set<Waiting> startable;
    std::set<Waiting> startable_cordoned;
    std::set<Waiting> startable_again;
  };
  struct Pool {
    PoolCounts counts;
    int64_t reserved_not_ready = 0;
    Lines lines;
    Lines retries;
    std::set<Waiting> recovering;
    std::set<Waiting> recovering_in_service;
    std::map<std::string, std::set<std::string>> groups;

    std::set<Waiting>& line_of(const NodeFacts& facts);
  };
  const std::set<Waiting>& line(const std::string& pool, std::set<Waiting> Pool::* which) const;
  const std::set<Waiting>& line(const std::string& pool, bool retry,
                                std::set<Waiting> Lines::* which) const;
  void count(const std::string& node, const NodeFacts& facts, int64_t sign);

  std::map<std::string, NodeFacts> nodes_;
  std::map<std::string, Pool> pools_;
  std::set<std::string> reserved_;
};

}  // namespace lockstep::fleet
