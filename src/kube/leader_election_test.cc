#include "kube/leader_election.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/fault_api.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::leader_election_test {
namespace {

const ObjectKey lease_key{"lockstep", "leader"};

struct Candidate {
  Candidate(Api& api, Loop& loop, Random& random, Log& log, std::string identity) {
    LeaderElectionOptions options;
    options.lease = lease_key;
    options.identity = std::move(identity);
    options.on_started_leading = [this] {
      EXPECT_FALSE(leads);
      leads = true;
      ++terms;
    };
    options.on_stopped_leading = [this] {
      EXPECT_TRUE(leads);
      leads = false;
    };
    options.on_new_leader = [this](const std::string& leader) { leaders.push_back(leader); };
    EXPECT_TRUE(LeaderElection::check(options));
    election = std::make_unique<LeaderElection>(api, loop, random, log, options);
  }
  bool leads = false;
  int terms = 0;
  std::vector<std::string> leaders;
  std::unique_ptr<LeaderElection> election;
};

class LeaderElectionTest : public ::testing::Test {
 protected:
  std::unique_ptr<Candidate> candidate(std::string identity) {
    return std::make_unique<Candidate>(api, loop, random, log, std::move(identity));
  }
  const Json& lease() { return *api.objects(resource::leases).at(lease_key); }
  std::string_view holder() { return text_at(lease(), "spec", "holderIdentity"); }
  void put_lease(Json spec) {
    Json lease = fake_object(resource::leases, lease_key);
    lease.as_object()["spec"] = std::move(spec);
    api.put(resource::leases, lease_key, std::move(lease));
  }
  void refuse(Verb verb, size_t times, Reply reply) {
    auto left = std::make_shared<size_t>(times);
    api.intercept = [=](const Request& request) -> std::optional<Reply> {
      if (request.verb != verb || *left == 0) return std::nullopt;
      --*left;
      return reply;
    };
  }

  VirtualLoop loop{1};
  SeededRandom random{1};
  SilentLog log;
  FakeApi api{loop};
};

TEST_F(LeaderElectionTest, MakesTheLeaseAndRenewsIt) {
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(1));
  EXPECT_TRUE(a->leads);
  EXPECT_TRUE(a->election->is_leading());
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(as_integer(find(lease(), "spec", "leaseDurationSeconds")), 15);
  EXPECT_EQ(as_integer(find(lease(), "spec", "leaseTransitions")), 0);
  std::string first(text_at(lease(), "spec", "renewTime"));
  EXPECT_EQ(first.size(), std::string("2026-01-01T00:00:00.000000Z").size());
  std::string acquired(text_at(lease(), "spec", "acquireTime"));
  loop.run_for(minutes(10));
  EXPECT_TRUE(a->leads);
  EXPECT_EQ(a->terms, 1);
  EXPECT_NE(text_at(lease(), "spec", "renewTime"), first);
  EXPECT_EQ(text_at(lease(), "spec", "acquireTime"), acquired);
  // One call for each renewal: no read before the write.
  EXPECT_LE(api.count(Verb::get), 1u);
  EXPECT_GE(api.count(Verb::update), 250u);
}

TEST_F(LeaderElectionTest, WhatTheLeaderPublishesIsOnTheLeaseAndNobodyElsesIsLost) {
  Json lease_of_old = fake_object(resource::leases, lease_key);
  lease_of_old.as_object()["metadata"].as_object()["annotations"] =
      JsonObject{{"a", "kept"}, {"lockstep.dev/key-domain", "nvidia.com"}};
  lease_of_old.as_object()["spec"] = JsonObject{{"holderIdentity", ""}};
  api.put(resource::leases, lease_key, std::move(lease_of_old));
  LeaderElectionOptions options;
  options.lease = lease_key;
  options.identity = "new";
  options.annotations = {{"lockstep.dev/key-domain", "lockstep.dev"}};
  LeaderElection election(api, loop, random, log, options);
  election.start();
  loop.run_for(seconds(5));
  const Json* annotations = find(lease(), "metadata", "annotations");
  ASSERT_NE(annotations, nullptr);
  EXPECT_EQ(text_at(*annotations, "lockstep.dev/key-domain"), "lockstep.dev");
  EXPECT_EQ(text_at(*annotations, "a"), "kept");
}

