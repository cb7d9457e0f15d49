// The identity of the server and its clients: a certificate authority made for one run, the
// server's certificate, an administrator's certificate and token.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/status.h"
#include "apiserver/verbs/backend.h"
#include "base/result.h"
#include "base/time.h"

namespace lockstep::apiserver {

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM
};

struct TlsIdentity {
  KeyPair authority;
  KeyPair server;
  KeyPair administrator;  // system:masters
};

// Valid for a year from `now`, for the given host names and addresses.
Result<TlsIdentity> make_tls_identity(const std::vector<std::string>& hosts, Time now);

// A client certificate of a user, signed by the authority.
Result<KeyPair> make_client_certificate(const KeyPair& authority, const std::string& user,
                                        const std::vector<std::string>& groups, Time now);

// A bearer token that cannot be guessed.
Result<std::string> make_token();

// Names the caller: by bearer token, by client certificate, or (where that is allowed) as
// anonymous.
class Authenticator {
 public:
  // Accepts every client as the administrator: for tests.
  static Authenticator open();
  // Only tokens and certificates.
  static Authenticator closed();

  void add_token(std::string token, Caller caller);
  // `authorization` is the header's value; certificate_user is empty without a certificate.
  Outcome<Caller> authenticate(std::string_view authorization, const std::string& certificate_user,
                               const std::vector<std::string>& certificate_groups) const;
  // Pages that need no name.
  static bool is_public(std::string_view path);

 private:
  bool open_ = false;
  std::map<std::string, Caller, std::less<>> tokens_;
};

// A kubeconfig for the server; `identity` null for plain HTTP.
std::string make_kubeconfig(const std::string& url, const TlsIdentity* identity,
                            const std::string& token);

}  // namespace lockstep::apiserver
