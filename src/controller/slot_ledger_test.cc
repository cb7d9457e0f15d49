#include "controller/slot_ledger.h"

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::controller::slot_ledger_test {
namespace {

const ObjectKey ledger_key{"lockstep-system", "lockstep-slots"};

struct Scene {
  VirtualLoop loop{1};
  SeededRandom random{1};
  MemoryLog log;
  kube::FakeApi api{loop};
  SlotLedger ledger{api, loop, random, log, ledger_key};
  std::vector<Ledger> done;

  // Adds one slot to whatever is there.
  SlotLedger::Plan adds(const std::string& node, const std::string& version) {
    return [node, version](const Ledger& current) -> std::optional<Ledger> {
      Ledger wanted = current;
      wanted.slots[node] = version;
      return wanted;
    };
  }
  SlotLedger::Done notes() {
    return [this](const Ledger& written) { done.push_back(written); };
  }
  void run(Duration length = seconds(1)) { loop.run_for(length); }
  Ledger stored() {
    const auto& objects = api.objects(resource::config_maps);
    auto at = objects.find(ledger_key);
    return at == objects.end() ? Ledger{} : Ledger::from_json(*at->second);
  }
  size_t writes() const { return api.count(kube::Verb::create) + api.count(kube::Verb::update); }
};

using Slots = std::map<std::string, std::string>;

TEST(Ledger, ComesBackFromItsConfigMap) {
  Ledger ledger{{{"gpu-1", "17"}, {"gpu-2", "18"}}, "19"};
  EXPECT_EQ(Ledger::from_json(ledger.to_json(ledger_key, "25")), ledger);
  EXPECT_EQ(text_at(ledger.to_json(ledger_key, "25"), "metadata", "resourceVersion"), "25");
  EXPECT_EQ(find(ledger.to_json(ledger_key, ""), "metadata", "resourceVersion"), nullptr);
  // An object that a user has written.
  EXPECT_EQ(Ledger::from_json(JsonObject{{"data", "x"}}), Ledger{});
}

TEST(RestoredLedger, OfAnotherClusterIsIgnoredAndReplaced) {
  const Ledger foreign{{{"gpu-1", "900000"}}, "900001"};
  EXPECT_TRUE(is_of_this_cluster(foreign, "900002"));
  EXPECT_TRUE(is_of_this_cluster(Ledger{}, "1"));
  EXPECT_FALSE(is_of_this_cluster(foreign, "17"));
  Scene scene;
  scene.api.put(resource::config_maps, ledger_key, foreign.to_json(ledger_key, ""));
  scene.ledger.update(scene.adds("gpu-2", "8"), scene.notes());
  scene.run();
  EXPECT_EQ(scene.done.front(), Ledger{});
  EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-2", "8"}}));
  ASSERT_EQ(scene.log.lines.size(), 1U);
  EXPECT_NE(scene.log.lines[0].find("from another cluster"), std::string::npos);
}

TEST(SlotLedger, IsCreatedWithTheFirstSlotAndUpdatedWithTheNext) {
  Scene scene;
  scene.ledger.update(scene.adds("gpu-1", "7"), scene.notes());
  scene.run();
  EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-1", "7"}}));
  // After the read and after the write.
  ASSERT_EQ(scene.done.size(), 2U);
  EXPECT_EQ(scene.done.front(), Ledger{});
  EXPECT_EQ(scene.done.back(), scene.stored());
  scene.ledger.update(scene.adds("gpu-2", "8"), scene.notes());
  scene.run();
  EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-1", "7"}, {"gpu-2", "8"}}));
  // What is known is not read again.
  EXPECT_EQ(scene.api.count(kube::Verb::get), 1U);
  EXPECT_EQ(scene.writes(), 2U);
}

TEST(SlotLedger, APlanThatWantsNothingWritesNothing) {
  Scene scene;
  int plans = 0;
  auto nothing = [&](const Ledger&) -> std::optional<Ledger> {
    ++plans;
    return std::nullopt;
  };
  scene.ledger.update(nothing, scene.notes());
  scene.run();
  scene.ledger.update([&](const Ledger& current) { return std::optional(current); }, scene.notes());
  scene.run();
  EXPECT_EQ(plans, 1);
  EXPECT_EQ(scene.writes(), 0U);
  ASSERT_TRUE(scene.ledger.known());
}

TEST(SlotLedger, OfTwoWritersTheLoserReadsAgainAndPlansOnWhatTheOtherWrote) {
  Scene scene;
  SeededRandom random{2};
  SlotLedger other{scene.api, scene.loop, random, scene.log, ledger_key};
  // Both know the empty ledger.
  auto nothing = [](const Ledger&) -> std::optional<Ledger> { return std::nullopt; };
  scene.ledger.update(nothing, {});
  other.update(nothing, {});
  scene.run();
  std::vector<Ledger> seen;
  scene.ledger.update(scene.adds("gpu-1", "7"), {});
  other.update(
      [&](const Ledger& current) -> std::optional<Ledger> {
        seen.push_back(current);
        // One slot is all there is.
        if (!current.slots.empty()) return std::nullopt;
        return Ledger{{{"gpu-2", "7"}}, ""};
      },
      {});
  scene.run();
  // The loop decides which comes first; both slots are never given.
  ASSERT_FALSE(seen.empty());
  if (seen.size() == 2) {
    EXPECT_EQ(seen[0], Ledger{});
    EXPECT_EQ(seen[1].slots, (Slots{{"gpu-1", "7"}}));
    EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-1", "7"}}));
  } else {
    EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-1", "7"}, {"gpu-2", "7"}}));
  }
  // The same from an existing ledger: the one that knows the older version loses.
  scene.ledger.update(scene.adds("gpu-3", "9"), {});
  scene.run();
  seen.clear();
  other.update(
      [&](const Ledger& current) -> std::optional<Ledger> {
        seen.push_back(current);
        Ledger wanted = current;
        wanted.slots["gpu-4"] = "9";
        return wanted;
      },
      {});
  scene.run();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(scene.stored().slots.contains("gpu-3"));
  EXPECT_TRUE(scene.stored().slots.contains("gpu-4"));
}

TEST(SlotLedger, AfterALostReplyItIsReadBeforeAnythingIsPlanned) {
  Scene scene;
  bool lost = false;
  scene.api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (lost || request.verb != kube::Verb::create) return std::nullopt;
    lost = true;
    scene.api.put(resource::config_maps, ledger_key, *request.body);
    return kube::Reply(fail(ErrorKind::timed_out, "no answer came"));
  };
  std::vector<Ledger> planned_on;
  scene.ledger.update(
      [&](const Ledger& current) -> std::optional<Ledger> {
        planned_on.push_back(current);
        if (!current.slots.empty()) return std::nullopt;
        return Ledger{{{"gpu-1", "7"}}, ""};
      },
      scene.notes());
  scene.run(milliseconds(10));
  ASSERT_TRUE(scene.ledger.last_error());
  EXPECT_FALSE(scene.ledger.known());
  scene.run(seconds(5));
  ASSERT_EQ(planned_on.size(), 2U);
  EXPECT_EQ(planned_on[1].slots, (Slots{{"gpu-1", "7"}}));
  // It received the stored ledger, once.
  EXPECT_EQ(scene.done.back().slots, (Slots{{"gpu-1", "7"}}));
  EXPECT_EQ(scene.writes(), 1U);
  EXPECT_FALSE(scene.ledger.last_error());
}

TEST(SlotLedger, WithoutItsNamespaceItSaysSoAndTriesAgainWithPauses) {
  Scene scene;
  bool exists = false;
  scene.api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (exists || request.verb != kube::Verb::create) return std::nullopt;
    return kube::status_answer(404, "NotFound", "namespaces \"lockstep-system\" not found");
  };
  scene.ledger.update(scene.adds("gpu-1", "7"), scene.notes());
  scene.run(minutes(10));
  ASSERT_TRUE(scene.ledger.last_error());
  EXPECT_NE(scene.ledger.last_error()->text().find("lockstep-system"), std::string::npos);
  EXPECT_FALSE(scene.log.lines.empty());
  // At most every 30 seconds in the end; a dozen before that.
  EXPECT_GT(scene.writes(), 15U);
  EXPECT_LT(scene.writes(), 40U);
  exists = true;
  scene.run(minutes(1));
  EXPECT_FALSE(scene.ledger.last_error());
  EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-1", "7"}}));
}

