#include "faces.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::commands {

namespace {

bool is_waiting(const std::string& state) { return state == "upgrade-required"; }
// In the metric of nodes that wait, or in that of those in progress or failed.
bool is_counted(const std::string& state) {
  return !is_waiting(state) && state != "upgrade-done" && state != "unknown";
}

std::string metric_line(const std::string& state, const std::string& reason) {
  return is_waiting(state)
             ? fmt::format(R"(lockstep_nodes_waiting{{pool="",reason="{}"}})", reason)
             : fmt::format(R"(lockstep_nodes_by_reason{{pool="",state="{}",reason="{}"}})", state,
                           reason);
}

}  // namespace

Faces::Faces(Cluster& cluster, const Child& controller, std::vector<std::string> flags)
    : cluster_(cluster), controller_(controller), flags_(std::move(flags)) {
  std::vector<std::string> words{"dashboard", "--address", "127.0.0.1:0"};
  words.insert(words.end(), flags_.begin(), flags_.end());
  Child& child = cluster_.start("dashboard", words);
  const std::string before = "The dashboard is at ";
  cluster_.require("the dashboard",
                   [&] { return child.output().find(before) != std::string::npos; });
  const std::string said = child.output();
  const size_t at = said.find(before) + before.size();
  url_ = said.substr(at, said.find(' ', at) - at);
}

Json Faces::run_json(std::vector<std::string> words) {
  words.insert(words.end(), {"-o", "json"});
  words.insert(words.end(), flags_.begin(), flags_.end());
  auto json = parse_json(cluster_.lockstep(words).output);
  return json ? *json : Json();
}

std::map<std::string, Faces::Said> Faces::status() {
  std::map<std::string, Said> said;
  const Json status = run_json({"status"});
  const Json* pools = find(status, "pools");
  if (pools == nullptr || !pools->is_array()) return said;
  for (const Json& pool : pools->get_array()) {
    for (const Json& node : find(pool, "nodes")->get_array()) {
      said[std::string(text_at(node, "name"))] = {std::string(text_at(node, "state")),
                                                  std::string(text_at(node, "reason", "name")),
                                                  std::string(text_at(node, "reason", "remedy"))};
    }
  }
  return said;
}

std::string Faces::reason(const std::string& node) { return status()[node].reason; }

int Faces::count(const std::string& reason) {
  const auto said = status();
  return static_cast<int>(std::count_if(
      said.begin(), said.end(), [&](const auto& node) { return node.second.reason == reason; }));
}

std::vector<std::string> Faces::differences() {
  std::vector<std::string> found;
  auto differs = [&](const std::string& face, const std::string& node, const std::string& what) {
    found.push_back(fmt::format("{} of {}: {}", face, node, what));
  };
  const auto all = status();
  std::vector<std::string> top_words{"top", "--once"};
  top_words.insert(top_words.end(), flags_.begin(), flags_.end());
  const std::string top = cluster_.lockstep(top_words).output;
  std::map<std::string, int> metrics;
  for (const auto& [node, said] : all) {
    const Json why = run_json({"why", node});
    const Json& pool = *find(why, "pools");
    const Json& told = pool.is_array() && !pool.get_array().empty()
                           ? find(pool.get_array()[0], "nodes")->get_array()[0]
                           : pool;
    if (text_at(told, "reason", "name") != said.reason ||
        text_at(told, "reason", "remedy") != said.remedy) {
      differs("why", node, print_json(told));
    }
    const size_t row = top.find("\n" + node + " ");
    const std::string line =
        row == std::string::npos ? "" : top.substr(row + 1, top.find('\n', row + 1) - row - 1);
    if (line.find(" " + said.reason + ": ") == std::string::npos) differs("top", node, line);
    auto card =
        parse_json(cluster_.sh(fmt::format("curl --silent '{}api/nodes/{}'", url_, node)).output);
    if (!card || text_at(*card, "reason", "name") != said.reason ||
        text_at(*card, "reason", "remedy") != said.remedy) {
      differs("dashboard", node, card ? print_json(*find(*card, "reason")) : "nothing");
    }
    if (is_waiting(said.state) || is_counted(said.state)) {
      ++metrics[metric_line(said.state, said.reason)];
    }
    // What blocks a node, or failed it, is a Warning event.
    if (said.reason == "BlockedByDisruptionBudget") {
      bool told_so = false;
      for (const Json& event : cluster_.list(resource::events)) {
        told_so = told_so ||
                  (text_at(event, "involvedObject", "name") == node &&
                   text_at(event, "type") == "Warning" &&
                   text_at(event, "message").find("PodDisruptionBudget") != std::string_view::npos);
      }
      if (!told_so) differs("Events", node, "no Warning names the budget");
    }
  }
  for (const auto& [line, count] : metrics) {
    const std::string value = cluster_.metric(controller_, line);
    if (value != std::to_string(count)) differs("metrics", line, value);
  }
  return found;
}

