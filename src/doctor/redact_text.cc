#include "doctor/redact_text.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "doctor/opaque_token.h"
#include "doctor/secret_pairs.h"

namespace lockstep::doctor {

namespace {

// From "-----BEGIN " to the end of "-----END …-----", or of the text.
std::string without_pem(std::string_view text) {
  constexpr std::string_view begin_mark = "-----BEGIN ";
  constexpr std::string_view end_mark = "-----END ";
  constexpr std::string_view dashes = "-----";
  std::string out;
  while (true) {
    const size_t begin = text.find(begin_mark);
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    out += removed;
    const size_t end = text.find(end_mark, begin);
    const size_t close = end == std::string_view::npos ? std::string_view::npos
                                                       : text.find(dashes, end + end_mark.size());
    if (close == std::string_view::npos) return out;
    text.remove_prefix(close + dashes.size());
  }
}

bool is_api_path(std::string_view path) {
  constexpr std::array<std::string_view, 9> known = {"/api/v1",  "/apis",    "/healthz",
                                                     "/livez",   "/readyz",  "/metrics",
                                                     "/version", "/openapi", "/v2"};
  return std::any_of(known.begin(), known.end(), [&](std::string_view prefix) {
    return path == prefix || (path.starts_with(prefix) && path[prefix.size()] == '/');
  });
}

// What follows "://".
std::string address_without_secrets(std::string_view address) {
  const size_t slash = address.find_first_of("/?#");
  std::string_view host = address.substr(0, slash);
  std::string_view path =
      slash == std::string_view::npos ? std::string_view() : address.substr(slash);
  // A password may contain a slash: then the host cannot be separated from it.
  if (path.find('@') != std::string_view::npos) return std::string(removed);
  std::string out;
  if (const size_t sign = host.rfind('@'); sign != std::string_view::npos) {
    out = removed;
    host.remove_prefix(sign);
  }
  out += host;
  const size_t query = path.find_first_of("?#");
  const std::string_view before = path.substr(0, query);
  if (before.size() > 1 && !is_api_path(before)) {
    out += '/';
    return out += removed;
  }
  out += before;
  if (query == std::string_view::npos) return out;
  out += path[query];
  return out += removed;
}

std::string without_secrets_of_urls(std::string_view text) {
  constexpr std::string_view mark = "://";
  std::string out;
  while (true) {
    const size_t at = text.find(mark);
    if (at == std::string_view::npos) return out += text;
    out += text.substr(0, at + mark.size());
    text.remove_prefix(at + mark.size());
    const size_t end = std::min(text.find_first_of(" \t\r\n\"'<>`\\"), text.size());
    std::string_view address = text.substr(0, end);
    // The punctuation of a sentence: "Get https://host/api/v1/nodes: timed out".
    while (!address.empty() && std::string_view(":,;)]}").find(address.back()) != std::string::npos)
      address.remove_suffix(1);
    out += address_without_secrets(address);
    text.remove_prefix(address.size());
  }
}

// "Bearer x", "Basic x", wherever they are.
std::string without_schemes(std::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    size_t taken = 0;
    for (std::string_view scheme : {std::string_view("bearer"), std::string_view("basic")}) {
      if (!equal_ignoring_case(text.substr(at, scheme.size()), scheme)) continue;
      size_t value = at + scheme.size();
      while (value < text.size() && (text[value] == ' ' || text[value] == '\t')) ++value;
      if (value == at + scheme.size()) continue;
      size_t end = value;
      while (end < text.size() && is_of_token(text[end])) ++end;
      // "basic functions" is not a credential; "basic dXNlcg==" is.
      const std::string_view word = text.substr(value, end - value);
      const bool is_prose = scheme == "basic" && std::all_of(word.begin(), word.end(), [](char c) {
                              return (c >= 'a' && c <= 'z') || c == '-' || c == '.';
                            });
      if (word.empty() || is_prose) continue;
      out += text.substr(at, value - at);
      out += removed;
      taken = end - at;
      break;
    }
    if (taken == 0) {
      out += text[at];
      taken = 1;
    }
    at += taken;
  }
  return out;
}

}  // namespace

std::string redact_text(std::string_view text) {
  std::string kept = without_pem(text);
  kept = without_secret_pairs(kept);
  kept = without_secrets_of_urls(kept);
  kept = without_schemes(kept);
  return without_opaque_tokens(kept);
}

bool holds_opaque_token(std::string_view text) {
  return without_opaque_tokens(text).size() != text.size() || without_opaque_tokens(text) != text;
}

}  // namespace lockstep::doctor
