#include "git/allowed.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "git/names.h"
#include "world/files.h"

namespace lockstep::git {

namespace {

constexpr size_t longest_header = 16 << 10;

// "Authorization: Basic ...": what git adds to each request.
Result<std::string> read_header(const std::string& file) {
  LOCKSTEP_TRY(const std::string text, SystemFiles().read(file));
  const std::string_view header = trim(text);
  const size_t colon = header.find(':');
  const bool is_one_line = std::all_of(header.begin(), header.end(),
                                       [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  // Not with its words: it is a secret.
  if (!is_one_line || colon == std::string_view::npos || colon == 0 ||
      header.size() > longest_header) {
    return fail(ErrorKind::invalid, "must hold one HTTP header: \"Authorization: Basic ...\"",
                file);
  }
  return std::string(header);
}

// git hands the command of ssh to a shell.
bool is_plain_file(std::string_view file) {
  return file.starts_with('/') && std::all_of(file.begin(), file.end(), [](unsigned char c) {
           return (c < 0x80 && std::isalnum(c) != 0) || c == '/' || c == '.' || c == '_' ||
                  c == '-';
         });
}

}  // namespace

bool AllowedRepositories::Entry::allows(const RepositoryAddress& asked) const {
  if (!asked.has_origin_of(address)) return false;
  if (!is_prefix) return asked.path == address.path;
  return asked.path.starts_with(address.path + "/");
}

Result<void> AllowedRepositories::read_setting(std::string_view setting, Entry& entry) {
  const size_t equals = std::min(setting.find('='), setting.size());
  const std::string_view name = setting.substr(0, equals);
  const std::string_view file = setting.substr(std::min(equals + 1, setting.size()));
  const bool is_ssh = entry.address.scheme == "ssh";
  const std::array<std::pair<std::string_view, std::string*>, 3> known = {
      {{"header-file", is_ssh ? nullptr : &entry.header_file},
       {"ssh-key", is_ssh ? &entry.ssh_key : nullptr},
       {"known-hosts", is_ssh ? &entry.known_hosts : nullptr}}};
  for (const auto& [each, target] : known) {
    if (each != name) continue;
    if (target == nullptr) {
      return failf(ErrorKind::invalid, "\"{}\" does not go with {}://", name, entry.address.scheme);
    }
    if (!is_plain_file(file)) {
      return failf(ErrorKind::invalid,
                   "\"{}\" must name a file by an absolute path of letters, digits and \"/._-\"",
                   name);
    }
    *target = file;
    return {};
  }
  return failf(ErrorKind::invalid,
               "unknown setting \"{}\"; known are header-file, ssh-key and known-hosts", name);
}

Result<AllowedRepositories::Entry> AllowedRepositories::read_entry(const std::string& text,
                                                                   Local local) {
  const std::vector<std::string_view> parts = split(text, ',');
  Entry entry;
  entry.is_prefix = parts[0].ends_with('/');
  LOCKSTEP_TRY(entry.address, parse_address(parts[0], local));
  for (size_t i = 1; i < parts.size(); ++i) LOCKSTEP_CHECK(read_setting(parts[i], entry));
  return entry;
}

Result<AllowedRepositories> AllowedRepositories::read(const std::vector<std::string>& entries,
                                                      Local local) {
  AllowedRepositories allowed;
  allowed.local_ = local;
  for (const std::string& text : entries) {
    auto entry = read_entry(text, local);
    if (!entry) return fail(entry.error().at(redact(text)));
    allowed.entries_.push_back(std::move(*entry));
  }
  return allowed;
}

// An exact entry before a prefix, a longer prefix before a shorter one.
Result<AllowedRepositories::Match> AllowedRepositories::find(const std::string& repository) const {
  Match match;
  LOCKSTEP_TRY(match.address, parse_address(repository, local_));
  auto rank = [](const Entry& entry) {
    return std::pair{!entry.is_prefix, entry.address.path.size()};
  };
  for (const Entry& entry : entries_) {
    if (!entry.allows(match.address)) continue;
    if (match.entry == nullptr || rank(*match.entry) < rank(entry)) match.entry = &entry;
  }
  if (match.entry != nullptr) return match;
  return failf(ErrorKind::forbidden,
               "the repository {} is not on the list of allowed repositories (--git-repository)",
               match.address.text());
}

Result<void> AllowedRepositories::check(const std::string& repository) const {
  LOCKSTEP_CHECK(find(repository));
  return {};
}

Result<Access> AllowedRepositories::open(const std::string& repository) const {
  LOCKSTEP_TRY(const Match match, find(repository));
  const Entry& entry = *match.entry;
  Access access;
  access.address = match.address.text();
  access.protocol = match.address.scheme;
  access.config = {{"http.followRedirects", "false"},
                   {"protocol.allow", "never"},
                   {"protocol." + access.protocol + ".allow", "always"},
                   {"credential.useHttpPath", "true"}};
  if (!entry.header_file.empty()) {
    LOCKSTEP_TRY(std::string header, read_header(entry.header_file));
    access.config.emplace_back(fmt::format("http.{}.extraHeader", access.address),
                               std::move(header));
  }
  if (access.protocol != "ssh") return access;
  std::string command = "ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes";
  if (!entry.ssh_key.empty()) command += " -o IdentitiesOnly=yes -i " + entry.ssh_key;
  if (!entry.known_hosts.empty()) command += " -o UserKnownHostsFile=" + entry.known_hosts;
  access.environment["GIT_SSH_COMMAND"] = std::move(command);
  return access;
}

}  // namespace lockstep::git
