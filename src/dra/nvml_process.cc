#include "dra/nvml_process.h"

#include <cstdio>

#include <fmt/format.h>

#include "data/json.h"
#include "gpu/nvml_inventory.h"

namespace lockstep::dra {

void NvmlProcess::ask(const DriverState& state, std::function<void(Result<Inventory>)> done) {
  ProcessSpec spec;
  spec.command = options_.command;
  spec.command.push_back(state.library_folder);
  spec.limit = options_.limit;
  processes_.start(std::move(spec), loop_, [done = std::move(done)](Result<ProcessOutput> output) {
    if (!output) return done(fail(output.error()));
    if (output->exit_code != 0) {
      return done(failf(ErrorKind::internal, "the process that asks NVML ended with code {}",
                        output->exit_code));
    }
    done(read_inventory(output->output));
  });
}

int run_nvml_process(const std::string& library_folder) {
  Json answer = gpu::ask_inventory({library_folder, ""});
  fmt::print("{}\n", print_json(answer));
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace lockstep::dra
