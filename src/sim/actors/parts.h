// What every actor of the simulated fleet is handed: the API it speaks to, time, chance and the
// log.
#pragma once

#include "kube/api.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::sim {

struct Parts {
  kube::Api& api;
  Loop& loop;
  Random& random;
  Log& log;
};

}  // namespace lockstep::sim
