#include "doctor/access_checks.h"

#include "doctor/doctor_test_util.h"

namespace lockstep::doctor::access_checks_test {
namespace {

TEST(RightsCheck, OneThatIsMissingIsNamed) {
  ClusterView view = healthy();
  expect_fine(check_rights(view));
  view.rights[3].second = false;
  expect_wrong(check_rights(view), "the controller may not: patch nodes", "lockstep install");
}

TEST(RightsCheck, WhatIsNotAnsweredIsNotFine) {
  ClusterView view = healthy();
  view.rights[0].second = std::nullopt;
  EXPECT_EQ(check_rights(view).verdict, Verdict::skipped);
  view.rights.clear();
  EXPECT_EQ(check_rights(view).verdict, Verdict::skipped);
}

TEST(Clocks, ThisMachineAgainstTheServer) {
  ClusterView view = healthy();
  expect_fine(check_clocks(view));
  view.server_ahead = minutes(3);
  view.heartbeats.clear();
  expect_wrong(check_clocks(view), "the server is ahead", "timedatectl");
  view.server_ahead = -minutes(3);
  expect_wrong(check_clocks(view), "this machine is ahead", "timedatectl");
  view.server_ahead.reset();
  EXPECT_EQ(check_clocks(view).verdict, Verdict::skipped);
}

TEST(Clocks, AKubeletThatLivesInTheFuture) {
  ClusterView view = healthy();
  view.heartbeats.emplace_back("gpu-2", test_time + minutes(2));
  expect_wrong(check_clocks(view), "gpu-2", "on these nodes");
  // Against the server's clock it is right.
  view.server_ahead = seconds(4);
  view.heartbeats = {{"gpu-2", test_time + seconds(13)}};
  expect_fine(check_clocks(view));
}

TEST(Certificates, ThatEndSoonAreWarnedOfAndExpiredOnesAreWrong) {
  ClusterView view = healthy();
  expect_fine(check_certificates(view));
  view.certificates.push_back({"webhook guard", test_time + hours(24 * 3), "renew it"});
  EXPECT_EQ(check_certificates(view).verdict, Verdict::warning);
  view.certificates.push_back({"server", test_time - hours(1), "kubeadm certs renew all"});
  expect_wrong(check_certificates(view), "server: expired", "kubeadm certs renew all");
  view.certificates.clear();
  EXPECT_EQ(check_certificates(view).verdict, Verdict::skipped);
}

Webhook make_webhook() {
  Webhook webhook;
  webhook.configuration = "validatingwebhookconfiguration/guard";
  webhook.name = "guard.example.com";
  webhook.index = 1;
  webhook.service = {"guard", "webhook"};
  webhook.asked_about = {"evictions"};
  return webhook;
}

TEST(WebhooksCheck, OneThatNobodyAnswersBlocksEvictions) {
  ClusterView view = healthy();
  expect_fine(check_webhooks(view));
  view.webhooks = {make_webhook()};
  expect_wrong(check_webhooks(view), "blocks evictions",
               "kubectl patch validatingwebhookconfiguration/guard --type=json");
  EXPECT_NE(check_webhooks(view).fix.find("/webhooks/1/failurePolicy"), std::string::npos);
  view.ready_services = {{"guard", "webhook"}};
  expect_fine(check_webhooks(view));
}

TEST(WebhooksCheck, OneThatFailsOpenOrIsNotAskedIsFine) {
  ClusterView view = healthy();
  view.webhooks = {make_webhook()};
  view.webhooks[0].fails_closed = false;
  expect_fine(check_webhooks(view));
  view.webhooks = {make_webhook()};
  view.webhooks[0].asked_about.clear();
  expect_fine(check_webhooks(view));
}

}  // namespace
}  // namespace lockstep::doctor::access_checks_test
