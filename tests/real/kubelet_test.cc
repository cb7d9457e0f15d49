// A real kubelet with containerd and runc: pods of images that were packed here really run.
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kubelet_node.h"
#include "real_cluster.h"

namespace lockstep::real::kubelet_test {
namespace {

constexpr std::string_view hello_source = R"(
#include <stdio.h>
int main(void) {
  FILE* message = fopen("/dev/termination-log", "w");
  if (message == 0) return 3;
  fputs("hello from a container", message);
  return fclose(message);
}
)";

std::string pod(const std::string& name, const std::string& image, const std::string& restart) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}"}},"spec":{{"hostNetwork":true,)"
      R"("restartPolicy":"{2}","terminationGracePeriodSeconds":1,"containers":[{{"name":"main",)"
      R"("image":"{1}","imagePullPolicy":"Never"}}]}}}})",
      name, image, restart);
}

TEST(RealKubelet, RunsPodsOfImagesThatWerePackedHere) {
  if (std::string why = KubeletNode::missing(); !why.empty()) GTEST_SKIP() << why;
  RealCluster cluster({.users = {KubeletNode::user()}});
  std::filesystem::create_directory(cluster.directory() + "/node");
  KubeletNode node(cluster.plane, cluster.directory() + "/node");
  node.start();
  node.add_image("lockstep.test/hello:1",
                 {"/hello", node.compile("hello", std::string(hello_source))});

  auto create = [&](const std::string& text) {
    ProcessOutput made = cluster.sh(fmt::format("echo '{}' | kubectl create -f -", text));
    ASSERT_EQ(made.exit_code, 0) << made.error;
  };
  create(pod("hello", "lockstep.test/hello:1", "Never"));
  create(pod("stays", "lockstep.test/pause:1", "Always"));
  auto status = [&](const std::string& name) {
    return cluster.get(resource::pods, name, "default");
  };
  ASSERT_TRUE(
      cluster.wait([&] { return text_at(status("hello"), "status", "phase") == "Succeeded"; }));
  const Json hello = status("hello");
  const Json* containers = find(hello, "status", "containerStatuses");
  ASSERT_NE(containers, nullptr);
  EXPECT_EQ(text_at(containers->get_array().at(0), "state", "terminated", "message"),
            "hello from a container");
  ASSERT_TRUE(
      cluster.wait([&] { return text_at(status("stays"), "status", "phase") == "Running"; }));

  ProcessOutput removed = cluster.sh("kubectl delete pod stays --wait=false");
  ASSERT_EQ(removed.exit_code, 0) << removed.error;
  EXPECT_TRUE(cluster.wait([&] { return status("stays").is_null(); }));
}

}  // namespace
}  // namespace lockstep::real::kubelet_test
