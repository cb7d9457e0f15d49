// The doctor's checks of one machine: the loaded driver, the libraries beside it, programs that
// still have an old one open, and what the DRA plugin left behind.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doctor/check.h"

namespace lockstep::doctor {

struct LibraryFile {
  std::string path;
  std::string version;  // of its name: libnvidia-ml.so.580.126.20
};

// A process that has a library of the driver open.
struct LibraryUser {
  int pid = 0;
  std::string program;
  std::string library;  // path, as the process sees it
  std::string version;
  bool deleted = false;  // the file is gone
};

struct CdiFile {
  std::string path;
  std::string claim_uid;             // of one that the DRA plugin wrote; else empty
  std::vector<std::string> missing;  // files of the host that it names and that are not there
};

struct CheckpointClaim {
  std::string uid;
  std::string name;  // "namespace/name"
  bool prepared = false;
};

struct NodeFacts {
  std::optional<std::string> module_version;  // of the loaded kernel module
  std::vector<LibraryFile> libraries;
  std::vector<LibraryUser> users;
  std::vector<CdiFile> cdi_files;
  // Nothing: no checkpoint, because the plugin does not run here.
  std::optional<std::vector<CheckpointClaim>> checkpoint;
  std::string checkpoint_path;
  std::vector<std::string> checkpoint_problems;
  size_t from_before_boot = 0;
};

Check check_libraries(const NodeFacts& facts);
Check check_library_users(const NodeFacts& facts);
Check check_cdi_files(const NodeFacts& facts);
Check check_checkpoint(const NodeFacts& facts);

std::vector<Check> examine_node(const NodeFacts& facts);

// "580.126.20" of "libnvidia-ml.so.580.126.20"; nothing of "libnvidia-ml.so.1".
std::optional<std::string> version_of_library(std::string_view file_name);

}  // namespace lockstep::doctor
