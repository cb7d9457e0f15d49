// What only the controller knows of the nodes that it is upgrading, as a value: refused evictions,
// since when it has watched a node, how far its clock was set, what it waits for itself. It is
// published in one ConfigMap, so that every other process gives the same answer (NotesPublisher
// writes it, PublishedNotes reads it).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "fleet/node_view.h"
#include "objects/config_map.h"

namespace lockstep::view {

inline constexpr std::string_view notes_name = "lockstep-notes";
// The slots that it has given, by node (controller/slot_ledger.h).
inline constexpr std::string_view ledger_name = "lockstep-slots";

struct NodeNote {
  struct Eviction {
    bool by_budget = false;  // refused by a disruption budget (429)
    Time forced_until;       // deleted with grace period zero: not called stuck before
    std::string message;     // what the server said when it refused

    bool operator==(const Eviction&) const = default;
  };

  std::string since;  // when the node entered the state that this is about, as the node says
  Time seen_since;    // not set: since the state was entered
  Duration clock_gained{0};
  std::vector<Text> renewed;                  // uids of pods
  std::map<std::string, Eviction> evictions;  // by the pod's uid
  std::optional<fleet::Reason> delay;

  bool is_empty() const;
  bool operator==(const NodeNote&) const = default;
};

struct ControllerNotes {
  // Not set: schedulers know of every cordon.
  Time scheduler_sees_from;
  std::map<std::string, NodeNote> nodes;

  Json to_json(const ObjectKey& key) const;
  static ControllerNotes from_map(const ConfigMap& map);
  bool operator==(const ControllerNotes&) const = default;
};

// Of a view with everything that the controller knows: the part that cannot be read from the
// cluster's objects.
NodeNote note_of(const fleet::NodeView& view, Time now);
// And back, into a view that was made of the cluster's objects alone; what a pod's evictions came
// to is in the view already. A note about an earlier state changes nothing.
void add_note(const NodeNote& note, fleet::NodeView& view);

// The same but for what clocks differ by: two readings of one moment are seldom the same.
bool is_about_same(const ControllerNotes& one, const ControllerNotes& other);

}  // namespace lockstep::view
