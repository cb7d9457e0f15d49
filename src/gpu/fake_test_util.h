// A test's own GPU: the fake driver of tests/gpu with a scenario, and all that a worker would
// report.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/cuda.h"
#include "gpu/nvml.h"
#include "gpu/reporter.h"

namespace lockstep::gpu {

class FakeGpu {
 public:
  explicit FakeGpu(const std::string& scenario = "gpus 1\n")
      : file_(fmt::format("{}/lockstep-fake-{}", ::testing::TempDir(), getpid())),
        reporter([this](std::string_view line) { lines.emplace_back(line); }) {
    std::ofstream(file_) << scenario;
    setenv("LOCKSTEP_FAKE_GPU", file_.c_str(), 1);
  }
  ~FakeGpu() { std::filesystem::remove(file_); }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

 private:
  std::string file_;

 public:
  LibraryPlaces places{FAKE_DRIVER, ""};
  std::vector<std::string> lines;
  Reporter reporter;
};

// CUDA on the fake GPU, opened.
struct FakeCuda {
  explicit FakeCuda(const std::string& scenario = "gpus 1\n") : gpu(scenario) {
    auto opened = Cuda::open(gpu.places, gpu.reporter);
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    cuda.emplace(std::move(*opened));
    auto count = cuda->start();
    EXPECT_TRUE(count.has_value()) << count.error().text();
    for (int i = 0; i < *count; ++i) {
      auto device = CudaDevice::open(*cuda, i);
      EXPECT_TRUE(device.has_value()) << device.error().text();
      devices.push_back(std::move(*device));
    }
  }
  CudaDevice& device() { return devices.front(); }

  FakeGpu gpu;
  std::optional<Cuda> cuda;
  std::vector<CudaDevice> devices;
};

// A directory that goes with the test.
class FakeRoot {
 public:
  FakeRoot() : path(fmt::format("{}/lockstep-root-{}", ::testing::TempDir(), getpid())) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~FakeRoot() { std::filesystem::remove_all(path); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string path;
};

}  // namespace lockstep::gpu
