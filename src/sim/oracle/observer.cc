#include "sim/oracle/observer.h"

#include <utility>

#include "upgrade/decide.h"

namespace lockstep::sim {

Answers answers_of(const view::FleetWatch& watch, Time now) {
  Answers answers;
  for (const auto& name : watch.nodes()) {
    auto view = watch.view(name);
    if (!view) continue;
    answers[name] = upgrade::decide(*view, watch.pool(view->pool), watch.rules(), now).reason;
  }
  return answers;
}

std::optional<Answers> ask_observer(kube::Api& api, VirtualLoop& time, Loop& clock, Random& random,
                                    view::FleetWatchOptions options) {
  options.reads_notes = true;
  SilentLog log;
  view::FleetWatch watch(api, clock, random, log, std::move(options));
  watch.start();
  if (!time.run_until([&] { return watch.synced(); }, seconds(5))) return std::nullopt;
  watch.count_changed();
  return answers_of(watch, clock.now());
}

}  // namespace lockstep::sim
