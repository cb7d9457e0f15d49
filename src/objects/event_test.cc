#include "objects/event.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::event_test {
namespace {

TEST(Event, ComesBackFromItsJson) {
  Event event;
  event.meta.name = "gpu-7.18a0";
  event.meta.ns = "default";
  event.about = {"v1", "Node", "", "gpu-7", "uid-of-the-node", "77", "spec.taints"};
  event.type = "Normal";
  event.reason = "GPUDriverUpgrade";
  event.message = "Successfully updated node state label to upgrade-done";
  event.component = "lockstep";
  event.host = "host";
  event.reporting_controller = "lockstep";
  event.reporting_instance = "lockstep-0";
  event.action = "Upgrade";
  event.count = 2;
  event.first = Time::from_unix(1763180411);
  event.last = Time::from_unix(1763180511);
  event.at = Time{1763180411123456000};
  std::string text = print_json(to_json(event));
  EXPECT_EQ(decoded<Event>(text), event);
  EXPECT_EQ(text.find("\"namespace\":\"\""), std::string::npos);
}

TEST(Event, AsOthersWriteIt) {
  Event event = decoded<Event>(R"({"metadata":{"name":"a","namespace":"n"},
    "involvedObject":{"kind":"Pod","namespace":"n","name":"p","uid":"u"},
    "reason":"FailedPrepareDynamicResources","message":"Driver/library version mismatch",
    "source":{"component":"kubelet","host":"gpu-7"},"firstTimestamp":null,"lastTimestamp":null,
    "eventTime":"2026-11-15T04:20:11.000001Z","series":{"count":4},"type":"Warning"})");
  EXPECT_EQ(event.about.name, "p");
  EXPECT_EQ(event.component, "kubelet");
  EXPECT_EQ(event.host, "gpu-7");
  EXPECT_TRUE(event.at.is_set());
  EXPECT_FALSE(event.first.is_set());
}

}  // namespace
}  // namespace lockstep::event_test
