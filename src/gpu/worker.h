// What runs in a process of its own, because a call of the driver may never come back: NVML for the
// whole node, CUDA for one GPU, CUDA for copies between all. A worker reads its orders as one line
// of JSON and answers with lines (reporter.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "gpu/driver_library.h"
#include "gpu/measure.h"

namespace lockstep::gpu {

enum class Role { nvml, cuda, peer };

struct WorkerOrders {
  Role role = Role::nvml;
  std::vector<std::string> checks;
  std::vector<std::string> gpus;  // UUIDs, for cuda (one) and peer
  LibraryPlaces places;
  MeasureOptions measure;
};

std::string orders_text(const WorkerOrders& orders);
Result<WorkerOrders> read_orders(std::string_view text);

// The whole of a worker process. NVML's ends when `input` is closed, the others when they are done.
int run_worker(int input, int output);

}  // namespace lockstep::gpu
