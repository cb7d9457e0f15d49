#include "apiserver/kinds/event_views.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::event_views_test {
namespace {

TEST(EventViews, ThereAndBackAgain) {
  ResourceType newer{"events.k8s.io", "v1", "Event", "events", true};
  Json core = JsonObject{
      {"apiVersion", "v1"}, {"kind", "Event"},     {"involvedObject", JsonObject{{"name", "n"}}},
      {"message", "hello"}, {"reason", "Because"}, {"count", 3}};
  Json seen = event_as(core, newer);
  EXPECT_EQ(text_at(seen, "note"), "hello");
  EXPECT_EQ(text_at(seen, "regarding", "name"), "n");
  EXPECT_EQ(as_integer(find(seen, "deprecatedCount")), 3);
  EXPECT_EQ(find(seen, "message"), nullptr);
  EXPECT_TRUE(json_equal(event_as(seen, resource::events), core));
}

}  // namespace
}  // namespace lockstep::apiserver::event_views_test
