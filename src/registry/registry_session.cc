#include "registry/registry_session.h"

#include <algorithm>
#include <utility>

#include "base/ip_address.h"
#include "base/strings.h"
#include "data/json.h"
#include "http/codes.h"

namespace lockstep::registry {

namespace {

const std::vector<std::string> wanted_headers = {"location", "www-authenticate",
                                                 "docker-content-digest"};

Result<http::Endpoint> endpoint_of(const Reference& reference, const RegistryFlags& flags) {
  // Docker Hub's name is not where its registry is.
  const std::string host = reference.host == "docker.io" ? "registry-1.docker.io" : reference.host;
  LOCKSTEP_TRY(http::Endpoint endpoint, http::parse_endpoint("https://" + host, true));
  if (flags.plain_http || (is_loopback_host(endpoint.host) && !flags.insecure_tls)) {
    LOCKSTEP_TRY(endpoint, http::parse_endpoint("http://" + host, false));
  }
  return endpoint;
}

// What the registry itself says: errors[].code and .message, or a short plain text.
std::string reason_in(const std::string& body) {
  std::vector<std::string> reasons;
  const auto document = parse_json(body);
  const Json* errors = document ? find(*document, "errors") : nullptr;
  if (errors != nullptr && errors->is_array()) {
    for (const Json& error : errors->as_array()) {
      std::string reason(text_at(error, "code"));
      const std::string_view message = text_at(error, "message");
      if (!reason.empty() && !message.empty()) reason += ": ";
      reason += message;
      if (!reason.empty()) reasons.push_back(std::move(reason));
    }
  } else if (document) {
    // Token servers have two fashions of their own.
    for (const char* key : {"error_description", "error", "details", "message"}) {
      if (const std::string_view said = text_at(*document, key); !said.empty()) {
        reasons.emplace_back(said);
        break;
      }
    }
  } else if (!body.starts_with('<') && is_valid_utf8(body)) {
    reasons.emplace_back(trim(body));
  }
  constexpr size_t enough = 500;
  return join(reasons, "; ").substr(0, enough);
}

std::string with_reason(int code, const std::string& body) {
  const std::string reason = reason_in(body);
  return fmt::format("{}{}{}", code, reason.empty() ? "" : " ", reason);
}

std::string basic(const Login& login) {
  return "Basic " + base64_encode(login.username + ":" + login.password);
}

std::optional<Challenge> find_challenge(const http::Response& answer, std::string_view scheme) {
  for (const auto& [name, value] : answer.headers) {
    if (name != "www-authenticate") continue;
    for (Challenge& challenge : parse_challenges(value)) {
      if (challenge.scheme == scheme) return std::move(challenge);
    }
  }
  return std::nullopt;
}

// A header's value from another server, or a token: it must not bring lines of its own.
bool is_one_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c != 0x7f; });
}

// "https://host:port/path?query".
Result<Address> parse_address(const std::string& text) {
  const size_t scheme_end = text.find("://");
  const size_t path = text.find_first_of("/?", scheme_end + 3);
  Address address;
  LOCKSTEP_TRY(address.endpoint, http::parse_endpoint(text.substr(0, path), true));
  if (path != std::string::npos) address.target = text.substr(path, text.find('#', path) - path);
  if (!address.target.starts_with('/')) address.target.insert(0, 1, '/');
  return address;
}

}  // namespace

Result<Address> follow(const Address& from, const std::string& location) {
  const auto wrong = [&](std::string_view why) {
    return failf(ErrorKind::invalid, "{} sends us to \"{}\": {}", from.endpoint.authority(),
                 location.substr(0, location.find('?')), why);
  };
  if (location.empty() || !is_one_line(location)) return wrong("that is no address");
  if (location.find("://") == std::string::npos && !location.starts_with("//")) {
    Address address{from.endpoint, location};
    if (location.starts_with('/')) return address;
    const std::string_view path = std::string_view(from.target).substr(0, from.target.find('?'));
    address.target = fmt::format("{}{}", path.substr(0, path.rfind('/') + 1), location);
    return address;
  }
  const std::string_view scheme = from.endpoint.tls ? "https:" : "http:";
  auto address =
      parse_address(location.starts_with("//") ? fmt::format("{}{}", scheme, location) : location);
  if (!address) return wrong("that is no address");
  if (!from.endpoint.tls || address->endpoint.tls) return address;
  const bool same_host = equal_ignoring_case(address->endpoint.host, from.endpoint.host);
  if (!same_host ||
      (address->endpoint.port != 80 && address->endpoint.port != from.endpoint.port)) {
    return wrong("what came by TLS must not go on in plain text");
  }
  address->endpoint = from.endpoint;
  return address;
}

