// What clients ask our servers, and what they answer, as values.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace lockstep::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The user that the client's certificate names.
struct ClientCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
};

struct Request {
  std::string method;
  std::string target;  // path and query, as they were sent
  Headers headers;     // names in lower case
  std::string body;
  std::shared_ptr<const ClientCertificate> certificate;  // null: the client showed none

  // The first header with that name, in lower case; empty if missing.
  std::string_view header(std::string_view name) const;
  // Without query and fragment, not decoded; of "http://host/path" the path.
  std::string_view path() const;
  // Without its '?', not decoded.
  std::string_view query() const;
  // Of the query, decoded; empty when it is missing.
  std::string parameter(std::string_view name) const;
  bool accepts_gzip() const;
};

// A body whose end is not known when it begins: watches, server-sent events. The connection asks
// for the next piece when the client has taken the one before.
class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  struct Piece {
    std::shared_ptr<const std::string> text;  // null: nothing yet
    bool is_last = false;
    // Nothing yet, but there is more to read: ask again in the next turn of the loop.
    bool again = false;
  };
  virtual Piece next() = 0;
  // Bytes that it holds for this client besides pieces.
  virtual size_t held() const { return 0; }

  // There may be a next piece. May end the connection, and this stream with it.
  void wake() const {
    if (const auto awake = wake_) awake();
  }
  // For the connection.
  void on_wake(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  std::function<void()> wake_;
};

struct Answer {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  Headers headers;
  std::string body;
  // A long body comes in pieces: appends the next one, false when that was the last.
  std::function<bool(std::string&)> more;
  // Between two of them: a slow server, for tests of clients.
  Duration pause{0};
  std::shared_ptr<Stream> stream;  // set: the body
};

// "Not Found".
std::string_view phrase_of(int code);
// "Not Found\n", as plain text; `why` in its place when there is one.
Answer plain_answer(int code, std::string_view why = {});
// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(int64_t unix_seconds);

}  // namespace lockstep::http