TEST_F(LeaderElectionTest, TheSecondTakesOverWhenTheFirstDies) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->election->start();
  loop.run_for(seconds(1));
  b->election->start();
  loop.run_for(minutes(1));
  EXPECT_TRUE(a->leads);
  EXPECT_FALSE(b->leads);
  EXPECT_EQ(b->leaders, std::vector<std::string>{"a"});
  a->election.reset();
  loop.run_for(seconds(12));
  EXPECT_FALSE(b->leads);
  loop.run_for(seconds(12));
  EXPECT_TRUE(b->leads);
  EXPECT_EQ(b->leaders, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(as_integer(find(lease(), "spec", "leaseTransitions")), 1);
}

TEST_F(LeaderElectionTest, AnotherClockIsNotTrusted) {
  // Its clock is years behind: by that the lease has long expired, but it was seen just now.
  put_lease({{"holderIdentity", "other"},
             {"leaseDurationSeconds", 15},
             {"renewTime", "1999-01-01T00:00:00.000000Z"}});
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(14));
  EXPECT_FALSE(a->leads);
  loop.run_for(seconds(10));
  EXPECT_TRUE(a->leads);
}

TEST_F(LeaderElectionTest, ASteppedClockChangesNothing) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->election->start();
  loop.run_for(seconds(1));
  b->election->start();
  for (int i = 0; i < 20; ++i) {
    loop.step_clock(i % 2 == 0 ? hours(5) : -hours(9));
    loop.run_for(seconds(30));
    EXPECT_TRUE(a->leads);
    EXPECT_FALSE(b->leads);
  }
}

TEST_F(LeaderElectionTest, ReleaseLetsTheNextLeadAtOnce) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->election->start();
  loop.run_for(seconds(1));
  b->election->start();
  loop.run_for(seconds(30));
  bool stopped = false;
  a->election->stop([&] { stopped = true; });
  EXPECT_FALSE(a->leads);
  loop.run_for(milliseconds(100));
  EXPECT_TRUE(stopped);
  loop.run_for(seconds(5));
  EXPECT_TRUE(b->leads);
  EXPECT_EQ(holder(), "b");
}

TEST_F(LeaderElectionTest, AReleasedLeaseSaysSo) {
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(1));
  a->election->stop();
  loop.run_for(seconds(1));
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(as_integer(find(lease(), "spec", "leaseDurationSeconds")), 1);
  // And it may begin again.
  a->election->start();
  loop.run_for(seconds(1));
  EXPECT_TRUE(a->leads);
}

TEST_F(LeaderElectionTest, WhoNeverLedReleasesNothing) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->election->start();
  loop.run_for(seconds(1));
  b->election->start();
  loop.run_for(seconds(5));
  bool stopped = false;
  b->election->stop([&] { stopped = true; });
  loop.run_for(seconds(5));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(holder(), "a");
  EXPECT_TRUE(a->leads);
}

TEST_F(LeaderElectionTest, ReleaseIsTriedAgainThenLeftToExpire) {
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(1));
  bool stopped = false;
  refuse(Verb::update, 1, status_answer(409, "Conflict"));
  a->election->stop([&] { stopped = true; });
  loop.run_for(seconds(5));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(holder(), "");

  a->election->start();
  loop.run_for(seconds(1));
  stopped = false;
  refuse(Verb::update, 1000, status_answer(500, "InternalError"));
  a->election->stop([&] { stopped = true; });
  loop.run_for(minutes(1));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(holder(), "a");
}

TEST_F(LeaderElectionTest, StopsLeadingAtTheDeadline) {
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(1));
  Duration renewed = a->election->last_renewal();
  api.intercept = [](const Request&) -> std::optional<Reply> {
    return fail(ErrorKind::unreachable, "down");
  };
  EXPECT_TRUE(loop.run_until([&] { return !a->leads; }, seconds(30)));
  EXPECT_LE(loop.uptime(), renewed + seconds(10) + seconds(3));
  EXPECT_EQ(loop.uptime(), a->election->last_renewal() + seconds(10));
  // It comes back by itself.
  api.intercept = nullptr;
  loop.run_for(seconds(20));
  EXPECT_TRUE(a->leads);
  EXPECT_EQ(a->terms, 2);
  EXPECT_EQ(as_integer(find(lease(), "spec", "leaseTransitions")), 0);
}

