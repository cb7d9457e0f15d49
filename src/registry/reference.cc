#include "registry/reference.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::registry {

namespace {

constexpr std::string_view oci_scheme = "oci://";
constexpr size_t longest_name = 255;
constexpr size_t longest_tag = 128;

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

template <typename Rule>
bool all_of(std::string_view text, Rule rule) {
  return std::all_of(text.begin(), text.end(), rule);
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= longest_tag && (is_letter(tag[0]) || tag[0] == '_') &&
         all_of(tag, [](char c) { return is_letter(c) || c == '_' || c == '.' || c == '-'; });
}

// Lower-case letters and digits, joined by one dot, one or two underscores, or any number of
// dashes.
bool is_repository_part(std::string_view part) {
  if (part.empty() || !is_lower(part.front()) || !is_lower(part.back())) return false;
  for (size_t i = 0; i < part.size();) {
    const size_t end = static_cast<size_t>(
        std::find_if(part.begin() + static_cast<ptrdiff_t>(i), part.end(), is_lower) -
        part.begin());
    const std::string_view between = part.substr(i, end - i);
    const bool good = between.empty() || between == "." || between == "_" || between == "__" ||
                      all_of(between, [](char c) { return c == '-'; });
    if (!good) return false;
    i = end + 1;
  }
  return true;
}

bool is_host(std::string_view host) {
  // Brackets hold an IPv6 address, with colons of its own.
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  const bool has_port = colon != std::string_view::npos &&
                        (bracket == std::string_view::npos || colon == bracket + 1);
  if (has_port) {
    const auto port = parse_unsigned(host.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return false;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    return !host.empty() &&
           all_of(host, [](char c) { return is_letter(c) || c == ':' || c == '.'; });
  }
  if (host.empty()) return false;
  for (const std::string_view part : split(host, '.')) {
    if (part.empty() || part.front() == '-' || part.back() == '-' ||
        !all_of(part, [](char c) { return is_letter(c) || c == '-'; })) {
      return false;
    }
  }
  return true;
}

Result<Reference> parse_remote(std::string_view rest, Reference reference) {
  const size_t slash = rest.find('/');
  reference.host = lower(rest.substr(0, slash));
  if (!is_host(reference.host)) {
    return failf(ErrorKind::invalid, "\"{}\" is not the name of a host, or host:port",
                 reference.host);
  }
  if (slash == std::string_view::npos || slash + 1 == rest.size()) {
    return failf(ErrorKind::invalid,
                 "the repository is missing: write oci://{0}/team/bundles:v1, or, for a directory, "
                 "oci://./{0}",
                 reference.host);
  }
  reference.repository = rest.substr(slash + 1);
  if (reference.repository != lower(reference.repository)) {
    return failf(ErrorKind::invalid, "the repository \"{}\" must be in lower case: {}",
                 reference.repository, lower(reference.repository));
  }
  for (const std::string_view part : split(reference.repository, '/')) {
    if (is_repository_part(part)) continue;
    return failf(
        ErrorKind::invalid,
        "\"{}\" in the repository \"{}\" is not a name: letters and digits, joined by '.', "
        "'_' or '-'",
        part, reference.repository);
  }
  if (reference.host.size() + 1 + reference.repository.size() > longest_name) {
    return failf(ErrorKind::invalid, "host and repository are longer than {} characters",
                 longest_name);
  }
  return reference;
}

}  // namespace

std::string Reference::text() const {
  if (is_directory()) return fmt::format("{}{}:{}", oci_scheme, directory, tag);
  return fmt::format("{}{}/{}:{}", oci_scheme, host, repository, tag);
}

bool looks_like_reference(std::string_view text) {
  return equal_ignoring_case(text.substr(0, oci_scheme.size()), oci_scheme);
}

Result<Reference> parse_reference(std::string_view text) {
  const std::string place(text);
  if (!looks_like_reference(text)) {
    return fail(ErrorKind::invalid, "must begin with oci://, as in oci://ghcr.io/team/bundles:v1",
                place);
  }
  std::string_view rest = text.substr(oci_scheme.size());
  if (rest.find('@') != std::string_view::npos) {
    return fail(
        ErrorKind::invalid,
        "must not have a digest or a user: what is written decides its digest, and users are "
        "found in Docker's config",
        place);
  }
  Reference reference;
  // After the last slash: the colon before it is a port's. "." and ".." need none.
  const size_t slash =
      rest.starts_with('.') && rest.find('/') == std::string_view::npos ? 0 : rest.rfind('/');
  const size_t colon = rest.rfind(':');
  if (slash != std::string_view::npos && colon != std::string_view::npos && colon > slash) {
    reference.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(reference.tag)) {
      return failf(ErrorKind::invalid,
                   "{}: \"{}\" is not a tag: up to {} letters, digits, '_', '.' and '-', of which "
                   "the last two not first",
                   place, reference.tag, longest_tag);
    }
  }
  if (rest.starts_with('/') || rest.starts_with("./") || rest.starts_with("../") || rest == "." ||
      rest == "..") {
    reference.directory = rest;
    return reference;
  }
  auto remote = parse_remote(rest, std::move(reference));
  if (!remote) return fail(remote.error().at(place));
  return remote;
}

}  // namespace lockstep::registry
