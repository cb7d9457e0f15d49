// Admission webhooks, as far as they can block an upgrade.
#pragma once

#include <string>
#include <vector>

#include "data/json.h"
#include "objects/resource_type.h"

namespace lockstep::doctor {

struct Webhook {
  std::string configuration;  // "validatingwebhookconfiguration/guard"
  std::string name;
  size_t index = 0;  // within the configuration
  bool fails_closed = true;
  ObjectKey service;      // empty: it is called by a URL
  std::string ca_bundle;  // base64 of PEM, as in the object
  // What of an upgrade it is asked about: "evictions", "deletions of pods", "changes of nodes".
  std::vector<std::string> asked_about;
  bool is_limited = false;  // by selectors or conditions: perhaps not asked after all

  bool operator==(const Webhook&) const = default;
};

// All of a ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
std::vector<Webhook> read_webhooks(const Json& configuration, bool mutating);

// The services of EndpointSlices with an address that is ready.
std::vector<ObjectKey> ready_services(const std::vector<Document>& endpoint_slices);

}  // namespace lockstep::doctor
