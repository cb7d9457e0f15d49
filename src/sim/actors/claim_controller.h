// The claim half of the embedded cluster's controllers: makes ResourceClaims from templates for the
// pods that ask for them, and takes claims back from pods that are gone or have finished.
#pragma once

#include <string>

#include "kube/queue.h"
#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

extern const ResourceType claim_templates;  // resource.k8s.io/v1

class ClaimController {
 public:
  ClaimController(Parts parts, View& view);
  ClaimController(const ClaimController&) = delete;
  ClaimController& operator=(const ClaimController&) = delete;

 private:
  void sync(const std::string& key);
  void sync_pod(const GenericObject& pod);
  void make_extended_claim(const GenericObject& pod);
  void sync_claim(const GenericObject& claim);

  Parts parts_;
  View& view_;
  Writer writer_;
  kube::WorkQueue queue_;
  Scope scope_;
};

}  // namespace lockstep::sim
