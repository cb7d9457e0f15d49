#include "http/transfer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <optional>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "base/strings.h"
#include "http/client_errors.h"

namespace lockstep::http {

namespace {

// A peer that vanished is noticed after this long, also in the middle of a request: without it a
// dead HTTP/2 connection would be used again and again until the kernel gives up (15 minutes).
constexpr unsigned dead_peer_milliseconds = 30'000;

void append(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();
  list.reset(longer);
}

template <typename Value>
void set(const EasyHandle& easy, CURLoption option, Value value) {
  curl_easy_setopt(easy.get(), option, value);
}

// The bytes must outlive the transfer; a connection makes its own copy.
void set_blob(const EasyHandle& easy, CURLoption option,
              const std::shared_ptr<const std::string>& bytes) {
  if (!bytes) return;
  curl_blob blob{};
  blob.data = const_cast<char*>(bytes->data());  // NOLINT: curl only reads it
  blob.len = bytes->size();
  blob.flags = CURL_BLOB_NOCOPY;
  curl_easy_setopt(easy.get(), option, &blob);
}

int set_dead_peer_limit(void*, curl_socket_t descriptor, curlsocktype) {
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_peer_milliseconds,
             sizeof dead_peer_milliseconds);
  return CURL_SOCKOPT_OK;
}

std::optional<IpAddress> address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    std::array<uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr,
                bytes.size());
    return IpAddress::v4(bytes);
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  std::array<uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr,
              bytes.size());
  return IpAddress::v6(bytes);
}

// The endpoint under the name that its certificate must have.
Endpoint named_endpoint(const Route& route) {
  Endpoint named = route.endpoint;
  if (named.tls && !route.tls_server_name.empty()) named.host = route.tls_server_name;
  return named;
}

}  // namespace

void Transfer::configure() {
  set(easy, CURLOPT_ERRORBUFFER, error_text);
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_HEADERFUNCTION, on_header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, on_data);
  set(easy, CURLOPT_WRITEDATA, this);
  configure_connection();
  configure_request();
  if (route.endpoint.tls) {
    configure_tls();
  } else {
    set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
  set(easy, CURLOPT_HTTPHEADER, headers.get());
}

