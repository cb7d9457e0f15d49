// A real control plane to inspect by hand, or for a benchmark: stays up until a signal ends it.
//
//   LOCKSTEP_REAL_CLUSTER=$(scripts/real-cluster path) build/tests/real/real_control_plane
//   DIRECTORY [--like-embedded] [USER…]
//
// DIRECTORY is empty. In it are then admin.kubeconfig, that of every USER (members of
// system:masters, so that the audit log distinguishes them), audit.log, and each part's output.
#include <csignal>
#include <cstdio>
#include <string_view>

#include "control_plane.h"

int main(int argc, char** argv) {
  using lockstep::real::ControlPlane;
  if (argc < 2) {
    std::fprintf(stderr, "usage: real_control_plane DIRECTORY [--like-embedded] [USER...]\n");
    return 2;
  }
  if (std::string why = ControlPlane::missing(); !why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  // A signal that ends us ends the parts: they are our children.
  sigset_t ends;
  sigemptyset(&ends);
  for (int number : {SIGINT, SIGTERM}) sigaddset(&ends, number);
  lockstep::real::ControlPlaneOptions options;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--like-embedded") {
      options.like_embedded = true;
    } else {
      options.users.push_back({argv[i], {"system:masters"}});
    }
  }
  try {
    ControlPlane plane(argv[1], std::move(options));
    plane.start();
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    std::printf("ready: kubectl --kubeconfig %s get nodes\n", plane.kubeconfig("admin").c_str());
    std::fflush(stdout);
    int number = 0;
    sigwait(&ends, &number);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