TEST(SlotLedger, AnErrorIsOverWhenThereIsNothingLeftToWrite) {
  Scene scene;
  int failures = 2;
  scene.api.intercept = [&](const kube::Request&) -> std::optional<kube::Reply> {
    if (failures-- > 0) return kube::Reply(fail(ErrorKind::unreachable, "connection refused"));
    return std::nullopt;
  };
  scene.ledger.update([](const Ledger&) -> std::optional<Ledger> { return std::nullopt; }, {});
  scene.run(milliseconds(1));
  EXPECT_TRUE(scene.ledger.last_error());
  scene.run(seconds(10));
  EXPECT_FALSE(scene.ledger.last_error());
}

TEST(SlotLedger, ADeletedLedgerIsMadeAgain) {
  Scene scene;
  scene.ledger.update(scene.adds("gpu-1", "7"), {});
  scene.run();
  scene.api.erase(resource::config_maps, ledger_key);
  scene.ledger.update(scene.adds("gpu-2", "8"), scene.notes());
  scene.run();
  // What the deleted one held is gone: the plan is made on what is there.
  EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-2", "8"}}));
}

TEST(SlotLedger, AnUpdateWhileOneIsUnderWayLeadsToAnotherRound) {
  Scene scene;
  scene.api.latency = milliseconds(100);
  scene.ledger.update(scene.adds("gpu-1", "7"), {});
  scene.run(milliseconds(250));
  scene.ledger.update(scene.adds("gpu-2", "8"), {});
  scene.ledger.update(scene.adds("gpu-3", "9"), {});
  scene.run(seconds(5));
  // The last plan counts: a plan considers everything.
  EXPECT_EQ(scene.stored().slots, (Slots{{"gpu-1", "7"}, {"gpu-3", "9"}}));
}

TEST(SlotLedger, WhatIsForgottenIsReadAgain) {
  Scene scene;
  scene.ledger.update(scene.adds("gpu-1", "7"), {});
  scene.run();
  scene.ledger.forget();
  EXPECT_FALSE(scene.ledger.known());
  scene.ledger.update(scene.adds("gpu-2", "8"), {});
  scene.run();
  EXPECT_EQ(scene.api.count(kube::Verb::get), 2U);
  EXPECT_EQ(scene.stored().slots.size(), 2U);
}

TEST(SlotLedger, CanBeDestroyedAtAnyMoment) {
  Scene scene;
  for (int step = 0; step < 8; ++step) {
    SlotLedger ledger{scene.api, scene.loop, scene.random, scene.log, ledger_key};
    ledger.update(scene.adds(fmt::format("gpu-{}", step), "1"), scene.notes());
    for (int i = 0; i < step; ++i) scene.loop.step();
  }
  size_t told = scene.done.size();
  scene.run();
  EXPECT_EQ(scene.done.size(), told);
}

}  // namespace
}  // namespace lockstep::controller::slot_ledger_test