TEST_F(LeaderElectionTest, SurvivesSingleFailures) {
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(1));
  for (Reply reply :
       {Reply(status_answer(409, "Conflict")), Reply(status_answer(500, "InternalError")),
        Reply(status_answer(429, "TooManyRequests", "busy", seconds(1))),
        Reply(fail(ErrorKind::timed_out, "no answer"))}) {
    refuse(Verb::update, 1, reply);
    loop.run_for(seconds(30));
    EXPECT_TRUE(a->leads);
    refuse(Verb::get, 1, reply);
    loop.run_for(seconds(30));
    EXPECT_TRUE(a->leads);
  }
  EXPECT_EQ(a->terms, 1);
}

TEST_F(LeaderElectionTest, SurvivesARequestThatHangs) {
  ScriptedFaults faults;
  FaultApi faulty(api, loop, faults);
  Candidate a(faulty, loop, random, log, "a");
  a.election->start();
  loop.run_for(seconds(1));
  CallPlan lost;
  lost.fault = Fault::request_lost;
  faults.on_call(ScriptedFaults::calls(Verb::update, resource::leases), lost);
  loop.run_for(minutes(1));
  EXPECT_EQ(faults.unused(), 0u);
  EXPECT_EQ(a.terms, 1);
  EXPECT_TRUE(a.leads);
  CallPlan reply_lost;
  reply_lost.fault = Fault::reply_lost;
  faults.on_call(ScriptedFaults::calls(Verb::update, resource::leases), reply_lost);
  loop.run_for(minutes(1));
  EXPECT_EQ(a.terms, 1);
  EXPECT_TRUE(a.leads);
}

TEST_F(LeaderElectionTest, ADeletedLeaseIsMadeAgainByItsHolder) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->election->start();
  loop.run_for(seconds(1));
  b->election->start();
  loop.run_for(seconds(30));
  for (int i = 0; i < 10; ++i) {
    api.erase(resource::leases, lease_key);
    loop.run_for(seconds(30));
    EXPECT_TRUE(a->leads);
    EXPECT_FALSE(b->leads);
  }
}

TEST_F(LeaderElectionTest, WhoSeesAnotherHolderStopsAtOnce) {
  auto a = candidate("a");
  a->election->start();
  loop.run_for(seconds(1));
  put_lease({{"holderIdentity", "usurper"}, {"leaseDurationSeconds", 15}});
  loop.run_for(seconds(5));
  EXPECT_FALSE(a->leads);
  EXPECT_EQ(a->election->leader(), "usurper");
}

