#include <array>
#include <filesystem>

#include "base/strings.h"
#include "cli/doctor_reading.h"
#include "data/yaml.h"
#include "dra/cdi_spec.h"
#include "dra/checkpoint.h"
#include "gpu/host_facts.h"

namespace lockstep::cli {

namespace {

using doctor::NodeFacts;
using gpu::names_in;
using gpu::read_small_file;

constexpr std::array driver_libraries = {std::string_view("libnvidia-ml.so."),
                                         std::string_view("libcuda.so.")};

bool is_driver_library(std::string_view file_name) {
  for (std::string_view library : driver_libraries) {
    if (file_name.starts_with(library)) return true;
  }
  return false;
}

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void read_libraries(const std::string& root, NodeFacts& facts) {
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib64"}) {
    for (const std::string& name : names_in(root + folder)) {
      if (!is_driver_library(name)) continue;
      if (auto version = doctor::version_of_library(name)) {
        facts.libraries.push_back({std::string(folder) + "/" + name, *version});
      }
    }
  }
}

// A line of /proc/PID/maps ends with the path of the file, and perhaps "(deleted)".
void read_maps(const std::string& text, doctor::LibraryUser user, NodeFacts& facts) {
  std::string last;
  for (std::string_view line : split(text, '\n')) {
    size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    std::string_view path = line.substr(slash);
    constexpr std::string_view gone = " (deleted)";
    user.deleted = path.ends_with(gone);
    if (user.deleted) path.remove_suffix(gone.size());
    // A library is mapped in several parts.
    if (path == last || !is_driver_library(file_name_of(path))) continue;
    last = path;
    user.library = path;
    user.version = doctor::version_of_library(file_name_of(path)).value_or("");
    facts.users.push_back(user);
  }
}

void read_users(const std::string& root, NodeFacts& facts) {
  for (const std::string& name : names_in(root + "/proc")) {
    auto pid = parse_unsigned(name);
    if (!pid) continue;
    std::string folder = root + "/proc/" + name;
    auto maps = read_small_file(folder + "/maps");
    if (!maps || maps->empty()) continue;
    doctor::LibraryUser user;
    user.pid = static_cast<int>(*pid);
    user.program = read_small_file(folder + "/comm").value_or("?");
    read_maps(*maps, user, facts);
  }
}

// Every "hostPath" or "path" of a mount or device, at any depth.
void collect_host_paths(const Json& value, std::vector<std::string>& paths) {
  if (value.is_array()) {
    for (const Json& item : value.as_array()) collect_host_paths(item, paths);
  } else if (value.is_object()) {
    if (std::string_view path = text_at(value, "hostPath"); !path.empty()) {
      paths.emplace_back(path);
    }
    for (const auto& [key, child] : value.as_object()) collect_host_paths(child, paths);
  }
}

// The claim whose CDI file has this name; empty: it is not one of ours.
std::string claim_of(const std::string& path) {
  const dra::CdiOptions options;
  const std::string marker = "\x01";
  std::string pattern(file_name_of(dra::cdi_file(options, marker)));
  size_t at = pattern.find(marker);
  std::string_view name = file_name_of(path);
  std::string_view before = std::string_view(pattern).substr(0, at);
  std::string_view after = std::string_view(pattern).substr(at + marker.size());
  bool fits = name.size() > before.size() + after.size() && name.starts_with(before) &&
              name.ends_with(after);
  if (!fits) return {};
  return std::string(name.substr(before.size(), name.size() - before.size() - after.size()));
}

void read_cdi_files(const std::string& root, NodeFacts& facts) {
  for (const char* folder : {"/etc/cdi", "/var/run/cdi"}) {
    for (const std::string& name : names_in(root + folder)) {
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
      doctor::CdiFile file;
      file.path = std::string(folder) + "/" + name;
      file.claim_uid = claim_of(file.path);
      auto text = read_small_file(root + file.path);
      std::vector<std::string> paths;
      if (text) {
        if (auto spec = parse_yaml(*text, file.path)) collect_host_paths(*spec, paths);
      }
      for (const std::string& path : paths) {
        std::error_code problem;
        if (!std::filesystem::exists(root + path, problem)) file.missing.push_back(path);
      }
      facts.cdi_files.push_back(std::move(file));
    }
  }
}

void read_checkpoint(const std::string& root, NodeFacts& facts) {
  auto bytes = SystemFiles().read(root + facts.checkpoint_path);
  if (!bytes) {
    if (bytes.error().kind != ErrorKind::not_found) {
      facts.checkpoint_problems.push_back(bytes.error().text());
    }
    return;
  }
  std::string boot_id = read_small_file(root + "/proc/sys/kernel/random/boot_id").value_or("");
  dra::CheckpointReading reading = dra::decode_checkpoint(*bytes, boot_id);
  facts.checkpoint_problems = reading.problems;
  facts.from_before_boot = reading.from_before;
  facts.checkpoint.emplace();
  for (const auto& [uid, entry] : reading.entries) {
    facts.checkpoint->push_back(
        {uid, entry.ns + "/" + entry.name, entry.phase == dra::ClaimPhase::prepared});
  }
}

}  // namespace

NodeFacts read_machine(const std::string& root, const std::string& checkpoint) {
  NodeFacts facts;
  JsonObject host = gpu::host_facts(root, {});
  if (const Json* version = find(host, "module_version")) {
    facts.module_version = std::string(as_text(version));
  }
  facts.checkpoint_path = checkpoint;
  read_libraries(root, facts);
  read_users(root, facts);
  read_cdi_files(root, facts);
  read_checkpoint(root, facts);
  return facts;
}

}  // namespace lockstep::cli
