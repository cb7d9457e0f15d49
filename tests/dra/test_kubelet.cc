#include "test_kubelet.h"

#include <algorithm>
#include <chrono>
#include <grpcpp/grpcpp.h>
#include <set>

#include <fmt/format.h>

#include "dra_v1.grpc.pb.h"
#include "dra_v1beta1.grpc.pb.h"
#include "health_v1.grpc.pb.h"
#include "health_v1alpha1.grpc.pb.h"
#include "registration.grpc.pb.h"
#include "world/directories.h"
#include "world/files.h"

namespace lockstep::dra {

namespace {

namespace wire_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace wire_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// The two versions of the service: their messages differ by their names alone.
struct WireV1 {
  using Service = wire_v1::DRAPlugin;
  using PrepareRequest = wire_v1::NodePrepareResourcesRequest;
  using PrepareResponse = wire_v1::NodePrepareResourcesResponse;
  using UnprepareRequest = wire_v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = wire_v1::NodeUnprepareResourcesResponse;
};
struct WireV1beta1 {
  using Service = wire_v1beta1::DRAPlugin;
  using PrepareRequest = wire_v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = wire_v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = wire_v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = wire_v1beta1::NodeUnprepareResourcesResponse;
};
template <typename Call>
auto in_version(bool is_v1, const Call& call) {
  return is_v1 ? call(WireV1{}) : call(WireV1beta1{});
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& path) {
  grpc::ChannelArguments arguments;
  // A connection of its own: gRPC would share one between two kubelets of one process.
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  return grpc::CreateCustomChannel("unix://" + path, grpc::InsecureChannelCredentials(), arguments);
}

void limit(grpc::ClientContext& context, Duration time) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(time));
}

Error error_of(const grpc::Status& status) {
  return {status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ? ErrorKind::timed_out
                                                                     : ErrorKind::unreachable,
          status.error_message(),
          {}};
}

template <typename Request>
Request request_for(const std::vector<KubeletClaim>& claims) {
  Request request;
  for (const KubeletClaim& claim : claims) {
    auto* entry = request.add_claims();
    entry->set_namespace_(claim.ns);
    entry->set_uid(claim.uid);
    entry->set_name(claim.name);
  }
  return request;
}

template <typename Wire>
Result<std::map<std::string, ClaimAnswer>> prepare_over(
    const std::shared_ptr<grpc::Channel>& channel, const std::vector<KubeletClaim>& claims,
    Duration time) {
  grpc::ClientContext context;
  limit(context, time);
  typename Wire::PrepareResponse response;
  grpc::Status status = Wire::Service::NewStub(channel)->NodePrepareResources(
      &context, request_for<typename Wire::PrepareRequest>(claims), &response);
  if (!status.ok()) return fail(error_of(status));
  std::map<std::string, ClaimAnswer> answers;
  for (const auto& [uid, entry] : response.claims()) {
    ClaimAnswer& answer = answers[uid];
    answer.error = entry.error();
    answer.permanent = entry.error_type() == 1;
    for (const auto& device : entry.devices()) {
      PreparedByPlugin prepared;
      prepared.pool = device.pool_name();
      prepared.device = device.device_name();
      prepared.cdi_ids.assign(device.cdi_device_ids().begin(), device.cdi_device_ids().end());
      prepared.requests.assign(device.request_names().begin(), device.request_names().end());
      answer.devices.push_back(std::move(prepared));
    }
  }
  return answers;
}

template <typename Wire>
Result<std::map<std::string, std::string>> unprepare_over(
    const std::shared_ptr<grpc::Channel>& channel, const std::vector<KubeletClaim>& claims,
    Duration time) {
  grpc::ClientContext context;
  limit(context, time);
  typename Wire::UnprepareResponse response;
  grpc::Status status = Wire::Service::NewStub(channel)->NodeUnprepareResources(
      &context, request_for<typename Wire::UnprepareRequest>(claims), &response);
  if (!status.ok()) return fail(error_of(status));
  std::map<std::string, std::string> answers;
  for (const auto& [uid, entry] : response.claims()) answers[uid] = entry.error();
  return answers;
}

std::string_view health_word(int status) {
  constexpr int healthy = 1;
  constexpr int unhealthy = 2;
  return status == healthy ? "HEALTHY" : status == unhealthy ? "UNHEALTHY" : "UNKNOWN";
}

sim::ClaimRefs refs_to(const std::vector<KubeletClaim>& claims) {
  sim::ClaimRefs refs;
  for (const KubeletClaim& claim : claims) refs.push_back({claim.uid, claim.name});
  return refs;
}

std::vector<KubeletClaim> only(const std::vector<KubeletClaim>& claims,
                               const sim::ClaimRefs& wanted) {
  std::vector<KubeletClaim> some;
  for (const KubeletClaim& claim : claims) {
    const sim::ClaimRef ref{claim.uid, claim.name};
    if (std::find(wanted.begin(), wanted.end(), ref) != wanted.end()) some.push_back(claim);
  }
  return some;
}

