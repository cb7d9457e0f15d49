#include "dra/slices.h"

#include <gtest/gtest.h>

namespace lockstep::dra::slices_test {
namespace {

struct SlicesTest : ::testing::Test {
  SlicesTest() {
    settings.node = "gpu-node";
    settings.node_uid = "node-uid";
    wish.inventory.emplace();
    wish.inventory->driver_version = "580.105.08";
    wish.inventory->cuda_version = "13.0";
    for (int i = 0; i < 2; ++i) {
      Gpu gpu;
      gpu.minor = i;
      gpu.name = "gpu-" + std::to_string(i);
      gpu.uuid = "GPU-" + std::to_string(i);
      gpu.product = "NVIDIA H200";
      gpu.memory_bytes = 143771ull << 20;
      wish.inventory->gpus.push_back(gpu);
    }
  }
  SliceStep step() { return next_slice_step(settings, wish, published, without_taints); }
  // As a server would do it; taints get a time there.
  void apply(const SliceStep& step, const std::string& time = "2026-11-15T08:00:00Z") {
    std::erase_if(published, [&](const Document& slice) {
      return text_at(*slice, "metadata", "name") == step.name;
    });
    if (step.kind == SliceStep::Kind::remove) return;
    Json object = step.object;
    for (Json& device : find(object, "spec", "devices")->as_array()) {
      Json* taints = find(device, "taints");
      if (taints == nullptr) continue;
      if (drops_taints) {
        erase_key(device.as_object(), "taints");
        continue;
      }
      for (Json& taint : taints->as_array()) {
        if (find(taint, "timeAdded") == nullptr) taint.as_object()["timeAdded"] = time;
      }
    }
    published.push_back(std::make_shared<const Json>(std::move(object)));
  }
  int64_t generation(size_t at = 0) {
    return as_integer(find(*published.at(at), "spec", "pool", "generation"));
  }
  const Json& device(size_t at) {
    return find(*published.at(0), "spec", "devices")->as_array()[at];
  }

