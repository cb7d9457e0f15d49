#include "doctor/opaque_token.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "doctor/redact_text.h"

namespace lockstep::doctor {

namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_upper(c) || is_lower(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

template <typename Test>
bool all(std::string_view text, Test test) {
  return std::all_of(text.begin(), text.end(), test);
}

// The letters that Kubernetes makes names of: no vowels.
bool is_generated(std::string_view piece) {
  return piece.size() <= 10 && all(piece, [](char c) {
           return std::string_view("bcdfghjklmnpqrstvwxz2456789").find(c) != std::string_view::npos;
         });
}

bool is_words(std::string_view letters) {
  const auto upper = static_cast<size_t>(std::count_if(letters.begin(), letters.end(), is_upper));
  if (letters.size() <= 12) return true;
  if (upper == 0) return letters.size() <= 24;
  if (upper == letters.size()) return letters.size() <= 15;
  return letters.size() <= 64 && upper * 3 <= letters.size() + 3;
}

// "20261119T124039Z".
bool is_short_time(std::string_view piece) {
  return piece.size() == 16 && piece[8] == 'T' && piece[15] == 'Z' &&
         all(piece.substr(0, 8), is_digit) && all(piece.substr(9, 6), is_digit);
}

// One run of letters and digits that may be part of a word, a version or a name.
bool is_plain_piece(std::string_view piece) {
  if (piece.size() <= 5) return true;
  if (all(piece, is_digit)) return piece.size() <= 20;
  if (all(piece, is_letter)) return is_words(piece);
  if (is_generated(piece) || is_short_time(piece)) return true;
  const auto letters =
      static_cast<size_t>(std::find_if_not(piece.begin(), piece.end(), is_letter) - piece.begin());
  const std::string_view rest = piece.substr(letters);
  return letters > 0 && letters <= 12 && rest.size() <= 12 && all(rest, is_digit) &&
         is_words(piece.substr(0, letters));
}

// "GPU-" and a UUID: how NVIDIA names devices.
bool is_device(std::string_view run) {
  if (run.size() != 40 || (!run.starts_with("GPU-") && !run.starts_with("MIG-"))) return false;
  for (size_t at = 4; at < run.size(); ++at) {
    const bool dash = at == 12 || at == 17 || at == 22 || at == 27;
    if (dash ? run[at] != '-' : !is_hex(run[at])) return false;
  }
  return true;
}

// A machine of EC2.
bool is_instance(std::string_view run) {
  return (run.size() == 10 || run.size() == 19) && run.starts_with("i-") &&
         all(run.substr(2), is_hex);
}

// How often upper case, lower case and digits take turns: in words seldom, in tokens all the time.
bool takes_turns(std::string_view run) {
  auto kind = [](char c) { return is_upper(c) ? 1 : is_lower(c) ? 2 : is_digit(c) ? 3 : 0; };
  size_t turns = 0;
  std::array<bool, 4> seen{};
  for (size_t at = 0; at < run.size(); ++at) {
    seen[static_cast<size_t>(kind(run[at]))] = true;
    if (at > 0 && kind(run[at]) != 0 && kind(run[at - 1]) != 0 &&
        kind(run[at]) != kind(run[at - 1]))
      ++turns;
  }
  return run.size() >= 20 && seen[1] && seen[2] && seen[3] && turns * 5 >= run.size() * 2;
}

size_t known_prefix(std::string_view run) {
  constexpr std::array<std::string_view, 25> prefixes = {
      "ghp_", "gho_",  "ghu_",  "ghs_",  "ghr_",  "github_pat_", "glpat-", "gldt-", "glrt-",
      "AKIA", "ASIA",  "xoxb-", "xoxp-", "xoxa-", "xoxs-",       "xapp-",  "sk-",   "nvapi",
      "hf_",  "dckr_", "eyJ",   "npm_",  "AIza",  "ya29",        "hvs-"};
  for (std::string_view prefix : prefixes) {
    if (run.starts_with(prefix) && run.size() >= prefix.size() + 8) return prefix.size();
  }
  return 0;
}

struct Span {
  size_t begin = 0;
  size_t end = 0;
};

// What of a run is to be removed; empty: nothing.
Span opaque_part(std::string_view run) {
  // Prefixes count where a piece begins, also behind other words: "x/ghp_…".
  for (size_t at = 0; at < run.size(); ++at) {
    const bool begins = at == 0 || !(is_letter(run[at - 1]) || is_digit(run[at - 1]));
    if (begins && known_prefix(run.substr(at)) > 0) return {at, run.size()};
  }
  if (run.size() < 16 || is_device(run) || is_instance(run)) return {};
  if (takes_turns(run)) return {0, run.size()};
  Span span;
  size_t odd = 0;
  size_t longest = 0;
  for (size_t at = 0; at < run.size();) {
    size_t end = at;
    while (end < run.size() && (is_letter(run[end]) || is_digit(run[end]))) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    if (!is_plain_piece(run.substr(at, end - at))) {
      if (odd == 0) span.begin = at;
      span.end = end;
      odd += end - at;
      longest = std::max(longest, end - at);
    }
    at = end;
  }
  if (longest < 16 && odd < 12) return {};
  while (span.end < run.size() && (run[span.end] == '=' || run[span.end] == '+')) ++span.end;
  // What is left of it must be words, not the short ends of the token.
  return span;
}

bool is_digest(std::string_view before, std::string_view run) {
  return before.ends_with("sha256:") && run.size() == 64 && all(run, is_hex);
}

}  // namespace

bool is_of_token(char c) {
  return is_letter(c) || is_digit(c) || c == '+' || c == '/' || c == '_' || c == '=' || c == '-' ||
         c == '%' || c == '~' || c == '.';
}

std::string without_opaque_tokens(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_of_token(text[end]) && text[end] != '.') ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string_view run = text.substr(at, end - at);
    const Span span = is_digest(text.substr(0, at), run) ? Span{} : opaque_part(run);
    if (span.end == 0) {
      out += run;
      at = end;
      continue;
    }
    out += run.substr(0, span.begin);
    out += removed;
    at += span.end;
    // The rest of a web token, or of any other that has dots in it.
    if (at == end && at < text.size() && text[at] == '.') {
      size_t last = at;
      while (last < text.size() && is_of_token(text[last])) ++last;
      if (last - at > 8) at = last;
    }
  }
  return out;
}

}  // namespace lockstep::doctor
