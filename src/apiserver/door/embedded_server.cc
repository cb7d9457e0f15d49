#include "apiserver/door/embedded_server.h"

#include <future>
#include <thread>
#include <utility>

namespace lockstep::apiserver {

namespace {

Caller administrator() {
  return Caller{"kubernetes-admin", {"system:masters", "system:authenticated"}, ""};
}

}  // namespace

struct EmbeddedServer::Impl {
  EmbeddedOptions options;
  EventLoop loop;
  SilentLog log;
  SystemRandom random;
  Backend backend;
  Housekeeping housekeeping;
  Front front;
  std::optional<TlsIdentity> identity;
  std::unique_ptr<HttpServer> http;
  std::thread thread;

  explicit Impl(EmbeddedOptions options_in)
      : options(std::move(options_in)),
        backend(loop, random, options.backend),
        housekeeping(backend),
        front(backend) {}

  void run_and_wait(const std::function<void()>& task) {
    std::promise<void> done;
    loop.post_from_thread([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
};

EmbeddedServer::EmbeddedServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<EmbeddedServer>> EmbeddedServer::start(EmbeddedOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  HttpOptions http = impl->options.http;
  http.address = impl->options.address;
  http.port = impl->options.port;
  Authenticator authenticator =
      impl->options.open ? Authenticator::open() : Authenticator::closed();
  if (!impl->options.open && impl->options.token.empty()) {
    LOCKSTEP_TRY(impl->options.token, make_token());
  }
  if (!impl->options.token.empty()) {
    authenticator.add_token(impl->options.token, administrator());
  }
  if (impl->options.tls) {
    LOCKSTEP_TRY(impl->identity,
                 make_tls_identity({"127.0.0.1", "::1", "localhost", impl->options.address},
                                   impl->loop.now()));
    http.tls = impl->identity;
  }
  impl->housekeeping.make_namespaces();
  LOCKSTEP_TRY(impl->http, HttpServer::listen(impl->loop, impl->log, impl->backend, impl->front,
                                              std::move(authenticator), http));
  impl->thread = std::thread([raw = impl.get()] { raw->loop.run(); });
  return std::unique_ptr<EmbeddedServer>(new EmbeddedServer(std::move(impl)));
}

EmbeddedServer::~EmbeddedServer() {
  impl_->loop.stop();
  impl_->thread.join();
}

std::string EmbeddedServer::url() const {
  bool is_v6 = impl_->options.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", impl_->options.tls ? "https" : "http", is_v6 ? "[" : "",
                     impl_->options.address, is_v6 ? "]" : "", port());
}

uint16_t EmbeddedServer::port() const { return impl_->http->port(); }

const std::string& EmbeddedServer::token() const { return impl_->options.token; }

std::string EmbeddedServer::kubeconfig() const {
  return make_kubeconfig(url(), impl_->identity ? &*impl_->identity : nullptr,
                         impl_->options.token);
}

void EmbeddedServer::with_backend(const std::function<void(Backend&)>& task) {
  impl_->run_and_wait([&] { task(impl_->backend); });
}

void EmbeddedServer::drop_connections() {
  impl_->run_and_wait([&] { impl_->http->drop_connections(); });
}

void EmbeddedServer::disturb(Disturbance disturbance) {
  impl_->run_and_wait([&] { impl_->front.disturb(std::move(disturbance)); });
}

void EmbeddedServer::replace_token(const std::string& token) {
  impl_->run_and_wait([&] {
    impl_->http->authenticator() = Authenticator::closed();
    impl_->http->authenticator().add_token(token, administrator());
  });
}

RequestCounts EmbeddedServer::counts() {
  RequestCounts copy;
  impl_->run_and_wait([&] { copy = impl_->front.counts(); });
  return copy;
}

}  // namespace lockstep::apiserver
