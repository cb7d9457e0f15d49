#include "doctor/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::doctor {

namespace {

constexpr std::string_view removed = "(removed)";

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// A key that says that its value is nobody's business. "secretName" and "tokenExpirationSeconds"
// only name things.
bool is_secret_key(std::string_view key) {
  std::string small = lower(key);
  for (std::string_view name : {"name", "ref", "seconds", "path", "policy", "kind", "reason"}) {
    if (small.ends_with(name)) return false;
  }
  constexpr std::array words = {std::string_view("password"),    std::string_view("passwd"),
                                std::string_view("token"),       std::string_view("secret"),
                                std::string_view("apikey"),      std::string_view("api-key"),
                                std::string_view("api_key"),     std::string_view("privatekey"),
                                std::string_view("private_key"), std::string_view("private-key"),
                                std::string_view("credential"),  std::string_view("authorization"),
                                std::string_view("dockerconfig")};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

bool is_of_token(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
         c == '+' || c == '/' || c == '=' || c == '~';
}

size_t end_of_token(std::string_view text, size_t from) {
  while (from < text.size() && is_of_token(text[from])) ++from;
  return from;
}

size_t end_of_word(std::string_view text, size_t from) {
  if (from < text.size() && (text[from] == '"' || text[from] == '\'')) {
    size_t close = text.find(text[from], from + 1);
    return close == std::string_view::npos ? text.size() : close + 1;
  }
  while (from < text.size() && std::isspace(static_cast<unsigned char>(text[from])) == 0 &&
         text[from] != ',' && text[from] != '"' && text[from] != '&') {
    ++from;
  }
  return from;
}

// Three parts in base64url, of which the first begins with '{"': a JSON web token.
void hide_web_tokens(std::string& text) {
  for (size_t at = text.find("eyJ"); at != std::string::npos; at = text.find("eyJ", at)) {
    size_t end = end_of_token(text, at);
    std::string_view word = std::string_view(text).substr(at, end - at);
    if (std::count(word.begin(), word.end(), '.') >= 2) {
      text.replace(at, end - at, removed);
      at += removed.size();
    } else {
      at += 3;
    }
  }
}

void hide_bearers(std::string& text) {
  constexpr std::string_view mark = "bearer ";
  std::string small = lower(text);
  for (size_t at = small.find(mark); at != std::string::npos; at = small.find(mark, at + 1)) {
    size_t begin = at + mark.size();
    size_t end = end_of_token(text, begin);
    text.replace(begin, end - begin, end > begin ? removed : "");
    small.replace(begin, end - begin, end > begin ? removed : "");
  }
}

// Everything between the lines that begin and end a private key.
void hide_private_keys(std::string& text) {
  constexpr std::string_view end_mark = "PRIVATE KEY-----";
  for (size_t at = text.find("-----BEGIN "); at != std::string::npos;
       at = text.find("-----BEGIN ", at + 1)) {
    size_t head_end = text.find(end_mark, at);
    size_t line_end = text.find('\n', at);
    if (head_end == std::string::npos || head_end > line_end) continue;
    size_t close = text.find(end_mark, head_end + end_mark.size());
    size_t end = close == std::string::npos ? text.size() : close + end_mark.size();
    text.replace(at, end - at, removed);
  }
}

// "https://user:password@host".
void hide_passwords_of_addresses(std::string& text) {
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    size_t end = text.find_first_of("/ \t\n\"'", at + 3);
    size_t sign = text.rfind('@', end == std::string::npos ? text.size() : end);
    if (sign == std::string::npos || sign < at + 3) continue;
    text.replace(at + 3, sign - at - 3, removed);
  }
}

// "--password=x", "TOKEN=x", "password: x".
void hide_assignments(std::string& text) {
  for (size_t at = text.find_first_of("=:"); at != std::string::npos;
       at = text.find_first_of("=:", at + 1)) {
    size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                         text[begin - 1] == '-' || text[begin - 1] == '_')) {
      --begin;
    }
    std::string key = text.substr(begin, at - begin);
    if (key.empty() || !is_secret_key(key)) continue;
    size_t value = at + 1;
    while (value < text.size() && text[value] == ' ') ++value;
    // "Authorization: Basic …": two words.
    size_t end = lower(key) == "authorization"
                     ? std::min(text.find_first_of("\n\"'", value), text.size())
                     : end_of_word(text, value);
    // What stands there already as removed is not to be cut in two.
    if (end <= value || text.compare(value, removed.size(), removed) == 0) continue;
    text.replace(value, end - value, removed);
  }
}

bool is_environment(std::string_view key) { return key == "env"; }

Json hide_values(const Json& list) {
  JsonArray entries;
  for (const Json& entry : list.as_array()) {
    if (!entry.is_object()) {
      entries.push_back(redact(entry));
      continue;
    }
    JsonObject kept;
    for (const auto& [key, value] : entry.as_object()) {
      if (key == "value") {
        kept[key] = removed;
      } else {
        kept[key] = redact(value);
      }
    }
    entries.push_back(std::move(kept));
  }
  return entries;
}

Json hide_all(const Json& data) {
  if (!data.is_object()) return Json(removed);
  JsonObject kept;
  for (const auto& [key, value] : data.as_object()) {
    kept[key] = fmt::format("(removed, {} characters)", as_text(&value).size());
  }
  return kept;
}

}  // namespace

std::string redact_text(std::string_view text) {
  std::string kept(text);
  hide_private_keys(kept);
  hide_web_tokens(kept);
  hide_bearers(kept);
  hide_passwords_of_addresses(kept);
  hide_assignments(kept);
  return kept;
}

Json redact(const Json& document) {
  if (document.is_string()) return Json(redact_text(as_text(&document)));
  if (document.is_array()) {
    JsonArray items;
    for (const Json& item : document.as_array()) items.push_back(redact(item));
    return items;
  }
  if (!document.is_object()) return document;
  bool is_secret = text_at(document, "kind") == "Secret";
  JsonObject kept;
  for (const auto& [key, value] : document.as_object()) {
    if (key == "managedFields" || key == "kubectl.kubernetes.io/last-applied-configuration") {
      continue;
    }
    if (is_secret && (key == "data" || key == "stringData")) {
      kept[key] = hide_all(value);
    } else if (is_environment(key) && value.is_array()) {
      kept[key] = hide_values(value);
    } else if (value.is_string() && is_secret_key(key)) {
      kept[key] = removed;
    } else {
      kept[key] = redact(value);
    }
  }
  return kept;
}

}  // namespace lockstep::doctor