// What a container runtime does with a CDI id; false: no spec has it.
bool apply_cdi(const std::string& folder, const std::string& id, PodRun& pod) {
  auto names = list_directory(folder);
  if (!names) return false;
  for (const std::string& name : *names) {
    if (!name.ends_with(".json")) continue;
    auto text = SystemFiles().read(folder + "/" + name);
    auto spec = text ? parse_json(*text) : fail(ErrorKind::not_found, "gone");
    if (!spec) continue;
    const Json* devices = find(*spec, "devices");
    if (devices == nullptr) continue;
    for (const Json& device : devices->as_array()) {
      std::string full = fmt::format("{}={}", text_at(*spec, "kind"), text_at(device, "name"));
      if (full != id) continue;
      if (const Json* env = find(device, "containerEdits", "env")) {
        for (const Json& entry : env->as_array()) {
          std::string_view word = as_text(&entry);
          size_t equals = word.find('=');
          pod.environment[std::string(word.substr(0, equals))] = word.substr(equals + 1);
        }
      }
      if (const Json* nodes = find(device, "containerEdits", "deviceNodes")) {
        for (const Json& node : nodes->as_array()) {
          std::string_view host = text_at(node, "hostPath");
          pod.device_nodes.emplace_back(host.empty() ? text_at(node, "path") : host);
        }
      }
      return true;
    }
  }
  return false;
}

}  // namespace

struct TestKubelet::Plugin {
  std::string socket;
  std::string identity;  // of the file
  std::string endpoint;
  bool is_v1 = false;
  bool health_v1 = false;
  bool health_v1alpha1 = false;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::ClientContext> stream = std::make_unique<grpc::ClientContext>();
};

TestKubelet::TestKubelet(KubeletOptions options)
    : options_(std::move(options)), book_(options_.knows_error_type) {}
TestKubelet::~TestKubelet() { stop_listening(); }

std::vector<std::string> TestKubelet::look() {
  std::vector<std::string> problems;
  std::string registry = options_.folder + "/plugins_registry";
  std::set<std::string> there;
  for (const std::string& name : list_directory(registry).value_or(std::vector<std::string>())) {
    if (name.ends_with(".sock")) there.insert(registry + "/" + name);
  }
  for (auto known = known_.begin(); known != known_.end();) {
    // A file of the same name may be another's: a plugin that was killed and started again.
    auto now = SystemFiles().fingerprint(known->first);
    if (there.contains(known->first) && now && *now == known->second->identity) {
      ++known;
      continue;
    }
    if (listened_ == known->second) stop_listening();
    std::erase(order_, known->second);
    known = known_.erase(known);
  }
  for (const std::string& socket : there) {
    if (known_.contains(socket)) continue;
    auto stub = pluginregistration::Registration::NewStub(channel_to(socket));
    pluginregistration::PluginInfo info;
    grpc::ClientContext asking;
    limit(asking, seconds(1));
    grpc::Status status = stub->GetInfo(&asking, pluginregistration::InfoRequest(), &info);
    if (!status.ok()) {
      problems.push_back(socket + ": " + status.error_message());
      continue;
    }
    auto plugin = std::make_shared<Plugin>();
    plugin->socket = socket;
    plugin->identity = SystemFiles().fingerprint(socket).value_or("");
    plugin->endpoint = info.endpoint();
    std::set<std::string> versions(info.supported_versions().begin(),
                                   info.supported_versions().end());
    plugin->is_v1 = versions.contains("v1.DRAPlugin") && !options_.old;
    plugin->health_v1 = versions.contains("v1.DRAResourceHealth") && !options_.old;
    plugin->health_v1alpha1 = versions.contains("v1alpha1.DRAResourceHealth");
    bool is_fine = info.type() == "DRAPlugin" && info.name() == options_.driver &&
                   (plugin->is_v1 || versions.contains("v1beta1.DRAPlugin"));
    if (!is_fine) problems.push_back(socket + ": no plugin that this kubelet takes");
    pluginregistration::RegistrationStatus verdict;
    verdict.set_plugin_registered(is_fine);
    grpc::ClientContext telling;
    limit(telling, seconds(1));
    pluginregistration::RegistrationStatusResponse heard;
    if (!stub->NotifyRegistrationStatus(&telling, verdict, &heard).ok()) is_fine = false;
    if (!is_fine) continue;
    plugin->channel = channel_to(plugin->endpoint);
    known_[socket] = plugin;
    order_.push_back(plugin);
    listen(plugin);
  }
  if (!order_.empty() && listened_ == nullptr) listen(order_.back());
  return problems;
}

