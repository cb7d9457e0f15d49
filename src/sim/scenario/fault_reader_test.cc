#include "sim/scenario/fault_reader.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim::fault_reader_test {
namespace {

Result<Scenario> read(const std::string& more) {
  return read_scenario("name: s\n" + more + "\nexpect: {done: all}\n", "s.yaml");
}

std::string error_of(const std::string& more) {
  auto scenario = read(more);
  return scenario ? "" : scenario.error().text();
}

TEST(FaultReader, ReadsEveryFaultByItsName) {
  auto scenario = read(R"(
faults:
  {requestLost: 0.01, requestLate: 0.02, replyLost: 0.03, conflict: 0.04, expired: 0.05,
   throttled: 0.06, serverError: 0.07, watchRefused: 0.08, watchDropped: 0.09, watchExpired: 0.1,
   watchSilent: 0.11, staleReplica: 0.12, staleReads: 0.13, listCut: 0.14, pageSize: 2,
   watchLife: 2m, latency: 1s, retryAfter: 20s, replicaLag: 90s,
   watchLag: {default: 2s, pods: 30s, daemonsets: 1m}, fleet: {replyLost: 0.5},
   outage: {at: 10m, for: 3m}}
)");
  ASSERT_TRUE(scenario) << scenario.error().text();
  const kube::FaultWeights& weights = *scenario->controller_weights;
  double sum = weights.request_lost + weights.request_late + weights.reply_lost + weights.conflict +
               weights.expired + weights.throttled + weights.server_error + weights.watch_refused +
               weights.watch_dropped + weights.watch_expired + weights.watch_silent +
               weights.stale_replica + weights.stale_reads + weights.list_cut;
  EXPECT_NEAR(sum, 14 * 15 / 2 * 0.01, 1e-9);
  EXPECT_EQ(weights.request_late, 0.02);
  EXPECT_EQ(weights.watch_silent, 0.11);
  EXPECT_EQ(weights.page_size, 2u);
  EXPECT_EQ(weights.watch_life, minutes(2));
  EXPECT_EQ(weights.latency, seconds(1));
  EXPECT_EQ(weights.retry_after, seconds(20));
  EXPECT_EQ(weights.replica_lag, seconds(90));
  EXPECT_EQ(weights.watch_lag_for(resource::nodes), seconds(2));
  EXPECT_EQ(weights.watch_lag_for(resource::pods), seconds(30));
  EXPECT_EQ(weights.watch_lag_for(resource::daemon_sets), minutes(1));
  EXPECT_EQ(scenario->fleet_weights->reply_lost, 0.5);
  EXPECT_EQ(scenario->fleet_weights->request_lost, 0);
  ASSERT_EQ(scenario->steps.size(), 1u);
  EXPECT_EQ(scenario->steps[0].action, "outage");
  EXPECT_EQ(scenario->steps[0].at, minutes(10));
  EXPECT_EQ(as_text(&scenario->steps[0].value), "3m");
}

TEST(FaultReader, NamesGoOverTheStrength) {
  auto scenario = read("controllerFaults: 0.5\nfaults: {replyLost: 0, watchLag: 7s}");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->controller_weights->reply_lost, 0);
  EXPECT_EQ(scenario->controller_weights->watch_lag, seconds(7));
  EXPECT_EQ(scenario->controller_weights->conflict, kube::FaultWeights::everything(0.5).conflict);
  EXPECT_FALSE(scenario->fleet_weights);
}

// Notes what its user watches.
class WatchNotes final : public kube::Api {
 public:
  WatchNotes(kube::Api& inner, std::set<ResourceType>& watched)
      : inner_(inner), watched_(watched) {}

  void call(kube::Request request, kube::ReplyCallback done) override {
    inner_.call(std::move(request), std::move(done));
  }
  std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                     kube::WatchHandler handler) override {
    watched_.insert(request.type);
    return inner_.watch(std::move(request), std::move(handler));
  }

 private:
  kube::Api& inner_;
  std::set<ResourceType>& watched_;
};

