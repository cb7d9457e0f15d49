// Reads requests from bytes, however they are cut. All of Boost.Beast is in request_parser.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "http/message.h"

namespace lockstep::http {

class RequestParser {
 public:
  struct Limits {
    size_t head = 64 << 10;
    size_t body = 3 << 20;
  };
  explicit RequestParser(Limits limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) = delete;

  // Forgets everything, for the next request.
  void reset();
  // Takes what it can use of `text` and returns how many bytes that was. The rest has to come again
  // with what follows it; there is never more of it than a head may have.
  size_t take(std::string_view text);

  bool has_begun() const;
  bool is_done() const;
  // 0, or the code with which the request has to be refused, and why. Nothing that follows on the
  // same connection can be trusted.
  int refusal() const;
  std::string_view why() const;

  // Of the head. They are right once it is whole.
  bool keeps_alive() const;
  bool is_http_1_0() const;
  // Once: of a request that is done, or what was read of one that is refused.
  Request take_request();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::http
