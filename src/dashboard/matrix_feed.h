// Keeps the version matrices of pages up to date: reads each when a page is open, from time to
// time, and soon after a rollout has changed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dashboard/fleet_model.h"
#include "data/json.h"
#include "rollout/matrix_report.h"
#include "rollout/rollout_spec.h"
#include "world/loop.h"

namespace lockstep::dashboard {

// A matrix, and which rollouts take their version from it.
struct ShownMatrix {
  rollout::MatrixPlace place;
  std::string repository;  // for display: without passwords
  std::vector<std::string> rollouts;
  bool readable = true;  // false: the allowed list does not have it
};

struct MatrixFeedParts {
  std::function<std::vector<ShownMatrix>()> matrices;
  // Answers once, on the loop.
  std::function<void(const rollout::MatrixPlace&,
                     std::function<void(Result<rollout::MatrixReport>)>)>
      read;
  std::function<bool()> is_watched;
  std::function<void()> changed;  // the model has something new
};

struct MatrixFeedOptions {
  Duration interval = minutes(1);
  size_t most = 4;  // matrices
};

class MatrixFeed {
 public:
  MatrixFeed(Loop& loop, FleetModel& model, MatrixFeedParts parts, MatrixFeedOptions options = {});
  MatrixFeed(const MatrixFeed&) = delete;
  MatrixFeed& operator=(const MatrixFeed&) = delete;

  // Something happened that is likely to have moved a version.
  void hurry();

 private:
  using Place = std::string;  // of a matrix, as one word
  struct Held {
    Json card;  // null until it has been read
    std::string error;
    Duration due{0};  // by the loop's uptime
  };
  void tick();
  void look();
  void take(const Place& place, const Result<rollout::MatrixReport>& report);
  void show();

  Loop& loop_;
  FleetModel& model_;
  MatrixFeedParts parts_;
  MatrixFeedOptions options_;
  std::map<Place, Held> held_;
  bool reading_ = false;
  Scope scope_;
};

}  // namespace lockstep::dashboard
