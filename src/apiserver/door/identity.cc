#include "apiserver/door/identity.h"

#include <arpa/inet.h>
#include <array>
#include <memory>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::apiserver {

namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Unexpected openssl_failed(std::string_view what) {
  return failf(ErrorKind::internal, "OpenSSL could not {}", what);
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

std::string certificate_pem(X509* certificate) {
  Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return text_of(bio.get());
}

std::string key_pem(EVP_PKEY* key) {
  Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio.get());
}

struct Request {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> hosts;
  bool authority = false;
  bool client = false;
};

struct Made {
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
  KeyPair pem() const { return {certificate_pem(certificate.get()), key_pem(key.get())}; }
};

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const auto& host : hosts) {
    unsigned char address[16];
    bool is_address = inet_pton(AF_INET, host.c_str(), address) == 1 ||
                      inet_pton(AF_INET6, host.c_str(), address) == 1;
    names.push_back((is_address ? "IP:" : "DNS:") + host);
  }
  return join(names, ",");
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

Result<Made> make_certificate(const Request& request, const Made* issuer, Time now) {
  Made made;
  made.key.reset(EVP_EC_gen("P-256"));
  made.certificate.reset(X509_new());
  if (!made.key || !made.certificate) return openssl_failed("make a key");
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, 2);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
  // An hour back: a client whose clock is a little behind still believes it.
  ASN1_TIME_set(X509_getm_notBefore(certificate), now.unix_seconds() - 3600);
  ASN1_TIME_set(X509_getm_notAfter(certificate), now.unix_seconds() + 365L * 24 * 3600);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (const auto& organization : request.organizations) add_name(subject, "O", organization);
  add_name(subject, "CN", request.common_name);
  X509* issuer_certificate = issuer == nullptr ? certificate : issuer->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer_certificate));
  bool ok = add_extension(certificate, issuer_certificate, NID_basic_constraints,
                          request.authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
            add_extension(certificate, issuer_certificate, NID_key_usage,
                          request.authority ? "critical,keyCertSign,digitalSignature"
                                            : "critical,digitalSignature");
  if (!request.authority) {
    ok = ok && add_extension(certificate, issuer_certificate, NID_ext_key_usage,
                             request.client ? "clientAuth" : "serverAuth");
  }
  if (!request.hosts.empty()) {
    ok = ok && add_extension(certificate, issuer_certificate, NID_subject_alt_name,
                             alternative_names(request.hosts));
  }
  if (!ok) return openssl_failed("add the certificate's extensions");
  EVP_PKEY* signing_key = issuer == nullptr ? made.key.get() : issuer->key.get();
  if (X509_sign(certificate, signing_key, EVP_sha256()) == 0)
    return openssl_failed("sign the certificate");
  return made;
}

Result<Made> load(const KeyPair& pair) {
  Owned<BIO> certificate_bio(
      BIO_new_mem_buf(pair.certificate.data(), static_cast<int>(pair.certificate.size())));
  Owned<BIO> key_bio(BIO_new_mem_buf(pair.key.data(), static_cast<int>(pair.key.size())));
  Made made;
  made.certificate.reset(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  made.key.reset(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (!made.certificate || !made.key)
    return fail(ErrorKind::invalid, "not a PEM certificate and key");
  return made;
}

}  // namespace

Result<TlsIdentity> make_tls_identity(const std::vector<std::string>& hosts, Time now) {
  Request authority_request;
  authority_request.common_name = "lockstep-apiserver-ca";
  authority_request.authority = true;
  LOCKSTEP_TRY(auto authority, make_certificate(authority_request, nullptr, now));
  Request server_request;
  server_request.common_name = "lockstep-apiserver";
  server_request.hosts = hosts;
  LOCKSTEP_TRY(auto server, make_certificate(server_request, &authority, now));
  TlsIdentity identity;
  identity.authority = authority.pem();
  identity.server = server.pem();
  LOCKSTEP_TRY(
      identity.administrator,
      make_client_certificate(identity.authority, "kubernetes-admin", {"system:masters"}, now));
  return identity;
}

Result<KeyPair> make_client_certificate(const KeyPair& authority, const std::string& user,
                                        const std::vector<std::string>& groups, Time now) {
  LOCKSTEP_TRY(auto issuer, load(authority));
  Request request;
  request.common_name = user;
  request.organizations = groups;
  request.client = true;
  LOCKSTEP_TRY(auto made, make_certificate(request, &issuer, now));
  return made.pem();
}

Result<std::string> make_token() {
  std::array<unsigned char, 24> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return openssl_failed("make a token");
  }
  std::string token;
  for (unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

Authenticator Authenticator::open() {
  Authenticator authenticator;
  authenticator.open_ = true;
  return authenticator;
}

Authenticator Authenticator::closed() { return {}; }

void Authenticator::add_token(std::string token, Caller caller) {
  tokens_.insert_or_assign(std::move(token), std::move(caller));
}

Outcome<Caller> Authenticator::authenticate(
    std::string_view authorization, const std::string& certificate_user,
    const std::vector<std::string>& certificate_groups) const {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() > scheme.size() &&
      equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) {
    auto found = tokens_.find(trim(authorization.substr(scheme.size())));
    if (found != tokens_.end()) return found->second;
    if (!open_) return Refusal(unauthorized());
  }
  if (!certificate_user.empty()) return Caller{certificate_user, certificate_groups, ""};
  if (open_) return Caller{"kubernetes-admin", {"system:masters", "system:authenticated"}, ""};
  return Refusal(unauthorized());
}

bool Authenticator::is_public(std::string_view path) {
  for (std::string_view page : {"/healthz", "/livez", "/readyz", "/version"}) {
    if (path.substr(0, page.size()) == page &&
        (path.size() == page.size() || path[page.size()] == '?'))
      return true;
  }
  return false;
}

std::string make_kubeconfig(const std::string& url, const TlsIdentity* identity,
                            const std::string& token) {
  JsonObject cluster{{"server", url}};
  JsonObject user;
  if (identity != nullptr) {
    cluster["certificate-authority-data"] = base64_encode(identity->authority.certificate);
    user["client-certificate-data"] = base64_encode(identity->administrator.certificate);
    user["client-key-data"] = base64_encode(identity->administrator.key);
  } else if (!token.empty()) {
    user["token"] = token;
  }
  return print_yaml(JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", JsonArray{JsonObject{{"name", "lockstep"}, {"cluster", std::move(cluster)}}}},
      {"users", JsonArray{JsonObject{{"name", "admin"}, {"user", std::move(user)}}}},
      {"contexts",
       JsonArray{JsonObject{{"name", "lockstep"},
                            {"context", JsonObject{{"cluster", "lockstep"}, {"user", "admin"}}}}}},
      {"current-context", "lockstep"}});
}

}  // namespace lockstep::apiserver
