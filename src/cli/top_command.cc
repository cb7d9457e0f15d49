#include "cli/top_command.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "cli/status_text.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using fleet::State;

struct Row {
  const NodeStatus* node;
  const PoolStatus* pool;
};

// Failed first, then those in progress, then those that wait, then the rest.
int trouble_of(const NodeStatus& node) {
  if (node.state == State::failed) return 0;
  if (fleet::is_active(node.state)) return 1;
  if (!node.ready) return 2;
  if (node.state == State::required) return 3;
  return node.state == State::done ? 5 : 4;
}

std::vector<Row> sorted_rows(const FleetStatus& status, const std::string& sort) {
  std::vector<Row> rows;
  for (const PoolStatus& pool : status.pools) {
    for (const NodeStatus& node : pool.nodes) rows.push_back({&node, &pool});
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (sort == "name") return natural_less(a.node->name, b.node->name);
    if (sort == "age") return a.node->in_state > b.node->in_state;
    int first = trouble_of(*a.node);
    int second = trouble_of(*b.node);
    return first != second ? first < second : a.node->in_state > b.node->in_state;
  });
  return rows;
}

// "upgrade-done 40  upgrade-required 6  upgrade-failed 2".
std::string states_line(const FleetStatus& status, const Terminal& terminal) {
  std::map<State, int64_t> counts;
  for (const PoolStatus& pool : status.pools) {
    for (const auto& [state, count] : pool.counts.by_state) counts[state] += count;
  }
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts) {
    if (count == 0) continue;
    parts.push_back(fmt::format(
        "{} {}", terminal.paint(std::string(fleet::display_name(state)), colour_of(state)), count));
  }
  return join(parts, "  ");
}

std::string headlines(const FleetStatus& status) {
  std::vector<std::string> parts;
  for (const PoolStatus& pool : status.pools) {
    parts.push_back(headline(pool) + (pool.paused.empty() ? "" : ", paused"));
  }
  return join(parts, "; ");
}

std::string head(const FleetStatus& status, const Terminal& terminal) {
  int64_t total = 0;
  int64_t running = 0;
  int64_t gpu_pods = 0;
  for (const PoolStatus& pool : status.pools) {
    total += pool.counts.total;
    running += pool.running;
    for (const NodeStatus& node : pool.nodes) gpu_pods += node.gpu_pods;
  }
  std::string text =
      fmt::format("{}  {} nodes  {} GPU pods  {} {}\n", format_rfc3339(status.at), total, gpu_pods,
                  progress_bar(running, total, 20), headlines(status));
  return text + states_line(status, terminal) + "\n";
}

}  // namespace

std::string top_text(const FleetStatus& status, const std::string& sort, const Terminal& terminal) {
  std::string text = head(status, terminal);
  if (status.frozen) {
    text += terminal.paint(fmt::format("no upgrade starts: {}\n", status.frozen->text), "1;31");
  }
  for (const PoolStatus& pool : status.pools) {
    // The map of ten thousand nodes fills the screen: then the rows say more.
    constexpr size_t most_on_map = 2000;
    if (pool.nodes.size() <= most_on_map) text += fleet_map(pool, terminal);
  }
  text += fmt::format("\n{:<24} {:<22} {:>6} {:>5}  {:<14} {}\n", "NODE", "STATE", "FOR", "GPUS",
                      "DRIVER", "WHY");
  auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  std::vector<Row> rows = sorted_rows(status, sort);
  size_t room =
      terminal.interactive
          ? static_cast<size_t>(std::max(terminal.height - static_cast<int>(lines) - 2, 3))
          : rows.size();
  for (size_t i = 0; i < rows.size() && i < room; ++i) {
    const NodeStatus& node = *rows[i].node;
    std::string state = fmt::format("{:<22}", fleet::display_name(node.state));
    std::string why = one_line(node.reason.line());
    constexpr int before_why = 77;
    if (terminal.interactive) {
      why = shorten(why, static_cast<size_t>(std::max(terminal.width - before_why, 10)));
    }
    text += fmt::format("{:<24} {} {:>6} {:>5}  {:<14} {}\n", shorten(node.name, 24),
                        terminal.paint(state, colour_of(node.state)), human_duration(node.in_state),
                        node.gpu_pods, node.version.empty() ? "?" : node.version, why);
  }
  if (rows.size() > room) text += fmt::format("and {} more\n", rows.size() - room);
  return text;
}

int run_top(const TopFlags& flags) {
  auto fleet = open_fleet(flags.cluster);
  if (!fleet) return report(fleet.error());
  while (true) {
    Terminal terminal = Terminal::of_output();
    std::string text = top_text(look_at_fleet(*fleet->watch, fleet->now()), flags.sort, terminal);
    bool once = flags.once || !terminal.interactive;
    if (!once && !fleet->key_conflict.empty()) {
      text = fmt::format("key domain: {}\n{}", fleet->key_conflict, text);
    }
    if (!once) fmt::print("\x1b[H\x1b[2J");
    print_text(text);
    if (once) return ExitCode::ok;
    std::fflush(stdout);
    fleet->session->loop.run_until([] { return false; }, seconds(1));
  }
}

}  // namespace lockstep::cli
