// A cluster in good health, for tests of the doctor: each test makes one thing of it sick.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "doctor/cluster_view.h"

namespace lockstep::doctor {

inline constexpr Time test_time = Time::from_unix(1'800'000'000);

inline std::shared_ptr<Pod> make_pod(std::string_view name, Time started) {
  auto pod = std::make_shared<Pod>();
  pod->meta.ns = "gpu-operator";
  pod->meta.name = Text(name);
  pod->meta.uid = Text("uid-" + std::string(name));
  pod->phase = PodPhase::running;
  pod->ready = true;
  pod->ready_since = started;
  ContainerStatus status;
  status.name = "main";
  status.ready = true;
  status.started = started;
  pod->container_statuses = {status};
  return pod;
}

inline std::shared_ptr<Node> make_node(std::string_view name, std::string_view state) {
  auto node = std::make_shared<Node>();
  node->meta.name = Text(name);
  if (!state.empty()) {
    node->meta.labels.set(Text("nvidia.com/gpu-driver-upgrade-state"), Text(state));
  }
  node->meta.labels.set(Text("nvidia.com/gpu.product"), Text("NVIDIA-H100-80GB-HBM3"));
  return node;
}

// With a driver that came up an hour ago and a plugin that came up after it.
inline fleet::NodeView make_node_view(std::shared_ptr<const Node> node) {
  fleet::NodeView view;
  auto driver = make_pod("driver-" + node->meta.name.str(), test_time - hours(1));
  Container container;
  container.name = "nvidia-driver-ctr";
  container.image = "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04";
  driver->spec.containers = {container};
  view.driver.pod = driver;
  view.clients = {
      {"dra/plugin", true, make_pod("plugin-" + node->meta.name.str(), test_time - minutes(50))}};
  view.slice_versions = {"580.126.20"};
  view.node = std::move(node);
  return view;
}

inline Lease make_lease(std::string_view ns, Time renewed) {
  Lease lease;
  lease.meta.ns = Text(ns);
  lease.meta.name = "lockstep-controller";
  lease.holder = Text("replica-of-" + std::string(ns));
  lease.duration_seconds = 15;
  lease.renewed = renewed;
  return lease;
}

inline void add_node(ClusterView& view, const std::shared_ptr<const Node>& node) {
  view.all_nodes.push_back(node);
  view.nodes.push_back(make_node_view(node));
}

inline ClusterView healthy() {
  ClusterView view;
  view.now = test_time;
  add_node(view, make_node("gpu-1", "upgrade-done"));
  add_node(view, make_node("gpu-2", "upgrade-done"));
  view.leases = {make_lease("lockstep-system", test_time - seconds(2))};
  for (const char* verb : {"get", "list", "watch", "patch"}) {
    view.rights.emplace_back(Right{verb, "", "nodes"}, true);
  }
  view.rights_of = "the controller";
  view.server_ahead = milliseconds(300);
  view.heartbeats = {{"gpu-1", test_time - seconds(3)}};
  view.certificates = {{"client certificate", test_time + hours(24 * 200), "renew"}};
  return view;
}

inline std::string evidence_of(const Check& check) {
  std::string text;
  for (const std::string& line : check.evidence) text += line + "\n";
  return text;
}

inline void expect_fine(const Check& check) {
  EXPECT_EQ(check.verdict, Verdict::fine) << check.text << "\n" << evidence_of(check);
  EXPECT_TRUE(check.fix.empty()) << check.fix;
  EXPECT_FALSE(check.text.empty());
}

// What is wrong has words, and a command.
inline void expect_wrong(const Check& check, const std::string& part, const std::string& fix) {
  EXPECT_EQ(check.verdict, Verdict::wrong) << check.text;
  EXPECT_NE((check.text + "\n" + evidence_of(check)).find(part), std::string::npos)
      << check.text << "\n"
      << evidence_of(check);
  EXPECT_NE(check.fix.find(fix), std::string::npos) << check.fix;
}

}  // namespace lockstep::doctor
