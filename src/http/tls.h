// The server's end of TLS over a socket that does not block.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

struct ssl_ctx_st;
struct ssl_st;

namespace lockstep::http {

// PEM.
struct TlsOptions {
  std::string certificate;
  std::string key;
  // Clients may show a certificate of this authority. A client without one is accepted: the handler
  // decides whether that is enough.
  std::string client_authority;
};

class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> create(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

class TlsSession {
 public:
  // Does not own the socket.
  TlsSession(const TlsContext& context, int socket);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Progress { done, wants_read, wants_write, failed };
  Progress handshake();
  // As recv and send do: -1 with errno; EAGAIN also when the other direction has to move first.
  long read(char* data, size_t size);
  long write(std::string_view text);
  // The last call waits for the socket to take something.
  bool wants_write() const;
  // Announces to the client that nothing follows.
  void say_goodbye();
  // Null when the client showed none.
  std::shared_ptr<const ClientCertificate> certificate() const;

 private:
  long outcome_of(int result);
  ssl_st* ssl_;
};

}  // namespace lockstep::http
