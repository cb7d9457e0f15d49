// One exchange as curl sees it: its handle, its options, and what has arrived so far.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <curl/curl.h>

#include "base/result.h"
#include "http/client.h"

namespace lockstep::http {

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using EasyHandle = std::unique_ptr<CURL, FreeEasy>;

struct FreeHeaderList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeHeaderList>;

struct Transfer : std::enable_shared_from_this<Transfer> {
  // Those that have something to hand on, in the order in which it came.
  using Queue = std::deque<std::shared_ptr<Transfer>>;

  Client::Id id = 0;
  Route route;
  Exchange exchange;
  Client::Handlers handlers;
  Queue* queue = nullptr;

  EasyHandle easy;
  HeaderList headers;
  HeaderList connect_to;
  char error_text[CURL_ERROR_SIZE] = {};

  Response answer;
  std::string arrived;  // streamed bytes that were not handed on yet
  bool too_large = false;
  std::string refused;  // why the last address was not connected to
  std::optional<Result<Response>> result;
  bool over = false;    // cancelled, or the last handler was called
  bool queued = false;  // waits in the queue

  // Sets everything on `easy`, which must be fresh.
  void configure();
  // What curl's verdict means; needs `easy`.
  void finish(CURLcode code);
  void enqueue();
  Client::Progress progress() const;

 private:
  void configure_connection();
  void configure_request();
  void configure_tls();
  bool streams() const;
  std::string refusal_of(const curl_sockaddr& address) const;

  static curl_socket_t open_socket(void* context, curlsocktype purpose, curl_sockaddr* address);
  static size_t on_header(char* data, size_t one, size_t size, void* context);
  static size_t on_data(char* data, size_t one, size_t size, void* context);
};

}  // namespace lockstep::http
