#include "cli/plan_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/pod_names.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using rollout::PlannedEnd;
using rollout::PlannedNode;
using rollout::PlannedRollout;
using rollout::PlannedWave;

constexpr size_t text_width = 80;
constexpr size_t most_names = 5;

// `text` after `head`, in lines of the text's width; those after the first begin with `indent`
// spaces. A word that is longer stays whole: names are for copying.
std::string wrap(std::string head, std::string_view text, size_t indent) {
  std::string out;
  std::string line = std::move(head);
  bool is_fresh = true;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const size_t width = line.size() + (is_fresh ? 0 : 1) + word.size();
    if (!is_fresh && width > text_width) {
      out += line + "\n";
      line.assign(indent, ' ');
      is_fresh = true;
    }
    if (!is_fresh) line += ' ';
    line += word;
    is_fresh = false;
  }
  return out + line + "\n";
}

std::string counted(int64_t count, std::string_view what) {
  return upgrade::counted(static_cast<size_t>(count), what);
}

std::string text_of(const fleet::Reason& reason) {
  return reason.text.empty() ? reason.name.str() : one_line(reason.line());
}

std::string after(Duration from_now) {
  return from_now == Duration::zero() ? "now" : "+" + human_duration(from_now);
}

std::string time_in_utc(Time time) {
  std::string text = format_rfc3339(time);
  return text.size() < 16 ? text : text.substr(5, 5) + " " + text.substr(11, 5);
}

void add_refusals(std::string& out, const std::vector<fleet::Reason>& refused, size_t indent) {
  for (const fleet::Reason& reason : refused) {
    out += wrap(std::string(indent, ' ') + "WOULD NOT START: ", text_of(reason), indent + 4);
    if (reason.remedy.empty()) continue;
    out += wrap(std::string(indent + 2, ' ') + "Next: ", one_line(reason.remedy), indent + 4);
  }
}

void add_wave(std::string& out, const PlannedWave& wave) {
  if (!wave.opens) {
    const std::string nodes =
        wave.nodes.empty() ? "" : ": " + counted(static_cast<int64_t>(wave.nodes.size()), "node");
    const std::string name = fmt::format("wave {} ({})", wave.name, wave.selection);
    out += wrap("  ", name + ": does not open" + nodes, 4);
    return;
  }
  out += wrap("  ",
              fmt::format("wave {} ({}): {}, {} GPUs: {}", wave.name, wave.selection,
                          upgrade::counted(wave.nodes.size(), "node"), wave.gpus,
                          wave.nodes.empty() ? "-" : upgrade::name_some(wave.nodes, most_names)),
              4);
  std::vector<std::string> parts{fmt::format("moves {}", counted(wave.moved_pods, "pod"))};
  if (wave.jobs > 0) parts.back() += " of " + counted(wave.jobs, "job");
  if (wave.blocked_nodes > 0) parts.push_back(counted(wave.blocked_nodes, "node") + " blocked");
  parts.push_back(fmt::format("{:.1f} GPU-hours lost", wave.gpu_hours_lost));
  parts.push_back("opens " + after(*wave.opens));
  if (wave.upgraded) parts.push_back("upgraded " + after(*wave.upgraded));
  if (wave.passes) parts.push_back("passes " + after(*wave.passes));
  out += wrap("    ", join(parts, "; "), 4);
}

std::string end_of(const PlannedRollout& rollout) {
  const std::string phase(to_string(rollout.end_phase));
  return rollout.end.name.empty() || rollout.end.name.view() == phase
             ? phase
             : fmt::format("{}: {}", phase, text_of(rollout.end));
}

void add_rollout(std::string& out, const PlannedRollout& rollout) {
  if (rollout.refused.empty() && rollout.end.name == fleet::Reason::nothing_to_do) {
    out += wrap(fmt::format("Rollout {} ({}): ", rollout.name, rollout.phase), rollout.end.text, 2);
    return;
  }
  const bool moves = !rollout.to.empty();
  out += wrap(fmt::format("Rollout {} ({})", rollout.name, rollout.phase),
              moves ? fmt::format(": {} -> {}", rollout.from, rollout.to) : "", 2);
  add_refusals(out, rollout.refused, 2);
  out += wrap("  rollback: ", rollout.rollback, 4);
  for (const PlannedWave& wave : rollout.waves) add_wave(out, wave);
  if (!rollout.excluded.empty()) {
    out += wrap("  excluded: ", upgrade::name_some(rollout.excluded, most_names), 4);
  }
  out += wrap("  ends as ", end_of(rollout), 4) + "\n";
}

