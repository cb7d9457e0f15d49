#include "sim/oracle/invariant_writes.h"

#include <algorithm>

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_writes_test {
namespace {

class WritesTest : public InvariantTest {
 protected:
  kube::Request request(kube::Verb verb, const ResourceType& type) {
    kube::Request made = kube::get(type, {"", "gpu-1"});
    made.verb = verb;
    return made;
  }
  void ask(const kube::Request& made, int times) {
    for (int i = 0; i < times; ++i) witness->see_request(made);
  }
};

TEST_F(WritesTest, SeesALoopWithoutAPauseAlsoWhenAllIsRefused) {
  start();
  ask(request(kube::Verb::patch, resource::nodes), BoundedWrites::most_calls_a_minute);
  expect_innocent();
  ask(request(kube::Verb::patch, resource::nodes), 50);
  expect_violation("patch nodes/gpu-1: 121 times within a minute");
}

// Where no time passes, as between two replicas without latency, this is what ends a run.
TEST_F(WritesTest, ALoopInOneInstantEndsTheRun) {
  start();
  ask(request(kube::Verb::patch, resource::nodes),
      static_cast<int>(Witness::most_violations + 1) * BoundedWrites::most_calls_a_minute);
  EXPECT_GE(witness->violations().size(), Witness::most_violations);
}

TEST_F(WritesTest, TheSameOverALongerTimeIsNoLoop) {
  start();
  for (int i = 0; i < 5; ++i) {
    ask(request(kube::Verb::patch, resource::nodes), BoundedWrites::most_calls_a_minute);
    cluster->loop.run_for(minutes(1));
  }
  expect_innocent();
}

TEST_F(WritesTest, ReadingAndTellingAreNotCounted) {
  start();
  ask(request(kube::Verb::list, resource::nodes), 1000);
  ask(request(kube::Verb::create, resource::events), 1000);
  EXPECT_EQ(witness->violations(), std::vector<std::string>{});
}

TEST_F(WritesTest, SeesANodeThatIsChangedAgainAndAgain) {
  start();
  for (int i = 0; i <= BoundedWrites::most_changes; ++i) {
    patch("gpu-1", annotations({{"lockstep.dev/beat", std::to_string(i)}}));
    cluster->loop.run_for(minutes(2));
  }
  expect_violation("gpu-1 was changed 61 times for one cause, now in unknown");
}

// Each has another name, and each removal is a call about another object.
TEST_F(WritesTest, SeesPodsThatAreRemovedAsSoonAsTheyAreMade) {
  start();
  size_t removed = 0;
  auto remove_next = [&] {
    auto pods = cluster->pods_of(driver_daemon_set_name, "gpu-1");
    if (pods.size() != 1 || is_terminating(*pods.front())) return false;
    return remove(pod_on(driver_daemon_set_name, "gpu-1")) == 200;
  };
  auto says = [&] {
    return std::any_of(witness->violations().begin(), witness->violations().end(),
                       [](const std::string& text) {
                         return text.find(
                                    "11 pods of nvidia-driver-daemonset were removed from "
                                    "gpu-1 within ten minutes") != std::string::npos;
                       });
  };
  while (removed < BoundedWrites::most_removals) {
    cluster->loop.run_for(seconds(10));
    removed += remove_next() ? 1 : 0;
  }
  EXPECT_FALSE(says());
  cluster->loop.run_for(seconds(30));
  EXPECT_TRUE(remove_next());
  EXPECT_TRUE(says());
}

TEST_F(WritesTest, SeesAPodThatIsRemovedByItsNameAlone) {
  start();
  kube::Request removal = kube::remove(resource::pods, {"ml", "train"});
  ask(removal, 1);
  expect_violation("delete pods.ml/train: by its name alone");
}

TEST_F(WritesTest, SeesAnEvictionByNameAlone) {
  start();
  kube::Request eviction = request(kube::Verb::create, resource::pods);
  eviction.ns = "ml";
  eviction.subresource = "eviction";
  eviction.body = std::make_shared<const Json>(
      JsonObject{{"deleteOptions", JsonObject{{"preconditions", JsonObject{}}}}});
  ask(eviction, 1);
  EXPECT_EQ(witness->violations().size(), 1U);
}

TEST_F(WritesTest, APodMayBeRemovedByItsUid) {
  start();
  JsonObject options{{"preconditions", JsonObject{{"uid", "u-1"}}}};
  ask(kube::remove(resource::pods, {"ml", "train"}, options), 1);
  kube::Request eviction = request(kube::Verb::create, resource::pods);
  eviction.subresource = "eviction";
  eviction.body = std::make_shared<const Json>(JsonObject{{"deleteOptions", options}});
  ask(eviction, 1);
  expect_innocent();
}

// A patch that names the version on which it was decided, by one controller.
class OwnWritesTest : public WritesTest {
 protected:
  static kube::Request on_version(const std::string& version) {
    return merge_patch(resource::nodes, {"", "gpu-1"},
                       JsonObject{{"metadata", JsonObject{{"resourceVersion", version}}}});
  }
  void is_answered(int life, const std::string& version, int code = 200) {
    kube::Response response;
    response.code = code;
    response.body = std::make_shared<const Json>(
        JsonObject{{"metadata", JsonObject{{"resourceVersion", version}}}});
    witness->see_reply(life, on_version("1"), response);
  }
};

TEST_F(OwnWritesTest, SeesAWriteOnWhatWasThereBeforeOurOwn) {
  start();
  witness->see_call(1, on_version("40"));
  is_answered(1, "45");
  witness->see_call(1, on_version("45"));
  expect_innocent();
  witness->see_call(1, on_version("40"));
  expect_violation(
      "patch nodes/gpu-1: on what it was at version 40, and our own last write had made it 45");
}

TEST_F(OwnWritesTest, WhatAnotherControllerWroteNobodyKnows) {
  start();
  is_answered(1, "45");
  witness->see_call(2, on_version("40"));
  expect_innocent();
}

TEST_F(OwnWritesTest, WhatWasRefusedOrNotAnsweredHasMadeNothing) {
  start();
  is_answered(1, "45", 409);
  witness->see_reply(1, on_version("40"), fail(ErrorKind::unreachable, "lost"));
  witness->see_call(1, on_version("40"));
  expect_innocent();
}

TEST_F(WritesTest, WhatPeopleDoIsAnotherCause) {
  start();
  for (int i = 0; i <= 2 * BoundedWrites::most_changes; ++i) {
    patch("gpu-1", annotations({{"lockstep.dev/beat", std::to_string(i)}}));
    if (i % 10 == 0) meddle("gpu-1", annotations({{"person", std::to_string(i)}}));
  }
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim::invariant_writes_test
