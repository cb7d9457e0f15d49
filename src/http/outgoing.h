// What is on its way to one client: up to four texts, one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "http/tls.h"

namespace lockstep::http {

class Outgoing {
 public:
  enum class Written { all, some, failed };

  std::string head;
  std::string body;
  std::shared_ptr<const std::string> shared;
  std::string_view tail;

  // As much as the client takes without waiting. Once that is all, there is nothing left.
  Written write(int socket, TlsSession* tls);
  size_t shared_size() const { return shared ? shared->size() : 0; }

 private:
  Written write_plain(int socket);
  Written write_tls(TlsSession& tls);

  size_t sent_ = 0;
};

}  // namespace lockstep::http
