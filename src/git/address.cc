#include "git/address.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/ip_address.h"
#include "base/strings.h"
#include "git/names.h"

namespace lockstep::git {

namespace {

constexpr size_t longest_address = 2048;

bool consists_of(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || more.find(static_cast<char>(c)) != more.npos;
  });
}

int usual_port(std::string_view scheme) {
  if (scheme == "https") return 443;
  return scheme == "http" ? 80 : 22;
}

// What is wrong with a part of the address; the whole of it is said once.
using Problem = std::string;

Problem read_host(std::string_view host, RepositoryAddress& address) {
  address.host = lower(host);
  if (host.starts_with('[')) {
    const auto parsed = IpAddress::parse(host);
    if (!parsed || parsed->is_v4()) return "the address in brackets must be an IPv6 address";
    address.host = fmt::format("[{}]", parsed->text());
    return {};
  }
  if (host.empty()) return "the host is missing";
  if (!consists_of(host, ".-")) return "the host may contain letters, digits, \".\" and \"-\" only";
  if (host.starts_with('-') || host.starts_with('.') || host.ends_with('.')) {
    return "the host must begin with a letter or digit, and must not end with a dot";
  }
  return {};
}

Problem read_authority(std::string_view authority, RepositoryAddress& address) {
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    if (address.scheme != "ssh") return "it must not contain a user name or password";
    if (user.empty() || user.starts_with('-') || !consists_of(user, "._-")) {
      return "the user name may contain letters, digits, \".\", \"_\" and \"-\" only";
    }
    address.user = user;
    authority.remove_prefix(at + 1);
  }
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return "the bracket in the host is not closed";
  const size_t colon = authority.find(':', bracket);
  if (colon != std::string_view::npos) {
    const std::string_view text = authority.substr(colon + 1);
    const bool is_number = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
    const auto port = is_number ? parse_unsigned(text) : std::nullopt;
    if (!port || *port == 0 || *port > 65535) return "the port must be a number from 1 to 65535";
    address.port = static_cast<int>(*port);
    if (address.port == usual_port(address.scheme)) address.port = 0;
  }
  return read_host(authority.substr(0, colon), address);
}

Problem read_path(std::string_view path, RepositoryAddress& address) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with('/')) return "the path is missing";
  for (const std::string_view part : split(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") {
      return "the path must not contain \"..\", \".\" or \"//\"";
    }
    if (part.starts_with('-')) return "no part of the path may begin with \"-\"";
    const std::string_view more = address.scheme == "file" ? "._~+@- " : "._~+@-";
    if (!consists_of(part, more)) {
      return "the path may contain letters, digits and \". _ ~ + @ -\" only";
    }
  }
  address.path = path;
  return {};
}

Problem read_remote(std::string_view rest, RepositoryAddress& address) {
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (Problem problem = read_authority(rest.substr(0, slash), address); !problem.empty()) {
    return problem;
  }
  return read_path(rest.substr(slash), address);
}

Problem read(std::string_view text, Local local, RepositoryAddress& address) {
  if (text.size() > longest_address) return fmt::format("it is longer than {}", longest_address);
  const bool is_local = local == Local::accepted;
  if (is_local && text.starts_with('/')) {
    address.scheme = "file";
    return read_path(text, address);
  }
  const size_t end = text.find("://");
  if (end == std::string_view::npos) return "it must begin with https:// or ssh://";
  address.scheme = lower(text.substr(0, end));
  const std::string_view rest = text.substr(end + 3);
  if (is_local && address.scheme == "file") return read_path(rest, address);
  const bool is_http = is_local && address.scheme == "http";
  if (!is_http && address.scheme != "https" && address.scheme != "ssh") {
    return "it must begin with https:// or ssh://";
  }
  Problem problem = read_remote(rest, address);
  if (problem.empty() && is_http && !is_loopback_host(address.host)) {
    return "plain HTTP is for this machine only: use https://";
  }
  return problem;
}

}  // namespace

std::string RepositoryAddress::text() const {
  if (scheme == "file") return path;
  return fmt::format("{}://{}{}{}{}{}", scheme, user, user.empty() ? "" : "@", host,
                     port == 0 ? "" : fmt::format(":{}", port), path);
}

bool RepositoryAddress::has_origin_of(const RepositoryAddress& other) const {
  return scheme == other.scheme && user == other.user && host == other.host && port == other.port;
}

Result<RepositoryAddress> parse_address(std::string_view text, Local local) {
  LOCKSTEP_CHECK(check_repository(text));
  RepositoryAddress address;
  if (const Problem problem = read(text, local, address); !problem.empty()) {
    return failf(ErrorKind::invalid, "the repository \"{}\" is invalid: {}", redact(text), problem);
  }
  return address;
}

}  // namespace lockstep::git