void add_events(std::string& out, const rollout::Plan& plan) {
  if (plan.events.empty()) return;
  size_t width = 4;
  for (const auto& event : plan.events) width = std::max(width, event.wave.size());
  const bool several = plan.rollouts.size() > 1;
  out += fmt::format("{:<8} {:<11}  {:<{}}  WHAT HAPPENS\n", "AT", "UTC", "WAVE", width);
  for (const auto& event : plan.events) {
    std::string head = fmt::format("{:<8} {:<11}  {:<{}}  ", after(event.at),
                                   time_in_utc(plan.now + event.at), event.wave, width);
    const size_t indent = head.size();
    out += wrap(std::move(head), (several ? event.rollout + ": " : "") + event.text, indent);
  }
  out += "\n";
}

std::vector<std::string> notes_of(const PlannedNode& node) {
  std::vector<std::string> notes;
  if (node.start && fleet::is_active(node.state)) {
    notes.push_back(fmt::format("in progress ({})", fleet::display_name(node.state)));
  }
  if (node.restart_only) notes.emplace_back("restarts the driver pod only");
  if (!node.waited.empty()) {
    notes.push_back(fmt::format("waits for {}{}", upgrade::name_some(node.waited, 3),
                                node.waits_unlimited ? " (no time limit, not counted)" : ""));
  }
  if (!node.moved.empty()) notes.push_back("moves " + upgrade::name_some(node.moved, 3));
  if (node.stays_cordoned) notes.emplace_back("stays cordoned");
  if (node.outcome == PlannedEnd::failed) {
    // What blocks is named below.
    notes.push_back(
        fmt::format("FAILS {}: {}", after(node.end.value_or(Duration::zero())),
                    node.blocked.empty() ? text_of(node.reason) : node.reason.name.str()));
  }
  if (node.outcome == PlannedEnd::stuck) {
    notes.push_back("does not finish: " + text_of(node.reason));
  }
  if (notes.empty()) notes.emplace_back("no pod is moved");
  return notes;
}

void add_nodes(std::string& out, const rollout::Plan& plan) {
  size_t width = 4;
  size_t wave = 0;
  for (const auto& node : plan.nodes) {
    if (!node.start) continue;
    width = std::max(width, node.name.size());
    wave = std::max(wave, node.wave.size());
  }
  if (wave > 0) wave = std::max<size_t>(wave, 4) + 2;
  out += fmt::format("{:<8} {:<{}}  {:<{}}WHAT HAPPENS\n", "START", "NODE", width,
                     wave > 0 ? "WAVE" : "", wave);
  for (const auto& node : plan.nodes) {
    if (!node.start) continue;
    std::string head =
        fmt::format("{:<8} {:<{}}  {:<{}}", after(*node.start), node.name, width, node.wave, wave);
    const size_t indent = head.size();
    out += wrap(std::move(head), join(notes_of(node), "; "), indent);
    for (const std::string& text : node.blocked) {
      out += wrap(std::string(indent, ' ') + "BLOCKED: ", text, indent);
    }
  }
}

// Those that wait for the same are named together.
void add_waiting(std::string& out, const rollout::Plan& plan) {
  struct Waiting {
    const fleet::Reason* reason;
    std::vector<std::string> nodes;
  };
  std::vector<Waiting> all;
  for (const PlannedNode& node : plan.nodes) {
    if (node.start) continue;
    auto same = std::find_if(all.begin(), all.end(), [&](const Waiting& each) {
      return each.reason->name == node.reason.name && each.reason->text == node.reason.text;
    });
    if (same == all.end()) same = all.insert(all.end(), {&node.reason, {}});
    same->nodes.push_back(node.name);
  }
  if (!all.empty()) out += "\n";
  for (const Waiting& waiting : all) {
    const bool is_one = waiting.nodes.size() == 1;
    out += wrap(fmt::format("{} {} not start: ", upgrade::counted(waiting.nodes.size(), "node"),
                            is_one ? "does" : "do"),
                upgrade::name_some(waiting.nodes, most_names), 2);
    out += wrap("  because: ", text_of(*waiting.reason), 4);
    if (!waiting.reason->remedy.empty())
      out += wrap("  Next: ", one_line(waiting.reason->remedy), 4);
  }
}

