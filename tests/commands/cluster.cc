#include "cluster.h"

#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "world/descriptor.h"

namespace lockstep::commands {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string kubectl_program() { return variable("KUBECTL_PROGRAM"); }

std::string last_lines(const std::string& text, size_t count) {
  size_t at = text.size();
  while (at > 0 && count > 0) {
    at = text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
    --count;
  }
  return text.substr(at);
}

ProcessOutput finish(Processes& processes, const ProcessSpec& spec) {
  auto output = processes.run(spec);
  if (!output) throw std::runtime_error(output.error().text());
  return *output;
}

}  // namespace

bool has_kubectl() { return access(kubectl_program().c_str(), X_OK) == 0; }

std::string lockstep_program() {
  std::string program = variable("LOCKSTEP_PROGRAM");
  if (program.empty()) throw std::runtime_error("LOCKSTEP_PROGRAM is not set: run it by ctest");
  return program;
}

ProcessOutput run_lockstep(std::vector<std::string> words,
                           const std::map<std::string, std::string>& environment) {
  words.insert(words.begin(), lockstep_program());
  SystemProcesses processes;
  ProcessSpec spec;
  spec.command = std::move(words);
  spec.environment = environment;
  spec.limit = patience;
  return finish(processes, spec);
}

std::string http_get(const std::string& port, const std::string& path) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = recv(socket.get(), buffer, sizeof(buffer), 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

Cluster::Cluster(Waiting waiting) : waiting_(waiting) {
  std::string pattern = std::filesystem::temp_directory_path() / "lockstep-commands-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  directory_ = pattern;
  kubeconfig_ = directory_ + "/kubeconfig";
  std::filesystem::create_directory(directory_ + "/bin");
  if (has_kubectl()) {
    std::filesystem::create_symlink(kubectl_program(), directory_ + "/bin/kubectl");
  }
}

Cluster::~Cluster() {
  if (::testing::Test::HasFailure()) {
    for (const auto& [name, child] : children_) {
      fmt::print("--- the end of {}'s output ---\n{}\n", name, last_lines(child->output(), 40));
    }
  }
  while (!children_.empty()) children_.pop_back();
  connection_.api.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Cluster::serve() {
  start("apiserver", {"apiserver", "--kubeconfig-out", kubeconfig_});
  require("kubeconfig", [&] { return files_.exists(kubeconfig_); });
}

void Cluster::use(const std::string& kubeconfig) {
  std::filesystem::copy_file(kubeconfig, kubeconfig_);
}

void Cluster::add_fleet(int nodes, int speed, const std::vector<std::string>& flags) {
  std::vector<std::string> words{"fleet", "--nodes", std::to_string(nodes), "--speed",
                                 std::to_string(speed)};
  words.insert(words.end(), flags.begin(), flags.end());
  Child& fleet = start("fleet", words);
  require("fleet", [&] { return fleet.output().find("nodes run") != std::string::npos; });
}

Child& Cluster::start(const std::string& name, std::vector<std::string> words) {
  words.insert(words.begin(), lockstep_program());
  children_.emplace_back(
      name, std::make_unique<Child>(std::move(words), environment(), directory_ + "/" + name));
  return *children_.back().second;
}

Child& Cluster::start_controller(const std::string& name, const std::vector<std::string>& flags) {
  std::vector<std::string> words{"controller", "--status-address", "127.0.0.1:0"};
  words.insert(words.end(), flags.begin(), flags.end());
  return start(name, words);
}

Child& Cluster::start_kubectl(const std::string& name, std::vector<std::string> words) {
  words.insert(words.begin(), kubectl_program());
  children_.emplace_back(
      name, std::make_unique<Child>(std::move(words), environment(), directory_ + "/" + name));
  return *children_.back().second;
}

Child& Cluster::child(const std::string& name) {
  for (auto& [known, child] : children_) {
    if (known == name) return *child;
  }
  throw std::runtime_error("there is no program " + name);
}

std::string Cluster::status_port(const Child& controller) {
  static constexpr std::string_view before = "metrics and health port=";
  std::string port;
  require("port of the controller", [&] {
    std::string output = controller.output();
    size_t at = output.find(before);
    size_t end = at == std::string::npos ? at : output.find('\n', at);
    if (end == std::string::npos) return false;
    port = output.substr(at + before.size(), end - at - before.size());
    return true;
  });
  return port;
}

std::string Cluster::metric(const Child& controller, const std::string& line) {
  std::string page = http_get(status_port(controller), "/metrics");
  size_t at = page.find("\n" + line + " ");
  if (at == std::string::npos) return "";
  at += line.size() + 2;
  return page.substr(at, page.find('\n', at) - at);
}

ProcessOutput Cluster::sh(const std::string& script) {
  ProcessSpec spec;
  spec.command = {"sh", "-c", script};
  spec.environment = environment();
  spec.limit = patience;
  return finish(processes_, spec);
}

ProcessOutput Cluster::lockstep(std::vector<std::string> words) {
  return run_lockstep(std::move(words), environment());
}

void Cluster::set_policy(const std::string& json) {
  auto policy = parse_json(json);
  if (!policy) throw std::runtime_error(policy.error().text());
  Json patch = JsonObject{
      {"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", std::move(*policy)}}}}}};
  auto patched = api().patch(cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
                             std::move(patch));
  if (!patched) throw std::runtime_error(patched.error().text());
}

