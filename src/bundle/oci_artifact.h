// A bundle as an OCI artifact (image spec 1.1): one layer, an empty config, a manifest. What `oras
// pull`, Flux's OCIRepository and Argo CD's OCI sources read. The same files give the same digest:
// nothing in it says when it was made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/release.h"
#include "data/json.h"

namespace lockstep::bundle {

inline constexpr std::string_view manifest_media_type =
    "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view artifact_media_type = "application/vnd.lockstep.bundle.v1";

// Bytes that are named by their digest.
struct Blob {
  std::string media_type;
  std::string digest;  // "sha256:…"
  std::string content;
};

struct Artifact {
  std::vector<Blob> blobs;  // what the manifest names
  Blob manifest;
};

struct ArtifactLabels {
  std::string title;    // "h100-eks-training"; empty: left out
  std::string version;  // likewise
};

Artifact make_artifact(const BundleFiles& files, const ArtifactLabels& labels = {});

// "sha256:…" of these bytes.
std::string digest_of(std::string_view content);

// The file oci-layout of an image layout directory.
std::string layout_marker();

// index.json of an image layout with this manifest under the tag. Everything else in `existing`
// stays (empty: no index yet), except the previous owner of the tag. An error if `existing` is not
// an index.
Result<std::string> index_with(std::string_view existing, const Blob& manifest,
                               std::string_view tag);

}  // namespace lockstep::bundle
