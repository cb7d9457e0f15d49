// Says reasons of nodes and sees whether they are taken for true.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim {

class ReasonsTest : public InvariantTest {
 protected:
  void say(const std::string& node, std::string_view reason) {
    witness->check_reasons({{node, fleet::Reason{fleet::ReasonName::read(reason), "", ""}}});
  }
  bool is_accused(const std::string& node, std::string_view reason) {
    const size_t before = witness->violations().size();
    say(node, reason);
    return witness->violations().size() > before;
  }
  void expect_true(const std::string& node, const std::vector<std::string_view>& reasons) {
    for (std::string_view reason : reasons) {
      EXPECT_FALSE(is_accused(node, reason)) << witness->violations().back();
    }
  }
  void expect_false(const std::string& node, const std::vector<std::string_view>& reasons) {
    for (std::string_view reason : reasons) {
      EXPECT_TRUE(is_accused(node, reason)) << node << " says " << reason;
    }
  }
  void fail(const std::string& node, std::string_view reason) {
    patch(node, step(State::failed, {{fleet::failure_annotation, fmt::format("{}: so", reason)}}));
  }
  void change_policy(Json policy) {
    EXPECT_TRUE(cluster->call(merge_patch(
        cluster_policies, {"", "cluster-policy"},
        JsonObject{
            {"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", std::move(policy)}}}}}})));
    everybody_knows();
  }
  void behave(const std::string& node, const NodeBehaviour& behaviour) {
    cluster->kubelets().set_behaviour(node, behaviour);
  }
  // As long as anything may be unknown.
  void everybody_knows() { cluster->loop.run_for(seconds(10)); }

  // The driver has been restarted, and the validation begins.
  void go_to_validation(const std::string& node) {
    change_driver();
    go_to_restart(node);
    restart_driver(node);
    EXPECT_TRUE(
        run_until(*cluster, [&] { return has_driver(*cluster, node, new_version); }, minutes(10)));
    cluster->loop.run_for(seconds(2));
    go(node, {State::validation});
  }
  // As far as all that uses the driver has been renewed.
  void validate(const std::string& node) {
    go_to_validation(node);
    restart_client(node);
    EXPECT_EQ(remove(pod_on(validator_daemon_set_name, node)), 200);
    cluster->loop.run_for(minutes(15));
  }
};

}  // namespace lockstep::sim
