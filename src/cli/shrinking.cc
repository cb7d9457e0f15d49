#include "cli/shrinking.h"

#include <cstdio>

#include <fmt/format.h>

#include "sim/explore/random_run.h"
#include "sim/scenario/scenario_text.h"

namespace lockstep::cli {

void print_findings(const sim::Findings& findings) {
  for (const auto& text : findings.wrong) fmt::print("  {}\n", text);
  for (const auto& line : findings.last_events) fmt::print("  {}\n", line);
  std::fflush(stdout);
}

void print_shrunk(const sim::Case& failing, const std::string& wrong,
                  const std::function<sim::Findings(const sim::Case&)>& run) {
  // Not in another way: without its steps a run may miss its goal for reasons of its own.
  auto still_fails = [&run, kind = sim::kind_of_failure(wrong)](const sim::Case& tried) {
    const sim::Findings found = run(tried);
    return !found.wrong.empty() && sim::kind_of_failure(found.wrong.front()) == kind;
  };
  const sim::Shrunk shrunk = sim::shrink(failing, still_fails);
  const sim::Findings found = run(shrunk.smallest);
  fmt::print("made smaller in {} runs; as a file it fails too, with --seed {}:\n{}", shrunk.tries,
             failing.options.seed, sim::print_scenario(shrunk.smallest.scenario));
  print_findings(found);
}

}  // namespace lockstep::cli
