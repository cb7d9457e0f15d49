#include "gpu/driver_library.h"

#include <dlfcn.h>

#include "base/strings.h"

namespace lockstep::gpu {

std::vector<std::string> candidate_paths(const std::string& name, const LibraryPlaces& places) {
  if (!places.directory.empty()) return {places.directory + "/" + name};
  const std::string root = places.root == "/" ? "" : places.root;
  std::vector<std::string> paths;
  // With a root of its own, the caller means that file system and no other.
  if (root.empty()) paths.push_back(name);
  for (const char* driver : {"", "/run/nvidia/driver"}) {
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/",
                               "/usr/lib64/", "/usr/local/nvidia/lib64/"}) {
      paths.push_back(root + driver + folder + name);
    }
  }
  return paths;
}

Result<DriverLibrary> DriverLibrary::open(const std::string& name, const LibraryPlaces& places) {
  const std::vector<std::string> paths = candidate_paths(name, places);
  std::string broken;
  for (const std::string& path : paths) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return DriverLibrary(handle, path);
    const char* why = dlerror();
    // A file that is there and cannot be loaded is worth more words than one that is not there.
    std::string text = why == nullptr ? "" : why;
    if (text.find("No such file") == std::string::npos && broken.empty()) broken = text;
  }
  if (!broken.empty()) return failf(ErrorKind::not_found, "{} cannot be loaded: {}", name, broken);
  return failf(ErrorKind::not_found, "no driver found: there is no {} (looked for {})", name,
               join(paths, ", "));
}

void* DriverLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace lockstep::gpu
