#include "dra_node.h"

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/verbs/tester_test_util.h"
#include "child.h"
#include "world/directories.h"
#include "world/process.h"

namespace lockstep::dra {

namespace fs = std::filesystem;

namespace {

using apiserver::json_of;

std::string port_in(const std::string& log) {
  const std::string before = "status=\"port ";
  size_t at = log.rfind(before);
  if (at == std::string::npos) return "";
  at += before.size();
  return log.substr(at, log.find('"', at) - at);
}

const JsonArray& items_of(const Json& object, std::string_view key) {
  static const JsonArray none;
  const Json* found = find(object, key);
  return found == nullptr || !found->is_array() ? none : found->get_array();
}

}  // namespace

DraNode::DraNode(int gpus, KubeletOptions kubelet) : machine_(folder_.path, gpus) {
  apiserver::EmbeddedOptions options;
  auto server = apiserver::EmbeddedServer::start(options);
  if (!server) throw std::runtime_error(server.error().text());
  server_ = std::move(*server);
  folder_.write("kubeconfig", server_->kubeconfig());
  must(kube::create(resource::nodes, "", json_of(R"({"metadata":{"name":"gpu-1"}})")));

  fs::create_directories(folder_ / "cdi");
  kubelet.folder = folder_ / "kubelet";
  kubelet.cdi_folder = folder_ / "cdi";
  kubelet_ = std::make_unique<TestKubelet>(std::move(kubelet));
}

DraNode::~DraNode() {
  kubelet_.reset();
  if (::testing::Test::HasFailure()) {
    for (const auto& [name, child] : plugins_) {
      fmt::print(stderr, "---- {}\n{}", name, child->output());
    }
  }
}

commands::Child& DraNode::start_plugin(const std::string& name,
                                       const std::vector<std::string>& flags) {
  std::vector<std::string> command = {from_environment("LOCKSTEP_PROGRAM"),
                                      "dra-plugin",
                                      "--kubeconfig",
                                      folder_ / "kubeconfig",
                                      "--node-name",
                                      "gpu-1",
                                      "--kubelet-dir",
                                      folder_ / "kubelet",
                                      "--cdi-dir",
                                      folder_ / "cdi",
                                      "--root",
                                      folder_ / "root",
                                      "--host-root",
                                      folder_ / "root",
                                      "--listen",
                                      "127.0.0.1:0",
                                      "--health-interval",
                                      "300ms"};
  command.insert(command.end(), flags.begin(), flags.end());
  std::map<std::string, std::string> variables = environment;
  variables["LOCKSTEP_FAKE_GPU"] = machine_.scenario();
  plugins_[name] = std::make_unique<commands::Child>(command, variables, folder_ / (name + ".log"));
  return *plugins_[name];
}

commands::Child& DraNode::plugin(const std::string& name) { return *plugins_.at(name); }
std::string DraNode::said(const std::string& name) { return plugin(name).output(); }

void DraNode::kill_plugin(const std::string& name) {
  plugin(name).signal(SIGKILL);
  wait([&] { return plugin(name).exit_code().has_value(); });
}

int DraNode::end_plugin(const std::string& name) {
  plugin(name).signal(SIGTERM);
  wait([&] { return plugin(name).exit_code().has_value(); });
  return plugin(name).exit_code().value_or(-1);
}

std::string DraNode::status(const std::string& what, const std::string& name) {
  std::string port = port_in(said(name));
  if (port.empty()) return "";
  ProcessSpec spec;
  spec.command = {"/bin/bash", "-c",
                  fmt::format("exec 3<>/dev/tcp/127.0.0.1/{} && printf 'GET {} HTTP/1.1\\r\\n"
                              "Host: x\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3",
                              port, what)};
  spec.limit = test_patience;
  auto output = SystemProcesses().run(spec);
  return output ? output->output : "";
}

void DraNode::wait_ready(const std::string& name) {
  EXPECT_TRUE(wait([&] {
    return !kubelet_->endpoints().empty() &&
           status("/readyz", name).find(" 200 ") != std::string::npos;
  })) << said(name);
}

void DraNode::lose_api_server() {
  std::string text = server_->kubeconfig();
  size_t at = text.find(server_->url());
  if (at == std::string::npos) throw std::runtime_error("no address in the kubeconfig");
  folder_.write("kubeconfig", text.replace(at, server_->url().size(), "http://127.0.0.1:1"));
}

kube::Response DraNode::send(const kube::Request& request) {
  kube::Response response;
  server_->with_backend(
      [&](apiserver::Backend& backend) { response = apiserver::send_as_tester(backend, request); });
  return response;
}

Json DraNode::must(const kube::Request& request) {
  return apiserver::must_answer(request, send(request));
}

std::vector<Json> DraNode::slices() {
  std::vector<Json> all;
  const Json list = must(kube::list(resource::resource_slices));
  for (const Json& slice : items_of(list, "items")) all.push_back(slice);
  return all;
}

std::string DraNode::driver_in_slice() {
  auto all = slices();
  if (all.size() != 1) return fmt::format("{} slices", all.size());
  const Json spec = *find(all[0], "spec");
  const JsonArray& devices = items_of(spec, "devices");
  if (devices.empty()) return "no devices";
  return std::string(text_at(devices[0], "attributes", "driverVersion", "version"));
}

std::vector<std::string> DraNode::taints() {
  std::vector<std::string> all;
  for (const Json& slice : slices()) {
    for (const Json& device : items_of(*find(slice, "spec"), "devices")) {
      for (const Json& taint : items_of(device, "taints")) {
        all.push_back(fmt::format("{}: {}:{}", text_at(device, "name"), text_at(taint, "key"),
                                  text_at(taint, "effect")));
      }
    }
  }
  return all;
}

std::vector<std::string> DraNode::free_devices() {
  std::vector<std::string> taken;
  Json claims = must(kube::list(resource::resource_claims));
  for (const Json& claim : items_of(claims, "items")) {
    const Json* devices = find(claim, "status", "allocation", "devices");
    if (devices == nullptr) continue;
    for (const Json& result : items_of(*devices, "results")) {
      taken.emplace_back(text_at(result, "device"));
    }
  }
  std::vector<std::string> free;
  for (const Json& slice : slices()) {
    for (const Json& device : items_of(*find(slice, "spec"), "devices")) {
      std::string name(text_at(device, "name"));
      bool is_taken = std::find(taken.begin(), taken.end(), name) != taken.end();
      if (!is_taken && items_of(device, "taints").empty()) free.push_back(name);
    }
  }
  return free;
}

KubeletClaim DraNode::claim(const std::string& name, const std::string& device,
                            const std::string& parameters) {
  std::string chosen = device;
  if (chosen.empty()) {
    auto free = free_devices();
    EXPECT_FALSE(free.empty()) << "no device is free for " << name;
    chosen = free.empty() ? "none" : free.front();
  }
  Json made = must(kube::create(
      resource::resource_claims, "default",
      json_of(fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"devices":{{"requests":[
                {{"name":"gpu","exactly":{{"deviceClassName":"gpu"}}}}]}}}}}})",
                          name))));
  std::string config = parameters.empty() ? "[]"
                                          : fmt::format(R"([{{"source":"FromClaim","opaque":{{
                               "driver":"gpu.lockstep.dev","parameters":{}}}}}])",
                                                        parameters);
  kube::Request status = kube::patch(
      resource::resource_claims, {"default", name}, kube::PatchType::merge,
      json_of(fmt::format(R"({{"status":{{"allocation":{{"devices":{{"results":[{{"request":"gpu",
           "driver":"gpu.lockstep.dev","pool":"gpu-1","device":"{}"}}],"config":{}}}}}}}}})",
                          chosen, config)));
  status.subresource = "status";
  must(status);
  return {"default", std::string(text_at(made, "metadata", "uid")), name};
}

void DraNode::remove_claim(const std::string& name) {
  must(kube::remove(resource::resource_claims, {"default", name}));
}

bool DraNode::has_event(const std::string& reason) {
  Json events = must(kube::list(resource::events));
  for (const Json& event : items_of(events, "items")) {
    if (text_at(event, "reason") == reason) return true;
  }
  return false;
}

bool DraNode::wait(const std::function<bool()>& done, Duration limit) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    if (kubelet_ != nullptr) kubelet_->look();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::vector<std::string> DraNode::files_in(const std::string& name) const {
  return list_directory(folder_ / name).value_or(std::vector<std::string>());
}

std::string DraNode::run_container(const PodRun& pod, const std::string& script) {
  ProcessSpec spec;
  spec.command = {"/bin/sh", "-c", script};
  spec.environment = pod.environment;
  auto output = SystemProcesses().run(spec);
  return output ? output->output : "";
}

}  // namespace lockstep::dra
