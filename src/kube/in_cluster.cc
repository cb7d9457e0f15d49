#include "kube/in_cluster.h"

#include "base/strings.h"

namespace lockstep::kube {

namespace {

const std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string own_namespace(const Environment& environment, const Files& files) {
  if (std::string ns = value_of(environment, "POD_NAMESPACE"); !ns.empty()) return ns;
  if (auto text = files.read(service_account + "namespace")) {
    if (std::string ns(trim(*text)); !ns.empty()) return ns;
  }
  return "default";
}

}  // namespace

bool in_cluster_possible(const Environment& environment, const Files& files) {
  return !value_of(environment, "KUBERNETES_SERVICE_HOST").empty() &&
         !value_of(environment, "KUBERNETES_SERVICE_PORT").empty() &&
         files.exists(service_account + "token");
}

Result<Target> in_cluster_target(const Environment& environment, const Files& files) {
  const std::string host = value_of(environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = value_of(environment, "KUBERNETES_SERVICE_PORT");
  if (!in_cluster_possible(environment, files)) {
    return fail(ErrorKind::not_found,
                "not in a pod: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the service "
                "account's token are needed");
  }
  Target target;
  target.context = "in-cluster";
  target.ns = own_namespace(environment, files);
  target.cluster.origin = "the pod's service account";
  const bool is_ipv6 = host.find(':') != std::string::npos;
  target.cluster.server = fmt::format("https://{}:{}", is_ipv6 ? "[" + host + "]" : host, port);
  if (files.exists(service_account + "ca.crt")) {
    target.cluster.certificate_authority.file = service_account + "ca.crt";
  }
  target.user.origin = target.cluster.origin;
  target.user.token_file = service_account + "token";
  return target;
}

}  // namespace lockstep::kube
