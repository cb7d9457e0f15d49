// lockstep apiserver: the embedded Kubernetes API by itself.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::cli {

struct ApiserverFlags {
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::string kubeconfig_out;
  bool tls = false;
  std::string token;
  bool gzip = false;
  bool reap_pods = true;
};

int run_apiserver(const ApiserverFlags& flags);

}  // namespace lockstep::cli