void Transfer::configure_connection() {
  const auto connect_limit = std::chrono::ceil<std::chrono::milliseconds>(route.connect_limit);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_limit.count()));
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // do not wait for a resolver that hangs
  // Set even when empty: curl itself must not read the environment.
  set(easy, CURLOPT_PROXY, route.proxy.c_str());
  set(easy, CURLOPT_NOPROXY, "");
  set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_TCP_KEEPIDLE, 20L);
  set(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  set(easy, CURLOPT_SOCKOPTFUNCTION, set_dead_peer_limit);
  if (route.guard) {
    set(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    set(easy, CURLOPT_OPENSOCKETDATA, this);
  }
  set(easy, CURLOPT_BUFFERSIZE, 64L << 10);
}

void Transfer::configure_request() {
  const Endpoint named = named_endpoint(route);
  const std::string url = fmt::format("{}://{}{}{}", named.tls ? "https" : "http",
                                      named.authority(), named.path, exchange.target);
  set(easy, CURLOPT_URL, url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  if (exchange.compressed) set(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  const bool has_body = !exchange.body.empty() || exchange.method == "POST" ||
                        exchange.method == "PUT" || exchange.method == "PATCH";
  if (has_body) {
    set(easy, CURLOPT_POSTFIELDS, exchange.body.data());
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(exchange.body.size()));
    // Waiting for "100 Continue" would cost a round trip on every large patch.
    append(headers, "Expect:");
  } else {
    set(easy, CURLOPT_HTTPGET, 1L);
    // The answer names a length that does not follow.
    if (exchange.method == "HEAD") set(easy, CURLOPT_NOBODY, 1L);
  }
  set(easy, CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
  for (const std::string& header : exchange.headers) append(headers, header);
}

void Transfer::configure_tls() {
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_SSL_VERIFYPEER, route.verify ? 1L : 0L);
  set(easy, CURLOPT_SSL_VERIFYHOST, route.verify ? 2L : 0L);
  set_blob(easy, CURLOPT_CAINFO_BLOB, route.certificate_authority);
  set_blob(easy, CURLOPT_SSLCERT_BLOB, exchange.certificate);
  set_blob(easy, CURLOPT_SSLKEY_BLOB, exchange.key);
  set(easy, CURLOPT_HTTP_VERSION,
      static_cast<long>(route.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // Rather wait for the first connection's handshake and share it than open one per request.
  set(easy, CURLOPT_PIPEWAIT, route.http2 ? 1L : 0L);
  if (route.tls_server_name.empty()) return;
  // The URL has the name that the certificate must have; the connection goes to the real address,
  // and the server still reads that address in the Host header.
  append(connect_to, named_endpoint(route).authority() + ":" + route.endpoint.authority());
  set(easy, CURLOPT_CONNECT_TO, connect_to.get());
  append(headers, "Host: " + route.endpoint.authority());
}

// A proxy resolves names itself: there, only a host that is an address can be checked.
std::string Transfer::refusal_of(const curl_sockaddr& address) const {
  const std::string& host = route.endpoint.host;
  if (!route.proxy.empty()) return route.guard->refusal(host);
  const auto found = address_of(address.addr);
  return found ? route.guard->refusal(host, *found) : "its address is of an unknown kind";
}

// The last moment before a connection, with the very address that it goes to.
curl_socket_t Transfer::open_socket(void* context, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(context);
  try {
    if (std::string why = transfer.refusal_of(*address); !why.empty()) {
      transfer.refused = std::move(why);
      return CURL_SOCKET_BAD;
    }
  } catch (const std::exception&) {
    return CURL_SOCKET_BAD;  // an exception must not pass through curl's frames
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool Transfer::streams() const {
  return handlers.on_body && answer.code >= 200 && answer.code < 300;
}

size_t Transfer::on_header(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::string_view line = trim(std::string_view(data, size));
  if (line.starts_with("HTTP/")) {
    // A new head: 100 Continue, or the answer that curl threw away to ask again, came before it.
    transfer.answer = Response();
    long code = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &code);
    transfer.answer.code = static_cast<int>(code);
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (name == "retry-after") transfer.answer.retry_after = value;
  const auto& wanted = transfer.exchange.wanted_headers;
  if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
    transfer.answer.headers.emplace_back(std::move(name), value);
  }
  return size;
}

size_t Transfer::on_data(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (transfer.streams()) {
    transfer.arrived.append(data, size);
    transfer.enqueue();
    return size;
  }
  if (size > transfer.exchange.answer_limit - transfer.answer.body.size()) {
    transfer.too_large = true;
    return 0;  // curl ends the transfer
  }
  transfer.answer.body.append(data, size);
  return size;
}

void Transfer::enqueue() {
  if (queued) return;
  queued = true;
  queue->push_back(shared_from_this());
}

void Transfer::finish(CURLcode code) {
  if (code == CURLE_OK) {
    result = std::move(answer);
    return;
  }
  if (too_large) {
    result = failf(ErrorKind::too_large, "the answer of {} is larger than {} bytes",
                   route.endpoint.authority(), exchange.answer_limit);
    return;
  }
  // On a machine without IPv6 curl does not even come to the connection.
  std::string literal = route.guard ? route.guard->refusal(route.endpoint.host) : std::string();
  if (!literal.empty())
    refused = std::move(literal);
  else if (code != CURLE_COULDNT_CONNECT)
    refused.clear();
  if (!refused.empty()) {
    result = fail(ErrorKind::forbidden, refused, route.endpoint.host);
    return;
  }
  CurlFailure failure;
  failure.code = code;
  failure.detail = error_text;
  curl_easy_getinfo(easy.get(), CURLINFO_OS_ERRNO, &failure.os_error);
  curl_easy_getinfo(easy.get(), CURLINFO_SSL_VERIFYRESULT, &failure.verify_result);
  failure.expected_name = named_endpoint(route).host;
  failure.from_kubeconfig = route.from_kubeconfig;
  result = fail(explain(failure, route.endpoint, route.proxy));
}

Client::Progress Transfer::progress() const {
  if (answer.code != 0) return Client::Progress::receiving;
  curl_off_t sent_at = 0;
  if (easy) curl_easy_getinfo(easy.get(), CURLINFO_PRETRANSFER_TIME_T, &sent_at);
  return sent_at > 0 ? Client::Progress::waiting : Client::Progress::connecting;
}

}  // namespace lockstep::http
