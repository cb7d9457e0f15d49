// lockstep demo: a GPU fleet on an embedded cluster.
#pragma once

#include <string>

namespace lockstep::cli {

struct DemoFlags {
  int nodes = 12;
  std::string kubectl = "kubectl";
  bool keep = false;
};

int run_demo(const DemoFlags& flags);

}  // namespace lockstep::cli
