#include "bundle/oci_artifact.h"

#include <utility>

#include "base/sha256.h"
#include "bundle/tar.h"
#include "data/gzip.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view index_media_type = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view layer_media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
constexpr std::string_view empty_media_type = "application/vnd.oci.empty.v1+json";
constexpr std::string_view title_key = "org.opencontainers.image.title";
constexpr std::string_view version_key = "org.opencontainers.image.version";
constexpr std::string_view tag_key = "org.opencontainers.image.ref.name";

constexpr int compression_level = 6;

Blob make_blob(std::string_view media_type, std::string content) {
  std::string digest = digest_of(content);
  return {std::string(media_type), std::move(digest), std::move(content)};
}

JsonObject descriptor_of(const Blob& blob) {
  JsonObject descriptor;
  descriptor["mediaType"] = blob.media_type;
  descriptor["digest"] = blob.digest;
  descriptor["size"] = blob.content.size();
  return descriptor;
}

JsonObject one(std::string_view key, std::string_view value) {
  JsonObject object;
  object[key] = value;
  return object;
}

std::string manifest_text(const Blob& config, const Blob& layer, const ArtifactLabels& labels) {
  JsonObject layer_descriptor = descriptor_of(layer);
  // The name of the file that `oras pull` writes.
  layer_descriptor["annotations"] = one(title_key, "bundle.tar.gz");
  JsonObject annotations;
  if (!labels.title.empty()) annotations[title_key] = labels.title;
  if (!labels.version.empty()) annotations[version_key] = labels.version;

  JsonArray layers;
  layers.push_back(std::move(layer_descriptor));
  JsonObject manifest;
  manifest["schemaVersion"] = 2;
  manifest["mediaType"] = manifest_media_type;
  manifest["artifactType"] = artifact_media_type;
  manifest["config"] = descriptor_of(config);
  manifest["layers"] = std::move(layers);
  if (!annotations.empty()) manifest["annotations"] = std::move(annotations);
  return print_json(manifest);
}

}  // namespace

std::string digest_of(std::string_view content) { return "sha256:" + sha256_hex(content); }

Artifact make_artifact(const BundleFiles& files, const ArtifactLabels& labels) {
  Blob config = make_blob(empty_media_type, "{}");
  Blob layer = make_blob(layer_media_type, Gzip(compression_level).add(write_tar(files), true));
  Artifact artifact;
  artifact.manifest = make_blob(manifest_media_type, manifest_text(config, layer, labels));
  artifact.blobs.push_back(std::move(config));
  artifact.blobs.push_back(std::move(layer));
  return artifact;
}

std::string layout_marker() { return R"({"imageLayoutVersion":"1.0.0"})"; }

Result<std::string> index_with(std::string_view existing, const Blob& manifest,
                               std::string_view tag) {
  JsonObject index;
  index["schemaVersion"] = 2;
  index["mediaType"] = index_media_type;
  index["manifests"] = JsonArray();
  if (!existing.empty()) {
    LOCKSTEP_TRY(Json read, parse_json(existing));
    const Json* manifests = find(read, "manifests");
    if (as_integer(find(read, "schemaVersion")) != 2 || manifests == nullptr ||
        !manifests->is_array()) {
      return fail(ErrorKind::invalid, "not an OCI image index: no list of manifests");
    }
    index = std::move(read.as_object());
  }
  JsonArray kept;
  for (Json& entry : index["manifests"].as_array()) {
    if (text_at(entry, "annotations", tag_key) != tag) kept.push_back(std::move(entry));
  }
  JsonObject descriptor = descriptor_of(manifest);
  descriptor["artifactType"] = artifact_media_type;
  descriptor["annotations"] = one(tag_key, tag);
  kept.push_back(std::move(descriptor));
  index["manifests"] = std::move(kept);
  return print_json(index);
}

}  // namespace lockstep::bundle
