// `lockstep demo`: a whole fleet upgrade on an embedded cluster, live on screen.
#pragma once

#include <string>

namespace lockstep::cli {

struct DemoFlags {
  int nodes = 48;
  std::string from = "580.105.08";
  std::string to = "580.126.20";
  double speed = 24;
  int failing = 17;     // the node that is made to fail; 0: none
  std::string kubectl;  // to show the seed's commands at the end; empty: do not
  bool keep = false;
  // The new driver is a bad one: its canary shows it, and a git revert rolls it back.
  bool bad_driver = false;
  std::string kubeconfig_out;
  std::string dashboard_address = "127.0.0.1:8640";  // empty: none; another port when it is taken
};

int run_demo(const DemoFlags& flags);

}  // namespace lockstep::cli
