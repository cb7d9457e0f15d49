// Pairs of a key and a secret, as they are written in JSON, YAML, command lines and prose.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::doctor {

// "password", "DB_PASS", "apiToken", "X-Amz-Signature", "auth". Not what only names things:
// "secretName", "tokenExpirationSeconds".
bool is_secret_key(std::string_view key);

// "--password=x", "--token x", "password: x", "\"token\":\"x\"", "passwords:\n- x", each with
// "(removed)" in place of x.
std::string without_secret_pairs(std::string_view text);

}  // namespace lockstep::doctor
