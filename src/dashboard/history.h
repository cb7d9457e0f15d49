// What a time line needs, bounded however long the process lives: the last changes of nodes'
// states up to a limit, and from time to time how many nodes are in which state and what that has
// cost. When there are too many of the latter, every second one goes and they are taken half as
// often.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "fleet/state.h"

namespace lockstep::dashboard {

struct HistoryOptions {
  size_t changes = 200'000;
  size_t samples = 1200;
  Duration interval = seconds(1);  // of samples, at first
  Duration past = hours(24 * 7);   // before the process began: see begin()
};

// Since when a node is in its state, by the node itself.
struct Standing {
  uint32_t node = 0;
  fleet::State state = fleet::State::unknown;
  Time since;  // not set: not known
};

class History {
 public:
  explicit History(HistoryOptions options = {}) : options_(options), interval_(options.interval) {}

  // What the nodes themselves say of the time before the feed began: each has been in its state
  // since then, and its earlier state is not recorded. Comes once, before all samples.
  void begin(std::vector<Standing> nodes, Time now);
  // A node enters a state with this number of GPUs out of service, and leaves it.
  void enter(uint32_t node, fleet::State state, int64_t gpus_out);
  void leave(fleet::State state, int64_t gpus_out, Time now);
  void note(Time at, uint32_t node, fleet::State from, fleet::State to);
  // Does nothing before the next one is due.
  void sample(Time now);
  Duration interval() const { return interval_; }

  // {"began": milliseconds, "changes":[[milliseconds, node, from, to],…], "samples":[[milliseconds,
  // GPU-hours lost so far, count of each state…],…]}; times are written as what passed since the
  // one before.
  std::string text(Time now, bool with_changes = true) const;
  // [[milliseconds, state], …] of one node, the oldest first.
  Json states_of(uint32_t node) const;

 private:
  struct Change {
    int64_t at = 0;  // milliseconds
    uint32_t node = 0;
    fleet::State from = fleet::State::unknown;
    fleet::State to = fleet::State::unknown;
  };
  struct Sample {
    int64_t at = 0;
    double lost = 0;
    std::array<int64_t, fleet::all_states.size()> counts{};
  };
  double lost_until(Time now) const;
  void sample_the_past(const std::vector<Standing>& nodes, Time now);

  HistoryOptions options_;
  Duration interval_;
  std::deque<Change> changes_;
  std::vector<Sample> samples_;
  std::array<int64_t, fleet::all_states.size()> counts_{};
  int64_t gpus_out_ = 0;
  double lost_ = 0;  // GPU-hours, up to lost_at_
  Time lost_at_;
  Time next_;
  Time began_;
  int64_t forgotten_ = 0;  // changes that are no longer held
};

}  // namespace lockstep::dashboard
