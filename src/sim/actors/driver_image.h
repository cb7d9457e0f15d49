// How the images of a fleet's drivers are named: what spec.driver.version says, and which driver a
// machine loads from such an image. Not every tag begins with the version: a precompiled driver's
// names a branch and a kernel, a digest names bytes, and users tag their own builds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::sim {

enum class ImageNaming {
  version,      // 580.126.20 -> driver:580.126.20-ubuntu24.04
  suffix,       // 580.126.20-corp1 -> driver:580.126.20-corp1-ubuntu24.04
  precompiled,  // 58012620 -> driver:58012620-6.8.0-60-generic-ubuntu24.04
  digest,       // sha256:… -> driver@sha256:…
};
std::string_view to_string(ImageNaming naming);
std::optional<ImageNaming> image_naming_of(std::string_view name);

// What spec.driver.version says to get the driver.
std::string written_version(ImageNaming naming, std::string_view version);
// The image as the operator names it.
std::string driver_image(std::string_view repository, std::string_view image,
                         std::string_view written, bool precompiled);
// The driver that a machine loads: "580.126.20" of all of the above; of a plain branch such as
// "580" the build that the registry has of it. Empty: the image does not exist.
std::string loaded_version(std::string_view written);
std::string driver_version_of_image(std::string_view image);

}  // namespace lockstep::sim
