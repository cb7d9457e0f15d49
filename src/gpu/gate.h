// The gate: starts the workers, enforces their deadlines, combines their facts and has the results
// decided. All GPUs work at the same time. This process does not call the driver.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "gpu/measure.h"
#include "gpu/verdict.h"
#include "gpu/worker.h"

namespace lockstep::gpu {

struct GateOptions {
  std::vector<std::string> checks;  // empty: all
  std::string expect_driver;
  std::optional<Json> baseline;   // facts of an earlier gate
  std::vector<std::string> gpus;  // UUIDs; empty: all
  Duration budget = seconds(30);
  Duration call_deadline = seconds(10);
  std::string root;  // of the host's file system; empty: "/"
  LibraryPlaces places;
  MeasureOptions measure;
  std::vector<std::string> worker;  // the program that runs run_worker, with its words
  // What is being done, now and then: "GPU 0 training, GPU 1 memory".
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct GateOutcome {
  std::vector<CheckResult> results;
  Json facts;
  double seconds = 0;
  bool over_budget = false;
};

// Fails with not_found without a driver or GPU, with invalid if the options name what does not
// exist.
Result<GateOutcome> run_gate(const GateOptions& options);

// Passed, or the worst that anything came to.
Verdict overall(const GateOutcome& outcome);
// 0 all passed; 1 something did not; 5 the budget was over and nothing failed.
int exit_code_of(const GateOutcome& outcome);

}  // namespace lockstep::gpu
