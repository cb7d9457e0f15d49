// The analysis of a bake: from what was seen, step by step, to a verdict with its reasons. Pure:
// the same steps give the same verdict, so that a recorded bake can be replayed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "fleet/reason.h"
#include "rollout/incidents.h"
#include "rollout/rate_evidence.h"

namespace lockstep::rollout {

using fleet::Reason;
using fleet::ReasonName;

struct BakeRules {
  Duration duration = hours(48);
  double min_gpu_hours = 0;  // and never none at all
  Duration max_duration = hours(96);
  double alpha = 0.05;              // false alarms, over the whole bake and all kinds of events
  double tolerated_ratio = 1;       // of the rates, upgraded against control
  double speed_margin = 0.05;       // how much slower a node may be than it was before
  Duration together = minutes(15);  // what happens on both sides within this is one cause
  // The expected rate of events that have not occurred yet, for the effect that the bake can
  // detect. One GPU-caused interruption in 79,000 GPU-hours was published for a run of 16,384 GPUs.
  double expected_per_gpu_hour = 1.0 / 79000;
  double power = 0.9;
};

// A rule that needs no statistics: the wrong driver version, a GPU gone, a link down. Labels lag,
// so that a node fails the bake with two breaches of the same rule at least this long apart, and
// none without it between them.
inline constexpr Duration breach_confirmed_after = seconds(90);
struct Breach {
  ReasonName rule;  // Reason::gpu_missing
  std::string node;
  std::string text;  // "7 of 8 GPUs"
};

// A node's incidents are compared up to this one: its first with first ones, its second with second
// ones.
inline constexpr size_t compared_incidents = 3;
using RepeatHours = std::array<double, compared_incidents>;

// What was seen of nodes of one GPU model since the step before.
struct ModelStep {
  std::string model;
  double upgraded_hours = 0;  // GPU-hours of nodes that were busy when the step began
  double control_hours = 0;
  // Kinds: "FatalXid", "UncorrectableEcc", "GpuLost", "LinkFlap", "FailedPrepare".
  NodeEvents upgraded_events = {};
  NodeEvents control_events = {};
  // Of the hours, those of nodes that had one, two, … incidents before.
  RepeatHours upgraded_repeat_hours = {};
  RepeatHours control_repeat_hours = {};
};

// One measurement of a node after its upgrade against the same on it before.
struct SpeedPair {
  std::string node;
  std::string what;  // "inference", "memory"
  double before = 0;
  double after = 0;
};

struct BakeStep {
  Time at;
  // How long it has baked by then, by a monotonic clock.
  Duration elapsed{0};
  int64_t upgraded_nodes = 0;
  int64_t silent_nodes = 0;  // of them, those that said nothing of their GPUs at that time
  // Of the bake of an earlier wave, which had an analysis of its own: only its rates count on,
  // because exposure is pooled over waves.
  bool earlier = false;
  std::vector<ModelStep> models;
  std::vector<Breach> upgraded_breaches;
  std::vector<Breach> control_breaches;
  std::vector<SpeedPair> speeds;
};

// Puts the step's events down to incidents of their nodes. Each wave's bake has a clock of its own,
// so that one of an earlier wave is an incident by itself. `elapsed`: at the step before.
void count_incidents(const BakeStep& step, Duration elapsed, Incidents& incidents);

enum class BakeOutcome { going_on, passed, failed, held, inconclusive };
std::string_view to_string(BakeOutcome outcome);

// The evidence of one kind of event.
struct KindEvidence {
  std::string kind;
  int64_t upgraded_events = 0;
  int64_t control_events = 0;
  double evidence = 1;  // against its limit, the number of kinds / alpha
};

struct BakeVerdict {
  BakeOutcome outcome = BakeOutcome::going_on;
  ReasonName reason;     // Reason::rate_too_high
  std::string text;      // a sentence with the numbers
  double gpu_hours = 0;  // without those of earlier waves
  double control_gpu_hours = 0;
  double min_gpu_hours = 0;  // that are asked for
  int64_t incidents = 0;     // on upgraded nodes, without those of earlier waves
  Duration passed = Duration::zero();
  double evidence = 1;  // of all kinds together
  double limit = 20;    // at which the bake fails
  std::vector<KindEvidence> kinds;
  std::string detectable;  // what this bake could have detected, as a sentence
};

class BakeJudge {
 public:
  explicit BakeJudge(BakeRules rules);

  void add(const BakeStep& step);
  // As of the last step. Once failed or held it stays so, whatever comes.
  BakeVerdict verdict() const;
  // Failed or held: the same without its numbers.
  bool is_decided() const { return decided_.has_value(); }

 private:
  struct Kind {
    RateEvidence test;
    int64_t upgraded_events = 0;
    int64_t control_events = 0;
    int64_t upgraded_incidents = 0;
    int64_t control_incidents = 0;
    int64_t own_control_incidents = 0;  // without those of earlier waves
    std::optional<Duration> last_upgraded = {};

    Kind(double tolerated, double most_per_node) : test(tolerated, most_per_node) {}
  };
  // What explains the incidents of upgraded nodes, by GPU model.
  struct Model {
    double own_hours = 0;  // upgraded, without those of earlier waves
    int64_t own_incidents = 0;
    double control_hours = 0;  // of nodes without an incident
    int64_t control_nodes = 0;
  };
  struct Observed {
    Breach breach;
    Duration first{0};
  };

  Kind& kind_of(const std::string& name);
  void add_model(const ModelStep& model, const BakeStep& step, const Incidents& before);
  void compare(const ModelStep& model, const Incidents& before);
  void note_control_incident(const EventCounts& events, Duration at);
  static void observe(const std::vector<Breach>& seen, Duration at, std::vector<Observed>& known);
  void judge_breaches(const BakeStep& step);
  void judge_speeds();
  void judge_rates(Duration at);
  void decide(BakeOutcome outcome, ReasonName reason, std::string text);
  std::optional<std::string> control_burst(Duration at) const;
  double evidence_of_all() const;
  std::optional<std::string> unexplained_incidents() const;
  void decide_at_the_end(BakeVerdict& verdict) const;
  std::string incidents_text() const;
  std::string upgraded_nodes_text() const;
  RateSearch search() const;
  std::string describe_detectable() const;
  std::string describe_needed(const RateExposure& exposure) const;

  BakeRules rules_;
  Duration elapsed_{0};
  int64_t upgraded_nodes_ = 0;
  // At any time of this bake: one that came late shows nothing about the time before.
  std::optional<int64_t> fewest_upgraded_nodes_;
  int64_t silent_nodes_ = 0;
  // Of all waves.
  double upgraded_hours_ = 0;
  double control_hours_ = 0;
  double own_hours_ = 0;  // upgraded, without those of earlier waves
  double own_control_hours_ = 0;
  Incidents incidents_;  // of all nodes
  // Of all kinds together: a bad driver may show itself in several ways.
  RateEvidence pooled_;
  std::map<std::string, Kind> kinds_;
  std::map<std::string, Model> models_;
  Incidents upgraded_incidents_;  // without those of earlier waves
  Incidents control_incidents_;
  struct Control {
    Duration at;
    std::string kind;
  };
  std::vector<Control> recent_control_;
  std::vector<Observed> upgraded_breaches_;  // that last until now
  std::vector<Observed> control_breaches_;   // and those that began a short while ago
  std::map<std::string, std::map<std::string, double>> ratios_;  // what -> node -> after / before
  std::optional<BakeVerdict> decided_;
};

}  // namespace lockstep::rollout
