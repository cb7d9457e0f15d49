#include "dra_plugin/grpc_adapter.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <grpcpp/grpcpp.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "dra_v1.grpc.pb.h"
#include "dra_v1beta1.grpc.pb.h"
#include "health_v1.grpc.pb.h"
#include "health_v1alpha1.grpc.pb.h"
#include "registration.grpc.pb.h"

namespace lockstep::dra {

namespace {

namespace wire_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace wire_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// So that our answer arrives before the kubelet has given up.
constexpr Duration before_deadline = seconds(2);
// How often a stream without a reader is detected.
constexpr Duration stream_glance = milliseconds(250);
constexpr Duration farewell = seconds(3);

// One call's answer, from the loop to the thread that waits for it.
template <typename Answer>
class Mailbox {
 public:
  void post(Answer answer) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    come_.notify_all();
  }
  std::optional<Answer> wait(Duration limit) {
    std::unique_lock lock(mutex_);
    come_.wait_for(lock, limit, [this] { return answer_.has_value(); });
    return std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable come_;
  std::optional<Answer> answer_;
};

Duration time_left(const grpc::ServerContext& context, Duration otherwise) {
  auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return otherwise;
  auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::system_clock::now());
  return std::clamp(left - before_deadline, milliseconds(100), otherwise);
}

template <typename Request>
std::vector<ClaimName> claims_of(const Request& request) {
  std::vector<ClaimName> claims;
  for (const auto& claim : request.claims()) {
    claims.push_back({claim.namespace_(), claim.uid(), claim.name()});
  }
  return claims;
}

template <typename Device>
void fill(const PreparedDevice& from, Device& to) {
  for (const auto& request : from.requests) to.add_request_names(request);
  to.set_pool_name(from.pool);
  to.set_device_name(from.device);
  for (const auto& id : from.cdi_ids) to.add_cdi_device_ids(id);
  if (!from.share_id.empty()) to.set_share_id(from.share_id);
}

class Registration final : public pluginregistration::Registration::Service {
 public:
  explicit Registration(const AdapterOptions& options) : options_(options) {}

  grpc::Status GetInfo(grpc::ServerContext*, const pluginregistration::InfoRequest*,
                       pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(options_.driver);
    info->set_endpoint(options_.sockets.service);
    for (const char* version : {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                                "v1alpha1.DRAResourceHealth"}) {
      info->add_supported_versions(version);
    }
    return grpc::Status::OK;
  }
  // An error here would make the kubelet forget us: every answer is accepted.
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*,
                                        const pluginregistration::RegistrationStatus* status,
                                        pluginregistration::RegistrationStatusResponse*) override {
    std::lock_guard lock(mutex_);
    registered_ = status->plugin_registered();
    error_ = status->error();
    return grpc::Status::OK;
  }
  bool registered() const {
    std::lock_guard lock(mutex_);
    return registered_;
  }
  std::string error() const {
    std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  const AdapterOptions& options_;
  mutable std::mutex mutex_;
  bool registered_ = false;
  std::string error_;
};

// Both versions of the service are this one: their messages differ by their names alone.
struct Calls {
  EventLoop& loop;
  Plugin& plugin;
  const AdapterOptions& options;

  template <typename ErrorType, typename Request, typename Response>
  grpc::Status prepare(const grpc::ServerContext& context, const Request& request,
                       ErrorType permanent, Response& response) {
    auto box = std::make_shared<Mailbox<PrepareAnswer>>();
    Duration limit = time_left(context, options.call_limit);
    loop.post_from_thread([this, box, limit, claims = claims_of(request)]() mutable {
      plugin.claims().prepare(std::move(claims), limit,
                              [box](PrepareAnswer answer) { box->post(std::move(answer)); });
    });
    auto answer = box->wait(limit + seconds(1));
    if (!answer) return {grpc::StatusCode::UNAVAILABLE, "the plugin is busy or ending: try again"};
    for (auto& [uid, outcome] : *answer) {
      auto& entry = (*response.mutable_claims())[uid];
      for (const PreparedDevice& device : outcome.devices) fill(device, *entry.add_devices());
      entry.set_error(outcome.error);
      if (options.send_error_type && outcome.permanent) entry.set_error_type(permanent);
    }
    return grpc::Status::OK;
  }