  SliceSettings settings;
  SliceWish wish;
  std::vector<Document> published;
  bool without_taints = false;
  bool drops_taints = false;
};

TEST_F(SlicesTest, OneSliceThatTheNodeOwnsAndThenNothing) {
  SliceStep first = step();
  ASSERT_EQ(first.kind, SliceStep::Kind::create);
  EXPECT_EQ(first.name, "gpu-node-gpu.lockstep.dev");
  EXPECT_EQ(text_at(first.object, "spec", "nodeName"), "gpu-node");
  EXPECT_EQ(text_at(find(first.object, "metadata", "ownerReferences")->as_array()[0], "uid"),
            "node-uid");
  apply(first);
  EXPECT_EQ(generation(), 1);
  EXPECT_EQ(text_at(device(0), "attributes", "driverVersion", "version"), "580.105.8");
  EXPECT_EQ(text_at(device(0), "attributes", "cudaDriverVersion", "version"), "13.0.0");
  EXPECT_EQ(text_at(device(1), "attributes", "uuid", "string"), "GPU-1");
  EXPECT_EQ(text_at(device(1), "capacity", "memory", "value"), "143771Mi");
  EXPECT_EQ(step().kind, SliceStep::Kind::none);
}

TEST_F(SlicesTest, AChangeIsMadeInPlaceUnderTheSameGeneration) {
  apply(step());
  wish.inventory->driver_version = "585.1.02";
  SliceStep change = step();
  ASSERT_EQ(change.kind, SliceStep::Kind::update);
  apply(change);
  EXPECT_EQ(generation(), 1);
  EXPECT_EQ(text_at(device(0), "attributes", "driverVersion", "version"), "585.1.2");
  EXPECT_EQ(step().kind, SliceStep::Kind::none);
}

TEST_F(SlicesTest, WhatSomebodyElseTookAwayIsPublishedAgain) {
  apply(step());
  published.clear();
  EXPECT_EQ(step().kind, SliceStep::Kind::create);
}

TEST_F(SlicesTest, ATaintKeepsItsTimeUntilItIsLifted) {
  apply(step());
  wish.driver_away = true;
  apply(step(), "2026-11-15T08:00:00Z");
  EXPECT_EQ(step().kind, SliceStep::Kind::none);
  wish.conditions["gpu-1"] = {true, false, "the GPU is lost", {}};
  apply(step(), "2026-11-15T09:00:00Z");
  const JsonArray& taints = find(device(1), "taints")->as_array();
  ASSERT_EQ(taints.size(), 2u);
  EXPECT_EQ(text_at(taints[0], "key"), "gpu.lockstep.dev/driver-upgrading");
  EXPECT_EQ(text_at(taints[0], "timeAdded"), "2026-11-15T08:00:00Z");
  EXPECT_EQ(text_at(taints[1], "effect"), "NoSchedule");
  EXPECT_EQ(text_at(taints[1], "timeAdded"), "2026-11-15T09:00:00Z");
  wish.conditions["gpu-1"].confirmed = true;
  wish.driver_away = false;
  apply(step(), "2026-11-15T10:00:00Z");
  const JsonArray& left = find(device(1), "taints")->as_array();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(text_at(left[0], "effect"), "NoExecute");
  EXPECT_EQ(text_at(left[0], "timeAdded"), "2026-11-15T10:00:00Z") << "another effect is another";
  EXPECT_EQ(find(device(0), "taints"), nullptr);
  wish.conditions["gpu-1"] = {};
  apply(step());
  EXPECT_EQ(find(device(1), "taints"), nullptr) << "it is well again";
}

TEST_F(SlicesTest, BeforeTheFirstDriverTheOldSliceIsKeptFromTheScheduler) {
  SliceWish nothing;
  nothing.driver_away = true;
  EXPECT_EQ(next_slice_step(settings, nothing, published, false).kind, SliceStep::Kind::none)
      << "nobody published anything";
  apply(step());
  SliceStep taint = next_slice_step(settings, nothing, published, false);
  ASSERT_EQ(taint.kind, SliceStep::Kind::update);
  apply(taint);
  EXPECT_EQ(text_at(device(0), "attributes", "uuid", "string"), "GPU-0") << "the rest is as it was";
  ASSERT_EQ(find(device(1), "taints")->as_array().size(), 1u);
  EXPECT_EQ(next_slice_step(settings, nothing, published, false).kind, SliceStep::Kind::none);
  apply(step());
  EXPECT_EQ(find(device(1), "taints"), nullptr) << "the driver came";
}

TEST_F(SlicesTest, AServerThatDropsTaintsIsNotWrittenToForEver) {
  drops_taints = true;
  wish.driver_away = true;
  SliceStep first = step();
  apply(first);
  EXPECT_TRUE(lost_taints(first.object, *published[0]));
  EXPECT_EQ(step().kind, SliceStep::Kind::update) << "who does not know would write again";
  without_taints = true;
  EXPECT_EQ(step().kind, SliceStep::Kind::none);
  wish.inventory->driver_version = "585.1.02";
  SliceStep change = step();
  ASSERT_EQ(change.kind, SliceStep::Kind::update);
  EXPECT_NE(find(find(change.object, "spec", "devices")->as_array()[0], "taints"), nullptr)
      << "taints are sent all the same: the server may be a newer one by now";
}

TEST_F(SlicesTest, ObsoleteSlicesAreRemovedAndASecondOneRaisesTheGeneration) {
  apply(step());
  Json other = *published[0];
  other.as_object()["metadata"] = JsonObject{{"name", "gpu-node-another"}};
  published.push_back(std::make_shared<const Json>(other));
  SliceStep raise = step();
  ASSERT_EQ(raise.kind, SliceStep::Kind::update);
  EXPECT_EQ(raise.name, "gpu-node-gpu.lockstep.dev") << "ours is kept";
  apply(raise);
  SliceStep removal = step();
  ASSERT_EQ(removal.kind, SliceStep::Kind::remove);
  EXPECT_EQ(removal.name, "gpu-node-another");
  apply(removal);
  EXPECT_EQ(generation(), 2);
  EXPECT_EQ(step().kind, SliceStep::Kind::none);
}

TEST_F(SlicesTest, ASliceOfAnotherPoolIsObsolete) {
  apply(step());
  Json other = *published[0];
  other.as_object()["metadata"] = JsonObject{{"name", "x"}};
  find(other, "spec", "pool")->as_object()["name"] = "other-pool";
  published.push_back(std::make_shared<const Json>(other));
  EXPECT_EQ(step().kind, SliceStep::Kind::remove);
}

TEST_F(SlicesTest, ANodeThatWasMadeAnewOwnsItsSlice) {
  apply(step());
  settings.node_uid = "another-uid";
  SliceStep change = step();
  ASSERT_EQ(change.kind, SliceStep::Kind::update);
  apply(change);
  EXPECT_EQ(step().kind, SliceStep::Kind::none);
}

TEST_F(SlicesTest, NoMoreDevicesThanASliceTakes) {
  for (int i = 2; i < 100; ++i) {
    Gpu gpu = wish.inventory->gpus[0];
    gpu.name = "gpu-" + std::to_string(i);
    wish.inventory->gpus.push_back(gpu);
  }
  EXPECT_EQ(slice_devices(wish).size(), 64u);
  settings.node = std::string(250, 'n');
  EXPECT_LT(slice_name(settings).size(), 100u);
}

}  // namespace
}  // namespace lockstep::dra::slices_test
