#include "http/outgoing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <sys/uio.h>

namespace lockstep::http {

Outgoing::Written Outgoing::write(int socket, TlsSession* tls) {
  const Written written = tls == nullptr ? write_plain(socket) : write_tls(*tls);
  if (written != Written::all) return written;
  head.clear();
  std::string().swap(body);
  shared.reset();
  tail = {};
  sent_ = 0;
  return written;
}

Outgoing::Written Outgoing::write_plain(int socket) {
  const std::array<std::string_view, 4> parts = {
      head, body, shared ? std::string_view(*shared) : std::string_view(), tail};
  while (true) {
    std::array<iovec, 4> vectors;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    size_t count = 0;
    size_t before = 0;
    for (std::string_view part : parts) {
      const size_t skipped = std::min(part.size(), sent_ - std::min(sent_, before));
      before += part.size();
      part.remove_prefix(skipped);
      if (!part.empty()) vectors[count++] = {const_cast<char*>(part.data()), part.size()};
    }
    if (count == 0) return Written::all;
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t size = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Written::some;
    if (size < 0) return Written::failed;
    sent_ += static_cast<size_t>(size);
    if (sent_ == before) return Written::all;
  }
}

Outgoing::Written Outgoing::write_tls(TlsSession& tls) {
  // A record for each small text would be a packet for each.
  constexpr size_t joined_size = 16 << 10;
  if (sent_ == 0 && head.size() + body.size() + shared_size() + tail.size() <= joined_size) {
    head += body;
    if (shared) head += *shared;
    head += tail;
    body.clear();
    shared.reset();
    tail = {};
  }
  const std::array<std::string_view, 4> parts = {
      head, body, shared ? std::string_view(*shared) : std::string_view(), tail};
  size_t before = 0;
  for (std::string_view part : parts) {
    while (sent_ < before + part.size()) {
      const long size = tls.write(part.substr(sent_ - before));
      if (size < 0 && errno == EAGAIN) return Written::some;
      if (size <= 0) return Written::failed;
      sent_ += static_cast<size_t>(size);
    }
    before += part.size();
  }
  return Written::all;
}

}  // namespace lockstep::http