struct Sums {
  int64_t starting = 0;
  int64_t moved = 0;
  int64_t jobs = 0;
  int64_t blocked = 0;
  int64_t failing = 0;
  int64_t waiting = 0;
  double gpu_hours = 0;
};

Sums sum(const rollout::Plan& plan) {
  Sums sums;
  for (const PlannedNode& node : plan.nodes) {
    ++(node.outcome == PlannedEnd::not_started ? sums.waiting : sums.starting);
    sums.moved += static_cast<int64_t>(node.moved.size());
    sums.jobs += node.jobs;
    if (!node.blocked.empty()) ++sums.blocked;
    if (node.outcome == PlannedEnd::failed) ++sums.failing;
    if (node.start && node.end) {
      sums.gpu_hours += static_cast<double>(node.gpus) * in_seconds(*node.end - *node.start) / 3600;
    }
  }
  return sums;
}

void add_sums(std::string& out, const operate::PlanAnswer& answer) {
  const rollout::Plan& plan = answer.plan;
  const Sums sums = sum(plan);
  std::vector<std::string> parts;
  parts.push_back(fmt::format("{} upgraded, at most {} at once",
                              counted(sums.starting - sums.failing, "node"), plan.most_at_once));
  if (sums.failing > 0) parts.push_back(counted(sums.failing, "node") + " failing");
  if (sums.waiting > 0) parts.push_back(counted(sums.waiting, "node") + " not started");
  parts.push_back(counted(sums.moved, "pod") + " moved");
  if (sums.jobs > 0) parts.push_back(counted(sums.jobs, "job") + " interrupted");
  if (sums.blocked > 0) parts.push_back(counted(sums.blocked, "node") + " blocked");
  if (sums.gpu_hours > 0) parts.push_back(fmt::format("{:.1f} GPU-hours lost", sums.gpu_hours));
  out += "\n" + wrap("", join(parts, "; ") + ".", 0);
  out += wrap("",
              fmt::format("Takes {} {} at {} a node ({}).", plan.is_cut ? "more than" : "about",
                          human_duration(plan.duration), human_duration(answer.pace.node),
                          answer.from_history ? "as in its waves before" : "--node-minutes"),
              0);
  std::string assumed = "Assumed: driver restarts succeed";
  if (!plan.rollouts.empty()) {
    assumed += fmt::format(
        ", gates pass within {}, GPUs stay as busy as they are, approvals are "
        "given at once",
        human_duration(answer.pace.gates));
  }
  out += wrap("", assumed + ".", 0);
}

}  // namespace

std::string plan_text(const operate::PlanAnswer& answer) {
  const rollout::Plan& plan = answer.plan;
  std::string out;
  add_refusals(out, plan.refused, 0);
  if (!plan.refused.empty()) out += "The rest of the plan assumes that this is solved.\n\n";
  for (const PlannedRollout& rollout : plan.rollouts) add_rollout(out, rollout);
  add_events(out, plan);
  if (!plan.failed.empty()) {
    out += wrap(
        "",
        fmt::format("{} failed and {} for lockstep retry: {}",
                    upgrade::counted(plan.failed.size(), "node"),
                    plan.failed.size() == 1 ? "waits" : "wait", upgrade::name_some(plan.failed, 3)),
        2);
  }
  if (plan.nodes.empty()) {
    return out +
           "Nothing to upgrade: every driver pod has the newest revision.\n"
           "--assume-change shows what a new driver version would do.\n";
  }
  if (std::any_of(plan.nodes.begin(), plan.nodes.end(),
                  [](const PlannedNode& node) { return node.start.has_value(); })) {
    add_nodes(out, plan);
  }
  add_waiting(out, plan);
  add_sums(out, answer);
  return out;
}

}  // namespace lockstep::cli
