// Preparing and unpreparing claims: everything between the kubelet's call and its answer, but for
// the wire. What it needs from outside comes in as interfaces. Killed between any two of its
// writes, the next process serves the next call correctly: the checkpoint names the devices before
// a CDI spec exists, and loses them after it is gone.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "dra/cdi_spec.h"
#include "dra/checkpoint.h"
#include "dra/failure.h"
#include "dra/gpu_config.h"
#include "world/files.h"

namespace lockstep::dra {

// As the kubelet names it.
struct ClaimName {
  std::string ns;
  std::string uid;
  std::string name;

  std::string text() const { return ns + "/" + name; }
};

class ClaimSource {
 public:
  virtual ~ClaimSource() = default;
  // The ResourceClaim (resource.k8s.io/v1) as the API has it now.
  virtual Result<Document> read(const ClaimName& claim) = 0;
};

struct DeviceProblem {
  FailureClass kind = FailureClass::transient;
  std::string reason;
};

class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  // What a container that is given the device needs, with the driver that is loaded now.
  virtual tl::expected<CdiEdits, DeviceProblem> find(const std::string& pool,
                                                     const std::string& device,
                                                     const GpuConfig& config) = 0;
  virtual bool is_character_device(const std::string& path) const = 0;
};

struct PreparerOptions {
  std::string driver = "gpu.lockstep.dev";
  CdiOptions cdi;
};

class ClaimPreparer {
 public:
  using Prepared = tl::expected<std::vector<PreparedDevice>, ClaimFailure>;

  ClaimPreparer(ClaimSource& claims, DeviceSource& devices, Files& files, Checkpoint& checkpoint,
                PreparerOptions options)
      : claims_(claims),
        devices_(devices),
        files_(files),
        checkpoint_(checkpoint),
        options_(std::move(options)) {}

  // Done twice, it gives the same answer, and makes a lost CDI spec anew.
  Prepared prepare(const ClaimName& claim);
  // Makes the CDI specs of all prepared claims anew, for the driver of now. Gives the claims for
  // which that was not possible: their specs are as they were.
  std::vector<std::string> rewrite_specs();
  // Asks neither the driver nor the API. A claim that is not known is one that is unprepared.
  Result<void> unprepare(const std::string& uid);

 private:
  struct Wanted;
  tl::expected<std::vector<Wanted>, ClaimFailure> read_allocation(const ClaimName& claim);
  tl::expected<std::vector<CdiDevice>, ClaimFailure> find_devices(
      const ClaimName& claim, const std::vector<Wanted>& wanted);
  const CheckpointEntry* holder_of(const PreparedDevice& device, const std::string& uid) const;
  ClaimFailure failure(const ClaimName& claim, FailureClass kind, std::string reason) const;

  ClaimSource& claims_;
  DeviceSource& devices_;
  Files& files_;
  Checkpoint& checkpoint_;
  PreparerOptions options_;
};

}  // namespace lockstep::dra
