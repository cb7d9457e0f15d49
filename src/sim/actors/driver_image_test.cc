#include "sim/actors/driver_image.h"

#include <gtest/gtest.h>

#include "sim/actors/driver_template.h"
#include "sim/actors/fleet_objects.h"

namespace lockstep::sim::driver_image_test {
namespace {

TEST(DriverImageTest, AMachineLoadsTheSameDriverHoweverItsImageIsNamed) {
  for (ImageNaming naming :
       {ImageNaming::version, ImageNaming::suffix, ImageNaming::precompiled, ImageNaming::digest}) {
    for (const char* version : {"580.105.08", "580.126.20", "580.95.05"}) {
      std::string written = written_version(naming, version);
      EXPECT_EQ(loaded_version(written), version) << written;
      std::string image =
          driver_image("nvcr.io/nvidia", "driver", written, naming == ImageNaming::precompiled);
      EXPECT_EQ(driver_version_of_image(image), version) << image;
      EXPECT_EQ(image_naming_of(to_string(naming)), naming);
    }
  }
}

TEST(DriverImageTest, ImagesAreNamedAsTheOperatorNamesThem) {
  auto image_of = [](std::string_view version, bool precompiled) {
    return driver_image("nvcr.io/nvidia", "driver", version, precompiled);
  };
  EXPECT_EQ(image_of("580.126.20", false), "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04");
  EXPECT_EQ(image_of("580.126.20-corp1", false),
            "nvcr.io/nvidia/driver:580.126.20-corp1-ubuntu24.04");
  EXPECT_EQ(image_of("580", true), "nvcr.io/nvidia/driver:580-6.8.0-60-generic-ubuntu24.04");
  EXPECT_EQ(image_of("sha256:abc", false), "nvcr.io/nvidia/driver@sha256:abc");
  EXPECT_EQ(loaded_version("580"), "580.65.06");
  EXPECT_EQ(driver_version_of_image(image_of("", false)), "") << "there is no such image";
  EXPECT_EQ(driver_version_of_image("driver:580.126.20"), "580.126.20");
  EXPECT_EQ(driver_version_of_image("localhost:5000/nvidia/driver"), "");
  EXPECT_EQ(driver_version_of_image("driver"), "");
}

TEST(DriverImageTest, ThePolicyOfAFleetSaysItAsItsImagesAreNamed) {
  FleetOptions options;
  options.image_naming = ImageNaming::precompiled;
  DriverConfig config = config_of_cluster_policy(cluster_policy(options));
  EXPECT_EQ(config.version, "58010508");
  EXPECT_TRUE(config.precompiled);
  options.image_naming = ImageNaming::digest;
  config = config_of_cluster_policy(cluster_policy(options));
  EXPECT_TRUE(config.version.starts_with("sha256:")) << config.version;
  EXPECT_FALSE(config.precompiled);
}

}  // namespace
}  // namespace lockstep::sim::driver_image_test
