#include "dra/driver_state.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::dra {

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Empty if the file does not exist.
std::string identity_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return "";
  return fmt::format("{}:{}:{}.{}", status.st_dev, status.st_ino, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

std::string real_path(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  return resolved == nullptr ? "" : resolved.get();
}

// Three numbers with dots between them, or two.
bool is_version(std::string_view word) {
  auto dots = std::count(word.begin(), word.end(), '.');
  return dots >= 1 && dots <= 2 &&
         word.find_first_not_of("0123456789.") == std::string_view::npos && word.front() != '.' &&
         word.back() != '.';
}

}  // namespace

std::string module_version_in(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) continue;
    for (std::string_view word : split(line, ' ')) {
      if (!word.empty() && is_version(word)) return std::string(word);
    }
  }
  return "";
}

DriverState read_driver_state(const DriverPlaces& places) {
  DriverState state;
  state.boot_id = trim(read_file(places.proc + "/sys/kernel/random/boot_id"));
  std::string loaded = places.sys + "/module/nvidia";
  // Both: while the module is being taken out, one of them is gone before the other.
  std::string version = module_version_in(read_file(places.proc + "/driver/nvidia/version"));
  std::string said(trim(read_file(loaded + "/version")));
  if (!version.empty() && version == said) {
    state.module_version = version;
    state.module_load = identity_of(loaded);
  }
  for (const std::string& path : gpu::candidate_paths("libnvidia-ml.so.1", places.library)) {
    // The loader's own search is not ours to repeat: where no root is named, these places count.
    if (path.empty() || path.front() != '/') continue;
    std::string found = real_path(path);
    if (found.empty()) continue;
    state.library_folder = path.substr(0, path.rfind('/'));
    state.library_path = std::move(found);
    state.library_file = identity_of(state.library_path);
    break;
  }
  return state;
}

}  // namespace lockstep::dra
