#include "cli/rollout_tree.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/rollout_text.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using operate::RolloutReport;
using operate::WaveReport;
using rollout::Phase;

constexpr int bar_width = 20;

class Tree {
 public:
  Tree(const RolloutReport& rollout, const Terminal& terminal)
      : rollout_(rollout), terminal_(terminal) {}

  std::string text(Time now) {
    const rollout::RolloutStatus& status = rollout_.status;
    std::string head = "rollout " + rollout_head(rollout_, now);
    if (!status.to.version.empty()) {
      head += fmt::format("  {} -> {}", rollout_.direction.from, rollout_.direction.to);
    }
    const bool is_trouble = status.phase == Phase::held || status.phase == Phase::rolling_back;
    out_ = terminal_.paint(head, is_trouble ? "1;31" : "1") + "\n";
    // The waves below count the nodes themselves.
    const bool is_counted = status.reason == fleet::Reason::upgrading;
    if (!status.reason.empty() && !is_counted) {
      line("  ", fmt::format("{}: {}", status.reason.view(), one_line(status.message)));
    }
    for (const std::string& problem : rollout_.spec.problems) line("  ", "wrong: " + problem);
    for (const WaveReport& wave : rollout_.waves) add_wave(wave, &wave == &rollout_.waves.back());
    return std::move(out_);
  }

 private:
  // Shortened to the terminal's width; a file gets the whole line.
  void line(std::string_view before, const std::string& text) {
    std::string whole = fmt::format("{}{}", before, text);
    out_ += (terminal_.interactive ? shorten(whole, static_cast<size_t>(terminal_.width)) : whole) +
            "\n";
  }

  void add_wave(const WaveReport& report, bool last) {
    const rollout::WaveStatus& wave = report.status;
    std::string text = fmt::format("{} {:<16} {} {:>4}/{:<5} {}", last ? "`-" : "|-", wave.name,
                                   progress_bar(wave.done, wave.nodes, bar_width), wave.done,
                                   wave.nodes, report.state);
    if (wave.failed > 0) text += fmt::format(", {} failed", wave.failed);
    if (report.left) text += fmt::format(", about {} left", human_duration(*report.left));
    if (!wave.opened.is_set() && report.asked) {
      text += fmt::format("  ({})", report.asked->nodes.text());
    }
    line("  ", text);
    const std::string below = last ? "       " : "  |    ";
    for (const rollout::Verdict& gate : wave.gates) line(below, gate_text(gate));
    if (report.bake && report.asked && report.asked->bake) add_bake(below, report);
    if (!wave.verdict_text.empty()) line(below, wave.verdict_text);
    if (!wave.approved_by.empty()) {
      line(below, "approved by " + wave.approved_by);
    } else if (report.needs_approval) {
      line(below, "needs a user's approval: lockstep rollout promote " + rollout_.name);
    }
  }

  void add_bake(const std::string& below, const WaveReport& report) {
    const rollout::BakeVerdict& seen = *report.bake;
    const std::string& said = report.status.bake;
    // What it came to is what counts of a bake that is over.
    if (!report.is_baking) {
      return line(below, !said.empty()
                             ? said
                             : fmt::format("bake ended after {}", human_duration(seen.passed)));
    }
    const Duration asked = report.asked->bake->duration;
    const auto bar = [](double value, double most) {
      const double part = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 1.0;
      return progress_bar(static_cast<int64_t>(std::lround(part * 100)), 100, bar_width);
    };
    line(below, fmt::format("bake      {} {}", bar(in_seconds(seen.passed), in_seconds(asked)),
                            rollout::bake_clock(seen.passed, asked)));
    line(below,
         fmt::format("exposure  {} {:.1f} of {:.1f} GPU-hours",
                     bar(seen.gpu_hours, seen.min_gpu_hours), seen.gpu_hours, seen.min_gpu_hours));
    line(below, fmt::format("evidence  {} {:.3g}, fails at {:.3g}", bar(seen.evidence, seen.limit),
                            seen.evidence, seen.limit));
    if (!said.empty()) line(below, said);
  }

  const RolloutReport& rollout_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string rollout_tree(const RolloutReport& rollout, Time now, const Terminal& terminal) {
  return Tree(rollout, terminal).text(now);
}

}  // namespace lockstep::cli
