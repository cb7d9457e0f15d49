// Pushing an artifact to a registry (OCI distribution specification), or into a directory.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "bundle/oci_artifact.h"
#include "registry/reference.h"
#include "registry/registry_session.h"

namespace lockstep::registry {

struct PushedArtifact {
  std::string reference;  // "oci://ghcr.io/team/bundles:v1"
  std::string digest;     // of the manifest: what to pin
  size_t uploaded = 0;    // blobs
  size_t present = 0;     // blobs that were there already
};

// Blobs that are missing, then the manifest under its tag: concurrent readers see the old artifact
// or the new one. Blocks on the loop; ends early when the loop is stopped.
Result<PushedArtifact> push_artifact(const bundle::Artifact& artifact, const Reference& reference,
                                     const RegistryFlags& flags, const RegistryWorld& world);

}  // namespace lockstep::registry
