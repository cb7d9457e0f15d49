// Directories that look like a machine with GPUs, and a fake driver in them, of either of two
// versions, that a test loads and takes out.
#pragma once

#include <string>

namespace lockstep::dra {

constexpr const char* old_driver = "580.95.05";
constexpr const char* new_driver = "580.105.08";

class FakeMachine {
 public:
  enum class Devices {
    links,  // to /dev/null: the test need not be root
    real,   // nodes of their own, as a container runtime wants them
  };
  // Makes the folder.
  FakeMachine(std::string folder, int gpus, Devices devices = Devices::links);

  void load_driver(const std::string& version) const;
  void unload_driver() const;
  // Lines of the fake driver's scenario, after those that are always there.
  void set_scenario(const std::string& lines) const;

  std::string root() const { return folder_ + "/root"; }
  // For the environment variable LOCKSTEP_FAKE_GPU.
  std::string scenario() const { return folder_ + "/scenario"; }

 private:
  void write(const std::string& name, const std::string& content) const;

  std::string folder_;
  int gpus_;
};

std::string from_environment(const char* name);

}  // namespace lockstep::dra
