#include "kube/events.h"

#include <memory>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/fault_api.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::events_test {
namespace {

ObjectReference node(std::string_view name) {
  ObjectReference reference;
  reference.api_version = "v1";
  reference.kind = "Node";
  reference.name = name;
  reference.uid = name;
  return reference;
}

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() { make({}); }
  void make(EventRecorderOptions options) {
    options.instance = "controller-0";
    recorder = std::make_unique<EventRecorder>(api, loop, random, log, options);
  }
  void record(std::string_view name, std::string_view message) {
    recorder->record(node(name), EventType::normal, "GPUDriverUpgrade", message);
  }
  void settle() { loop.run_for(seconds(1)); }
  std::vector<Document> written() {
    std::vector<Document> events;
    for (const auto& [key, event] : api.objects(resource::events)) events.push_back(event);
    return events;
  }
  void answer_first(Verb verb, size_t times, Reply reply) {
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
  std::unique_ptr<EventRecorder> recorder;
};

TEST_F(EventRecorderTest, WritesWhatKubectlShows) {
  recorder->record(node("gpu-7"), EventType::warning, "BlockedByDisruptionBudget", "no");
  EXPECT_TRUE(api.calls.empty());
  settle();
  ASSERT_EQ(written().size(), 1u);
  const Json& event = *written()[0];
  EXPECT_EQ(text_at(event, "kind"), "Event");
  EXPECT_EQ(text_at(event, "metadata", "namespace"), "default");
  EXPECT_TRUE(text_at(event, "metadata", "name").starts_with("gpu-7."));
  EXPECT_EQ(text_at(event, "involvedObject", "kind"), "Node");
  EXPECT_EQ(text_at(event, "involvedObject", "name"), "gpu-7");
  EXPECT_EQ(text_at(event, "type"), "Warning");
  EXPECT_EQ(text_at(event, "reason"), "BlockedByDisruptionBudget");
  EXPECT_EQ(text_at(event, "message"), "no");
  EXPECT_EQ(text_at(event, "source", "component"), "lockstep");
  EXPECT_EQ(text_at(event, "firstTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(as_integer(find(event, "count")), 1);
  EXPECT_TRUE(recorder->idle());
}

TEST_F(EventRecorderTest, NamespacedObjectsHaveTheirEventsBesideThem) {
  ObjectReference pod = node("web");
  pod.kind = "Pod";
  pod.ns = "shop";
  recorder->record(pod, EventType::normal, "Evicted", "gone");
  settle();
  EXPECT_EQ(text_at(*written().at(0), "metadata", "namespace"), "shop");
}

TEST_F(EventRecorderTest, TheSameEventIsCounted) {
  for (int i = 0; i < 4; ++i) {
    record("a", "hello");
    loop.run_for(minutes(1));
  }
  ASSERT_EQ(written().size(), 1u);
  EXPECT_EQ(as_integer(find(*written()[0], "count")), 4);
  EXPECT_EQ(text_at(*written()[0], "firstTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(text_at(*written()[0], "lastTimestamp"), "2026-01-01T00:03:00Z");
  EXPECT_EQ(recorder->counts().created, 1u);
  EXPECT_EQ(recorder->counts().patched, 3u);
}

TEST_F(EventRecorderTest, RepeatsWhileWaitingBecomeOneWrite) {
  for (int i = 0; i < 5; ++i) record("a", "hello");
  settle();
  EXPECT_EQ(api.calls.size(), 1u);
  EXPECT_EQ(as_integer(find(*written().at(0), "count")), 5);
}

TEST_F(EventRecorderTest, ARepeatDuringTheWriteIsWrittenAfterwards) {
  api.latency = seconds(1);
  record("a", "hello");
  loop.run_for(milliseconds(1500));
  record("a", "hello");
  loop.run_for(seconds(10));
  EXPECT_EQ(api.calls.size(), 2u);
  EXPECT_EQ(as_integer(find(*written().at(0), "count")), 2);
  EXPECT_TRUE(recorder->idle());
}

TEST_F(EventRecorderTest, DifferentEventsAtOneInstantHaveDifferentNames) {
  for (int i = 0; i < 8; ++i) record("a", "message " + std::to_string(i));
  settle();
  EXPECT_EQ(written().size(), 8u);
}

TEST_F(EventRecorderTest, ALongNameStillMakesAValidOne) {
  record(std::string(252, 'n') + ".", "hello");
  settle();
  EXPECT_LE(text_at(*written().at(0), "metadata", "name").size(), 253u);
}

TEST_F(EventRecorderTest, SimilarOnesAreCombined) {
  for (int i = 0; i < 20; ++i) {
    record("a", "message " + std::to_string(i));
    loop.run_for(seconds(1));
  }
  EXPECT_EQ(written().size(), 10u);
  int combined = 0;
  for (const Document& event : written()) {
    if (!text_at(*event, "message").starts_with("(combined from similar events): ")) continue;
    ++combined;
    EXPECT_EQ(text_at(*event, "message"), "(combined from similar events): message 19");
    EXPECT_EQ(as_integer(find(*event, "count")), 11);
  }
  EXPECT_EQ(combined, 1);
}

TEST_F(EventRecorderTest, TooManyOnOneObjectAreDroppedAndCounted) {
  for (int i = 0; i < 100; ++i) {
    record("a", "hello");
    settle();
  }
  EXPECT_EQ(recorder->counts().recorded, 100u);
  EXPECT_EQ(recorder->counts().limited, 75u);
  EXPECT_EQ(as_integer(find(*written().at(0), "count")), 25);
}

TEST_F(EventRecorderTest, TheQueueIsBounded) {
  EventRecorderOptions options;
  options.pending = 10;
  make(options);
  for (int i = 0; i < 50; ++i) record("node-" + std::to_string(i), "hello");
  EXPECT_EQ(recorder->counts().overflow, 40u);
  settle();
  EXPECT_EQ(written().size(), 10u);
  record("node-20", "hello");
  settle();
  EXPECT_EQ(written().size(), 11u);
}

TEST_F(EventRecorderTest, AForgottenEventIsMadeAnew) {
  record("a", "hello");
  settle();
  ObjectKey first = api.objects(resource::events).begin()->first;
  api.erase(resource::events, first);
  loop.run_for(hours(1));
  record("a", "hello");
  settle();
  ASSERT_EQ(written().size(), 1u);
  EXPECT_NE(text_at(*written()[0], "metadata", "name"), first.name);
  EXPECT_EQ(as_integer(find(*written()[0], "count")), 2);
}

TEST_F(EventRecorderTest, ATerminatingNamespaceDropsIt) {
  answer_first(Verb::create, 100, status_answer(403, "Forbidden", "namespace is being terminated"));
  record("a", "hello");
  loop.run_for(minutes(5));
  EXPECT_EQ(api.calls.size(), 1u);
  EXPECT_EQ(recorder->counts().rejected, 1u);
  EXPECT_TRUE(recorder->idle());
}

TEST_F(EventRecorderTest, TriesAgainWhereThatHelps) {
  for (Reply reply :
       {Reply(status_answer(429, "TooManyRequests", "busy", seconds(3))),
        Reply(status_answer(500, "InternalError")), Reply(fail(ErrorKind::unreachable, "down"))}) {
    answer_first(Verb::create, 3, reply);
    size_t before = written().size();
    record("node-" + std::to_string(before), "hello");
    loop.run_for(minutes(2));
    EXPECT_EQ(written().size(), before + 1);
    EXPECT_TRUE(recorder->idle());
  }
}

TEST_F(EventRecorderTest, GivesUpInTheEnd) {
  answer_first(Verb::create, 1000, fail(ErrorKind::unreachable, "down"));
  record("a", "hello");
  loop.run_for(hours(1));
  EXPECT_EQ(api.calls.size(), 12u);
  EXPECT_EQ(recorder->counts().gave_up, 1u);
  EXPECT_TRUE(recorder->idle());
}

TEST_F(EventRecorderTest, ALostReplyMakesNoSecondEvent) {
  ScriptedFaults faults;
  CallPlan lost;
  lost.fault = Fault::reply_lost;
  faults.on_call(ScriptedFaults::calls(Verb::create, resource::events), lost);
  FaultApi faulty(api, loop, faults);
  EventRecorder careful(faulty, loop, random, log, {});
  careful.record(node("a"), EventType::normal, "Reason", "hello");
  loop.run_for(minutes(2));
  EXPECT_EQ(written().size(), 1u);
  EXPECT_EQ(as_integer(find(*written()[0], "count")), 1);
  EXPECT_TRUE(careful.idle());
}

TEST_F(EventRecorderTest, ATakenNameIsReplaced) {
  answer_first(Verb::create, 1, status_answer(409, "AlreadyExists"));
  record("a", "hello");
  settle();
  EXPECT_EQ(written().size(), 1u);
  ASSERT_EQ(api.calls.size(), 2u);
  EXPECT_NE(text_at(*api.calls[0].body, "metadata", "name"),
            text_at(*api.calls[1].body, "metadata", "name"));
}

TEST_F(EventRecorderTest, MayBeDestroyedAtAnyMoment) {
  api.latency = milliseconds(1);
  for (size_t steps = 0; steps < 20; ++steps) {
    make({});
    answer_first(Verb::create, 1, status_answer(500, "InternalError"));
    record("a", "hello");
    record("b", "hello");
    for (size_t i = 0; i < steps; ++i) loop.step();
    recorder.reset();
  }
  loop.run_for(minutes(5));
}

// Whatever goes wrong, it comes to rest, and every call is accounted for.
TEST(EventRecorderUnderFaults, ComesToRest) {
  int nothing_lost = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    VirtualLoop loop(seed);
    SeededRandom random(seed);
    SilentLog log;
    FakeApi api(loop);
    FaultWeights weights = FaultWeights::everything(1.0);
    // A patch that arrives after a newer one takes the count back: a pity, and not worth a read.
    weights.request_late = 0;
    RandomFaults faults(weights, random);
    FaultApi faulty(api, loop, faults);
    EventRecorderOptions options;
    options.pending = 20;
    EventRecorder recorder(faulty, loop, random, log, options);
    for (int i = 0; i < 300; ++i) {
      recorder.record(node("node-" + std::to_string(random.below(10))), EventType::normal, "Reason",
                      "message " + std::to_string(random.below(30)));
      loop.run_for(milliseconds(static_cast<int64_t>(random.below(3000))));
    }
    EXPECT_TRUE(loop.run_until([&] { return recorder.idle(); }, hours(2)));
    // The counts in the cluster add up to the events that were neither limited nor dropped.
    int64_t total = 0;
    for (const auto& [key, event] : api.objects(resource::events)) {
      total += as_integer(find(*event, "count"));
    }
    const EventCounts& counts = recorder.counts();
    EXPECT_LE(total, static_cast<int64_t>(counts.recorded - counts.limited - counts.overflow));
    if (counts.rejected + counts.gave_up == 0) {
      ++nothing_lost;
      EXPECT_EQ(total, static_cast<int64_t>(counts.recorded - counts.limited - counts.overflow));
    }
  }
  EXPECT_GT(nothing_lost, 50);
}

}  // namespace
}  // namespace lockstep::kube::events_test
