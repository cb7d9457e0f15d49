#include "registry/image_layout.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "world/directories.h"
#include "world/output_folder.h"

namespace lockstep::registry {

namespace {

// Free, or a layout already.
Result<void> check_place(const std::string& directory) {
  const auto names = list_directory(directory);
  if (!names && names.error().kind == ErrorKind::not_found) return {};
  if (!names) return fail(names.error());
  if (names->empty() || std::find(names->begin(), names->end(), "oci-layout") != names->end()) {
    return {};
  }
  return failf(ErrorKind::exists,
               "{} is not empty and no OCI image layout (no file oci-layout): choose another "
               "directory",
               directory);
}

// The index that is there; empty: none.
Result<std::string> existing_index(const OutputFolder& folder) {
  auto index = folder.read("index.json");
  if (!index && index.error().kind == ErrorKind::not_found) return std::string();
  return index;
}

Result<void> write_blob(const bundle::Blob& blob, const OutputFolder& folder) {
  const std::string_view hex = std::string_view(blob.digest).substr(blob.digest.find(':') + 1);
  const std::string path = fmt::format("blobs/sha256/{}", hex);
  // The name says what is in it, unless it was damaged.
  const auto there = folder.read(path);
  if (there && *there == blob.content) return {};
  return folder.write(path, blob.content);
}

}  // namespace

Result<void> write_layout(const bundle::Artifact& artifact, const std::string& directory,
                          const std::string& tag) {
  LOCKSTEP_CHECK(check_place(directory));
  LOCKSTEP_TRY(const OutputFolder folder, OutputFolder::open(directory));
  LOCKSTEP_TRY(const std::string before, existing_index(folder));
  auto index = bundle::index_with(before, artifact.manifest, tag);
  if (!index) return fail(index.error().at(directory + "/index.json"));
  for (const bundle::Blob& blob : artifact.blobs) LOCKSTEP_CHECK(write_blob(blob, folder));
  LOCKSTEP_CHECK(write_blob(artifact.manifest, folder));
  LOCKSTEP_CHECK(folder.write("oci-layout", bundle::layout_marker()));
  return folder.write("index.json", *index);
}

}  // namespace lockstep::registry
