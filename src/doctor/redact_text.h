// Removes credentials from foreign text: logs, messages, annotations. "(removed)" replaces what is
// removed, and filtering a string again does not change it.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::doctor {

inline constexpr std::string_view removed = "(removed)";

// Removed: PEM blocks; user, password, query and (but for paths of the Kubernetes and registry
// APIs) path of a URL; what follows a key that names a password, token, secret or the like, also
// as a YAML block, a list or a second argument; known token prefixes; long opaque strings.
std::string redact_text(std::string_view text);

// A long string without words in it, as keys and tokens are. Image digests and the names that
// Kubernetes generates are not.
bool holds_opaque_token(std::string_view text);

}  // namespace lockstep::doctor
