#include "apiserver/http_details.h"

#include <array>
#include <ctime>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace lockstep::apiserver {

namespace asio = boost::asio;

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  return {text.data(),
          std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

boost::asio::ssl::context make_tls_context(const TlsIdentity& identity) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  context.use_certificate_chain(asio::buffer(identity.server.certificate));
  context.use_private_key(asio::buffer(identity.server.key), asio::ssl::context::pem);
  context.add_certificate_authority(asio::buffer(identity.authority.certificate));
  // A client may show a certificate; one that shows none can still have a token.
  context.set_verify_mode(asio::ssl::verify_peer);
  // Without a name for them, a server that asks for certificates refuses every client that
  // resumes a session.
  constexpr std::string_view sessions = "lockstep";
  SSL_CTX_set_session_id_context(context.native_handle(),
                                 reinterpret_cast<const unsigned char*>(sessions.data()),
                                 static_cast<unsigned>(sessions.size()));
  return context;
}

std::string subject_of(SSL* ssl, std::vector<std::string>& groups) {
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  std::string user;
  X509_NAME* name = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    int field = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    unsigned char* utf8 = nullptr;
    int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
    if (size < 0) continue;
    std::string text(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
    OPENSSL_free(utf8);
    if (field == NID_commonName)
      user = std::move(text);
    else if (field == NID_organizationName)
      groups.push_back(std::move(text));
  }
  X509_free(certificate);
  if (!user.empty()) groups.emplace_back("system:authenticated");
  return user;
}

}  // namespace lockstep::apiserver
