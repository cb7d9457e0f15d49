#include "audit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::real::audit_test {
namespace {

struct Write {
  std::string_view node;
  int version;
  std::string_view state;
  bool cordoned = false;
  std::string_view ready = "True";
  std::string_view verb = "patch";
  int code = 200;
};

std::string line_of(const Write& write) {
  return fmt::format(
      R"({{"stage":"ResponseComplete","verb":"{}","user":{{"username":"lockstep"}},)"
      R"("objectRef":{{"resource":"nodes","name":"{}"}},"responseStatus":{{"code":{}}},)"
      R"("responseObject":{{"metadata":{{"resourceVersion":"{}","labels":{{)"
      R"("nvidia.com/gpu-driver-upgrade-state":"{}"}}}},"spec":{{"unschedulable":{}}},)"
      R"("status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}}}})"
      "\n",
      write.verb, write.node, write.code, write.version, write.state, write.cordoned, write.ready);
}

std::string log_of(const std::vector<Write>& writes) {
  std::string log;
  for (const Write& write : writes) log += line_of(write);
  return log;
}

TEST(Audit, WritesAreInTheOrderInWhichTheyCameTrueNotInWhichTheyWereLogged) {
  auto history = node_history(log_of(
      {{"gpu-2", 12, "cordon-required"}, {"gpu-1", 11, "upgrade-required", true, "Unknown"}}));
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0],
            (NodeVersion{11, "gpu-1", "upgrade-required", true, false, false, "lockstep", Time()}));
  EXPECT_EQ(history[1],
            (NodeVersion{12, "gpu-2", "cordon-required", false, true, false, "lockstep", Time()}));
}

TEST(Audit, WhatWasRefusedAndWhatIsNoWriteAndAHalfLineAreLeftOut) {
  std::string log = log_of({{"gpu-1", 10, "upgrade-required"},
                            {"gpu-1", 11, "cordon-required", false, "True", "patch", 409},
                            {"gpu-1", 12, "cordon-required", false, "True", "get"}});
  log += line_of({"gpu-1", 13, "cordon-required"}).substr(0, 120);
  auto history = node_history(log);
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].version, 10u);
}

TEST(Audit, TheWorstMomentCounts) {
  Most most = most_at_once(node_history(log_of({
      {"gpu-1", 1, "cordon-required"},
      {"gpu-2", 2, "cordon-required"},
      {"gpu-1", 3, "upgrade-done"},
      {"gpu-3", 4, "upgrade-done", true},
      {"gpu-4", 5, "upgrade-done", false, "Unknown"},
      {"gpu-4", 6, "upgrade-done", false, "Unknown", "delete"},
  })));
  EXPECT_EQ(most.active, 2u);
  EXPECT_EQ(most.unavailable, 3u);  // gpu-2 is about to be cordoned, gpu-3 is, gpu-4 is not ready
}

TEST(Audit, CallsAreCountedByUserVerbAndResource) {
  std::string log = log_of({{"gpu-1", 1, ""}, {"gpu-2", 2, ""}});
  log += R"({"stage":"ResponseComplete","verb":"create","user":{"username":"lockstep"},)"
         R"("objectRef":{"resource":"pods","subresource":"eviction"}})"
         "\n"
         R"({"stage":"ResponseStarted","verb":"watch","user":{"username":"lockstep"},)"
         R"("objectRef":{"resource":"pods"}})"
         "\n"
         R"({"stage":"ResponseComplete","verb":"get","user":{"username":"somebody"},)"
         R"("objectRef":{"resource":"pods"}})"
         "\n";
  EXPECT_EQ(calls_of(log, "lockstep"),
            (std::map<std::string, size_t>{{"patch nodes", 2}, {"create pods/eviction", 1}}));
}

TEST(Audit, DeletionsAreCountedByPodOfTheseUsersWhenTheyWereNotRefused) {
  auto line = [](std::string_view user, std::string_view pod, int code) {
    return fmt::format(
        R"({{"stage":"ResponseComplete","verb":"delete","user":{{"username":"{}"}},)"
        R"("objectRef":{{"resource":"pods","name":"{}"}},"responseStatus":{{"code":{}}}}})"
        "\n",
        user, pod, code);
  };
  std::string log = line("lockstep", "driver-a", 200) + line("lockstep", "driver-b", 200) +
                    line("lockstep", "driver-b", 200) + line("lockstep", "driver-c", 404) +
                    line("kubelets", "driver-a", 200) + line("lockstep", "work", 200);
  EXPECT_EQ(deletions(log, "driver-", {"lockstep"}),
            (std::map<std::string, size_t>{{"driver-a", 1}, {"driver-b", 2}}));
}

TEST(Audit, EvictionsAreThoseOfOneUserThatWereNotRefused) {
  auto line = [](std::string_view user, std::string_view subresource, std::string_view pod,
                 int code) {
    return fmt::format(
        R"({{"stage":"ResponseComplete","verb":"create","user":{{"username":"{}"}},"objectRef":{{)"
        R"("resource":"pods","subresource":"{}","namespace":"team-a","name":"{}"}},)"
        R"("responseStatus":{{"code":{}}}}})"
        "\n",
        user, subresource, pod, code);
  };
  std::string log = line("lockstep", "eviction", "a", 201) +
                    line("lockstep", "eviction", "b", 429) + line("lockstep", "binding", "c", 201) +
                    line("another", "eviction", "d", 201) + line("lockstep", "eviction", "e", 201);
  EXPECT_EQ(evicted(log, "lockstep"), (std::set<std::string>{"team-a/a", "team-a/e"}));
}

TEST(Audit, TheControlPlanesOwnTimeIsFromTheEndOfAPodToTheBindingOfItsSuccessor) {
  auto line = [](std::string_view verb, std::string_view pod, std::string_view node,
                 std::string_view at, std::string_view user) {
    return fmt::format(
        R"({{"stage":"ResponseComplete","verb":"{}","user":{{"username":"{}"}},)"
        R"("objectRef":{{"resource":"pods","name":"{}"{}}},"responseStatus":{{"code":201}},)"
        R"("requestObject":{{"target":{{"name":"{}"}}}},"stageTimestamp":"2026-01-01T00:00:{}Z"}})"
        "\n",
        verb, user, pod, verb == "create" ? R"(,"subresource":"binding")" : "", node, at);
  };
  std::string log = line("create", "driver-a", "gpu-1", "01.000000", "scheduler") +
                    line("create", "driver-b", "gpu-2", "01.000000", "scheduler") +
                    line("create", "work", "gpu-1", "01.500000", "scheduler") +
                    // The controller asks for it, the kubelet does it.
                    line("delete", "driver-a", "", "02.000000", "lockstep") +
                    line("delete", "driver-a", "", "03.000000", "kubelets") +
                    line("create", "driver-c", "gpu-1", "03.250000", "scheduler");
  EXPECT_EQ(replacement_times(log, "driver-", "kubelets"),
            std::vector<Duration>{milliseconds(250)});
}

}  // namespace
}  // namespace lockstep::real::audit_test
