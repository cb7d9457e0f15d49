// What a kubelet plugin needs to know of a node's GPUs, as one document: their identities, and
// whether they are fit. A process of its own collects it and then ends, so that the library is
// truly unloaded and no handle keeps the kernel module from being replaced.
//
//   {"driverVersion": "580.105.08", "cudaVersion": "13.0", "library": "…",
//    "gpus": [{"uuid": …, "minor": 0, …, "health": {…}}]}
// or, where nothing could be asked: {"error": "…", "kind": "conflict"}.
#pragma once

#include <string>

#include "data/json.h"
#include "gpu/driver_library.h"

namespace lockstep::gpu {

Json ask_inventory(const LibraryPlaces& places);

// "Hopper" for 9; empty for one that is not known.
std::string architecture_name(unsigned number);

}  // namespace lockstep::gpu
