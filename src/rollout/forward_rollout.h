// One rollout of a forward run: its decisions, carried out on values, and the times that its gates
// and bakes take.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rollout/decide_rollout.h"
#include "rollout/forward_run.h"

namespace lockstep::rollout {

RolloutNode rollout_node_of(const fleet::NodeView& view, const upgrade::Policy& policy,
                            const fleet::Keys& keys);

// What a bake would see of the rollout's nodes, as they are now.
struct ForwardExposure {
  int64_t upgraded_nodes = 0;
  int64_t silent_nodes = 0;                      // of them, those that report nothing of their GPUs
  int64_t upgraded_gpus = 0;                     // busy or not
  std::map<std::string, int64_t> busy_upgraded;  // GPUs, by model
  std::map<std::string, int64_t> busy_control;
};

// The nodes, as rollouts read them.
class ForwardFleet {
 public:
  virtual void fill(RolloutView& view) const = 0;
  virtual ForwardExposure exposure(const std::string& rollout) const = 0;

 protected:
  ~ForwardFleet() = default;
};

class ForwardRolloutRun {
 public:
  ForwardRolloutRun(ForwardRollout start, const TimeZones& zones, const Pace& pace, Time now);

  const RolloutView& view() const { return start_.view; }
  const RolloutGate& gate() const { return start_.gate; }
  // Decides, as often as that leads to something. True: nodes may do other things than before.
  bool look(const ForwardFleet& fleet, Time now);
  // One of its nodes is done, or failed.
  void see_end(const std::string& node, bool failed);
  // When something of its own happens next. Nothing: it waits for nodes, or has ended.
  std::optional<Time> next() const;
  // The same of its windows, while nodes wait for them.
  std::optional<Time> next_window() const;

  PlannedRollout planned;
  std::vector<PlannedEvent> events;

 private:
  size_t current() const;
  void decide_all(const ForwardFleet& fleet, Time now);
  void carry_out(const ForwardFleet& fleet, const RolloutDecision& decision, Time now);
  void write_status(const ForwardFleet& fleet, const RolloutStatus& status, Time now);
  void on_phase(const ForwardFleet& fleet, Phase before, Time now);
  void begin_bake(const ForwardFleet& fleet, Time now);
  void answer(const GitCommit& commit);
  // What refuses the start is named and taken as solved. False: nothing is to be solved.
  bool solve(const Reason& reason);
  void command(std::string verb, Time now);
  void note(Time now, std::string text);
  std::string signature() const;

  ForwardRollout start_;
  const TimeZones* zones_;
  Pace pace_;
  Time origin_;
  bool is_due_ = true;
  bool has_ended_ = false;
  int64_t left_ = 0;         // nodes of the current wave that have not come to their end
  bool counts_all_ = false;  // or of all waves
  std::optional<Time> gates_end_;
  std::optional<Time> bake_end_;
  BakeView baked_;
};

}  // namespace lockstep::rollout
