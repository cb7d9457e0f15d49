// `lockstep controller --notify-url`: a webhook on this machine is notified of an upgrade, also
// when it refuses at first; and the address is in no message.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "http/scripted_server_test_util.h"

namespace lockstep::commands::notify_test {
namespace {

using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;

TEST(Notifications, AWebhookIsToldOfAnUpgradeAndTriedAgain) {
  std::atomic<int> asked = 0;
  ScriptedServer webhook([&](const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(asked++ == 0 ? 503 : 200, "");
  });
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(2, 200);
  Child& controller = cluster.start_controller(
      "controller", {"--notify-url", webhook.url() + "/hooks/HIDDEN?sig=HIDDEN", "--notify-form",
                     "json", "--notify-cluster", "test", "--allow-gate-addresses", "127.0.0.0/8"});
  cluster.require("the fleet at rest", [&] { return cluster.is_everyone("upgrade-done"); });
  cluster.set_version("580.126.20");

  auto events = [&] {
    std::map<std::string, int> told;
    for (const ReceivedRequest& request : webhook.requests()) {
      EXPECT_EQ(request.method, "POST");
      EXPECT_EQ(request.target, "/hooks/HIDDEN?sig=HIDDEN");
      auto body = parse_json(request.body);
      EXPECT_TRUE(body.has_value()) << request.body;
      if (!body) continue;
      EXPECT_EQ(text_at(*body, "cluster"), "test");
      ++told[std::string(text_at(*body, "event"))];
    }
    return told;
  };
  EXPECT_TRUE(cluster.wait([&] { return events()["UpgradeEnded"] > 0; }));
  EXPECT_EQ(events()["UpgradeBegan"], 2) << "it was refused once";
  EXPECT_EQ(events()["UpgradeEnded"], 1);
  EXPECT_TRUE(cluster.wait([&] {
    return cluster.metric(controller, "lockstep_notifications_total{outcome=\"sent\"}") == "2";
  }));
  EXPECT_EQ(controller.output().find("HIDDEN"), std::string::npos) << controller.output();
}

TEST(Notifications, AnAddressThatIsNoneIsRefusedAtOnce) {
  Cluster cluster;
  cluster.serve();
  ProcessOutput run = cluster.lockstep({"controller", "--notify-url", "hooks.example.com/HIDDEN"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.error.find("--notify-url"), std::string::npos) << run.error;
  EXPECT_EQ(run.error.find("HIDDEN"), std::string::npos) << run.error;
  run = cluster.lockstep({"controller", "--notify-url", "http://169.254.169.254/HIDDEN"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.error.find("--allow-gate-addresses"), std::string::npos) << run.error;
  EXPECT_EQ(run.error.find("HIDDEN"), std::string::npos) << run.error;
}

}  // namespace
}  // namespace lockstep::commands::notify_test
