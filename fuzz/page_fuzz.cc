// What a stranger on the network sends to our servers (API, dashboard, metrics, health): a
// request, however it is cut, and the body of an action. Whatever the bytes are: no crash,
// limits hold, an accepted request has a method and a path, another site's page changes nothing,
// and an accepted action has a known verb, a reason in one line, and names that cannot leave
// their path.
#include <cstdint>
#include <string>
#include <string_view>

#include "dashboard/page_rules.h"
#include "document_from_bytes.h"
#include "http/request_parser.h"
#include "operate/action.h"

namespace {

using namespace lockstep;
using lockstep::fuzz::require;

bool is_one_line(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

// What the parser makes of bytes that come in pieces of this size.
http::RequestParser parser_of(std::string_view text, size_t piece) {
  http::RequestParser parser({.head = 4096, .body = 4096});
  std::string waiting;
  while (!text.empty() && parser.refusal() == 0 && !parser.is_done()) {
    const std::string_view next = text.substr(0, piece);
    text.remove_prefix(next.size());
    waiting += next;
    const size_t taken = parser.take(waiting);
    require(taken <= waiting.size(), "it takes no more than there is");
    waiting.erase(0, taken);
    require(waiting.size() <= 4096 + piece, "what waits has a limit");
  }
  return parser;
}

void check_request(std::string_view text) {
  http::RequestParser parser = parser_of(text, text.size());
  http::RequestParser slow = parser_of(text, 1);
  if (parser.is_done()) require(slow.is_done(), "it does not matter how a request is cut");
  if (!parser.is_done()) return;
  const http::Request request = parser.take_request();
  const http::Request same = slow.take_request();
  require(
      request.target == same.target && request.headers == same.headers && request.body == same.body,
      "nor what is in it");
  require(!request.method.empty() && request.path().starts_with('/'), "it says what it wants");
  require(request.path().find('?') == std::string_view::npos, "a path has no query");
  require(request.body.size() <= 4096, "a body has its limit");
  for (const auto& [name, value] : request.headers) {
    require(!name.empty() && is_one_line(name), "a name is one word");
    require(value.find_first_of("\r\n") == std::string::npos, "a value is one line");
  }
  (void)request.parameter("after");
  (void)request.accepts_gzip();
  (void)dashboard::token_of(request);
  for (bool loopback : {false, true}) {
    if (dashboard::refusal_of(request, loopback) != 0) continue;
    if (request.method == "GET" || request.method == "HEAD") continue;
    require(request.method == "POST", "no other method");
    require(!request.header(dashboard::intent_header).empty(), "no change without its header");
    const std::string_view origin = request.header("origin");
    require(origin.empty() || origin.ends_with(request.header("host")), "nor from another site");
  }
}

void check_action(std::string_view text) {
  const auto action = operate::read_action(text);
  if (!action) {
    require(!action.error().message.empty(), "an error has words");
    return;
  }
  require(!action->verb.empty() && !action->reason.empty(), "what and why are said");
  const fleet::Keys keys;
  const std::vector<operate::PolicyObject> policies = {{fleet::cluster_policies, "policy"}};
  const auto requests =
      operate::requests_of(*action, {"ada", {}}, Time::from_unix(1), keys, policies,
                           JsonObject{{"metadata", JsonObject{{"name", "x"}}}});
  if (!requests) {
    require(!requests.error().message.empty(), "a refusal has words");
    return;
  }
  for (const kube::Request& request : *requests) {
    require(request.name.find('/') == std::string::npos, "a name stays in its place");
  }
}

void check_line(std::string_view text) {
  const std::string line = operate::clean_line(text, 80);
  require(is_one_line(line), "a clean line is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_request(text);
  check_action(text);
  check_line(text);
  return 0;
}
