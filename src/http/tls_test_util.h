// Certificates made on the spot, and the server's side of TLS, for tests.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace lockstep::http::testing {

struct FreeOpenSsl {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
template <typename T>
using OpenSslPointer = std::unique_ptr<T, FreeOpenSsl>;

struct TestCertificate {
  OpenSslPointer<X509> certificate;
  OpenSslPointer<EVP_PKEY> key;

  std::string certificate_pem() const {
    const OpenSslPointer<BIO> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), certificate.get());
    return text_of(bio.get());
  }
  std::string key_pem() const {
    const OpenSslPointer<BIO> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(bio.get());
  }

 private:
  static std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return std::string(data, static_cast<size_t>(size));
  }
};

struct CertificateRequest {
  std::string common_name;
  std::string alternative_names;  // "DNS:api.test,IP:127.0.0.1"
  bool is_authority = false;
  long valid_seconds = 3600;  // from an hour ago; negative: it has expired already
};

// Signed by `issuer`, or by itself.
inline TestCertificate make_certificate(const CertificateRequest& request,
                                        const TestCertificate* issuer = nullptr) {
  TestCertificate made;
  made.key.reset(EVP_EC_gen("P-256"));
  made.certificate.reset(X509_new());
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), request.valid_seconds);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(request.common_name.c_str()),
                             -1, -1, 0);
  X509_set_issuer_name(certificate,
                       X509_get_subject_name(issuer ? issuer->certificate.get() : certificate));
  const auto extend = [&](int kind, const std::string& value) {
    if (value.empty()) return;
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    if (extension == nullptr) throw std::runtime_error("bad extension " + value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, request.is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  extend(NID_subject_alt_name, request.alternative_names);
  X509_sign(certificate, issuer ? issuer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

class TlsSession {
 public:
  explicit TlsSession(OpenSslPointer<SSL> session) : session_(std::move(session)) {}
  ~TlsSession() { SSL_shutdown(session_.get()); }

  int read(char* into, size_t size) {
    return SSL_read(session_.get(), into, static_cast<int>(size));
  }
  int write(std::string_view bytes) {
    return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string server_name() const {
    const char* name = SSL_get_servername(session_.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }
  std::string client_subject() const {
    const OpenSslPointer<X509> certificate(SSL_get1_peer_certificate(session_.get()));
    if (!certificate) return "";
    char name[256] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name,
                              sizeof name);
    return name;
  }

 private:
  OpenSslPointer<SSL> session_;
};

class TlsServer {
 public:
  // With `client_authority` only clients with a certificate of that authority get in.
  explicit TlsServer(const TestCertificate& identity,
                     const TestCertificate* client_authority = nullptr)
      : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_.get(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity.key.get());
    if (client_authority == nullptr) return;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()),
                        client_authority->certificate.get());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // A session that is resumed must belong to this server, or OpenSSL refuses it.
    SSL_CTX_set_session_id_context(context_.get(), reinterpret_cast<const unsigned char*>("test"),
                                   4);
  }

  // Null when the handshake fails.
  std::unique_ptr<TlsSession> accept(int descriptor) {
    OpenSslPointer<SSL> session(SSL_new(context_.get()));
    SSL_set_fd(session.get(), descriptor);
    if (SSL_accept(session.get()) != 1) return nullptr;
    return std::make_unique<TlsSession>(std::move(session));
  }

 private:
  OpenSslPointer<SSL_CTX> context_;
};

}  // namespace lockstep::http::testing
