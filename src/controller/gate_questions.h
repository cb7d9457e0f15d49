// The gates of a wave that query a server, and the answers so far: in one ConfigMap per wave, so
// that a controller that restarts continues where the last one was.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/gate_asker.h"
#include "controller/gate_jobs.h"
#include "view/fleet_watch.h"

namespace lockstep::controller {

// The name of the ConfigMap that holds the answers of a wave's gates.
std::string answers_name(const std::string& rollout, size_t wave);

class GateQuestions {
 public:
  // Without an asker such gates are inconclusive.
  GateQuestions(kube::Api& api, Loop& loop, view::FleetWatch& watch, GateAsker* asker)
      : api_(api), loop_(loop), watch_(watch), asker_(asker) {}
  GateQuestions(const GateQuestions&) = delete;
  GateQuestions& operator=(const GateQuestions&) = delete;

  std::vector<rollout::Verdict> verdicts(const GateRun& run) const;
  // How long until the next query is due; nothing: never.
  std::optional<Duration> due_in(const GateRun& run) const;
  // Asks those whose time has come, and writes down what they answered. `done` with the API's
  // answer.
  void ask(const GateRun& run, std::function<void(kube::Reply)> done);

 private:
  std::map<std::string, rollout::GateRecord> records_of(const GateRun& run) const;
  void write(const GateRun& run, const std::map<std::string, rollout::GateRecord>& records,
             std::function<void(kube::Reply)> done);

  kube::Api& api_;
  Loop& loop_;
  view::FleetWatch& watch_;
  GateAsker* asker_;
  Scope scope_;
};

}  // namespace lockstep::controller
