#include "registry/image_layout.h"

#include <string_view>
#include <vector>

#include "base/strings.h"
#include "world/directories.h"
#include "world/files.h"

namespace lockstep::registry {

namespace {

// The index that is there; empty: none, and the place is free.
Result<std::string> existing_index(const std::string& directory, const Files& files) {
  const auto names = list_directory(directory);
  if (!names && names.error().kind == ErrorKind::not_found && !files.exists(directory)) return "";
  if (!names) return fail(names.error());
  if (names->empty()) return "";
  if (!files.exists(directory + "/oci-layout")) {
    return failf(ErrorKind::exists,
                 "{} is not empty and no OCI image layout (no file oci-layout): choose another "
                 "directory",
                 directory);
  }
  const std::string path = directory + "/index.json";
  if (!files.exists(path)) return "";
  return files.read(path);
}

Result<void> write_blob(const bundle::Blob& blob, const std::string& directory, Files& files) {
  const std::string_view hex = std::string_view(blob.digest).substr(blob.digest.find(':') + 1);
  const std::string path = fmt::format("{}/blobs/sha256/{}", directory, hex);
  // The name says what is in it, unless it was damaged.
  const auto there = files.read(path);
  if (there && *there == blob.content) return {};
  return files.write(path, blob.content);
}

}  // namespace

Result<void> write_layout(const bundle::Artifact& artifact, const std::string& directory,
                          const std::string& tag) {
  SystemFiles files;
  LOCKSTEP_TRY(const std::string before, existing_index(directory, files));
  auto index = bundle::index_with(before, artifact.manifest, tag);
  if (!index) return fail(index.error().at(directory + "/index.json"));
  LOCKSTEP_CHECK(make_directories(directory + "/blobs/sha256"));
  for (const bundle::Blob& blob : artifact.blobs) {
    LOCKSTEP_CHECK(write_blob(blob, directory, files));
  }
  LOCKSTEP_CHECK(write_blob(artifact.manifest, directory, files));
  LOCKSTEP_CHECK(files.write(directory + "/oci-layout", bundle::layout_marker()));
  return files.write(directory + "/index.json", *index);
}

}  // namespace lockstep::registry