TEST(FaultReader, EveryWatchOfTheControllerCanLag) {
  auto scenario = read(R"(
nodes: 2
to: "580.126.20"
healPlugins: true
rollout:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves: [{name: all, nodes: {rest: true}, gates: [driver]}]
)");
  ASSERT_TRUE(scenario) << scenario.error().text();
  std::set<ResourceType> watched;
  RunOptions options;
  options.wrap = [&](kube::Api& inner) { return std::make_unique<WatchNotes>(inner, watched); };
  EXPECT_TRUE(run_scenario(*scenario, options).ok());
  EXPECT_GE(watched.size(), 11u);
  for (const ResourceType& type : watched) {
    auto lags = read(fmt::format("faults: {{watchLag: {{{}: 7s}}}}", type.plural));
    ASSERT_TRUE(lags) << lags.error().text();
    EXPECT_EQ(lags->controller_weights->watch_lag_for(type), seconds(7)) << type.full_name();
  }
}

TEST(FaultReader, LagsArePrintedAsTheyWereRead) {
  for (const ResourceType* type : lagging_types()) {
    auto scenario = read(fmt::format("faults: {{watchLag: {{{}: 7s}}}}", type->plural));
    ASSERT_TRUE(scenario) << scenario.error().text();
    EXPECT_EQ(print_json(faults_json(*scenario)),
              fmt::format(R"({{"watchLag":{{"{}":"7s"}}}})", type->plural));
  }
}

TEST(FaultReader, ReadsACrash) {
  Json json = JsonObject{{"afterWrite", 3}, {"away", "7m"}};
  EXPECT_EQ(read_again(json, read_crash_step), (Crash{3, minutes(7)}));
}

TEST(FaultReader, SaysWhatIsWrongAndWhatIsNear) {
  const std::pair<std::string, std::string> cases[] = {
      {"faults: {replyLots: 0.1}",
       "s.yaml:2:10: faults.replyLots: unknown field; did you mean \"replyLost\"?"},
      {"faults: {replyLost: 2}",
       "s.yaml:2:10: faults.replyLost: must be a number from 0 to 1, not 2"},
      {"faults: {watchLag: {pod: 3s}}",
       "s.yaml:2:21: faults.watchLag.pod: unknown field; did you mean \"pods\"?"},
      {"faults: {watchLag: {shoes: 3s}}",
       "s.yaml:2:21: faults.watchLag.shoes: unknown field; expected one of: default, nodes, pods, "
       "daemonsets, controllerrevisions, resourceclaims, resourceslices, poddisruptionbudgets, "
       "clusterpolicies, nvidiadrivers, driverrollouts, configmaps"},
      {"faults: {fleet: {conflicts: 0.1}}",
       "s.yaml:2:18: faults.fleet.conflicts: unknown field; did you mean \"conflict\"?"},
      {"faults: {outage: {at: 10m}}", "s.yaml:2:10: faults.outage: needs how long"},
      {"steps: [{olderReplica: {for: 3m}}]", "s.yaml:2:10: steps[0].olderReplica: needs how old"},
      {"steps: [{crash: {away: 3m}}]", "s.yaml:2:10: steps[0].crash.afterWrite: is missing"},
      {"steps: [{crash: {afterWrite: 0}}]",
       "s.yaml:2:18: steps[0].crash.afterWrite: must be a whole"},
      {"steps: [{rebootNodes: 1m}]", "s.yaml:2:10: steps[0].rebootNodes: needs nodes: which ones"},
      {"steps: [{rebootNodes: true, nodes: [1]}]",
       "s.yaml:2:10: steps[0].rebootNodes: must be a duration such as 90s or 1h30m, not true"},
      {"steps: [{outage: \"-3m\"}]", "s.yaml:2:10: steps[0].outage: must be a duration"},
      {"steps: [{nodes: [1], outage: 3m}]",
       "s.yaml:2:10: steps[0].nodes: means nothing to outage; remove it"},
      {"steps: [{nodes: [1], setMachine: {slownes: 3}}]",
       "s.yaml:2:35: steps[0].setMachine.slownes: unknown field; did you mean \"slowness\"?"},
  };
  for (const auto& [text, expected] : cases) {
    std::string error = error_of(text);
    EXPECT_TRUE(error.starts_with(expected)) << text << "\n  said " << error;
  }
  EXPECT_EQ(error_of("steps: [{clockStep: \"-1h\"}]"), "");
}

}  // namespace
}  // namespace lockstep::sim::fault_reader_test