RegistrySession::RegistrySession(Reference reference, http::Endpoint endpoint,
                                 const RegistryFlags& flags, const RegistryWorld& world)
    : reference_(std::move(reference)),
      endpoint_(std::move(endpoint)),
      flags_(flags),
      world_(world),
      transport_(std::make_unique<http::Client>(world.loop)) {}

Result<RegistrySession> RegistrySession::open(const Reference& reference,
                                              const RegistryFlags& flags,
                                              const RegistryWorld& world) {
  LOCKSTEP_TRY(http::Endpoint endpoint, endpoint_of(reference, flags));
  return RegistrySession(reference, std::move(endpoint), flags, world);
}

Address RegistrySession::address(const std::string& path) const {
  return {endpoint_, fmt::format("/v2/{}/{}", reference_.repository, path)};
}

Result<http::Response> RegistrySession::exchange(const Question& question,
                                                 const std::string& authorization) {
  const http::Endpoint& endpoint = question.address.endpoint;
  http::Route route;
  route.endpoint = endpoint;
  route.proxy = http::proxy_from_environment(endpoint, world_.environment);
  route.verify = !flags_.insecure_tls;
  route.from_kubeconfig = false;
  http::Exchange exchange;
  exchange.method = question.method;
  exchange.target = question.address.target;
  exchange.body = question.body;
  exchange.compressed = false;
  exchange.answer_limit = 4 << 20;
  exchange.wanted_headers = wanted_headers;
  exchange.headers = {
      "User-Agent: " + flags_.user_agent,
      "Content-Type:" + (question.media_type.empty() ? "" : " " + question.media_type)};
  if (!authorization.empty()) exchange.headers.push_back("Authorization: " + authorization);

  std::optional<Result<http::Response>> result;
  const Duration began = world_.loop.uptime();
  const auto id = transport_->start(route, std::move(exchange),
                                    {nullptr, [&](auto answer) { result = std::move(answer); }});
  if (world_.loop.run_until([&] { return result.has_value(); }, flags_.limit)) return *result;
  transport_->cancel(id);
  if (world_.loop.uptime() - began < flags_.limit) {
    return fail(ErrorKind::cancelled, "we were asked to stop");
  }
  return failf(ErrorKind::timed_out, "{} did not answer within {}", endpoint.authority(),
               format_duration(flags_.limit));
}

Result<http::Response> RegistrySession::ask_once(const Question& question) {
  // A registry may redirect an upload to another host, which must not see the login.
  const bool is_registry = question.address.endpoint == endpoint_;
  auto answer = exchange(question, is_registry ? authorization_ : "");
  if (answer) has_answered_ = true;
  if (!answer || answer->code != 401 || !is_registry) return answer;
  const std::string before = authorization_;
  LOCKSTEP_CHECK(log_in(*answer));
  if (authorization_ == before) return answer;  // the same again would be refused again
  return exchange(question, authorization_);
}

Result<http::Response> RegistrySession::ask(const Question& question) {
  for (int attempt = 1;; ++attempt) {
    auto answer = ask_once(question);
    if (!wait_to_retry(answer, attempt)) return answer;
  }
}

bool RegistrySession::wait_to_retry(const Result<http::Response>& result, int attempt) {
  if (attempt >= flags_.attempts) return false;
  Duration asked{};
  if (result) {
    const int code = result->code;
    if (code != 429 && (code < 500 || code == 501)) return false;
    asked = seconds(static_cast<int64_t>(parse_unsigned(result->retry_after).value_or(0)));
    if (asked > flags_.backoff.maximum) return false;  // rather say so than hang
  } else if (result.error().kind != ErrorKind::unreachable || !has_answered_) {
    return false;  // a wrong name or port does not heal
  }
  const Duration delay = std::max(
      asked, kube::jittered(kube::backoff_delay(flags_.backoff, static_cast<uint32_t>(attempt)),
                            flags_.backoff.jitter, world_.random));
  const Duration began = world_.loop.uptime();
  world_.loop.run_until([] { return false; }, delay);
  return world_.loop.uptime() - began >= delay;  // else we were asked to stop
}

