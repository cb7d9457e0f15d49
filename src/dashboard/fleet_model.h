// The fleet as pages show it: one small row per node, and parts such as pools and rollouts, kept
// up to date change by change. A page takes a snapshot once, and from then on what changed; words
// that many rows share (reasons, zones, versions) are numbers in a list of words, so that ten
// thousand nodes fit into a megabyte and a change into a line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dashboard/history.h"
#include "data/json.h"
#include "fleet/state.h"

namespace lockstep::dashboard {

struct NodeRow {
  std::string name;
  fleet::State state = fleet::State::unknown;
  int64_t since = 0;  // of the state, in seconds since 1970; 0: not known
  bool cordoned = false;
  bool ready = true;
  bool skipped = false;
  bool in_sync = false;
  bool runs_newest = false;  // its driver is of the newest revision, and ready
  std::string reason;        // its name
  std::string pool;
  std::string wave;
  std::string zone;
  std::string rack;
  std::string version;  // of the driver that runs
  std::string model;    // of its GPUs
  int64_t gpus = 0;
  int64_t gpu_pods = 0;

  // Out of service because of its upgrade: what that costs is counted in GPU-hours.
  bool is_out() const { return fleet::is_active(state) || state == fleet::State::failed; }
  bool operator==(const NodeRow&) const = default;
};

class FleetModel {
 public:
  explicit FleetModel(HistoryOptions history = {}) : history_(history) {}

  // New, or changed; a row that is the same again changes nothing.
  void put(NodeRow row, Time now);
  void remove(const std::string& name, Time now);
  // "pools", "rollouts", …: whole JSON values, sent again when they differ.
  void set_part(std::string_view name, Json value);

  const NodeRow* find(const std::string& name) const;
  std::vector<std::string> names() const;
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, held] : rows_) visit(held.row);
  }
  size_t size() const { return rows_.size(); }
  uint64_t sequence() const { return sequence_; }
  // What changed since the last time, under the next number; nothing when nothing has.
  std::optional<std::string> take_changes(Time now);
  // Everything, as of the last number given out: take_changes() comes first.
  std::string snapshot(Time now) const;
  // The time line; a point is added to it when one is due.
  std::string history(Time now, bool with_changes = true) const;
  void sample(Time now);
  // Every node has been put: what they say of the time before is the beginning of the time line.
  void begin_history(Time now);
  Duration sample_interval() const { return history_.interval(); }
  // The states of one node, the oldest first: [[milliseconds, state], …].
  Json states_of(const std::string& name) const;

 private:
  struct Held {
    uint32_t number = 0;
    NodeRow row;
  };
  size_t word(const std::string& text);
  void print_row(const Held& held, std::string& out) const;

  std::map<std::string, Held> rows_;
  std::map<std::string, size_t> word_numbers_;
  std::vector<std::string> words_;
  size_t words_sent_ = 0;
  std::set<std::string> changed_;
  std::vector<uint32_t> gone_;
  std::map<std::string, Json, std::less<>> parts_;
  std::set<std::string, std::less<>> changed_parts_;
  uint32_t next_number_ = 0;
  uint64_t sequence_ = 0;
  History history_;
};

}  // namespace lockstep::dashboard
