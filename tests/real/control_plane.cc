#include "control_plane.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "http/tls_test_util.h"
#include "kube/connect.h"
#include "kube/sync_api.h"
#include "world/descriptor.h"
#include "world/files.h"
#include "world/process.h"
#include "world/random.h"

namespace lockstep::real {

namespace {

// On a machine with one slow processor that does other things too.
constexpr Duration patience = minutes(5);
constexpr long week = 7 * 24 * 3600;

struct PartWords {
  Part part;
  const char* program;
};
// In the order in which they are started.
constexpr PartWords parts[] = {{Part::etcd, "etcd"},
                               {Part::apiserver, "kube-apiserver"},
                               {Part::controller_manager, "kube-controller-manager"},
                               {Part::scheduler, "kube-scheduler"}};

std::string program_of(Part part) {
  for (const PartWords& words : parts) {
    if (words.part == part) return words.program;
  }
  return {};
}

void write(const std::string& path, const std::string& content) {
  if (auto written = SystemFiles().write(path, content, 0600); !written) {
    throw std::runtime_error(written.error().text());
  }
}

std::vector<std::string> device_taint_flags(const ControlPlaneOptions& options) {
  if (options.without_device_taints)
    return {"--feature-gates=DRADeviceTaints=false,DRADeviceTaintRules=false"};
  if (!options.apiserver.empty()) return {};
  return {"--feature-gates=DRADeviceTaintRules=true",
          "--runtime-config=resource.k8s.io/v1beta2=true"};
}

std::string last_lines(const std::string& text, size_t bytes) {
  if (text.size() <= bytes) return text;
  const size_t line = text.find('\n', text.size() - bytes);
  return line == std::string::npos ? text : text.substr(line + 1);
}

}  // namespace

std::string ControlPlane::program(const std::string& name) {
  const char* folder = std::getenv("LOCKSTEP_REAL_CLUSTER");
  return folder == nullptr ? "" : folder + ("/" + name);
}

// A part that is started again wants its port again: none of those that the kernel gives to clients
// (from 32768 on).
int ControlPlane::free_port() {
  static SystemRandom random;
  for (int tries = 0; tries < 200; ++tries) {
    const int port = 20000 + static_cast<int>(random.below(12000));
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
      return port;
    }
  }
  throw std::runtime_error("no free port on loopback");
}

std::string ControlPlane::missing(const std::string& apiserver) {
  std::vector<std::string> paths;
  for (const PartWords& words : parts) paths.push_back(program(words.program));
  if (!apiserver.empty()) paths.push_back(apiserver);
  for (const std::string& path : paths) {
    if (access(path.c_str(), X_OK) != 0) {
      return fmt::format("there is no {}: scripts/real-cluster builds it (make real)", path);
    }
  }
  return {};
}

ControlPlane::ControlPlane(std::string directory, ControlPlaneOptions options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      etcd_port_(free_port()),
      peer_port_(free_port()),
      api_port_(free_port()) {
  options_.users.push_back({"admin", {"system:masters"}});
  options_.users.push_back({"system:kube-controller-manager", {}});
  options_.users.push_back({"system:kube-scheduler", {}});
}

ControlPlane::~ControlPlane() {
  if (::testing::Test::HasFailure()) show();
  // Children that would complain go first.
  while (!children_.empty()) children_.erase(std::prev(children_.end()));
}

void ControlPlane::start() {
  write_certificates();
  write_users();
  write_audit_policy();
  start(Part::etcd);
  start(Part::apiserver);
  wait_until_ready();
  if (!options_.apiserver.empty()) return;
  start(Part::controller_manager);
  if (options_.like_embedded) return;
  start(Part::scheduler);
  // Without its service account no pod can be made in a namespace.
  const ResourceType accounts{"", "v1", "ServiceAccount", "serviceaccounts", true};
  wait("controllers", [&] { return get(accounts, {"default", "default"}).has_value(); });
}

void ControlPlane::start(Part part) {
  children_[part] = std::make_unique<commands::Child>(
      command(part), std::map<std::string, std::string>{}, file(program_of(part) + ".log"));
}

void ControlPlane::kill(Part part) {
  commands::Child& child = *children_.at(part);
  child.signal(SIGKILL);
  wait("end of " + program_of(part), [&] { return child.exit_code().has_value(); });
}

void ControlPlane::wait_until_ready() {
  // The last of what it makes for itself: before that, only an administrator may do anything.
  const ResourceType bindings{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding",
                              "clusterrolebindings", false};
  wait("API server", [&] {
    return get(bindings, {"", "system:kube-scheduler"}) &&
           get(resource::namespaces, {"", "kube-node-lease"});
  });
}

std::string ControlPlane::kubeconfig(const std::string& user) const {
  return file(user + ".kubeconfig");
}

std::string ControlPlane::url() const { return fmt::format("https://127.0.0.1:{}", api_port_); }

void ControlPlane::write_certificates() const {
  using http::testing::CertificateRequest;
  using http::testing::make_certificate;
  CertificateRequest authority;
  authority.common_name = "lockstep-tests";
  authority.is_authority = true;
  authority.valid_seconds = week;
  const auto issuer = make_certificate(authority);
  write(file("ca.crt"), issuer.certificate_pem());
  CertificateRequest serving;
  serving.common_name = "kube-apiserver";
  serving.alternative_names = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc";
  serving.valid_seconds = week;
  const auto server = make_certificate(serving, &issuer);
  write(file("server.crt"), server.certificate_pem());
  write(file("server.key"), server.key_pem());
  // What service accounts' tokens are signed with.
  CertificateRequest signing;
  signing.common_name = "service-accounts";
  signing.valid_seconds = week;
  const auto accounts = make_certificate(signing, &issuer);
  write(file("accounts.crt"), accounts.certificate_pem());
  write(file("accounts.key"), accounts.key_pem());
}

void ControlPlane::write_users() const {
  SystemRandom random;
  std::string lines;
  for (const User& user : options_.users) {
    const std::string token = random.uuid();
    lines += fmt::format("{},{},{},\"{}\"\n", token, user.name, user.name, join(user.groups, ","));
    write_kubeconfig(user.name, token);
  }
  write(file("tokens.csv"), lines);
}

void ControlPlane::write_kubeconfig(const std::string& user, const std::string& token) const {
  write(kubeconfig(user), fmt::format(R"(apiVersion: v1
kind: Config
current-context: real
contexts: [{{name: real, context: {{cluster: real, user: "{0}"}}}}]
clusters: [{{name: real, cluster: {{server: "{1}", certificate-authority: "{2}"}}}}]
users: [{{name: "{0}", user: {{token: "{3}"}}}}]
)",
                                      user, url(), file("ca.crt"), token));
}