void Cluster::set_version(const std::string& version) {
  Json patch = JsonObject{{"spec", JsonObject{{"driver", JsonObject{{"version", version}}}}}};
  auto patched = api().patch(cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
                             std::move(patch));
  if (!patched) throw std::runtime_error(patched.error().text());
}

Nodes Cluster::nodes() {
  Nodes found;
  for (const auto& node : list(resource::nodes)) {
    NodeLook look;
    look.state = text_at(node, "metadata", "labels", state_key);
    look.version = text_at(node, "metadata", "labels", "nvidia.com/cuda.driver-version.full");
    look.cordoned = as_bool(find(node, "spec", "unschedulable"));
    look.resource_version = text_at(node, "metadata", "resourceVersion");
    const Json* annotations = find(node, "metadata", "annotations");
    if (annotations != nullptr && annotations->is_object()) {
      for (const auto& [key, value] : annotations->get_object()) {
        look.annotations[std::string(key)] = as_text(&value);
      }
    }
    found[std::string(text_at(node, "metadata", "name"))] = std::move(look);
  }
  return found;
}

Json Cluster::get(const ResourceType& type, const std::string& name, const std::string& ns) {
  auto object = api().get(type, {ns, name});
  return object ? **object : Json(nullptr);
}

std::vector<Json> Cluster::list(const ResourceType& type, const std::string& ns) {
  auto items = api().list(kube::list(type, ns));
  if (!items) throw std::runtime_error(items.error().text());
  std::vector<Json> objects;
  for (const auto& item : items->items) objects.push_back(*item);
  return objects;
}

std::map<std::string, Json> Cluster::driver_pods() {
  std::map<std::string, Json> found;
  for (auto& pod : list(resource::pods, "gpu-operator")) {
    if (text_at(pod, "metadata", "labels", "app") != "nvidia-driver-daemonset") continue;
    std::string node(text_at(pod, "spec", "nodeName"));
    found[node] = std::move(pod);
  }
  return found;
}

bool Cluster::is_everyone(const std::string& state, const std::string& version) {
  Nodes all = nodes();
  for (const auto& [name, node] : all) {
    if (node.state != state || (!version.empty() && node.version != version)) return false;
  }
  return !all.empty();
}

bool Cluster::wait(const std::function<bool()>& done) { return wait(done, waiting_.limit); }

bool Cluster::wait(const std::function<bool()>& done, Duration limit) {
  Duration end = loop_.uptime() + limit;
  while (!done()) {
    if (loop_.uptime() > end) return false;
    loop_.run_until([] { return false; }, waiting_.pace);
  }
  return true;
}

bool Cluster::stays(const std::function<bool()>& holds, Duration time) {
  return !wait([&] { return !holds(); }, time);
}

void Cluster::require(const std::string& what, const std::function<bool()>& done) {
  if (!wait(done)) throw std::runtime_error("it did not come: " + what);
}

kube::SyncApi Cluster::api() {
  if (connection_.api == nullptr) {
    kube::ConnectOptions options;
    options.kubeconfig = kubeconfig_;
    options.version = "test";
    auto connected = kube::connect(options, {}, files_, processes_, loop_);
    if (!connected) throw std::runtime_error(connected.error().text());
    connection_ = std::move(*connected);
  }
  return {*connection_.api, loop_};
}

std::map<std::string, std::string> Cluster::environment() const {
  return {{"KUBECONFIG", kubeconfig_},
          {"PATH", directory_ + "/bin:" + variable("PATH")},
          // kubectl keeps what it discovered: not in the home of a user.
          {"HOME", directory_},
          {"TMPDIR", directory_}};
}

}  // namespace lockstep::commands
