#include "bundle/deployment_order.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

using Waiting = std::map<std::string, std::set<std::string>>;  // what each still waits for

// Everything in `waiting` waits for something in it, so following the waits must come round.
std::string describe_cycle(const Waiting& waiting) {
  std::vector<std::string> path = {waiting.begin()->first};
  while (true) {
    const std::string& next = *waiting.at(path.back()).begin();
    bool round = std::find(path.begin(), path.end(), next) != path.end();
    path.push_back(next);
    if (!round) continue;
    path.erase(path.begin(), std::find(path.begin(), path.end(), next));
    return join(path, " -> ");
  }
}

}  // namespace

Result<std::vector<std::string>> deployment_order(const std::vector<ComponentRef>& components) {
  Waiting waiting;
  std::vector<std::string> names;
  for (const ComponentRef& component : components) {
    waiting[component.name] = {component.dependencies.begin(), component.dependencies.end()};
    names.push_back(component.name);
  }
  for (const ComponentRef& component : components) {
    for (const std::string& dependency : component.dependencies) {
      if (waiting.count(dependency) > 0) continue;
      return fail(ErrorKind::invalid,
                  fmt::format("{} depends on \"{}\", which is not in this recipe{}", component.name,
                              dependency, suggestion(dependency, names)),
                  component.place.text());
    }
  }
  std::vector<std::string> order;
  while (!waiting.empty()) {
    auto ready = std::find_if(waiting.begin(), waiting.end(),
                              [](const auto& entry) { return entry.second.empty(); });
    if (ready == waiting.end()) {
      return failf(ErrorKind::invalid, "components depend on each other in a circle: {}",
                   describe_cycle(waiting));
    }
    order.push_back(ready->first);
    waiting.erase(ready);
    for (auto& [name, dependencies] : waiting) dependencies.erase(order.back());
  }
  return order;
}

}  // namespace lockstep::bundle
