// What is handed to somebody else is to hold no secrets: values are taken out, names stay, so that
// one still sees that there was something.
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep::doctor {

// An object of Kubernetes, or any document: data of Secrets, values of environment variables,
// whatever a key calls a password, a token or a private key, and what redact_text() finds in texts.
// What others have applied (which repeats all of it) and managedFields are left out.
Json redact(const Json& document);

// Tokens, private keys, passwords in addresses and in "--password=…", wherever they stand in a text
// such as a log.
std::string redact_text(std::string_view text);

}  // namespace lockstep::doctor
