// Runs one case with one kubectl: a home of its own, a server of its own (or one
// that is there already), every command bounded in time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/patience_test_util.h"
#include "kubectl/transcript.h"
#include "world/event_loop.h"
#include "world/process.h"

namespace lockstep::suite {

struct RunOptions {
  std::string kubectl;     // path of the program
  std::string version;     // "1.36"
  std::string kubeconfig;  // of a server that is there already; empty: an embedded one per case
  Duration limit = test_patience;  // of one command, and of one wait
  bool timing = false;             // tells which steps were slow
};

struct Failure {
  std::string place;  // "cases/get.test:12"
  std::string command;
  std::string message;  // what differs
};

struct Verdict {
  std::vector<Failure> failures;
  bool skipped = false;
  // The case with its expectations as the server fulfils them: for --update.
  std::string rewritten;
};

Verdict run_case(const Transcript& transcript, const RunOptions& options);

}  // namespace lockstep::suite
