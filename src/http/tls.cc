#include "http/tls.h"

#include <cerrno>
#include <sys/socket.h>
#include <utility>

#include <climits>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace lockstep::http {

namespace {

template <auto Free>
struct FreeBy {
  template <typename Type>
  void operator()(Type* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;

Error openssl_error(std::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return Error{ErrorKind::invalid,
               std::string(what) + ": " + (reason == nullptr ? "not PEM" : reason), ""};
}

Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate read_certificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
}

// A socket without SIGPIPE: OpenSSL's own writes with write().
int write_socket(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int socket = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  const ssize_t sent = send(socket, data, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_socket(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int socket = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  const ssize_t received = recv(socket, data, static_cast<size_t>(size), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long control_socket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  return method;
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::create(const TlsOptions& options) {
  std::unique_ptr<TlsContext> made(new TlsContext(SSL_CTX_new(TLS_server_method())));
  SSL_CTX* context = made->context_;
  if (context == nullptr) return fail(openssl_error("TLS cannot be used"));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  const Bio chain = reader_of(options.certificate);
  const Certificate own = read_certificate(chain.get());
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return fail(openssl_error("the TLS certificate cannot be used"));
  }
  while (Certificate next = read_certificate(chain.get())) {
    SSL_CTX_add1_chain_cert(context, next.get());
  }
  ERR_clear_error();
  const Bio key_reader = reader_of(options.key);
  const Key key(PEM_read_bio_PrivateKey(key_reader.get(), nullptr, nullptr, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return fail(openssl_error("the TLS key cannot be used"));
  }
  if (!options.client_authority.empty()) {
    const Bio reader = reader_of(options.client_authority);
    const Certificate authority = read_certificate(reader.get());
    if (!authority || X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1) {
      return fail(openssl_error("the authority of clients cannot be used"));
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  // Without a name for them, a server that asks for certificates refuses every client that
  // resumes a session.
  constexpr std::string_view sessions = "lockstep";
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(sessions.data()),
                                 static_cast<unsigned>(sessions.size()));
  return made;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

TlsSession::TlsSession(const TlsContext& context, int socket) : ssl_(SSL_new(context.context_)) {
  BIO* bio = BIO_new(socket_method());
  // The descriptor itself, in the pointer's place.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

TlsSession::Progress TlsSession::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) return Progress::done;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return Progress::wants_read;
    case SSL_ERROR_WANT_WRITE:
      return Progress::wants_write;
    default:
      return Progress::failed;
  }
}

long TlsSession::outcome_of(int result) {
  if (result > 0) return result;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    default:
      errno = EPROTO;
      return -1;
  }
}

long TlsSession::read(char* data, size_t size) {
  ERR_clear_error();
  return outcome_of(SSL_read(ssl_, data, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

long TlsSession::write(std::string_view text) {
  ERR_clear_error();
  const size_t size = std::min<size_t>(text.size(), INT_MAX);
  return outcome_of(SSL_write(ssl_, text.data(), static_cast<int>(size)));
}

bool TlsSession::wants_write() const { return SSL_want_write(ssl_) != 0; }

void TlsSession::say_goodbye() {
  ERR_clear_error();
  SSL_shutdown(ssl_);
}

std::shared_ptr<const ClientCertificate> TlsSession::certificate() const {
  const Certificate shown(SSL_get1_peer_certificate(ssl_));
  if (!shown) return nullptr;
  auto named = std::make_shared<ClientCertificate>();
  X509_NAME* name = X509_get_subject_name(shown.get());
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const int field = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
    if (size < 0) continue;
    std::string text(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
    OPENSSL_free(utf8);
    if (field == NID_commonName) {
      named->common_name = std::move(text);
    } else if (field == NID_organizationName) {
      named->organizations.push_back(std::move(text));
    }
  }
  return named;
}

}  // namespace lockstep::http
