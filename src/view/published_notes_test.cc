#include "view/published_notes.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::published_notes_test {
namespace {

const ObjectKey notes_key{"lockstep-system", std::string(notes_name)};
const ObjectKey ledger_key{"lockstep-system", std::string(ledger_name)};

TEST(OneAnswer, WhatTheControllerPublishedOfANodeIsInItsView) {
  WatchedFleet scene;
  scene.add_usual();
  scene.start();
  EXPECT_FALSE(scene.view().known.delay);
  ControllerNotes notes;
  notes.nodes["gpu-1"].delay =
      fleet::Reason{fleet::Reason::watches_behind, "they are behind", "wait"};
  scene.put(resource::config_maps, notes_key, notes.to_json(notes_key));
  scene.settle();
  ASSERT_TRUE(scene.view().known.delay);
  EXPECT_EQ(scene.view().known.delay->name, "WatchesBehind");
  scene.put(resource::config_maps, notes_key, ControllerNotes{}.to_json(notes_key));
  scene.settle();
  EXPECT_FALSE(scene.view().known.delay);
}

// A slot is for the version of the node that it names.
TEST(OneAnswer, ASlotInTheLedgerIsInTheViewUntilTheNodeChanges) {
  WatchedFleet scene;
  scene.add_usual();
  scene.start();
  const std::string version = scene.view().node->meta.resource_version.str();
  scene.put(resource::config_maps, ledger_key,
            JsonObject{{"data", JsonObject{{"gpu-1", version}}}});
  scene.settle();
  EXPECT_TRUE(scene.view().known.granted);
  scene.patch_node("gpu-1", R"({"metadata":{"labels":{"changed":"yes"}}})");
  scene.settle();
  EXPECT_FALSE(scene.view().known.granted);
}

}  // namespace
}  // namespace lockstep::view::published_notes_test
