// lockstep apiserver: the embedded Kubernetes API by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::cli {

struct ApiserverFlags {
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::string kubeconfig_out;
  bool tls = true;
  std::string token;
  std::vector<std::string> hosts;
  bool gzip = false;
  bool reap_pods = true;
};

int run_apiserver(const ApiserverFlags& flags);

}  // namespace lockstep::cli
