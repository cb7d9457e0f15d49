// RDMA ports as the kernel shows them under /sys/class/infiniband: InfiniBand, RoCE and EFA.
#pragma once

#include <string>

#include "data/json.h"

namespace lockstep::gpu {

// By "device/port": state, phys_state, gigabits_per_second, link_downed and other counters, uverbs
// (the device that programs open, and whether it is there), carrier (of EFA's network device).
JsonObject rdma_ports(const std::string& root);

}  // namespace lockstep::gpu
