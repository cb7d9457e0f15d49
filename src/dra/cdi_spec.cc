#include "dra/cdi_spec.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::dra {

namespace {

// The oldest that has all that we write: every runtime of today reads it.
constexpr std::string_view cdi_version = "0.5.0";
constexpr size_t longest_device_name = 128;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters and digits at both ends, and `others` between them.
Result<void> check_name(std::string_view name, std::string_view others, std::string_view what) {
  bool is_fine = !name.empty() && name.size() <= longest_device_name &&
                 is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
                 std::all_of(name.begin(), name.end(), [&](char c) {
                   return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
                 });
  // No part of it can leave a directory, but a reader may think so.
  if (is_fine && name.find("..") == std::string_view::npos) return {};
  return failf(ErrorKind::invalid, "{} is no name of a {}", quoted(name), what);
}

Result<void> check_path(const std::string& path, std::string_view what) {
  bool leads_up = (path + "/").find("/../") != std::string::npos;
  if (!path.empty() && path.front() == '/' && !leads_up) return {};
  return failf(ErrorKind::invalid, "{} is no path of a {}", quoted(path), what);
}

Result<JsonObject> edits_to_json(const CdiEdits& edits) {
  JsonObject json;
  JsonArray environment;
  for (const auto& variable : edits.environment) {
    auto equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return failf(ErrorKind::invalid, "{} is no environment variable", quoted(variable));
    }
    environment.emplace_back(variable);
  }
  if (!environment.empty()) json["env"] = std::move(environment);
  JsonArray nodes;
  for (const auto& node : edits.device_nodes) {
    LOCKSTEP_CHECK(check_path(node.path, "device node"));
    JsonObject entry{{"path", node.path}, {"permissions", node.permissions}};
    if (!node.host_path.empty()) {
      LOCKSTEP_CHECK(check_path(node.host_path, "device node"));
      entry["hostPath"] = node.host_path;
    }
    nodes.push_back(std::move(entry));
  }
  if (!nodes.empty()) json["deviceNodes"] = std::move(nodes);
  JsonArray mounts;
  for (const auto& mount : edits.mounts) {
    LOCKSTEP_CHECK(check_path(mount.host_path, "mount"));
    LOCKSTEP_CHECK(check_path(mount.container_path, "mount"));
    JsonArray options;
    for (const auto& option : mount.options) options.emplace_back(option);
    mounts.push_back(JsonObject{{"hostPath", mount.host_path},
                                {"containerPath", mount.container_path},
                                {"options", std::move(options)}});
  }
  if (!mounts.empty()) json["mounts"] = std::move(mounts);
  return json;
}

std::string device_name(std::string_view claim_uid, std::string_view device) {
  return fmt::format("{}-{}", claim_uid, device);
}

}  // namespace

Result<void> check_claim_uid(std::string_view uid) { return check_name(uid, "-", "claim's uid"); }

Result<void> check_device_name(std::string_view device) {
  return check_name(device, "-_.:", "device");
}

std::string cdi_id(const CdiOptions& options, std::string_view claim_uid, std::string_view device) {
  return fmt::format("{}={}", options.kind(), device_name(claim_uid, device));
}

std::string cdi_file(const CdiOptions& options, std::string_view claim_uid) {
  return fmt::format("{}/{}-{}_{}.json", options.directory, options.vendor, options.device_class,
                     claim_uid);
}

Result<Json> make_cdi_spec(const CdiOptions& options, std::string_view claim_uid,
                           const std::vector<CdiDevice>& devices) {
  LOCKSTEP_CHECK(check_claim_uid(claim_uid));
  if (devices.empty()) return failf(ErrorKind::invalid, "claim {} has no device", claim_uid);
  JsonArray array;
  std::set<std::string_view> names;
  for (const CdiDevice& device : devices) {
    LOCKSTEP_CHECK(check_device_name(device.device));
    if (!names.insert(device.device).second) {
      return failf(ErrorKind::invalid, "device {} is there twice", device.device);
    }
    if (device.edits.empty()) {
      return failf(ErrorKind::internal, "device {} has nothing that a container could be given",
                   device.device);
    }
    auto edits = edits_to_json(device.edits);
    if (!edits) return fail(edits.error().at("device " + device.device));
    array.push_back(JsonObject{{"name", device_name(claim_uid, device.device)},
                               {"containerEdits", std::move(*edits)}});
  }
  return Json(JsonObject{
      {"cdiVersion", cdi_version}, {"kind", options.kind()}, {"devices", std::move(array)}});
}

Result<void> write_cdi_spec(StateFiles& files, const CdiOptions& options,
                            std::string_view claim_uid, const std::vector<CdiDevice>& devices) {
  LOCKSTEP_TRY(Json spec, make_cdi_spec(options, claim_uid, devices));
  constexpr int readable = 0644;
  return files.write_unsynced(cdi_file(options, claim_uid), print_json_pretty(spec) + "\n",
                              readable);
}

Result<void> remove_cdi_spec(Files& files, const CdiOptions& options, std::string_view claim_uid) {
  LOCKSTEP_CHECK(check_claim_uid(claim_uid));
  std::string file = cdi_file(options, claim_uid);
  if (!files.exists(file)) return {};
  auto removed = files.remove(file);
  if (!removed && removed.error().kind == ErrorKind::not_found) return {};
  return removed;
}

}  // namespace lockstep::dra
