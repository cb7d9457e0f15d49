#include "dashboard/matrix_card.h"

#include <gtest/gtest.h>

namespace lockstep::dashboard::matrix_card_test {
namespace {

using rollout::Slot;

rollout::MatrixReport some_report() {
  rollout::MatrixReport report;
  report.repository = "https://***@git.example/versions";
  report.branch = "main";
  report.path = "gpu-version-matrix.yaml";
  report.commit = "c2";
  report.matrix.current = {{"driver", "560"}, {"status", "production"}};
  report.matrix.canary = {{"driver", "570"}};
  report.entries = {{"c2",
                     "Ada",
                     Time::from_unix(1'800'000'000),
                     "Try driver 570\n\nEvidence:\n- a gate\n",
                     {"c1"},
                     {{Slot::canary, "driver", "", "570"}}}};
  report.has_older = true;
  return report;
}

TEST(MatrixCard, HasTheVersionsSideBySide) {
  const Json card = matrix_card(some_report());
  ASSERT_EQ(card.at("versions").as_array().size(), 2U);
  EXPECT_EQ(card.at("versions").at(0),
            Json(JsonObject{{"key", "driver"}, {"current", "560"}, {"canary", "570"}}));
  EXPECT_EQ(card.at("versions").at(1).at("canary").as_string(), "");
  EXPECT_TRUE(card.at("older").as_bool());
}

TEST(MatrixCard, AnEntryIsWhoWhenAndWhatMoved) {
  const Json card = matrix_card(some_report());
  const Json& entry = card.at("history").at(0);
  EXPECT_EQ(entry.at("author").as_string(), "Ada");
  EXPECT_EQ(entry.at("at").as_int64(), 1'800'000'000'000);
  EXPECT_EQ(entry.at("subject").as_string(), "Try driver 570");
  EXPECT_EQ(entry.at("body").as_string(), "Evidence:\n- a gate");
  EXPECT_EQ(entry.at("takesBack").at(0).as_string(), "c1");
  EXPECT_EQ(
      entry.at("changes").at(0),
      Json(JsonObject{{"slot", "canary"}, {"key", "driver"}, {"before", ""}, {"after", "570"}}));
}

TEST(MatrixCard, ALongMessageIsCutBetweenCharacters) {
  rollout::MatrixReport report = some_report();
  report.entries[0].message = "subject\n\n";
  for (int i = 0; i < 3000; ++i) report.entries[0].message += "é";
  const std::string body(matrix_card(report).at("history").at(0).at("body").as_string());
  EXPECT_EQ(body.size(), 4000U);
  report.entries[0].message.insert(9, "x");
  const std::string shifted(matrix_card(report).at("history").at(0).at("body").as_string());
  EXPECT_EQ(shifted.size(), 3999U);
}

}  // namespace
}  // namespace lockstep::dashboard::matrix_card_test