Result<const Login*> RegistrySession::login() {
  if (!login_) {
    LOCKSTEP_TRY(login_,
                 find_login(reference_.host, world_.environment, world_.files, world_.processes));
    if (!is_one_line(login_->username)) {
      return failf(ErrorKind::invalid, "the user for {} has a line break", reference_.host);
    }
  }
  return &*login_;
}

Result<void> RegistrySession::log_in(const http::Response& refused) {
  if (const auto bearer = find_challenge(refused, "bearer")) return fetch_token(*bearer);
  if (!find_challenge(refused, "basic")) {
    return failf(ErrorKind::unauthorized, "{} wants a login of a kind that we do not know: {}",
                 reference_.host, with_reason(refused.code, refused.body));
  }
  LOCKSTEP_TRY(const Login* known, login());
  if (known->username.empty()) {
    return failf(ErrorKind::unauthorized, "{0} requires a login: docker login {0}",
                 reference_.host);
  }
  authorization_ = basic(*known);
  return {};
}

Result<void> RegistrySession::fetch_token(const Challenge& challenge) {
  const Address here{endpoint_, "/"};
  auto realm = follow(here, challenge.parameter("realm"));
  if (!realm) return fail(realm.error().at("the token server"));
  LOCKSTEP_TRY(const Login* known, login());

  // What was asked for may only need to read; we are here to write, and one token does both.
  std::string scope = challenge.parameter("scope");
  const std::string own = fmt::format("repository:{}:", reference_.repository);
  if (scope.empty() || scope.starts_with(own)) scope = own + "pull,push";
  std::string form = "scope=" + url_encode(scope);
  if (const std::string service = challenge.parameter("service"); !service.empty()) {
    form = fmt::format("service={}&{}", url_encode(service), form);
  }
  Question question{"GET", *realm, "", ""};
  std::string authorization;
  if (!known->identity_token.empty()) {
    question.method = "POST";
    question.media_type = "application/x-www-form-urlencoded";
    question.body = fmt::format("grant_type=refresh_token&client_id=lockstep&{}&refresh_token={}",
                                form, url_encode(known->identity_token));
  } else {
    const bool has_query = realm->target.find('?') != std::string::npos;
    question.address.target += (has_query ? "&" : "?") + form;
    if (!known->username.empty()) authorization = basic(*known);
  }
  auto answer = exchange(question, authorization);
  for (int attempt = 1; wait_to_retry(answer, attempt); ++attempt) {
    answer = exchange(question, authorization);
  }
  if (!answer) return fail(answer.error().at("the token server"));
  if (answer->code != 200) {
    const std::string hint =
        known->empty() ? fmt::format(" (not logged in: docker login {})", reference_.host) : "";
    return failf(http::kind_of_code(answer->code), "{} refused us a token for {}/{}: {}{}",
                 realm->endpoint.authority(), reference_.host, reference_.repository,
                 with_reason(answer->code, answer->body), hint);
  }
  const auto document = parse_json(answer->body);
  std::string token(document ? text_at(*document, "token") : "");
  if (token.empty() && document) token = text_at(*document, "access_token");
  if (token.empty() || !is_one_line(token)) {
    return failf(ErrorKind::invalid, "{} answered without a token", realm->endpoint.authority());
  }
  authorization_ = "Bearer " + token;
  return {};
}

Error RegistrySession::refusal(const std::string& what, const http::Response& answer) const {
  std::string message = fmt::format("{} refused to {}: {}", reference_.host, what,
                                    with_reason(answer.code, answer.body));
  if (answer.code == 401 || answer.code == 403) {
    message += login_ && !login_->empty()
                   ? fmt::format(" (as {})", login_->username.empty() ? "the owner of a token"
                                                                      : login_->username)
                   : fmt::format(" (not logged in: docker login {})", reference_.host);
  } else if (answer.code >= 300 && answer.code < 400) {
    message +=
        ": it sends us elsewhere; is the address right, and --plain-http needed or too much?";
  }
  return {http::kind_of_code(answer.code), std::move(message), {}};
}

}  // namespace lockstep::registry
