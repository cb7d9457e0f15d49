#include "registry/image_layout.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/tar.h"
#include "data/gzip.h"
#include "data/json.h"
#include "world/directories.h"
#include "world/directories_test_util.h"

namespace lockstep::registry::image_layout_test {
namespace {

using lockstep::testing::TemporaryDirectory;

const bundle::BundleFiles files = {{"recipe.yaml", {"a: 1\n", false}}};

std::vector<std::string> tags_in(const std::string& directory) {
  const Json index = parse_json(SystemFiles().read(directory + "/index.json").value()).value();
  std::vector<std::string> tags;
  for (const Json& entry : find(index, "manifests")->as_array()) {
    tags.emplace_back(text_at(entry, "annotations", "org.opencontainers.image.ref.name"));
  }
  return tags;
}

TEST(ImageLayout, HoldsTheArtifact) {
  const TemporaryDirectory directory;
  const bundle::Artifact artifact = bundle::make_artifact(files);
  const auto written = write_layout(artifact, directory / "a/layout", "v1");
  ASSERT_TRUE(written.has_value()) << written.error().text();
  const TreeTexts tree = read_tree(directory / "a/layout").value();
  EXPECT_EQ(tree.size(), 5U);
  EXPECT_EQ(tree.at("oci-layout"), R"({"imageLayoutVersion":"1.0.0"})");
  const Json index = parse_json(tree.at("index.json")).value();
  // From the index to the files, as a client pulls them.
  const auto blob = [&](std::string_view digest) {
    return tree.at("blobs/sha256/" + std::string(digest.substr(7)));
  };
  const Json manifest =
      parse_json(blob(text_at(find(index, "manifests")->as_array()[0], "digest"))).value();
  const std::string layer = blob(text_at(find(manifest, "layers")->as_array()[0], "digest"));
  EXPECT_EQ(bundle::read_tar(gunzip(layer).value()).value(), files);
  EXPECT_EQ(blob(text_at(manifest, "config", "digest")), "{}");
}

TEST(ImageLayout, OthersStayAndTheTagMoves) {
  const TemporaryDirectory directory;
  const bundle::Artifact first = bundle::make_artifact(files);
  const bundle::Artifact second = bundle::make_artifact({{"recipe.yaml", {"a: 2\n", false}}});
  ASSERT_TRUE(write_layout(first, directory.path, "v1").has_value());
  ASSERT_TRUE(write_layout(first, directory.path, "v2").has_value());
  ASSERT_TRUE(write_layout(second, directory.path, "v2").has_value());
  EXPECT_EQ(tags_in(directory.path), (std::vector<std::string>{"v1", "v2"}));
  const TreeTexts before = read_tree(directory.path).value();
  ASSERT_TRUE(write_layout(second, directory.path, "v2").has_value());
  EXPECT_EQ(read_tree(directory.path).value(), before);
}

TEST(ImageLayout, ADamagedBlobIsWrittenAgain) {
  const TemporaryDirectory directory;
  const bundle::Artifact artifact = bundle::make_artifact(files);
  const std::string path = "blobs/sha256/" + artifact.manifest.digest.substr(7);
  ASSERT_TRUE(write_layout(artifact, directory.path, "v1").has_value());
  directory.write(path, "damaged");
  ASSERT_TRUE(write_layout(artifact, directory.path, "v1").has_value());
  EXPECT_EQ(SystemFiles().read(directory / path).value(), artifact.manifest.content);
}

TEST(ImageLayout, NothingIsWrittenThroughALink) {
  const bundle::Artifact artifact = bundle::make_artifact(files);
  const TemporaryDirectory outside;
  outside.write("victim", R"({"schemaVersion":2,"manifests":[]})");
  const TreeTexts before = read_tree(outside.path).value();
  for (const char* link : {"index.json", "oci-layout", "blobs", "blobs/sha256"}) {
    const TemporaryDirectory directory;
    directory.write("oci-layout", "{}");
    const bool is_folder = std::string(link).starts_with("blobs");
    if (std::string(link) == "blobs/sha256") std::filesystem::create_directory(directory / "blobs");
    std::filesystem::remove(directory / link);
    std::filesystem::create_symlink(is_folder ? outside.path : outside / "victim",
                                    directory / link);
    if (std::string(link) == "oci-layout") directory.write("index.json", before.at("victim"));
    const auto written = write_layout(artifact, directory.path, "v1");
    ASSERT_FALSE(written) << link;
    EXPECT_NE(written.error().text().find(std::string(link) + ": it is a symbolic link"),
              std::string::npos)
        << written.error().text();
    EXPECT_EQ(read_tree(outside.path).value(), before) << link;
  }
}

TEST(ImageLayout, WhatIsNoneIsRefused) {
  const TemporaryDirectory directory;
  const bundle::Artifact artifact = bundle::make_artifact(files);
  directory.write("other/file", "precious");
  const auto other = write_layout(artifact, directory / "other", "v1");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().kind, ErrorKind::exists);
  EXPECT_EQ(list_directory(directory / "other").value().size(), 1U);

  directory.write("broken/oci-layout", "{}");
  directory.write("broken/index.json", "not json");
  const auto broken = write_layout(artifact, directory / "broken", "v1");
  ASSERT_FALSE(broken.has_value());
  EXPECT_NE(broken.error().text().find("broken/index.json"), std::string::npos);
  EXPECT_EQ(SystemFiles().read(directory / "broken/index.json").value(), "not json");

  EXPECT_FALSE(write_layout(artifact, directory / "other/file", "v1").has_value());
}

}  // namespace
}  // namespace lockstep::registry::image_layout_test