void compare_faces_through_a_rollout(Cluster& cluster, const Child& controller,
                                     const std::vector<std::string>& flags) {
  auto must = [&](const std::string& script) {
    const ProcessOutput run = cluster.sh(script);
    ASSERT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
  };
  Faces faces(cluster, controller, flags);
  std::vector<std::string> last;
  auto agree = [&] {
    return cluster.wait([&] {
      last = faces.differences();
      return last.empty();
    });
  };
  auto lockstep = [&](std::vector<std::string> words) {
    words.insert(words.end(), flags.begin(), flags.end());
    return cluster.lockstep(words);
  };
  auto phase = [&] {
    return text_at(cluster.get(fleet::driver_rollouts, "driver"), "status", "phase");
  };
  auto rollout_says = [&](const std::string& reason) {
    return text_at(cluster.get(fleet::driver_rollouts, "driver"), "status", "reason") == reason;
  };

  // At the start all run the driver that they should have.
  ASSERT_TRUE(agree()) << join(last, "\n");
  EXPECT_NE(lockstep({"status"}).output.find("4/4 run 580.105.08"), std::string::npos);

  must(R"(kubectl create poddisruptionbudget inference -n ml-training \
  --selector=app=inference --min-available=2
kubectl create -f - <<END
apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {name: driver}
spec:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  onFailure: Hold
  policy:
    {maxParallelUpgrades: 4, maxUnavailable: "100%", maxFailures: 1,
     podDeletion: {timeoutSeconds: 0}}
  waves:
    - {name: all, nodes: {rest: true}}
END)");
  ASSERT_TRUE(cluster.wait([&] { return rollout_says("NothingToDo"); }));
  cluster.set_version("580.126.20");

  // Two nodes are blocked, and stay so.
  ASSERT_TRUE(cluster.wait([&] { return faces.count("BlockedByDisruptionBudget") == 2; }))
      << lockstep({"status"}).output;
  ASSERT_TRUE(cluster.wait([&] { return faces.count("InSync") == 2; }));
  ASSERT_TRUE(agree()) << join(last, "\n");
  const std::string status = lockstep({"status"}).output;
  EXPECT_NE(status.find("2/4 run 580.126.20"), std::string::npos) << status;
  EXPECT_NE(status.find("2/4 "), std::string::npos) << status;

  // They fail, and the rollout holds.
  must(R"(kubectl patch driverrollout driver --type=merge \
  -p '{"spec":{"policy":{"podDeletion":{"timeoutSeconds":1}}}}')");
  ASSERT_TRUE(cluster.wait([&] { return phase() == "Held"; })) << phase();
  ASSERT_TRUE(cluster.wait([&] {
    int failed = 0;
    for (const auto& [name, node] : cluster.nodes()) {
      if (node.state == "upgrade-failed") ++failed;
    }
    return failed == 2;
  }));
  ASSERT_TRUE(agree()) << join(last, "\n");

  // Rolled back, the arrow points to the version that they go to.
  must("kubectl delete poddisruptionbudget inference -n ml-training");
  EXPECT_EQ(lockstep({"rollout", "rollback", "driver", "--reason", "a storm"}).exit_code, 0);
  EXPECT_NE(text_at(cluster.get(fleet::driver_rollouts, "driver"), "metadata", "annotations",
                    "lockstep.dev/steered")
                .find("a storm"),
            std::string_view::npos);
  ASSERT_TRUE(cluster.wait([&] { return phase() == "RolledBack"; })) << phase();
  ASSERT_TRUE(agree()) << join(last, "\n");
  EXPECT_NE(lockstep({"rollout", "status", "driver"}).output.find("580.126.20 -> 580.105.08"),
            std::string::npos);
  EXPECT_NE(lockstep({"status"}).output.find("4/4 run 580.105.08"), std::string::npos);
}

}  // namespace lockstep::commands