// Records which user did what to which object; of nodes also their new state, and of pods where
// they were sent, for audit.h.
void ControlPlane::write_audit_policy() const {
  write(file("audit.yaml"), R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources: [{group: "", resources: [nodes, nodes/status]}]
- {level: Request, verbs: [create], resources: [{group: "", resources: [pods/binding]}]}
- {level: Metadata}
)");
}

std::vector<std::string> ControlPlane::command(Part part) const {
  const std::string etcd = fmt::format("http://127.0.0.1:{}", etcd_port_);
  const std::string peer = fmt::format("http://127.0.0.1:{}", peer_port_);
  bool is_another = part == Part::apiserver && !options_.apiserver.empty();
  std::vector<std::string> words{is_another ? options_.apiserver : program(program_of(part))};
  auto add = [&words](std::vector<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  switch (part) {
    case Part::etcd:
      // A machine that loses its power is not what is tried here: no need to wait for the disk.
      add({"--data-dir=" + file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
           "--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
           "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
           "--initial-cluster=default=" + peer});
      break;
    case Part::apiserver:
      add({"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
           fmt::format("--secure-port={}", api_port_),
           // The Service "kubernetes" refuses an address of loopback, and no test uses it.
           "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
           "--tls-cert-file=" + file("server.crt"), "--tls-private-key-file=" + file("server.key"),
           "--client-ca-file=" + file("ca.crt"), "--token-auth-file=" + file("tokens.csv"),
           "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
           "--anonymous-auth=false", "--allow-privileged=true",
           "--service-account-issuer=https://kubernetes.default.svc",
           "--service-account-key-file=" + file("accounts.crt"),
           "--service-account-signing-key-file=" + file("accounts.key"),
           "--audit-policy-file=" + file("audit.yaml"), "--audit-log-path=" + audit_log(),
           "--audit-log-maxsize=4000", "--profiling=false"});
      add(device_taint_flags(options_));
      if (options_.like_embedded)
        add({"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"});
      break;
    case Part::controller_manager:
      add({"--kubeconfig=" + kubeconfig("system:kube-controller-manager"), "--leader-elect=false",
           "--secure-port=0", "--use-service-account-credentials=true",
           "--root-ca-file=" + file("ca.crt"),
           "--service-account-private-key-file=" + file("accounts.key"), "--profiling=false",
           // As in clusters of some size: with its default of 20 calls a second each controller
           // would slow every test down.
           "--kube-api-qps=200", "--kube-api-burst=400"});
      if (options_.like_embedded) {
        add(
            {"--controllers=garbage-collector-controller,namespace-controller,"
             "disruption-controller"});
      }
      break;
    case Part::scheduler:
      add({"--kubeconfig=" + kubeconfig("system:kube-scheduler"), "--leader-elect=false",
           "--secure-port=0", "--profiling=false"});
      break;
  }
  return words;
}

std::optional<Json> ControlPlane::get(const ResourceType& type, const ObjectKey& key) {
  SystemFiles files;
  SystemProcesses processes;
  kube::ConnectOptions options;
  options.kubeconfig = kubeconfig("admin");
  options.version = "test";
  auto connection = kube::connect(options, {}, files, processes, loop_);
  if (!connection) throw std::runtime_error(connection.error().text());
  auto object = kube::SyncApi(*connection->api, loop_).get(type, key);
  if (!object) return std::nullopt;
  return **object;
}

void ControlPlane::show() const {
  for (const auto& [part, child] : children_) {
    fmt::print("--- the end of {}'s output ---\n{}\n", program_of(part),
               last_lines(child->output(), 4000));
  }
}

void ControlPlane::wait(const std::string& what, const std::function<bool()>& done) {
  const Duration end = loop_.uptime() + patience;
  while (!done()) {
    if (loop_.uptime() > end) {
      show();
      throw std::runtime_error("it did not come: " + what);
    }
    loop_.run_until([] { return false; }, milliseconds(100));
  }
}

}  // namespace lockstep::real
