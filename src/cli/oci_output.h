// A bundle as an OCI artifact: into a registry or a directory.
#pragma once

#include "base/result.h"
#include "bundle/release.h"
#include "cli/bundle_command.h"

namespace lockstep::cli {

// To where flags.output says. Prints the artifact's reference by digest, and writes it to the file
// of --image-refs.
Result<void> write_oci(const BundleFlags& flags, const bundle::BundleFiles& files);

}  // namespace lockstep::cli
