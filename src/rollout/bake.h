// The judge of a bake: from what was seen, step by step, to a verdict with its reasons. Pure: the
// same steps give the same verdict, so that a recorded bake can be judged again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "rollout/rate_evidence.h"

namespace lockstep::rollout {

struct BakeRules {
  Duration duration = hours(48);
  double min_gpu_hours = 0;
  Duration max_duration = hours(96);
  double alpha = 0.05;              // false alarms, over the whole bake and all kinds of events
  double tolerated_ratio = 1;       // of the rates, upgraded against control
  double speed_margin = 0.05;       // how much slower a node may be than it was before
  Duration together = minutes(15);  // what happens on both sides within this is one cause
  // Of events nobody has seen yet: how often to expect them, for what the bake could have detected.
  // One GPU-caused interruption in 79,000 GPU-hours was published for a run of 16,384 GPUs.
  double expected_per_gpu_hour = 1.0 / 79000;
  double power = 0.9;
};

// A rule that needs no statistics: the wrong driver version, a GPU gone, a link down. One breach
// fails the bake.
struct Breach {
  std::string rule;  // "GpuMissing"
  std::string node;
  std::string text;  // "7 of 8 GPUs"
};

// What was seen of nodes of one GPU model since the step before.
struct ModelStep {
  std::string model;
  double upgraded_hours = 0;  // GPU-hours of nodes that were busy
  double control_hours = 0;
  // By kind: "FatalXid", "UncorrectableEcc", "GpuLost", "LinkFlap", "FailedPrepare".
  std::map<std::string, int64_t> upgraded_events;
  std::map<std::string, int64_t> control_events;
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
  // Of the bake of a wave before, which was judged by itself: only its rates count on, for exposure
  // is pooled over waves.
  bool earlier = false;
  std::vector<ModelStep> models;
  std::vector<Breach> upgraded_breaches;
  std::vector<Breach> control_breaches;
  std::vector<SpeedPair> speeds;
};

enum class BakeOutcome { going_on, passed, failed, held, inconclusive };
std::string_view to_string(BakeOutcome outcome);

// The evidence of one kind of event.
struct KindEvidence {
  std::string kind;
  int64_t upgraded_events = 0;
  int64_t control_events = 0;
  double evidence = 1;    // against its limit, the number of kinds / alpha
  double detectable = 0;  // the ratio that would have been found with the power of the rules
};

struct BakeVerdict {
  BakeOutcome outcome = BakeOutcome::going_on;
  std::string reason;    // "RateTooHigh"
  std::string text;      // a sentence with the numbers
  double gpu_hours = 0;  // without those of earlier waves
  double control_gpu_hours = 0;
  Duration passed = Duration::zero();
  double evidence = 1;  // of all kinds together
  double limit = 20;    // at which the bake fails
  std::vector<KindEvidence> kinds;
  std::string detectable;  // what this bake could have detected, and what not, as a sentence
};

class BakeJudge {
 public:
  BakeJudge(BakeRules rules, Time began);

  void add(const BakeStep& step);
  // Once failed or held it stays so, whatever comes.
  BakeVerdict verdict(Time now) const;

 private:
  struct Kind {
    RateEvidence test;
    int64_t upgraded_events = 0;
    int64_t control_events = 0;
    int64_t own_control_events = 0;  // without those of earlier waves
    explicit Kind(double tolerated) : test(tolerated) {}
  };

  void add_models(const BakeStep& step);
  void judge_breaches(const BakeStep& step);
  void judge_speeds();
  void judge_rates(Time at);
  void decide(BakeOutcome outcome, std::string reason, std::string text);
  std::optional<std::string> control_burst(Time at) const;
  double evidence_of_all() const;
  std::string describe_detectable(const std::vector<KindEvidence>& kinds) const;

  BakeRules rules_;
  Time began_;
  double upgraded_hours_ = 0;
  double control_hours_ = 0;
  double own_hours_ = 0;  // upgraded, without those of earlier waves
  double own_control_hours_ = 0;
  // Of all kinds together: a bad driver may show itself in several ways.
  RateEvidence pooled_;
  std::map<std::string, Kind> kinds_;
  struct Control {
    Time at;
    std::string kind;
    int64_t events;
  };
  std::vector<Control> recent_control_;
  std::vector<std::pair<Time, Breach>> recent_control_breaches_;
  std::map<std::string, std::map<std::string, double>> ratios_;  // what -> node -> after / before
  std::optional<BakeVerdict> decided_;
};

}  // namespace lockstep::rollout
