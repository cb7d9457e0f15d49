// A directory for a test, gone at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "world/files.h"

namespace lockstep::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = ::testing::TempDir() + "lockstep-directories-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path = std::filesystem::canonical(name);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path + "/" + name; }
  // With the directories above it.
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    if (!SystemFiles().write(*this / name, content)) throw std::runtime_error("write " + name);
  }

  std::string path;
};

}  // namespace lockstep::testing
