// How long a process may have a shared GPU before the next one's turn. NVML has no call for it: the
// driver's own nvidia-smi sets it, as NVIDIA's plugin does. Only the driver keeps it, so it is lost
// with the driver and has to be set again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dra/driver_state.h"
#include "dra/gpu_config.h"
#include "world/process.h"

namespace lockstep::dra {

class TimeSlicer {
 public:
  virtual ~TimeSlicer() = default;
  // Answers later, before the limit is over.
  virtual void set(const DriverState& driver, const std::string& gpu_uuid, TimeSlice slice,
                   Duration limit, std::function<void(Result<void>)> done) = 0;
};

class SmiTimeSlicer final : public TimeSlicer {
 public:
  SmiTimeSlicer(Processes& processes, Loop& loop) : processes_(processes), loop_(loop) {}
  void set(const DriverState& driver, const std::string& gpu_uuid, TimeSlice slice, Duration limit,
           std::function<void(Result<void>)> done) override;

 private:
  Processes& processes_;
  Loop& loop_;
};

// Where the nvidia-smi of a driver may lie whose libraries are in this folder, the likeliest first.
std::vector<std::string> smi_paths(const std::string& library_folder);

}  // namespace lockstep::dra
