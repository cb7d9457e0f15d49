// Gates of a rollout that ask a real Prometheus (Debian's package) and a webhook, by the
// controller as a process. Prometheus scrapes an exporter of this test; all are on loopback.
#include <arpa/inet.h>
#include <atomic>
#include <filesystem>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "http/scripted_server_test_util.h"
#include "world/descriptor.h"

namespace lockstep::commands::prometheus_test {
namespace {

using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;

const char* const prometheus_program = "/usr/bin/prometheus";

// A free one: Prometheus does not say which it took.
int free_port() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 0;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// Of the gates the first two decide; what the others say is shown.
constexpr const char* rollout_template = R"(apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {name: driver}
spec:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves:
    - name: canary
      nodes: {count: 1}
      gates:
        - name: errors
          prometheus:
            address: PROMETHEUS
            query: sum(gpu_errors{node=~"${nodes}"})
            successCondition: result < 1
            interval: 1s
            count: 2
        - name: people
          webhook: {address: WEBHOOK/gate, interval: 1s}
        - name: failing
          dryRun: true
          prometheus: {address: PROMETHEUS, query: gpu_errors, failureCondition: result > 100}
        - name: no-data
          dryRun: true
          prometheus: {address: PROMETHEUS, query: gpu_nothing, successCondition: result < 1}
        - name: no-query
          dryRun: true
          prometheus: {address: PROMETHEUS, query: "sum(", successCondition: result < 1, interval: 1s}
    - {name: rest, nodes: {rest: true}}
)";

std::string filled(std::string text, const std::string& word, const std::string& value) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size()) {
    text.replace(at, word.size(), value);
  }
  return text;
}

struct PrometheusGates : ::testing::Test {
  void SetUp() override {
    if (!std::filesystem::exists(prometheus_program)) GTEST_SKIP() << "no " << prometheus_program;
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
    cluster.serve();
    cluster.add_fleet(3, 200, {});
    ASSERT_EQ(cluster.sh("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION).exit_code, 0);
    start_prometheus();
  }

  void start_prometheus() {
    const int port = free_port();
    ASSERT_NE(port, 0);
    prometheus_url = fmt::format("http://127.0.0.1:{}", port);
    const std::string config = cluster.directory() + "/prometheus.yml";
    ASSERT_TRUE(SystemFiles().write(
        config, fmt::format("global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: gpus\n"
                            "    static_configs: [{{targets: [\"127.0.0.1:{}\"]}}]\n",
                            exporter.port())));
    prometheus = std::make_unique<Child>(
        std::vector<std::string>{prometheus_program, "--config.file=" + config,
                                 "--storage.tsdb.path=" + cluster.directory() + "/tsdb",
                                 fmt::format("--web.listen-address=127.0.0.1:{}", port)},
        std::map<std::string, std::string>{}, cluster.directory() + "/prometheus");
    // One sample has come.
    ASSERT_TRUE(cluster.wait([&] {
      ProcessOutput answer =
          cluster.sh(fmt::format("promtool query instant '{}' gpu_errors", prometheus_url));
      return answer.output.find("=> 500") != std::string::npos;
    })) << prometheus->output();
  }

  Json status() {
    const Json rollout = cluster.get(fleet::driver_rollouts, "driver");
    const Json* found = find(rollout, "status");
    return found == nullptr ? Json() : *found;
  }

  // What Prometheus scrapes: one node has many errors, and it is not of the canary.
  ScriptedServer exporter{[](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(200, "gpu_errors{node=\"gpu-1\"} 0\ngpu_errors{node=\"gpu-3\"} 500\n");
  }};
  std::atomic<int> asked = 0;
  ScriptedServer webhook{[this](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(200, asked++ == 0 ? R"({"outcome":"Running"})"
                                        : R"({"outcome":"Passed","text":"the team agrees"})");
  }};
  Cluster cluster;
  std::string prometheus_url;
  std::unique_ptr<Child> prometheus;
};

TEST_F(PrometheusGates, AllFourOutcomesOfAGenuinePrometheusAndAWebhook) {
  std::string text = filled(rollout_template, "PROMETHEUS", prometheus_url);
  ASSERT_TRUE(SystemFiles().write(cluster.directory() + "/rollout.yaml",
                                  filled(text, "WEBHOOK", webhook.url())));
  ProcessOutput created =
      cluster.lockstep({"rollout", "create", "-f", cluster.directory() + "/rollout.yaml"});
  ASSERT_EQ(created.exit_code, 0) << created.error;
  cluster.start_controller("controller",
                           {"--no-leader-election", "--allow-gate-addresses", "127.0.0.0/8"});
  cluster.require("a rollout that waits",
                  [&] { return text_at(status(), "reason") == "NothingToDo"; });
  cluster.set_version("580.126.20");
  ASSERT_TRUE(cluster.wait([&] { return text_at(status(), "phase") == "Complete"; }))
      << print_json(status());

  std::map<std::string, std::string> said;
  const Json now = status();
  for (const Json& gate : now.at("waves").at(0).at("gates").get_array()) {
    said[std::string(text_at(gate, "name"))] =
        fmt::format("{}: {}", text_at(gate, "outcome"), text_at(gate, "text"));
  }
  EXPECT_EQ(said["errors"],
            "Passed: 2 of 2 measurements, 0 failed (0 may): 0, passes at: result < 1");
  EXPECT_EQ(said["people"], "Passed: the team agrees");
  EXPECT_EQ(said["failing"], "Failed: 500 (one of 2 series), fails at result > 100");
  EXPECT_EQ(said["no-data"], "Inconclusive: no data");
  EXPECT_TRUE(said["no-query"].starts_with("Inconclusive: answered with 400: "))
      << said["no-query"];
  EXPECT_TRUE(said["no-query"].ends_with("(3 of 3 tries)")) << said["no-query"];

  ASSERT_GE(webhook.requests().size(), 2U);
  auto body = parse_json(webhook.requests()[0].body);
  ASSERT_TRUE(body);
  EXPECT_EQ(text_at(*body, "wave"), "canary");
  EXPECT_EQ(text_at(*body, "version"), "580.126.20");
  EXPECT_EQ(print_json(body->at("nodes")), "[\"gpu-1\"]");
}

}  // namespace
}  // namespace lockstep::commands::prometheus_test
