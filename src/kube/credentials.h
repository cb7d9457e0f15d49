// Our identity to the API server: a header, a client certificate, or both; from the kubeconfig,
// from files that change, or from a program that is run (exec plugins).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/content_source.h"
#include "kube/kubeconfig.h"
#include "world/files.h"
#include "world/loop.h"
#include "world/process.h"

namespace lockstep::kube {

struct Identity {
  std::string authorization;                       // the header's value; empty: no header
  std::shared_ptr<const std::string> certificate;  // PEM with chain; null: none
  std::shared_ptr<const std::string> key;          // PEM

  bool operator==(const Identity& other) const;
};

using IdentityCallback = std::function<void(Result<Identity>)>;

class Credentials {
 public:
  virtual ~Credentials() = default;
  // Calls back at once or later on the loop; never after this is gone.
  virtual void get(IdentityCallback done) = 0;
  // The server answered 401 to this identity. True: get() may now find another one.
  virtual bool refused(const Identity& identity) = 0;
};

// Tokens, token files, basic authentication and certificates.
class FileCredentials final : public Credentials {
 public:
  FileCredentials(const UserConfig& user, const Files& files, const Loop& loop);
  void get(IdentityCallback done) override { done(current()); }
  bool refused(const Identity& identity) override;

  Result<Identity> current();

 private:
  Result<std::string> authorization();

  std::string fixed_authorization_;
  ContentSource token_;
  ContentSource certificate_;
  ContentSource key_;
};

// The right kind for this user. What an exec plugin may ask about the cluster comes from `cluster`.
std::unique_ptr<Credentials> make_credentials(const UserConfig& user, const ClusterConfig& cluster,
                                              const Files& files, Processes& processes, Loop& loop);

// "Impersonate-User: …" and its companions.
Result<std::vector<std::string>> impersonation_headers(const UserConfig& user);

// "Bearer …", unless the token could break out of its header line.
Result<std::string> bearer(std::string_view token);

}  // namespace lockstep::kube
