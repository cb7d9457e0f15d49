// The CDI specs by which a container runtime gives a container its devices: one file for each
// claim, with the claim's uid in the file's name and in every device's, so that two claims never
// touch each other's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "dra/state_files.h"

namespace lockstep::dra {

struct CdiDeviceNode {
  std::string path;       // in the container
  std::string host_path;  // empty: the same
  std::string permissions = "rw";

  bool operator==(const CdiDeviceNode&) const = default;
};
struct CdiMount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;

  bool operator==(const CdiMount&) const = default;
};
struct CdiEdits {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<CdiDeviceNode> device_nodes;
  std::vector<CdiMount> mounts;

  bool empty() const { return environment.empty() && device_nodes.empty() && mounts.empty(); }
  bool operator==(const CdiEdits&) const = default;
};
// A device of a claim, under the name that it has in the inventory.
struct CdiDevice {
  std::string device;
  CdiEdits edits;
};

struct CdiOptions {
  std::string directory = "/var/run/cdi";
  std::string vendor = "gpu.lockstep.dev";
  std::string device_class = "claim";

  std::string kind() const { return vendor + "/" + device_class; }
};

// Fails for an invalid name: a path that leads elsewhere, or letters that CDI does not have.
Result<void> check_claim_uid(std::string_view uid);
Result<void> check_device_name(std::string_view device);

// "gpu.lockstep.dev/claim=UID-gpu-0".
std::string cdi_id(const CdiOptions& options, std::string_view claim_uid, std::string_view device);
std::string cdi_file(const CdiOptions& options, std::string_view claim_uid);

// The whole spec. Fails for names as above, for two devices of one name, for a path that is not
// absolute, and for a device without any edit: with such a spec, a runtime fails with a useless
// message, and a container without its GPU would be worse.
Result<Json> make_cdi_spec(const CdiOptions& options, std::string_view claim_uid,
                           const std::vector<CdiDevice>& devices);

// All or nothing, over an old one of the same claim. Not waited for to be on disk: after a power
// failure the machine's claims are forgotten, and a killed process loses nothing.
Result<void> write_cdi_spec(StateFiles& files, const CdiOptions& options,
                            std::string_view claim_uid, const std::vector<CdiDevice>& devices);
// Succeeds if the spec does not exist.
Result<void> remove_cdi_spec(Files& files, const CdiOptions& options, std::string_view claim_uid);

}  // namespace lockstep::dra
