// Kubernetes' garbage collector of pods: pods that are bound to a deleted node are removed after a
// while. A scheduler that does not know of the deletion binds pods to it.
#pragma once

#include <string>

#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

class PodCollector {
 public:
  PodCollector(Parts parts, View& view);
  PodCollector(const PodCollector&) = delete;
  PodCollector& operator=(const PodCollector&) = delete;

 private:
  void collect(const std::string& node);

  Parts parts_;
  View& view_;
  Writer writer_;
  Scope scope_;
};

}  // namespace lockstep::sim
