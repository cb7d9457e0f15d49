// `lockstep support-bundle`: what a supporter needs to help, in one file, without secrets.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_command.h"

namespace lockstep::cli {

struct SupportBundleFlags {
  DoctorFlags doctor;  // which cluster, and where the controller runs
  std::string file;    // empty: lockstep-support-TIME.tar.gz
  std::vector<std::string> namespaces = {"gpu-operator", "nvidia-dra-driver"};
  int64_t log_lines = 5000;
};
int run_support_bundle(const SupportBundleFlags& flags);

}  // namespace lockstep::cli
