#include "sim/actors/writer.h"

#include <gtest/gtest.h>

#include "apiserver/verbs/cluster_test_util.h"
#include "apiserver/verbs/in_process_api.h"
#include "kube/fault_api.h"

namespace lockstep::sim::writer_test {
namespace {

kube::CallPlan plan(kube::Fault fault) {
  kube::CallPlan plan;
  plan.fault = fault;
  return plan;
}

struct WriterTest : ::testing::Test {
  apiserver::TestCluster cluster;
  apiserver::InProcessApi inner{cluster.backend, {"tester", {}, "test"}};
  kube::ScriptedFaults faults;
  kube::FaultApi api{inner, cluster.loop, faults};
  SeededRandom random{5};
  SilentLog log;
  Writer writer{Parts{api, cluster.loop, random, log}};
  std::optional<Result<Document>> result;

  void send(kube::Request request, uint32_t tries = 12) {
    result.reset();
    writer.send(
        std::move(request), [this](Result<Document> done) { result = std::move(done); }, tries);
    cluster.loop.run_for(minutes(20));
  }
  kube::Request make(std::string name) {
    return kube::create(
        resource::namespaces, "",
        JsonObject{
            {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name}}}});
  }
};

TEST_F(WriterTest, TriesAgainWhenNobodyAnswers) {
  auto create = kube::ScriptedFaults::calls(kube::Verb::create, resource::namespaces);
  for (auto fault : {kube::Fault::request_lost, kube::Fault::server_error, kube::Fault::throttled})
    faults.on_call(create, plan(fault));
  send(make("a"));
  ASSERT_TRUE(result);
  EXPECT_TRUE(*result);
  EXPECT_EQ(writer.counts().retried, 3u);
  EXPECT_TRUE(cluster.exists(resource::namespaces, {"", "a"}));
}

TEST_F(WriterTest, ACreateWhoseAnswerWasLostEndsAsExisting) {
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::create, resource::namespaces),
                 plan(kube::Fault::reply_lost));
  send(make("a"));
  ASSERT_TRUE(result);
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().kind, ErrorKind::exists);
}

TEST_F(WriterTest, AnAnswerIsAnAnswer) {
  send(merge_patch(resource::namespaces, {"", "nobody"}, JsonObject{}));
  ASSERT_TRUE(result);
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().kind, ErrorKind::not_found);
  EXPECT_EQ(writer.counts().retried, 0u);
}

TEST_F(WriterTest, GivesUpInTheEnd) {
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::create, resource::namespaces),
                 plan(kube::Fault::server_error), 100);
  send(make("a"), 3);
  ASSERT_TRUE(result);
  EXPECT_FALSE(*result);
  EXPECT_EQ(writer.counts().sent, 3u);
  EXPECT_EQ(writer.counts().gave_up, 1u);
}

TEST_F(WriterTest, RemovesOnlyThatVeryObject) {
  cluster.add_pod("web");
  send(remove_exactly(resource::pods, {"default", "web"}, "another", 0), 2);
  EXPECT_TRUE(cluster.exists(resource::pods, {"default", "web"}));
  Json pod = cluster.get(resource::pods, {"default", "web"});
  send(remove_exactly(resource::pods, {"default", "web"}, text_at(pod, "metadata", "uid"), 0));
  EXPECT_FALSE(cluster.exists(resource::pods, {"default", "web"}));
}

}  // namespace
}  // namespace lockstep::sim::writer_test
