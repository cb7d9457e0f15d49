// Credentials from a program, as client-go's exec plugins: aws eks get-token, kubelogin,
// gke-gcloud-auth-plugin.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/credentials.h"

namespace lockstep::kube {

// What a plugin prints: an ExecCredential object.
struct ExecAnswer {
  std::string token;
  std::string certificate;
  std::string key;
  Time expires;  // not set: until the server refuses it
};
Result<ExecAnswer> parse_exec_answer(std::string_view output, const std::string& api_version);

// The input of a plugin in KUBERNETES_EXEC_INFO.
Result<std::string> exec_info(const ExecConfig& exec, const ClusterConfig& cluster,
                              const Files& files);

class ExecCredentials final : public Credentials {
 public:
  // `base`: what the user has besides (a client certificate, say); the plugin's answer goes over
  // it.
  ExecCredentials(ExecConfig exec, ClusterConfig cluster, std::unique_ptr<FileCredentials> base,
                  const Files& files, Processes& processes, Loop& loop);
  void get(IdentityCallback done) override;
  bool refused(const Identity& identity) override;

 private:
  void start_plugin();
  void plugin_ended(Result<ProcessOutput> output);
  Result<ExecAnswer> judge(Result<ProcessOutput> output) const;
  Result<Identity> identity();

  ExecConfig exec_;
  ClusterConfig cluster_;
  std::unique_ptr<FileCredentials> base_;
  const Files& files_;
  Processes& processes_;
  Loop& loop_;
  std::optional<ExecAnswer> cached_;
  // All requests that came while the plugin runs: it is run once for all.
  std::vector<IdentityCallback> waiting_;
  bool running_ = false;
  Scope scope_;
};

}  // namespace lockstep::kube
