// Talking to one repository of a registry: the right address, the login when it is asked for,
// waiting and asking again when the registry is busy. Blocks on the loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/client.h"
#include "http/endpoint.h"
#include "kube/backoff.h"
#include "kube/kubeconfig.h"
#include "registry/challenge.h"
#include "registry/docker_credentials.h"
#include "registry/reference.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/process.h"
#include "world/random.h"

namespace lockstep::registry {

struct RegistryFlags {
  bool plain_http = false;    // --plain-http. This machine itself is spoken to so in any case
  bool insecure_tls = false;  // --insecure-tls: any certificate. And TLS with this machine too
  std::string user_agent = "lockstep";
  Duration limit = minutes(5);  // for one exchange
  int attempts = 4;
  kube::BackoffPolicy backoff = {milliseconds(300), seconds(20), 2.0, 0.5};
};

// What is handed in; must outlive the session.
struct RegistryWorld {
  const kube::Environment& environment;
  const Files& files;
  Processes& processes;
  Random& random;
  EventLoop& loop;
};

// An absolute address: a server, and path with query.
struct Address {
  http::Endpoint endpoint;
  std::string target;

  bool operator==(const Address&) const = default;
};

// Where a Location header leads that came from `from`. Never from TLS to plain text: an address of
// the same host that says http is one that forgot the proxy in front of it, another is refused.
Result<Address> follow(const Address& from, const std::string& location);

struct Question {
  std::string method;
  Address address;
  std::string media_type;  // of the body
  std::string body;
};

class RegistrySession {
 public:
  static Result<RegistrySession> open(const Reference& reference, const RegistryFlags& flags,
                                      const RegistryWorld& world);

  // "/v2/<repository>/…"
  Address address(const std::string& path) const;
  // The answer, also when it is a refusal; 5xx and 429 only after the last attempt.
  Result<http::Response> ask(const Question& question);
  // Without trying again, but for the login.
  Result<http::Response> ask_once(const Question& question);
  // Whether it is worth another attempt after this one (the first is 1); waits until it is time.
  bool wait_to_retry(const Result<http::Response>& result, int attempt);

  // What a refusal says: "ghcr.io refused to store the manifest: 403 DENIED: …".
  Error refusal(const std::string& what, const http::Response& answer) const;

 private:
  RegistrySession(Reference reference, http::Endpoint endpoint, const RegistryFlags& flags,
                  const RegistryWorld& world);

  Result<http::Response> exchange(const Question& question, const std::string& authorization);
  Result<void> log_in(const http::Response& refused);
  Result<void> fetch_token(const Challenge& challenge);
  Result<const Login*> login();

  Reference reference_;
  http::Endpoint endpoint_;
  RegistryFlags flags_;
  RegistryWorld world_;
  std::unique_ptr<http::Client> transport_;
  std::optional<Login> login_;
  std::string authorization_;  // for the registry alone
  bool has_answered_ = false;
};

}  // namespace lockstep::registry
