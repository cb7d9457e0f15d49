// The fleet's status for display: a tree of pools and nodes, a compact map, one node in full.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "operate/fleet_status.h"

namespace lockstep::cli {

using operate::FleetStatus;
using operate::look_at_fleet;
using operate::NodeStatus;
using operate::PoolStatus;

struct StatusTextOptions {
  bool all_nodes = false;  // also those that are done and at rest
  size_t most_nodes = 40;  // of one state
};

// "40/48 run 580.126.20": what the nodes run, not what was asked for.
std::string headline(const PoolStatus& pool);
// A line that says what is missing, or nothing.
std::string incomplete_text(const FleetStatus& status, const Terminal& terminal);

std::string status_text(const FleetStatus& status, const Terminal& terminal,
                        const StatusTextOptions& options = {});
// One line: "48 nodes  done 12  active 5  waiting 30  failed 1 ...".
std::string status_line(const FleetStatus& status);
// One letter per node, in rows.
std::string fleet_map(const PoolStatus& pool, const Terminal& terminal);
std::string why_text(const NodeStatus& node, const PoolStatus& pool, const Terminal& terminal);

}  // namespace lockstep::cli
