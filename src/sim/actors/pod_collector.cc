#include "sim/actors/pod_collector.h"

namespace lockstep::sim {

namespace {

// As long as Kubernetes waits for a node to come back.
constexpr Duration quarantine = seconds(40);

}  // namespace

PodCollector::PodCollector(Parts parts, View& view) : parts_(parts), view_(view), writer_(parts) {
  view_.nodes().on_change(scope_.bind([this](const ObjectCache::Change& change) {
    if (change.after) return;
    parts_.loop.after(
        quarantine, scope_.bind([this, name = change.object().meta.name.str()] { collect(name); }));
  }));
}

void PodCollector::collect(const std::string& node) {
  if (view_.nodes().find({"", node})) return;
  for (const Object& pod : view_.pods().find_all("node", node)) {
    writer_.send(remove_exactly(resource::pods, pod->meta.key(), pod->meta.uid, 0));
  }
}

}  // namespace lockstep::sim
