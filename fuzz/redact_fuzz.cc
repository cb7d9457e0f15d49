// A support bundle of anything: the input is a log, a document, and what surrounds a planted
// secret. No crash; the secret never survives, in a string, in a field that is kept, or in one that
// is not listed; what is written is JSON.
//
// The first byte chooses how the secret is planted, the second the resource.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "doctor/kept_fields.h"
#include "doctor/redact.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;
using namespace lockstep::doctor;
using lockstep::fuzz::require;

constexpr std::string_view token = "qT7wZ3kP9xVb2NcR8mJd5LsF";

constexpr std::array<std::string_view, 8> forms = {
    "{}",
    "ghp_{}",
    "eyJhbGciOiJSUzI1NiJ9.{}.c2ln",
    "https://me:{}@git.example.com/a",
    "https://hooks.example.com/services/T0/{}",
    "https://s3.example.com/a?X-Amz-Signature={}",
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    "token: {}"};

std::string planted(size_t choice) {
  std::string text(forms[choice % forms.size()]);
  text.replace(text.find("{}"), 2, token);
  return text;
}

void require_gone(std::string_view text) {
  if (text.find(token) == std::string_view::npos) return;
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  require(false, "a secret never survives");
}

// The secret in the place of every string of the document.
Json everywhere(const Json& value, const std::string& secret) {
  if (value.is_string()) return Json(std::string(as_text(&value)) + " " + secret);
  if (value.is_array()) {
    JsonArray items;
    for (const Json& item : value.as_array()) items.push_back(everywhere(item, secret));
    return items;
  }
  if (!value.is_object()) return value;
  JsonObject object;
  for (const auto& [key, field] : value.as_object()) object[key] = everywhere(field, secret);
  object[secret] = secret;
  return object;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string secret = planted(data[0]);
  const auto resources = kept_resources();
  const std::string_view resource = resources[data[1] % resources.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);

  const size_t middle = text.size() / 2;
  require_gone(redact_text(std::string(text.substr(0, middle)) + " " + secret + "\n" +
                           std::string(text.substr(middle))));
  const auto json = parse_json(text);
  if (!json) return 0;
  const Json full = everywhere(*json, secret);
  for (const Json& shown : {redact_object(resource, full), redact_report(full)}) {
    const std::string printed = print_json(shown);
    require_gone(printed);
    require(parse_json(printed).has_value(), "what is written is JSON");
  }
  return 0;
}