std::vector<std::string> TestKubelet::endpoints() const {
  std::vector<std::string> all;
  for (const auto& plugin : order_) all.push_back(plugin->endpoint);
  return all;
}

void TestKubelet::restart() {
  stop_listening();
  known_.clear();
  order_.clear();
  book_.restart();
}

void TestKubelet::stop_listening() {
  if (listened_ != nullptr) listened_->stream->TryCancel();
  if (listener_.joinable()) listener_.join();
  listened_.reset();
  // When the stream ends the kubelet forgets all health.
  std::lock_guard lock(mutex_);
  health_.clear();
}

void TestKubelet::listen(const std::shared_ptr<Plugin>& plugin) {
  stop_listening();
  plugin->stream = std::make_unique<grpc::ClientContext>();
  listened_ = plugin;
  auto take = [this](const auto& response) {
    std::lock_guard lock(mutex_);
    health_.clear();
    for (const auto& device : response.devices()) {
      health_[device.device().device_name()] = {std::string(health_word(device.health())),
                                                device.message()};
    }
    ++reports_;
  };
  auto read_all = [plugin, take](auto stub, const auto& request, auto response) {
    auto reader = stub->NodeWatchResources(plugin->stream.get(), request);
    while (reader->Read(&response)) take(response);
  };
  listener_ = std::thread([plugin, read_all] {
    if (plugin->health_v1) {
      read_all(v1::DRAResourceHealth::NewStub(plugin->channel), v1::NodeWatchResourcesRequest(),
               v1::NodeWatchResourcesResponse());
    } else if (plugin->health_v1alpha1) {
      read_all(v1alpha1::DRAResourceHealth::NewStub(plugin->channel),
               v1alpha1::NodeWatchResourcesRequest(), v1alpha1::NodeWatchResourcesResponse());
    }
  });
}

Result<std::map<std::string, ClaimAnswer>> TestKubelet::prepare(
    const std::vector<KubeletClaim>& claims) {
  if (order_.empty()) return fail(ErrorKind::not_found, "DRA driver is not registered");
  Plugin& plugin = *order_.back();
  return in_version(plugin.is_v1, [&]<typename Wire>(Wire) {
    return prepare_over<Wire>(plugin.channel, claims, options_.call_limit);
  });
}

Result<std::map<std::string, std::string>> TestKubelet::unprepare(
    const std::vector<KubeletClaim>& claims) {
  if (order_.empty()) return fail(ErrorKind::not_found, "DRA driver is not registered");
  Plugin& plugin = *order_.back();
  return in_version(plugin.is_v1, [&]<typename Wire>(Wire) {
    return unprepare_over<Wire>(plugin.channel, claims, options_.call_limit);
  });
}

PodRun TestKubelet::start_pod(const std::vector<KubeletClaim>& claims) {
  PodRun pod;
  if (order_.empty()) {
    pod.message = "DRA driver is not registered";
    return pod;
  }
  const sim::ClaimRefs asked = book_.begin(claims.front().uid, refs_to(claims));
  Result<sim::PrepareAnswers> heard = sim::PrepareAnswers{};
  if (!asked.empty()) {
    auto answers = prepare(only(claims, asked));
    if (!answers) heard = fail(answers.error());
    for (const auto& [uid, answer] : answers.value_or(std::map<std::string, ClaimAnswer>())) {
      (*heard)[uid] = {answer.error, answer.permanent};
      prepared_[uid] = answer.devices;
    }
  }
  const sim::PrepareVerdict verdict = book_.take(asked, heard);
  if (verdict.pod != sim::PrepareVerdict::Pod::runs) {
    bool ends = verdict.pod == sim::PrepareVerdict::Pod::fails;
    pod.phase = ends ? PodPhase::failed : PodPhase::pending;
    pod.message = verdict.message;
    return pod;
  }
  for (const KubeletClaim& claim : claims) {
    for (const PreparedByPlugin& device : prepared_[claim.uid]) {
      for (const std::string& id : device.cdi_ids) {
        if (apply_cdi(options_.cdi_folder, id, pod)) continue;
        pod.message = "unresolvable CDI device " + id;
        return pod;
      }
    }
  }
  pod.phase = PodPhase::running;
  return pod;
}

Result<void> TestKubelet::end_pod(const std::vector<KubeletClaim>& claims) {
  const sim::ClaimRefs asked = book_.end(claims.front().uid);
  if (asked.empty()) return {};
  return book_.take_end(asked, unprepare(only(claims, asked)));
}

std::string TestKubelet::health(const std::string& device) const {
  std::lock_guard lock(mutex_);
  auto found = health_.find(device);
  return found == health_.end() ? "" : found->second.first;
}

std::string TestKubelet::health_message(const std::string& device) const {
  std::lock_guard lock(mutex_);
  auto found = health_.find(device);
  return found == health_.end() ? "" : found->second.second;
}

}  // namespace lockstep::dra