  template <typename Request, typename Response>
  grpc::Status unprepare(const grpc::ServerContext& context, const Request& request,
                         Response& response) {
    auto box = std::make_shared<Mailbox<UnprepareAnswer>>();
    Duration limit = time_left(context, options.call_limit);
    loop.post_from_thread([this, box, limit, claims = claims_of(request)]() mutable {
      plugin.claims().unprepare(std::move(claims), limit,
                                [box](UnprepareAnswer answer) { box->post(std::move(answer)); });
    });
    auto answer = box->wait(limit + seconds(1));
    if (!answer) return {grpc::StatusCode::UNAVAILABLE, "the plugin is busy or ending: try again"};
    for (auto& [uid, error] : *answer) (*response.mutable_claims())[uid].set_error(error);
    return grpc::Status::OK;
  }
};

class ServiceV1 final : public wire_v1::DRAPlugin::Service {
 public:
  explicit ServiceV1(Calls& calls) : calls_(calls) {}
  grpc::Status NodePrepareResources(grpc::ServerContext* context,
                                    const wire_v1::NodePrepareResourcesRequest* request,
                                    wire_v1::NodePrepareResourcesResponse* response) override {
    return calls_.prepare(*context, *request, wire_v1::Permanent, *response);
  }
  grpc::Status NodeUnprepareResources(grpc::ServerContext* context,
                                      const wire_v1::NodeUnprepareResourcesRequest* request,
                                      wire_v1::NodeUnprepareResourcesResponse* response) override {
    return calls_.unprepare(*context, *request, *response);
  }

 private:
  Calls& calls_;
};

class ServiceV1beta1 final : public wire_v1beta1::DRAPlugin::Service {
 public:
  explicit ServiceV1beta1(Calls& calls) : calls_(calls) {}
  grpc::Status NodePrepareResources(grpc::ServerContext* context,
                                    const wire_v1beta1::NodePrepareResourcesRequest* request,
                                    wire_v1beta1::NodePrepareResourcesResponse* response) override {
    return calls_.prepare(*context, *request, wire_v1beta1::Permanent, *response);
  }
  grpc::Status NodeUnprepareResources(
      grpc::ServerContext* context, const wire_v1beta1::NodeUnprepareResourcesRequest* request,
      wire_v1beta1::NodeUnprepareResourcesResponse* response) override {
    return calls_.unprepare(*context, *request, *response);
  }

 private:
  Calls& calls_;
};

template <typename Response>
Response report_of(const std::vector<DeviceReport>& reports, Duration health_every) {
  Response response;
  for (const DeviceReport& report : reports) {
    auto* device = response.add_devices();
    device->mutable_device()->set_pool_name(report.pool);
    device->mutable_device()->set_device_name(report.device);
    using Health = decltype(device->health());
    // UNKNOWN 0, HEALTHY 1, UNHEALTHY 2, as in DeviceReport.
    device->set_health(static_cast<Health>(report.status));
    device->set_last_updated_time(report.updated.unix_seconds());
    // Three reports may get lost before the kubelet calls the device's health unknown.
    device->set_health_check_timeout_seconds(
        std::chrono::duration_cast<std::chrono::seconds>(health_every * 3).count());
    device->set_message(report.message);
  }
  return response;
}

// A full report at once, at every change, and now and then.
template <typename Response>
grpc::Status stream_health(HealthBoard& board, Duration health_every,
                           const grpc::ServerContext& context,
                           grpc::ServerWriter<Response>& writer) {
  uint64_t seen = 0;
  Duration silent = health_every;
  while (!context.IsCancelled() && !board.closed()) {
    std::vector<DeviceReport> reports;
    uint64_t number = board.wait(seen, stream_glance, reports);
    silent += stream_glance;
    if (number == seen && silent < health_every) continue;
    if (number != 0 && !writer.Write(report_of<Response>(reports, health_every))) break;
    seen = number;
    silent = Duration(0);
  }
  return grpc::Status::OK;
}

class HealthV1 final : public v1::DRAResourceHealth::Service {
 public:
  HealthV1(HealthBoard& board, Duration every) : board_(board), every_(every) {}
  grpc::Status NodeWatchResources(
      grpc::ServerContext* context, const v1::NodeWatchResourcesRequest*,
      grpc::ServerWriter<v1::NodeWatchResourcesResponse>* writer) override {
    return stream_health(board_, every_, *context, *writer);
  }

