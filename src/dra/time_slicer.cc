#include "dra/time_slicer.h"

#include <algorithm>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

namespace lockstep::dra {

namespace {

// As nvidia-smi counts them.
int number_of(TimeSlice slice) {
  switch (slice) {
    case TimeSlice::usual:
      return 0;
    case TimeSlice::brief:
      return 1;
    case TimeSlice::medium:
      return 2;
    case TimeSlice::extended:
      return 3;
  }
  return 0;
}

}  // namespace

std::vector<std::string> smi_paths(const std::string& library_folder) {
  std::vector<std::string> paths;
  // "/run/nvidia/driver" + "/usr/lib64" has its programs in "/run/nvidia/driver/usr/bin".
  for (std::string_view part : {"/usr/lib", "/lib"}) {
    size_t at = library_folder.rfind(part);
    if (at == std::string::npos) continue;
    paths.push_back(library_folder.substr(0, at) + "/usr/bin/nvidia-smi");
    break;
  }
  // "/usr/local/nvidia/lib64" has them in "/usr/local/nvidia/bin".
  size_t slash = library_folder.rfind('/');
  if (slash != std::string::npos) {
    paths.push_back(library_folder.substr(0, slash) + "/bin/nvidia-smi");
  }
  return paths;
}

void SmiTimeSlicer::set(const DriverState& driver, const std::string& gpu_uuid, TimeSlice slice,
                        Duration limit, std::function<void(Result<void>)> done) {
  std::vector<std::string> paths = smi_paths(driver.library_folder);
  auto program = std::find_if(paths.begin(), paths.end(), [](const std::string& path) {
    return access(path.c_str(), X_OK) == 0;
  });
  if (program == paths.end()) {
    return done(fail(ErrorKind::not_found, "the driver has no nvidia-smi, which sets it"));
  }
  ProcessSpec spec;
  spec.command = {*program, "compute-policy",  "-i",
                  gpu_uuid, "--set-timeslice", fmt::format("{}", number_of(slice))};
  // This one library of the driver's, and none of the C library's that may lie beside it.
  spec.environment["LD_PRELOAD"] = driver.library_path;
  spec.limit = limit;
  processes_.start(std::move(spec), loop_, [done = std::move(done)](Result<ProcessOutput> output) {
    if (!output) return done(fail(output.error()));
    if (output->exit_code != 0) {
      return done(failf(ErrorKind::internal, "nvidia-smi ended with code {}", output->exit_code));
    }
    done({});
  });
}

}  // namespace lockstep::dra
