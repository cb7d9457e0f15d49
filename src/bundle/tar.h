// A bundle's files as a tar archive (POSIX ustar, with pax headers where a path needs them): the
// layer of an OCI artifact. The same files give the same bytes, on every machine and on every day.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

// By path; owner 0, time 0, modes 0644 and 0755. Directories have no entries of their own: the
// program that unpacks the archive makes them.
std::string write_tar(const BundleFiles& files);

// Strict: a wrong checksum, an archive that is cut off, a path that leads out, a link or a device
// is an error. Entries of directories are passed over.
Result<BundleFiles> read_tar(std::string_view archive);

}  // namespace lockstep::bundle
