// A client that comes back with the session of its last connection, as libcurl and Go do.
#include <arpa/inet.h>
#include <array>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "apiserver/door/embedded_server.h"

namespace lockstep::apiserver::tls_session_test {
namespace {

struct Freed {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
std::unique_ptr<SSL_SESSION, Freed> kept;

int keep_session(SSL*, SSL_SESSION* session) {
  kept.reset(session);
  return 1;
}

struct Answer {
  std::string text;
  bool resumed = false;
};

Answer ask(SSL_CTX* context, uint16_t port, SSL_SESSION* session) {
  Answer answer;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::unique_ptr<SSL, Freed> ssl(SSL_new(context));
  SSL_set_fd(ssl.get(), socket);
  if (session != nullptr) SSL_set_session(ssl.get(), session);
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  if (SSL_connect(ssl.get()) == 1 &&
      SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())) > 0) {
    std::array<char, 4096> buffer{};
    while (!answer.text.ends_with("\r\n\r\nok")) {
      const int size = SSL_read(ssl.get(), buffer.data(), buffer.size());
      if (size <= 0) break;
      answer.text.append(buffer.data(), static_cast<size_t>(size));
    }
    answer.resumed = SSL_session_reused(ssl.get()) == 1;
    // Otherwise the session counts as bad.
    SSL_shutdown(ssl.get());
  }
  ::close(socket);
  return answer;
}

TEST(TlsSession, AClientThatResumesItsSessionIsServed) {
  EmbeddedOptions options;
  options.tls = true;
  auto server = EmbeddedServer::start(std::move(options));
  ASSERT_TRUE(server) << server.error().text();
  const std::unique_ptr<SSL_CTX, Freed> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_sess_set_new_cb(context.get(), keep_session);
  EXPECT_NE(ask(context.get(), (*server)->port(), nullptr).text.find(" 200 "), std::string::npos);
  ASSERT_TRUE(kept) << "the server gives out sessions";
  const std::unique_ptr<SSL_SESSION, Freed> session = std::move(kept);
  const Answer again = ask(context.get(), (*server)->port(), session.get());
  EXPECT_TRUE(again.resumed);
  EXPECT_NE(again.text.find(" 200 "), std::string::npos) << again.text;
  kept.reset();
}

}  // namespace
}  // namespace lockstep::apiserver::tls_session_test
