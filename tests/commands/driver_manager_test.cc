// `lockstep driver-manager` as an init container runs it: a process of its own, over HTTP, on a
// directory that looks like a machine.
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"

namespace lockstep::commands::driver_manager_test {
namespace {

const std::string operand = "nvidia.com/gpu.deploy.device-plugin";
const std::string paused = "paused-for-driver-upgrade";
const std::string in_use = "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 2 nvidia_uvm, Live 0x0\n";
const std::string idle = "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 1 nvidia_uvm, Live 0x0\n";

::testing::AssertionResult says(const std::string& output, const std::string& text) {
  if (output.find(text) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << text << "\" in:\n" << output;
}

struct DriverManagerCommand : ::testing::Test {
  void SetUp() override {
    cluster.serve();
    kube::ConnectOptions options;
    options.kubeconfig = cluster.kubeconfig();
    auto connected = kube::connect(options, {}, files, processes, cluster.loop());
    ASSERT_TRUE(connected) << connected.error().text();
    connection.emplace(std::move(*connected));
    kube::SyncApi api(*connection->api, cluster.loop());
    auto made = api.create(
        resource::nodes, "",
        JsonObject{{"metadata",
                    JsonObject{{"name", "gpu-1"},
                               {"labels", JsonObject{{operand, "true"},
                                                     {"nvidia.com/gpu.deploy.driver", "true"}}}}}});
    ASSERT_TRUE(made) << made.error().text();
    root = cluster.directory() + "/machine";
    write("proc/modules", "");
    write("proc/self/mountinfo", "1 0 8:1 / / rw\n");
    write("run/nvidia/nvidia-driver.pid", "4711\n");
    write("run/nvidia/nvidia-driver.state", "sha256:old\n");
  }
  void write(const std::string& name, const std::string& text, int mode = 0644) {
    std::filesystem::path path = root + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(files.write(path, text, mode));
  }
  bool is_there(const std::string& name) { return files.exists(root + "/" + name); }

  std::vector<std::string> words(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"driver-manager", "--root", root, "--node-name", "gpu-1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Child& start(std::vector<std::string> more = {}) {
    return cluster.start(fmt::format("manager-{}", ++started), words(std::move(more)));
  }
  // Its exit code.
  int end_of(Child& child) {
    cluster.require("its end", [&] { return child.exit_code().has_value(); });
    return *child.exit_code();
  }

  std::string label(const std::string& key) {
    return std::string(
        as_text(find(*find(cluster.get(resource::nodes, "gpu-1"), "metadata", "labels"), key)));
  }
  bool is_cordoned() {
    return as_bool(find(cluster.get(resource::nodes, "gpu-1"), "spec", "unschedulable"));
  }
  void expect_put_back() {
    EXPECT_EQ(label(operand), "true");
    EXPECT_FALSE(is_cordoned());
  }

  Cluster cluster;
  SystemFiles files;
  SystemProcesses processes;
  std::optional<kube::Connection> connection;
  std::string root;
  int started = 0;
};

TEST_F(DriverManagerCommand, WithoutADriverItCleansUpAndLetsTheContainerStart) {
  Child& manager = start();
  EXPECT_EQ(end_of(manager), 0) << manager.output();
  EXPECT_TRUE(says(manager.output(), "the driver container may start"));
  EXPECT_FALSE(is_there("run/nvidia/nvidia-driver.pid"));
  EXPECT_FALSE(is_there("run/nvidia/nvidia-driver.state"));
  expect_put_back();
}

TEST_F(DriverManagerCommand, TheSameConfigurationStaysLoaded) {
  write("proc/modules", in_use);
  Child& manager = start({"--driver-config-digest", "sha256:old"});
  EXPECT_EQ(end_of(manager), 0) << manager.output();
  EXPECT_TRUE(says(manager.output(), "the loaded driver has the same configuration"));
  EXPECT_TRUE(is_there("run/nvidia/nvidia-driver.state"));
  EXPECT_FALSE(is_there("run/nvidia/nvidia-driver.pid"));
}

TEST_F(DriverManagerCommand, ToldToStopItPutsTheNodeBack) {
  write("proc/modules", in_use);
  Child& manager = start();
  cluster.require("the wait for devices",
                  [&] { return manager.output().find("step=devices") != std::string::npos; });
  EXPECT_EQ(label(operand), paused);
  EXPECT_TRUE(is_cordoned());
  manager.signal(SIGTERM);
  EXPECT_EQ(end_of(manager), 1);
  EXPECT_TRUE(says(manager.output(), "was asked to stop"));
  expect_put_back();
}

TEST_F(DriverManagerCommand, KilledItIsFollowedByOneThatGoesOn) {
  write("proc/modules", in_use);
  Child& first = start();
  cluster.require("the cordon", [&] { return is_cordoned(); });
  first.signal(SIGKILL);
  end_of(first);
  EXPECT_EQ(label(operand), paused);
  Child& second = start();
  cluster.require("the wait for devices",
                  [&] { return second.output().find("step=devices") != std::string::npos; });
  // The program that held it has ended, and took the driver along.
  write("proc/modules", "");
  EXPECT_EQ(end_of(second), 0) << second.output();
  expect_put_back();
}

TEST_F(DriverManagerCommand, AStepThatFailsPutsTheNodeBackAndSaysWhichItWas) {
  write("proc/modules", idle);
  Child& refused = start();
  EXPECT_EQ(end_of(refused), 2) << "a directory has no kernel: " << refused.output();
  EXPECT_TRUE(says(refused.output(), "kernel module nvidia_uvm would be unloaded now"));
  expect_put_back();
  write("proc/modules", in_use);
  Child& late = start({"--wait-timeout", "2s", "--enable-auto-drain=false"});
  EXPECT_EQ(end_of(late), 5) << late.output();
  EXPECT_TRUE(says(late.output(), "the driver is in use: nvidia (1)"));
  expect_put_back();
}

TEST_F(DriverManagerCommand, AHostsDriverIsLabelledAndItsPodTakenAway) {
  write("host/usr/bin/nvidia-smi", "#!/bin/sh\necho 570.1\n", 0755);
  Child& manager = start();
  cluster.require("the label",
                  [&] { return label("nvidia.com/gpu.deploy.driver") == "pre-installed"; });
  cluster.require("the wait", [&] {
    return manager.output().find("waits until this driver pod is deleted") != std::string::npos;
  });
  manager.signal(SIGTERM);
  EXPECT_EQ(end_of(manager), 0) << manager.output();
}

TEST_F(DriverManagerCommand, VariablesCountAndTheOtherNameIsTheSameCommand) {
  std::string other = cluster.directory() + "/driver-manager";
  std::filesystem::create_symlink(lockstep_program(), other);
  ProcessSpec spec;
  spec.command = {other, "uninstall_driver", "--root", root};
  spec.environment = {{"NODE_NAME", "gpu-1"}, {"KUBECONFIG", cluster.kubeconfig()}};
  spec.limit = patience;
  auto run = processes.run(spec);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->exit_code, 0) << run->error;
  EXPECT_TRUE(says(run->output, "the driver container may start"));
  spec.environment["NODE_NAME"] = "gpu-2";
  run = processes.run(spec);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->exit_code, 3) << run->error;
}

TEST(DriverManagerFlags, AreRefusedByTheirNames) {
  struct Row {
    std::map<std::string, std::string> variables;
    std::string said;
  };
  for (const Row& row :
       {Row{{}, "--node-name"},
        Row{{{"NODE_NAME", "a"}, {"ENABLE_AUTO_DRAIN", "maybe"}}, "--enable-auto-drain"},
        Row{{{"NODE_NAME", "a"}, {"DRAIN_TIMEOUT_SECONDS", "soon"}}, "--drain-timeout-seconds"},
        Row{{{"NODE_NAME", "a"}, {"DRAIN_TIMEOUT_SECONDS", "-1s"}}, "--drain-timeout-seconds"},
        Row{{{"NODE_NAME", "a"}, {"DRAIN_POD_SELECTOR_LABEL", "a in b"}},
            "--drain-pod-selector-label"}}) {
    ProcessOutput run = run_lockstep({"driver-manager"}, row.variables);
    EXPECT_EQ(run.exit_code, 2) << run.error;
    EXPECT_TRUE(says(run.output + run.error, row.said));
  }
  EXPECT_EQ(run_lockstep({"driver-manager", "install_driver"}).exit_code, 2);
}

}  // namespace
}  // namespace lockstep::commands::driver_manager_test
