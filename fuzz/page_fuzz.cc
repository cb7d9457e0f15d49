// What a stranger on the network sends to the small servers of a process (dashboard, metrics,
// health): the head of a request, and the body of an action. Whatever the bytes are: no crash, a
// head that is let in has a method and a path, another site's page changes nothing, and an action
// that is let in has a known verb, a reason in one line, and names that cannot leave their path.
#include <cstdint>
#include <string>
#include <string_view>

#include "controller/http_request_head.h"
#include "dashboard/action.h"
#include "dashboard/page_request.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;
using lockstep::fuzz::require;

bool is_one_line(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

void check_head(std::string_view text) {
  const auto end = controller::end_of_head(text);
  if (end) require(*end <= text.size(), "a head ends in its text");
  dashboard::PageRequest request;
  request.head = controller::parse_request_head(text.substr(0, end.value_or(text.size())));
  const controller::RequestHead& head = request.head;
  (void)request.parameter("after");
  (void)request.takes_gzip();
  (void)request.token();
  if (head.refusal == 0) {
    require(!head.method.empty() && head.path.starts_with('/'), "it says what it wants");
    require(head.path.find('?') == std::string::npos, "a path has no query");
  }
  for (bool loopback : {false, true}) {
    if (dashboard::refusal_of(request, loopback) != 0) continue;
    require(head.refusal == 0, "what is malformed is not let in");
    if (head.method == "GET" || head.method == "HEAD") continue;
    require(head.method == "POST", "no other method");
    require(!head.header(dashboard::intent_header).empty(), "no change without its header");
    const std::string_view origin = head.header("origin");
    require(origin.empty() || origin.ends_with(head.header("host")), "nor from another site");
  }
}

void check_action(std::string_view text) {
  const auto action = dashboard::read_action(text);
  if (!action) {
    require(!action.error().message.empty(), "an error has words");
    return;
  }
  require(!action->verb.empty() && !action->reason.empty(), "what and why are said");
  const fleet::Keys keys;
  const std::vector<dashboard::PolicyObject> policies = {{fleet::cluster_policies, "policy"}};
  const auto requests = dashboard::requests_of(*action, "ada", Time::from_unix(1), keys, policies,
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
  const std::string line = dashboard::clean_line(text, 80);
  require(is_one_line(line), "a clean line is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_head(text);
  check_action(text);
  check_line(text);
  return 0;
}
