// Preparing and unpreparing claims: everything between the kubelet's call and its answer, but for
// the wire. What it needs from outside comes in as interfaces. Killed at any moment, in the middle
// of a write too, the next process serves the next call correctly: the checkpoint names the devices
// before a CDI spec exists, and loses them after it is gone; a missing spec is made again.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "dra/cdi_spec.h"
#include "dra/checkpoint.h"
#include "dra/failure.h"
#include "dra/gpu_config.h"
#include "dra/state_files.h"

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

  ClaimPreparer(ClaimSource& claims, DeviceSource& devices, StateFiles& files,
                Checkpoint& checkpoint, PreparerOptions options)
      : claims_(claims),
        devices_(devices),
        files_(files),
        checkpoint_(checkpoint),
        options_(std::move(options)) {}

  // Called twice, it gives the same answer, and makes a lost CDI spec again. The answers of many
  // claims come in their order, and the disk is waited for once.
  std::vector<Prepared> prepare(const std::vector<ClaimName>& claims);
  Prepared prepare(const ClaimName& claim) {
    return prepare(std::vector<ClaimName>{claim}).front();
  }
  // Makes the CDI specs of all prepared claims again, for the current driver. Returns the claims
  // for which that was not possible: their specs are unchanged.
  std::vector<std::string> rewrite_specs();
  // Asks neither the driver nor the API. A claim that is not known is one that is unprepared. Of
  // many the disk is waited for once.
  std::vector<Result<void>> unprepare(const std::vector<std::string>& uids);
  Result<void> unprepare(const std::string& uid) {
    return unprepare(std::vector<std::string>{uid}).front();
  }

 private:
  struct Wanted;
  // A claim whose devices are all there, on its way.
  struct Plan {
    size_t at = 0;  // among the claims that were asked for
    CheckpointEntry entry;
    std::vector<CdiDevice> devices;
  };
  using Plans = std::vector<Plan>;
  tl::expected<Plan, ClaimFailure> plan(const ClaimName& claim, const Plans& others);
  void carry_out(const std::vector<ClaimName>& claims, const Plans& plans,
                 std::vector<Prepared>& answers);
  tl::expected<std::vector<Wanted>, ClaimFailure> read_allocation(const ClaimName& claim);
  tl::expected<std::vector<CdiDevice>, ClaimFailure> find_devices(const ClaimName& claim,
                                                                  const std::vector<Wanted>& wanted,
                                                                  const Plans& others);
  const CheckpointEntry* holder_of(const PreparedDevice& device, const std::string& uid,
                                   const Plans& others) const;
  ClaimFailure failure(const ClaimName& claim, FailureClass kind, std::string reason) const;

  ClaimSource& claims_;
  DeviceSource& devices_;
  StateFiles& files_;
  Checkpoint& checkpoint_;
  PreparerOptions options_;
};

}  // namespace lockstep::dra
