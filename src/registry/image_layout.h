// An OCI image layout: a directory that holds artifacts as a registry would, for machines that
// reach none. `oras`, `skopeo` and `crane` copy from there.
#pragma once

#include <string>

#include "base/result.h"
#include "bundle/oci_artifact.h"

namespace lockstep::registry {

// Adds the artifact under its tag; others that are there stay, with all their blobs. The directory
// is made when it is missing; one that holds something else is refused. The index is written last,
// so that concurrent readers find everything that it names.
Result<void> write_layout(const bundle::Artifact& artifact, const std::string& directory,
                          const std::string& tag);

}  // namespace lockstep::registry