TEST_F(LeaderElectionTest, GarbageIsTakenOverAfterItsTime) {
  std::vector<Json> garbage = {
      nullptr,
      "text",
      JsonObject{},
      JsonArray{1, 2},
      {{"holderIdentity", 5}, {"leaseTransitions", "many"}},
      {{"holderIdentity", "ghost"}, {"leaseDurationSeconds", -4}, {"renewTime", "yesterday"}},
      {{"holderIdentity", "ghost"}, {"leaseDurationSeconds", 2'000'000'000}},
      {{"holderIdentity", "ghost"}, {"leaseTransitions", INT64_MAX}},
  };
  for (const Json& spec : garbage) {
    SCOPED_TRACE(print_json(spec));
    put_lease(spec);
    auto a = candidate("a");
    a->election->start();
    loop.run_for(seconds(30));
    EXPECT_TRUE(a->leads);
    EXPECT_EQ(holder(), "a");
    EXPECT_LE(as_integer(find(lease(), "spec", "leaseTransitions")), INT32_MAX);
  }
}

TEST_F(LeaderElectionTest, WhatOthersPutIntoTheLeaseStays) {
  Json lease_object = fake_object(resource::leases, lease_key);
  ensure_object(lease_object.as_object(), "metadata")["labels"] = JsonObject{{"team", "gpu"}};
  api.put(resource::leases, lease_key, std::move(lease_object));
  auto a = candidate("a");
  a->election->start();
  loop.run_for(minutes(1));
  EXPECT_EQ(text_at(lease(), "metadata", "labels", "team"), "gpu");
}

TEST_F(LeaderElectionTest, RefusesDurationsThatCannotHold) {
  LeaderElectionOptions options;
  options.lease = lease_key;
  options.identity = "a";
  EXPECT_TRUE(LeaderElection::check(options));
  options.renew_deadline = seconds(15);
  EXPECT_FALSE(LeaderElection::check(options));
  options.renew_deadline = seconds(2);
  EXPECT_FALSE(LeaderElection::check(options));
  options = {};
  EXPECT_FALSE(LeaderElection::check(options));
}

TEST_F(LeaderElectionTest, CallbacksMayDestroyIt) {
  for (int which = 0; which < 3; ++which) {
    std::unique_ptr<LeaderElection> election;
    LeaderElectionOptions options;
    options.lease = {"lockstep", "lease-" + std::to_string(which)};
    options.identity = "a";
    auto destroy = [&] { election.reset(); };
    if (which == 0) options.on_started_leading = destroy;
    if (which == 1) options.on_stopped_leading = destroy;
    if (which == 2) options.on_new_leader = [&](const std::string&) { destroy(); };
    election = std::make_unique<LeaderElection>(api, loop, random, log, options);
    election->start();
    loop.run_for(seconds(5));
    if (which == 1) election->stop();
    loop.run_for(minutes(1));
    EXPECT_EQ(election, nullptr);
  }
}

// Three candidates, each behind a network of its own, which fails as it likes; some are killed and
// come back under a new name.
TEST(LeaderElectionUnderFaults, NeverTwoLeadersAndInTheEndOne) {
  int total_terms = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    VirtualLoop loop(seed);
    SeededRandom random(seed);
    SilentLog log;
    FakeApi api(loop);
    api.latency = milliseconds(static_cast<int64_t>(seed % 50));
    std::vector<std::unique_ptr<RandomFaults>> faults;
    std::vector<std::unique_ptr<FaultApi>> networks;
    std::vector<std::unique_ptr<Candidate>> candidates;
    for (int i = 0; i < 3; ++i) {
      auto weights = FaultWeights::everything(0.3 * static_cast<double>(1 + seed % 4));
      faults.push_back(std::make_unique<RandomFaults>(weights, random));
      networks.push_back(std::make_unique<FaultApi>(api, loop, *faults.back()));
      candidates.push_back(
          std::make_unique<Candidate>(*networks.back(), loop, random, log, std::to_string(i)));
      candidates.back()->election->start();
    }
    int next_identity = 3;
    auto leaders = [&] {
      return std::count_if(candidates.begin(), candidates.end(),
                           [](const auto& each) { return each->leads; });
    };
    Duration next_disturbance = seconds(20);
    while (loop.uptime() < minutes(10) && loop.step()) {
      ASSERT_LE(leaders(), 1);
      if (loop.uptime() < next_disturbance) continue;
      next_disturbance = loop.uptime() + seconds(static_cast<int64_t>(random.below(40)));
      size_t victim = random.below(3);
      total_terms += candidates[victim]->terms;
      switch (random.below(5)) {
        case 0:  // killed, and a successor
          candidates[victim] = std::make_unique<Candidate>(*networks[victim], loop, random, log,
                                                           std::to_string(next_identity++));
          candidates[victim]->election->start();
          break;
        case 1:  // stopped, and started again
          candidates[victim]->election->stop(
              [election = candidates[victim]->election.get()] { election->start(); });
          break;
        case 2:
          loop.step_clock(seconds(static_cast<int64_t>(random.below(7200))) - hours(1));
          break;
        default:
          break;
      }
    }
    for (auto& each : faults) each->weights = {};
    loop.run_for(minutes(2));
    ASSERT_EQ(leaders(), 1);
    loop.run_for(minutes(2));
    ASSERT_EQ(leaders(), 1);
  }
  EXPECT_GT(total_terms, 120);
}

}  // namespace
}  // namespace lockstep::kube::leader_election_test
