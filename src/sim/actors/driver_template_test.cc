#include "sim/actors/driver_template.h"

#include <gtest/gtest.h>

#include "sim/actors/fleet_objects.h"

namespace lockstep::sim::driver_template_test {
namespace {

std::string_view digest_in(const Json& daemon_set) {
  const Json& spec = daemon_set.at("spec").at("template").at("spec");
  return text_at(spec.at("initContainers").as_array()[0].at("env").as_array()[0], "value");
}

std::string_view image_in(const Json& daemon_set) {
  const Json& spec = daemon_set.at("spec").at("template").at("spec");
  return text_at(spec.at("containers").as_array()[0], "image");
}

TEST(DriverTemplateTest, AVersionIsANewImageAndANewDigest) {
  FleetOptions options;
  Json before = driver_daemon_set(config_of_cluster_policy(cluster_policy(options)));
  options.driver_version = "580.126.20";
  Json after = driver_daemon_set(config_of_cluster_policy(cluster_policy(options)));
  EXPECT_EQ(image_in(after), "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04");
  EXPECT_NE(digest_in(before), digest_in(after));
  EXPECT_NE(text_at(before, "metadata", "annotations", applied_hash_annotation),
            text_at(after, "metadata", "annotations", applied_hash_annotation));
}

TEST(DriverTemplateTest, AnAnnotationIsCosmetic) {
  Json policy = cluster_policy({});
  Json before = driver_daemon_set(config_of_cluster_policy(policy));
  policy.as_object()["spec"].as_object()["daemonsets"] =
      JsonObject{{"annotations", JsonObject{{"team", "ml"}}}};
  Json after = driver_daemon_set(config_of_cluster_policy(policy));
  EXPECT_EQ(digest_in(before), digest_in(after));
  EXPECT_FALSE(json_equal(before.at("spec").at("template"), after.at("spec").at("template")));
}

TEST(DriverTemplateTest, SettingsOfTheModuleAreNot) {
  Json policy = cluster_policy({});
  Json before = driver_daemon_set(config_of_cluster_policy(policy));
  policy.as_object()["spec"].as_object()["driver"].as_object()["kernelModuleConfig"] =
      JsonObject{{"name", "params"}};
  EXPECT_NE(digest_in(driver_daemon_set(config_of_cluster_policy(policy))), digest_in(before));
}

TEST(DriverTemplateTest, AnNvidiaDriverHasADaemonSetOfItsOwn) {
  Json driver = JsonObject{{"metadata", JsonObject{{"name", "h100"}}},
                           {"spec", JsonObject{{"version", "580.1"}}}};
  Json set = driver_daemon_set(config_of_nvidia_driver(driver));
  EXPECT_EQ(text_at(set, "metadata", "name"), "nvidia-gpu-driver-h100");
  EXPECT_EQ(text_at(set, "metadata", "labels", "app.kubernetes.io/component"), "nvidia-driver");
  EXPECT_EQ(text_at(set, "spec", "template", "spec", "nodeSelector", driver_owner_label), "h100");
  EXPECT_EQ(text_at(set, "spec", "updateStrategy", "type"), "OnDelete");
}

TEST(DriverTemplateTest, ThePolicyMayLeaveDriversToNvidiaDrivers) {
  EXPECT_TRUE(makes_driver(cluster_policy({})));
  FleetOptions options;
  options.nvidia_drivers = {{"h100", "580.1"}};
  EXPECT_FALSE(makes_driver(cluster_policy(options)));
}

}  // namespace
}  // namespace lockstep::sim::driver_template_test
