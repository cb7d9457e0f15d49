// One answer: what a process says that has only the API, as `lockstep why` or a dashboard by itself
// has, is what the controller says.
#pragma once

#include <map>
#include <string>

#include "fleet/reason.h"
#include "sim/oracle/invariant.h"

namespace lockstep::sim {

using Answers = std::map<std::string, fleet::Reason>;  // by node

class OneAnswer final : public Invariant {
 public:
  using Invariant::Invariant;

  // At one moment, at which nothing has changed for longer than the controller takes to publish
  // what only it knows.
  void compare(const Answers& controller, const Answers& observer) const;
};

}  // namespace lockstep::sim
