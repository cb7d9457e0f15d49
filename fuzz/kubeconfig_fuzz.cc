// Any bytes as a kubeconfig: reading it and looking up every context must end without a crash, and
// whatever is accepted must be what the rest relies on (a server, no half certificate, headers that
// cannot be broken out of). The same bytes go through the other readers of what a stranger may
// write: server addresses, proxies and their exceptions, and the output of credential plugins.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "http/endpoint.h"
#include "kube/credentials.h"
#include "kube/exec_credentials.h"
#include "kube/kubeconfig.h"
#include "kube/watch_stream.h"

namespace {

using namespace lockstep::kube;

void require(bool holds, std::string_view what, std::string_view input) {
  if (holds) return;
  fmt::print(stderr, "{}:\n{}\n", what, input);
  std::abort();
}

void check_target(const Target& target, std::string_view input) {
  require(!target.cluster.server.empty(), "a cluster without a server", input);
  require(target.user.client_certificate.empty() || !target.user.client_key.empty(),
          "a certificate without a key", input);
  if (const auto headers = impersonation_headers(target.user)) {
    for (const std::string& header : *headers) {
      require(header.find_first_of("\r\n") == std::string::npos, "a broken header", input);
    }
  }
  const auto endpoint = lockstep::http::parse_endpoint(target.cluster.server, true);
  if (endpoint) require(endpoint->port > 0 && endpoint->port < 65536, "a bad port", input);
}

void check_kubeconfig(std::string_view text) {
  const auto kubeconfig = parse_kubeconfig(text, "dir/config");
  if (!kubeconfig) {
    require(!kubeconfig.error().text().empty(), "an error without words", text);
    return;
  }
  for (const auto& [name, context] : kubeconfig->contexts) {
    if (const auto target = choose_context(*kubeconfig, name)) check_target(*target, text);
  }
  (void)choose_context(*kubeconfig, "");
  Kubeconfig merged = *kubeconfig;
  merge_kubeconfig(merged, *kubeconfig);
  require(merged.contexts.size() == kubeconfig->contexts.size(), "merged with itself", text);
}

void check_words(const std::string& text) {
  for (const bool tls : {false, true}) (void)lockstep::http::parse_endpoint(text, tls);
  (void)lockstep::http::parse_proxy(text);
  (void)parse_exec_answer(text, "client.authentication.k8s.io/v1");
  const Environment environment = {{"HTTPS_PROXY", "http://p"}, {"NO_PROXY", text}};
  for (const char* host : {"api.example.com", "10.1.2.3", "fd00::1"}) {
    (void)lockstep::http::proxy_from_environment({true, host, 6443, ""}, environment);
  }
  if (const auto authorization = bearer(text)) {
    require(authorization->find_first_of("\r\n") == std::string::npos, "a broken token", text);
  }
}

// However the bytes are cut, the events are the same.
void check_watch(std::string_view text) {
  const auto events = [](WatchStream& stream) {
    size_t count = 0;
    while (auto event = stream.next()) count += event->has_value() ? 1 : 1000;
    return count;
  };
  WatchStream whole(1 << 16);
  whole.append(text);
  const size_t at_once = events(whole);
  WatchStream pieces(1 << 16);
  size_t in_pieces = 0;
  for (char byte : text) {
    pieces.append(std::string_view(&byte, 1));
    in_pieces += events(pieces);
  }
  require(at_once == in_pieces, "events depend on how the bytes are cut", text);
  require(whole.finish().has_value() == pieces.finish().has_value(), "the end differs", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_kubeconfig(text);
  check_words(std::string(text));
  check_watch(text);
  return 0;
}
