// The steps of the state machine: none is left out, none is made by halves, none without a cause.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/time.h"
#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// Whether the state machine has this step.
bool is_allowed_transition(fleet::State from, fleet::State to);

// No state is skipped. Users may set any state.
class NoSkippedState final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
};

// Label, time of entry, timers, reason and cordon change in one patch: a crash between two would
// leave a timer that never ends, or a node in service in the middle of its upgrade.
class WholeSteps final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;

 private:
  std::map<std::string, Time> last_;  // when we last wrote a time of entry
};

// An upgrade begins for a reason, and once for each: a driver that is out of sync, a request, a
// driver that waits for a safe load, or after a failure another revision. A failed validation stays
// failed.
class OneUpgradePerCause final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;

 private:
  bool has_cause(const NodeStep& step) const;
  void note_broken_off(const NodeStep& step);

  std::set<std::string> broken_off_;
};

// No two transitions for one cause: a state is entered again only after another client has changed
// something about the node, its pods, its driver or its policy. Two controllers with different
// views would send a node to and fro.
class NoRepeatedState final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_pod_end(const PodEnd& end) override;
  void on_pod(const std::string& node) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  Duration last_news(const std::string& node) const;

  struct Entry {
    Duration at{0};
    Duration known_until{0};  // what had changed by then was known
  };
  std::map<std::string, std::map<fleet::State, Entry>> entered_;  // by node, the last
  std::map<std::string, Duration> news_;                          // of a node, by others
  Duration news_of_all_ = Duration::min();
};

// No upgrade begins on a node whose driver pod Kubernetes itself replaces.
class OnDeleteOnly final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
};

// A driver pod is deleted because it is of an old revision, because what failed is tried again, or
// on request: one of the newest revision that is ready is else left alone. And a request is not
// over before the driver pod has been replaced.
class OneRestartPerCause final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_pod_end(const PodEnd& end) override;

 private:
  struct Asked {
    std::string pod;  // its uid when the request came
  };
  std::map<std::string, Asked> asked_;  // by node
};

}  // namespace lockstep::sim
