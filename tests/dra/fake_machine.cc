#include "fake_machine.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <vector>

#include <fmt/format.h>

#include "world/files.h"

namespace lockstep::dra {

namespace fs = std::filesystem;

namespace {

void make_device(const std::string& path, FakeMachine::Devices devices) {
  if (devices == FakeMachine::Devices::links) {
    fs::create_symlink("/dev/null", path);
    return;
  }
  constexpr mode_t for_all = 0666;
  constexpr unsigned null_minor = 3;
  if (mknod(path.c_str(), S_IFCHR | for_all, makedev(1, null_minor)) != 0) {
    throw std::runtime_error("mknod " + path);
  }
}

}  // namespace

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(fmt::format("{} is not set", name));
  return value;
}

FakeMachine::FakeMachine(std::string folder, int gpus, Devices devices)
    : folder_(std::move(folder)), gpus_(gpus) {
  write("root/proc/sys/kernel/random/boot_id", "boot-1\n");
  write("root/dev/kmsg", "");
  std::vector<std::string> names = {"nvidiactl", "nvidia-uvm"};
  for (int i = 0; i < gpus; ++i) names.push_back(fmt::format("nvidia{}", i));
  for (const std::string& name : names) make_device(root() + "/dev/" + name, devices);
  set_scenario("");
  load_driver(old_driver);
}

void FakeMachine::write(const std::string& name, const std::string& content) const {
  std::string path = folder_ + "/" + name;
  fs::create_directories(fs::path(path).parent_path());
  if (!SystemFiles().write(path, content)) throw std::runtime_error("write " + path);
}

void FakeMachine::set_scenario(const std::string& lines) const {
  std::string text = fmt::format("gpus {}\nkernel {}/proc/driver/nvidia/version\n", gpus_, root());
  text += "memory 150754820096\n";
  for (int i = 0; i < gpus_; ++i) text += fmt::format("{}.pci 00000000:0{}:00.0\n", i, i + 1);
  write("scenario", text + lines);
}

// The files of the other version go, as an upgrade does it.
void FakeMachine::load_driver(const std::string& version) const {
  std::string library = root() + "/usr/lib64";
  fs::remove_all(library);
  fs::create_directories(library);
  std::string file = "libnvidia-ml.so." + version;
  fs::copy_file(from_environment("FAKE_DRIVERS") + "/driver-" + version + "/libnvidia-ml.so.1",
                library + "/" + file);
  fs::create_symlink(file, library + "/libnvidia-ml.so.1");
  fs::remove_all(root() + "/sys/module/nvidia");
  write("root/sys/module/nvidia/version", version + "\n");
  write("root/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version + "  x\n");
}

void FakeMachine::unload_driver() const {
  fs::remove_all(root() + "/sys/module/nvidia");
  fs::remove(root() + "/proc/driver/nvidia/version");
}

}  // namespace lockstep::dra
