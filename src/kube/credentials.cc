#include "kube/credentials.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "kube/exec_credentials.h"

namespace lockstep::kube {

namespace {

bool same(const std::shared_ptr<const std::string>& a,
          const std::shared_ptr<const std::string>& b) {
  return a == b || (a && b && *a == *b);
}

bool fits_in_header(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Go's percent encoding of keys in Impersonate-Extra-…: encodes what a header's name must not have.
std::string header_key(std::string_view key) { return url_encode(lower(key)); }

std::string basic(const UserConfig& user) {
  return "Basic " + base64_encode(user.username + ":" + user.password);
}

}  // namespace

bool Identity::operator==(const Identity& other) const {
  return authorization == other.authorization && same(certificate, other.certificate) &&
         same(key, other.key);
}

Result<std::string> bearer(std::string_view token) {
  const std::string_view clean = trim(token);
  if (clean.empty()) return fail(ErrorKind::invalid, "the token is empty");
  if (!fits_in_header(clean)) {
    return fail(ErrorKind::invalid, "the token has a line break or control character inside");
  }
  return "Bearer " + std::string(clean);
}

FileCredentials::FileCredentials(const UserConfig& user, const Files& files, const Loop& loop)
    // A token's file wins over a token, as in client-go: only the file can be current.
    : token_(files, loop, user.token_file.empty() ? user.token : std::string(), user.token_file),
      certificate_(files, loop, user.client_certificate.data, user.client_certificate.file),
      key_(files, loop, user.client_key.data, user.client_key.file) {
  if (!user.username.empty() || !user.password.empty()) fixed_authorization_ = basic(user);
}

Result<std::string> FileCredentials::authorization() {
  LOCKSTEP_TRY(const auto token, token_.read());
  if (!token) return fixed_authorization_;
  return bearer(*token);
}

Result<Identity> FileCredentials::current() {
  Identity identity;
  auto authorization = this->authorization();
  if (!authorization) return fail(authorization.error().at("the user's token"));
  identity.authorization = std::move(*authorization);
  LOCKSTEP_TRY(identity.certificate, certificate_.read());
  if (!identity.certificate) return identity;
  LOCKSTEP_TRY(identity.key, key_.read());
  return identity;
}

bool FileCredentials::refused(const Identity&) {
  for (ContentSource* source : {&token_, &certificate_, &key_}) source->forget();
  return token_.is_file() || certificate_.is_file();
}

std::unique_ptr<Credentials> make_credentials(const UserConfig& user, const ClusterConfig& cluster,
                                              const Files& files, Processes& processes,
                                              Loop& loop) {
  auto from_files = std::make_unique<FileCredentials>(user, files, loop);
  if (!user.exec) return from_files;
  return std::make_unique<ExecCredentials>(*user.exec, cluster, std::move(from_files), files,
                                           processes, loop);
}

Result<std::vector<std::string>> impersonation_headers(const UserConfig& user) {
  std::vector<std::string> headers;
  if (user.impersonate_user.empty()) return headers;
  headers.push_back("Impersonate-User: " + user.impersonate_user);
  if (!user.impersonate_uid.empty()) headers.push_back("Impersonate-Uid: " + user.impersonate_uid);
  for (const std::string& group : user.impersonate_groups) {
    headers.push_back("Impersonate-Group: " + group);
  }
  for (const auto& [key, values] : user.impersonate_extra) {
    for (const std::string& value : values) {
      headers.push_back(fmt::format("Impersonate-Extra-{}: {}", header_key(key), value));
    }
  }
  for (const std::string& header : headers) {
    if (!fits_in_header(header)) {
      return fail(ErrorKind::invalid, "impersonation: a name has a control character inside",
                  user.origin);
    }
  }
  return headers;
}

}  // namespace lockstep::kube