 private:
  HealthBoard& board_;
  Duration every_;
};

class HealthV1alpha1 final : public v1alpha1::DRAResourceHealth::Service {
 public:
  HealthV1alpha1(HealthBoard& board, Duration every) : board_(board), every_(every) {}
  grpc::Status NodeWatchResources(
      grpc::ServerContext* context, const v1alpha1::NodeWatchResourcesRequest*,
      grpc::ServerWriter<v1alpha1::NodeWatchResourcesResponse>* writer) override {
    return stream_health(board_, every_, *context, *writer);
  }

 private:
  HealthBoard& board_;
  Duration every_;
};

Result<std::unique_ptr<grpc::Server>> listen(const std::string& path,
                                             const std::vector<grpc::Service*>& services) {
  // What a killed process left; a living one has another name (or holds the lock).
  ::unlink(path.c_str());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix://" + path, grpc::InsecureServerCredentials());
  for (grpc::Service* service : services) builder.RegisterService(service);
  // The kubelet runs as root, and only root may connect: from the moment that the socket exists.
  constexpr mode_t all_but_the_owner = 0177;
  const mode_t before = ::umask(all_but_the_owner);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ::umask(before);
  if (server == nullptr) {
    return fail(ErrorKind::internal, "cannot listen on this socket", path);
  }
  return server;
}

}  // namespace

void HealthBoard::post(std::vector<DeviceReport> reports) {
  std::lock_guard lock(mutex_);
  if (number_ != 0 && reports == reports_) return;
  reports_ = std::move(reports);
  ++number_;
  changed_.notify_all();
}

uint64_t HealthBoard::wait(uint64_t seen, Duration limit, std::vector<DeviceReport>& reports) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return closed_ || number_ != seen; });
  reports = reports_;
  return number_;
}

void HealthBoard::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool HealthBoard::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

struct GrpcAdapter::Impl {
  Impl(EventLoop& loop, Plugin& plugin, HealthBoard& board, AdapterOptions given)
      : options(std::move(given)),
        health(board),
        registration(options),
        calls{loop, plugin, options},
        v1_service(calls),
        v1beta1_service(calls),
        v1_health(board, options.health_every),
        v1alpha1_health(board, options.health_every) {}

  AdapterOptions options;
  HealthBoard& health;
  Registration registration;
  Calls calls;
  ServiceV1 v1_service;
  ServiceV1beta1 v1beta1_service;
  HealthV1 v1_health;
  HealthV1alpha1 v1alpha1_health;
  std::unique_ptr<grpc::Server> service_server;
  std::unique_ptr<grpc::Server> registration_server;
};

Result<std::unique_ptr<GrpcAdapter>> GrpcAdapter::start(EventLoop& loop, Plugin& plugin,
                                                        HealthBoard& health,
                                                        AdapterOptions options) {
  auto impl = std::make_unique<Impl>(loop, plugin, health, std::move(options));
  LOCKSTEP_TRY(impl->service_server,
               listen(impl->options.sockets.service, {&impl->v1_service, &impl->v1beta1_service,
                                                      &impl->v1_health, &impl->v1alpha1_health}));
  LOCKSTEP_TRY(impl->registration_server,
               listen(impl->options.sockets.registration, {&impl->registration}));
  return std::unique_ptr<GrpcAdapter>(new GrpcAdapter(std::move(impl)));
}

GrpcAdapter::GrpcAdapter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcAdapter::~GrpcAdapter() { stop(); }

void GrpcAdapter::stop() {
  if (impl_->service_server == nullptr) return;
  // The kubelet is to see first that we are gone, and then to lose the connection.
  ::unlink(impl_->options.sockets.registration.c_str());
  ::unlink(impl_->options.sockets.service.c_str());
  impl_->health.close();
  auto deadline = std::chrono::system_clock::now() + farewell;
  impl_->registration_server->Shutdown(deadline);
  impl_->service_server->Shutdown(deadline);
  impl_->registration_server.reset();
  impl_->service_server.reset();
}

bool GrpcAdapter::is_registered() const { return impl_->registration.registered(); }
std::string GrpcAdapter::registration_error() const { return impl_->registration.error(); }

}  // namespace lockstep::dra
