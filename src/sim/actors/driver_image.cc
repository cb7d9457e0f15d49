#include "sim/actors/driver_image.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace lockstep::sim {

namespace {

constexpr std::array<std::pair<ImageNaming, std::string_view>, 4> namings = {{
    {ImageNaming::version, "version"},
    {ImageNaming::suffix, "suffix"},
    {ImageNaming::precompiled, "precompiled"},
    {ImageNaming::digest, "digest"},
}};
constexpr std::string_view digest_prefix = "sha256:";
constexpr size_t digest_length = 64;
constexpr std::string_view os = "ubuntu24.04";
constexpr std::string_view kernel = "6.8.0-60-generic";

// A simulated registry without a table: the digest of an image is its version in hexadecimal, and
// zeros.
std::string digest_of(std::string_view version) {
  std::string digest(digest_prefix);
  for (char letter : version) digest += fmt::format("{:02x}", static_cast<unsigned char>(letter));
  digest.resize(digest_prefix.size() + digest_length, '0');
  return digest;
}

std::string version_of_digest(std::string_view digest) {
  std::string version;
  for (size_t at = digest_prefix.size(); at + 1 < digest.size(); at += 2) {
    unsigned letter = 0;
    std::from_chars(digest.data() + at, digest.data() + at + 2, letter, 16);
    if (letter == 0) break;
    version += static_cast<char>(letter);
  }
  return version;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A branch in a fleet whose versions are its branches: 58012620 is 580.126.20.
std::string version_of_branch(std::string_view branch) {
  if (branch.size() <= 5) return fmt::format("{}.65.06", branch);
  return fmt::format("{}.{}.{}", branch.substr(0, 3), branch.substr(3, branch.size() - 5),
                     branch.substr(branch.size() - 2));
}

}  // namespace

std::string_view to_string(ImageNaming naming) {
  return namings.at(static_cast<size_t>(naming)).second;
}

std::optional<ImageNaming> image_naming_of(std::string_view name) {
  for (const auto& [naming, known] : namings) {
    if (known == name) return naming;
  }
  return std::nullopt;
}

std::string written_version(ImageNaming naming, std::string_view version) {
  std::string written(version);
  switch (naming) {
    case ImageNaming::version:
      return written;
    case ImageNaming::suffix:
      return written + "-corp1";
    case ImageNaming::precompiled:
      std::erase(written, '.');
      return written;
    case ImageNaming::digest:
      return digest_of(version);
  }
  return written;
}

std::string driver_image(std::string_view repository, std::string_view image,
                         std::string_view written, bool precompiled) {
  if (written.starts_with(digest_prefix))
    return fmt::format("{}/{}@{}", repository, image, written);
  if (precompiled) return fmt::format("{}/{}:{}-{}-{}", repository, image, written, kernel, os);
  return fmt::format("{}/{}:{}-{}", repository, image, written, os);
}

std::string loaded_version(std::string_view written) {
  if (written.starts_with(digest_prefix)) return version_of_digest(written);
  std::string_view version = written.substr(0, written.find('-'));
  return is_number(version) ? version_of_branch(version) : std::string(version);
}

std::string driver_version_of_image(std::string_view image) {
  if (size_t at = image.find('@'); at != std::string_view::npos) {
    return loaded_version(image.substr(at + 1));
  }
  size_t colon = image.rfind(':');
  // A colon before the last slash belongs to the registry's port.
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos)
    return {};
  return loaded_version(image.substr(colon + 1));
}

}  // namespace lockstep::sim
