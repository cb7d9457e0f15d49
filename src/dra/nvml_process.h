// The driver of this machine: its files, and NVML in a process that ends with its answer or is
// ended at a deadline.
#pragma once

#include <string>
#include <vector>

#include "dra/driver_watch.h"
#include "world/process.h"

namespace lockstep::dra {

struct NvmlProcessOptions {
  DriverPlaces places;
  std::vector<std::string> command;  // the library's folder is added to it
  Duration limit = seconds(10);
};

class NvmlProcess final : public DriverProbe {
 public:
  NvmlProcess(Processes& processes, Loop& loop, NvmlProcessOptions options)
      : processes_(processes), loop_(loop), options_(std::move(options)) {}

  DriverState state() override { return read_driver_state(options_.places); }
  void ask(const DriverState& state, std::function<void(Result<Inventory>)> done) override;

 private:
  Processes& processes_;
  Loop& loop_;
  NvmlProcessOptions options_;
};

// The whole of that process: asks the library in this folder and prints what it says.
int run_nvml_process(const std::string& library_folder);

}  // namespace lockstep::dra
