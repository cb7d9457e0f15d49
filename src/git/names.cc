#include "git/names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::git {

namespace {

constexpr size_t longest_name = 4096;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

// What every word of a command line must be.
Result<void> check_word(std::string_view what, std::string_view text) {
  if (text.empty()) return failf(ErrorKind::invalid, "the {} is empty", what);
  if (text.size() > longest_name) {
    return failf(ErrorKind::invalid, "the {} is longer than {} bytes", what, longest_name);
  }
  if (has_control(text)) {
    return failf(ErrorKind::invalid, "the {} has a control character in it", what);
  }
  if (text.front() == '-') {
    return failf(ErrorKind::invalid, "the {} \"{}\" begins with \"-\": git would read an option",
                 what, text);
  }
  return {};
}

bool is_scheme_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

// The part before "://", "::" or ":", if it resembles a word.
std::string_view leading_word(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_scheme_character);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

// user@host of an address; git and ssh would read a host like "-oProxyCommand=..." as an option.
Result<void> check_host(std::string_view authority, std::string_view repository) {
  const size_t at = authority.rfind('@');
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (host.starts_with('-') || authority.starts_with('-')) {
    return failf(ErrorKind::invalid, "the host in \"{}\" begins with \"-\"", redact(repository));
  }
  return {};
}

}  // namespace

bool is_local_path(std::string_view repository) {
  if (repository.find("://") != std::string_view::npos) return false;
  const size_t colon = repository.find(':');
  const size_t slash = repository.find('/');
  // "host:path", but "./odd:name" is a path.
  return colon == std::string_view::npos || slash < colon;
}

Result<void> check_repository(std::string_view repository) {
  LOCKSTEP_CHECK(check_word("repository", repository));
  const std::string_view word = leading_word(repository);
  const std::string_view rest = repository.substr(word.size());
  if (rest.starts_with("::")) {
    return failf(ErrorKind::invalid,
                 "\"{}::\" is a transport helper, which runs a program of its own; use a path, "
                 "file://, ssh:// or https://",
                 word);
  }
  const size_t scheme_end = repository.find("://");
  if (scheme_end != std::string_view::npos) {
    static constexpr std::array<std::string_view, 7> known = {"file",  "ssh",     "git",    "http",
                                                              "https", "git+ssh", "ssh+git"};
    const std::string scheme = lower(repository.substr(0, scheme_end));
    if (std::find(known.begin(), known.end(), scheme) == known.end()) {
      return failf(ErrorKind::invalid, "\"{}://\" is no transport of git that is used here; use {}",
                   scheme, "file, ssh, git, http or https");
    }
    const std::string_view behind = repository.substr(scheme_end + 3);
    return check_host(behind.substr(0, behind.find('/')), repository);
  }
  if (is_local_path(repository)) return {};
  return check_host(repository.substr(0, repository.find(':')), repository);
}

Result<void> check_branch(std::string_view branch) {
  LOCKSTEP_CHECK(check_word("branch", branch));
  auto refuse = [&](std::string_view why) {
    return failf(ErrorKind::invalid, "\"{}\" is no name of a branch: {}", branch, why);
  };
  if (branch.starts_with("refs/")) return refuse("give its short name, without refs/heads/");
  if (branch == "HEAD" || branch == "@") return refuse("that path is inside a repository");
  if (branch.find_first_of(" ~^:?*[\\") != std::string_view::npos) {
    return refuse("it has a blank or one of ~ ^ : ? * [ \\ in it");
  }
  if (branch.find("..") != std::string_view::npos) return refuse("it has \"..\" in it");
  if (branch.find("@{") != std::string_view::npos) return refuse("it has \"@{\" in it");
  if (branch.ends_with('.')) return refuse("it ends with a dot");
  for (const std::string_view part : split(branch, '/')) {
    if (part.empty()) return refuse("it has an empty part between slashes");
    if (part.starts_with('.')) return refuse("a part of it begins with a dot");
    if (part.ends_with(".lock")) return refuse("a part of it ends with .lock");
  }
  return {};
}

Result<void> check_path(std::string_view path) {
  LOCKSTEP_CHECK(check_word("path", path));
  if (path.starts_with('/')) {
    return failf(ErrorKind::invalid, "\"{}\" must be a path inside the repository", path);
  }
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return failf(ErrorKind::invalid, "\"{}\" must be a plain path: no \"..\", \".\" or \"//\"",
                   path);
    }
    if (equal_ignoring_case(part, ".git")) {
      return failf(ErrorKind::invalid, "\"{}\" is inside git's own directory", path);
    }
  }
  return {};
}

Result<void> check_commit(std::string_view commit) {
  constexpr size_t shortest = 4;
  constexpr size_t longest = 64;
  const bool is_hexadecimal = std::all_of(commit.begin(), commit.end(),
                                          [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (is_hexadecimal && commit.size() >= shortest && commit.size() <= longest) return {};
  return failf(ErrorKind::invalid, "\"{}\" is no commit: give its hexadecimal id", commit);
}

std::string redact(std::string_view text) {
  std::string out;
  size_t from = 0;
  while (true) {
    const size_t scheme = text.find("://", from);
    if (scheme == std::string_view::npos) break;
    const size_t begin = scheme + 3;
    const size_t end = std::min(text.find_first_of("/ '\"\n", begin), text.size());
    const size_t at = text.substr(begin, end - begin).rfind('@');
    out += text.substr(from, begin - from);
    const bool has_password =
        at != std::string_view::npos && text.substr(begin, at).find(':') != std::string_view::npos;
    if (has_password) out += "***";
    from = has_password ? begin + at : begin;
  }
  out += text.substr(from);
  return out;
}

}  // namespace lockstep::git
