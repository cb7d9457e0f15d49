#include "dashboard/node_card.h"

#include <gtest/gtest.h>

#include "operate/action.h"

namespace lockstep::dashboard::node_card_test {
namespace {

fleet::NodeView view_of(Node node) {
  fleet::NodeView view;
  view.node = std::make_shared<const Node>(std::move(node));
  return view;
}

TEST(NodeCard, SaysWhyAndWhatWouldChangeIt) {
  Node node;
  node.meta.name = Text("gpu-7");
  node.unschedulable = true;
  node.conditions = {{Text("Ready"), Text("False"), Text("KubeletDown"), Text("gone"), {}},
                     {Text("DiskPressure"), Text("False"), Text(""), Text(""), {}}};
  node.meta.annotations.set(Text(rollout::steered_annotation), Text("skip by ada: cable"));
  node.meta.annotations.set(Text(fleet::failure_annotation), Text("ImagePull: 404"));
  upgrade::Decision decision;
  decision.reason = {fleet::Reason::parallel_limit, "5 in progress", "wait"};
  Json card = node_card(view_of(node), decision, {}, fleet::Keys());
  EXPECT_EQ(card.at("name").as_string(), "gpu-7");
  EXPECT_EQ(card.at("reason").at("name").as_string(), "ParallelLimit");
  EXPECT_EQ(card.at("reason").at("remedy").as_string(), "wait");
  EXPECT_TRUE(card.at("cordoned").as_bool());
  EXPECT_FALSE(card.at("ready").as_bool());
  EXPECT_EQ(card.at("failure").as_string(), "ImagePull: 404");
  EXPECT_EQ(card.at("steered").as_string(), "skip by ada: cable");
  ASSERT_EQ(card.at("conditions").as_array().size(), 1U) << "what is as it should be is left out";
  EXPECT_EQ(card.at("conditions").at(0).at("message").as_string(), "gone");
}

TEST(NodeCard, PodsAreShownWithTheirFate) {
  fleet::NodeView view = view_of(Node());
  Pod bare;
  bare.meta.name = Text("bare");
  bare.meta.ns = Text("default");
  bare.phase = PodPhase::running;
  fleet::PodOnNode entry;
  entry.pod = std::make_shared<const Pod>(bare);
  entry.uses_gpu = true;
  entry.blocking_budgets = {"web"};
  view.pods = {entry, fleet::PodOnNode{entry.pod, false, {}, {}, {}}};
  Json card = node_card(view, {}, {}, fleet::Keys());
  EXPECT_EQ(card.at("gpuPods").as_int64(), 1);
  const Json& pod = card.at("pods").at(0);
  EXPECT_EQ(pod.at("fate").as_string(), "blocks") << "nobody would make it again";
  EXPECT_NE(text_at(pod, "because").find("budget web"), std::string_view::npos);
}

TEST(NodeCard, EventsTheNewestFirstAndNotAll) {
  std::vector<Event> events(60);
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].last = Time::from_unix(1000 + static_cast<int64_t>(i));
    events[i].message = Text(std::to_string(i));
  }
  Json cards = event_cards(events);
  ASSERT_EQ(cards.as_array().size(), 40U);
  EXPECT_EQ(cards.at(0).at("message").as_string(), "59");
}

}  // namespace
}  // namespace lockstep::dashboard::node_card_test
