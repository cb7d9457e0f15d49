#include "bundle/oci_artifact.h"

#include <gtest/gtest.h>

#include "bundle/tar.h"
#include "data/gzip.h"

namespace lockstep::bundle::oci_artifact_test {
namespace {

const BundleFiles some = {{"deploy.sh", {"#!/bin/sh\n", true}}, {"recipe.yaml", {"a: 1\n", false}}};

TEST(OciArtifact, TheManifestIsWhatTheImageSpecAsksFor) {
  const Artifact artifact = make_artifact(some, {"training", "v1.2.0"});
  ASSERT_EQ(artifact.blobs.size(), 2U);
  const Blob& layer = artifact.blobs[1];
  EXPECT_EQ(
      artifact.manifest.content,
      fmt::format(
          R"({{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",)"
          R"("artifactType":"application/vnd.lockstep.bundle.v1",)"
          R"("config":{{"mediaType":"application/vnd.oci.empty.v1+json",)"
          R"("digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",)"
          R"("size":2}},)"
          R"("layers":[{{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",)"
          R"("digest":"{}","size":{},)"
          R"("annotations":{{"org.opencontainers.image.title":"bundle.tar.gz"}}}}],)"
          R"("annotations":{{"org.opencontainers.image.title":"training",)"
          R"("org.opencontainers.image.version":"v1.2.0"}}}})",
          layer.digest, layer.content.size()));
  EXPECT_EQ(artifact.manifest.digest, digest_of(artifact.manifest.content));
  EXPECT_EQ(artifact.blobs[0].content, "{}");
}

TEST(OciArtifact, TheLayerHoldsTheFiles) {
  const Artifact artifact = make_artifact(some);
  const Blob& layer = artifact.blobs.at(1);
  EXPECT_EQ(layer.digest, digest_of(layer.content));
  EXPECT_EQ(read_tar(gunzip(layer.content).value()).value(), some);
}

TEST(OciArtifact, SameFilesSameDigest) {
  EXPECT_EQ(make_artifact(some).manifest.digest, make_artifact(BundleFiles(some)).manifest.digest);
  BundleFiles other = some;
  other["deploy.sh"].executable = false;
  EXPECT_NE(make_artifact(some).manifest.digest, make_artifact(other).manifest.digest);
}

TEST(OciArtifact, ANewIndexNamesTheManifest) {
  const Blob manifest = {"type", "sha256:1", "12345"};
  EXPECT_EQ(index_with("", manifest, "v1").value(),
            R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",)"
            R"("manifests":[{"mediaType":"type","digest":"sha256:1","size":5,)"
            R"("artifactType":"application/vnd.lockstep.bundle.v1",)"
            R"("annotations":{"org.opencontainers.image.ref.name":"v1"}}]})");
}

TEST(OciArtifact, AnIndexKeepsOthersAndReplacesTheTag) {
  const std::string existing =
      R"({"schemaVersion":2,"manifests":[{"digest":"sha256:untagged"},)"
      R"({"digest":"sha256:old","annotations":{"org.opencontainers.image.ref.name":"v1"}},)"
      R"({"digest":"sha256:other","annotations":{"org.opencontainers.image.ref.name":"v0"}}],)"
      R"("annotations":{"kept":"yes"}})";
  const Blob manifest = {"type", "sha256:new", "12345"};
  const std::string index = index_with(existing, manifest, "v1").value();
  EXPECT_EQ(index.find("sha256:old"), std::string::npos) << index;
  for (const char* kept : {"sha256:untagged", "sha256:other", "sha256:new", R"("kept":"yes")"}) {
    EXPECT_NE(index.find(kept), std::string::npos) << index;
  }
  EXPECT_EQ(index_with(index, manifest, "v1").value(), index) << "twice is once";
}

TEST(OciArtifact, WhatIsNoIndexIsRefused) {
  for (const char* text : {"x", "[]", "{}", R"({"schemaVersion":2})", R"({"manifests":[]})"}) {
    EXPECT_FALSE(index_with(text, {}, "v1").has_value()) << text;
  }
}

}  // namespace
}  // namespace lockstep::bundle::oci_artifact_test
