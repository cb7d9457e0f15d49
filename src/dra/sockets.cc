#include "dra/sockets.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"

namespace lockstep::dra {

namespace {

// The kernel takes 108 bytes with the zero at the end; gRPC refuses a few fewer.
constexpr size_t longest_path = 104;
constexpr size_t most_hash = 32;
constexpr size_t least_hash = 8;

// folder/prefix-name-suffix, or with a hash of the name in its place.
Result<std::string> path_in(const std::string& folder, std::string_view before,
                            const std::string& name, std::string_view after) {
  std::string path = fmt::format("{}/{}{}{}", folder, before, name, after);
  if (path.size() <= longest_path) return path;
  size_t around = path.size() - name.size();
  if (around + least_hash > longest_path) {
    return failf(ErrorKind::invalid, "{} is too long a path for a socket", quoted(path));
  }
  std::string hash = sha256_hex(name).substr(0, std::min(most_hash, longest_path - around));
  return fmt::format("{}/{}{}{}", folder, before, hash, after);
}

}  // namespace

Result<SocketPaths> socket_paths(const std::string& kubelet_folder, const std::string& driver,
                                 const std::string& instance) {
  bool leads_elsewhere = driver.empty() || driver.find('/') != std::string::npos ||
                         instance.find('/') != std::string::npos || driver.front() == '.';
  if (leads_elsewhere) {
    return failf(ErrorKind::invalid, "{} is no name of a driver", quoted(driver));
  }
  SocketPaths paths;
  paths.state_folder = fmt::format("{}/plugins/{}", kubelet_folder, driver);
  std::string registry = kubelet_folder + "/plugins_registry";
  std::string name = instance.empty() ? driver : driver + "-" + instance;
  LOCKSTEP_TRY(paths.registration, path_in(registry, "", name, "-reg.sock"));
  if (instance.empty()) {
    paths.service = paths.state_folder + "/dra.sock";
    if (paths.service.size() > longest_path) {
      return failf(ErrorKind::invalid, "{} is too long a path for a socket", quoted(paths.service));
    }
  } else {
    LOCKSTEP_TRY(paths.service, path_in(paths.state_folder, "dra-", instance, ".sock"));
  }
  return paths;
}

}  // namespace lockstep::dra
