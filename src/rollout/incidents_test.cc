#include "rollout/incidents.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::incidents_test {
namespace {

TEST(Incidents, WhatHappensOnANodeWithinTenMinutesIsOne) {
  Incidents incidents;
  EXPECT_TRUE(incidents.add("gpu-1", {{"FatalXid", 10}, {"GpuLost", 2}}, minutes(0), minutes(5)));
  EXPECT_FALSE(incidents.add("gpu-1", {{"UncorrectableEcc", 4}}, minutes(10), minutes(15)));
  EXPECT_EQ(incidents.count(), 1);
  // Ten minutes from its beginning on, however long it goes on.
  EXPECT_TRUE(incidents.add("gpu-1", {{"FatalXid", 1}}, minutes(15), minutes(20)));
  EXPECT_TRUE(incidents.add("gpu-2", {{"FatalXid", 1}}, minutes(15), minutes(20)));
  EXPECT_EQ(incidents.count(), 3);
  EXPECT_EQ(incidents.nodes(), 2);
}

TEST(Incidents, NamesTheFirstFewNodes) {
  Incidents incidents;
  incidents.add("gpu-1", {{"FatalXid", 10}, {"GpuLost", 2}}, minutes(0), minutes(5));
  incidents.add("gpu-2", {{"LinkFlap", 1}}, minutes(0), minutes(5));
  EXPECT_EQ(incidents.text(), "gpu-1: 10 FatalXid, 2 GpuLost; gpu-2: 1 LinkFlap");
  incidents.add("gpu-3", {{"LinkFlap", 1}}, minutes(0), minutes(5));
  incidents.add("gpu-4", {{"LinkFlap", 1}}, minutes(0), minutes(5));
  incidents.add("gpu-5", {{"LinkFlap", 1}}, minutes(0), minutes(5));
  EXPECT_TRUE(incidents.text().ends_with("gpu-3: 1 LinkFlap; and 2 more")) << incidents.text();
}

}  // namespace
}  // namespace lockstep::rollout::incidents_test
