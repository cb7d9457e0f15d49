#include "dashboard/matrix_feed.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::dashboard::matrix_feed_test {
namespace {

using Answer = std::function<void(Result<rollout::MatrixReport>)>;

rollout::MatrixReport report_of(const std::string& commit) {
  rollout::MatrixReport report;
  report.repository = "versions";
  report.commit = commit;
  return report;
}

struct Scene {
  Scene() {
    matrices = {{{"versions.git", "main", "matrix.yaml"}, "versions.git", {"weekly"}, true}};
    MatrixFeedParts parts;
    parts.matrices = [this] { return matrices; };
    parts.read = [this](const rollout::MatrixPlace& place, Answer done) {
      asked.push_back(place.repository);
      answers.push_back(std::move(done));
    };
    parts.is_watched = [this] { return watched; };
    parts.changed = [this] { ++changes; };
    feed = std::make_unique<MatrixFeed>(loop, model, std::move(parts));
  }
  Json card(size_t index = 0) {
    auto snapshot = parse_json(model.snapshot(loop.now()));
    return snapshot.value().at("matrices").at(index);
  }

  VirtualLoop loop{1};
  FleetModel model;
  std::vector<ShownMatrix> matrices;
  std::vector<std::string> asked;
  std::vector<Answer> answers;
  bool watched = true;
  int changes = 0;
  std::unique_ptr<MatrixFeed> feed;
};

TEST(MatrixFeed, ReadsAtOnceAndThenFromTimeToTime) {
  Scene scene;
  scene.loop.run_for(seconds(10));
  ASSERT_EQ(scene.asked.size(), 1U) << "one at a time";
  EXPECT_EQ(find(scene.card(), "commit"), nullptr);
  scene.answers.back()(report_of("c1"));
  EXPECT_EQ(scene.card().at("commit").as_string(), "c1");
  EXPECT_EQ(scene.card().at("rollouts").at(0).as_string(), "weekly");
  scene.loop.run_for(seconds(40));
  EXPECT_EQ(scene.asked.size(), 1U);
  scene.loop.run_for(seconds(15));
  EXPECT_EQ(scene.asked.size(), 2U);
}

TEST(MatrixFeed, HurriesAfterARolloutHasMoved) {
  Scene scene;
  scene.loop.run_for(seconds(1));
  scene.answers.back()(report_of("c1"));
  scene.feed->hurry();
  scene.loop.run_for(seconds(5));
  EXPECT_EQ(scene.asked.size(), 2U);
}

TEST(MatrixFeed, AsksNobodyWhileNobodyLooks) {
  Scene scene;
  scene.watched = false;
  scene.loop.run_for(minutes(10));
  EXPECT_TRUE(scene.asked.empty());
  scene.watched = true;
  scene.loop.run_for(seconds(2));
  EXPECT_EQ(scene.asked.size(), 1U);
}

TEST(MatrixFeed, AFailureKeepsWhatIsKnownAndSaysWhy) {
  Scene scene;
  scene.loop.run_for(seconds(1));
  scene.answers.back()(report_of("c1"));
  scene.loop.run_for(minutes(2));
  scene.answers.back()(fail(ErrorKind::unreachable, "no route"));
  EXPECT_EQ(scene.card().at("commit").as_string(), "c1");
  EXPECT_EQ(scene.card().at("error").as_string(), "no route");
  scene.loop.run_for(minutes(2));
  scene.answers.back()(report_of("c2"));
  EXPECT_EQ(scene.card().at("commit").as_string(), "c2");
  EXPECT_EQ(find(scene.card(), "error"), nullptr);
}

TEST(MatrixFeed, ARepositoryThatMayNotBeAskedIsNamedOnly) {
  Scene scene;
  scene.matrices[0].readable = false;
  scene.loop.run_for(minutes(3));
  EXPECT_TRUE(scene.asked.empty());
  EXPECT_FALSE(scene.card().at("readable").as_bool());
  EXPECT_EQ(scene.card().at("repository").as_string(), "versions.git");
}

TEST(MatrixFeed, SeveralAreReadInTurnAndOneThatIsGoneIsForgotten) {
  Scene scene;
  scene.matrices.push_back({{"other.git", "main", "matrix.yaml"}, "other.git", {}, true});
  scene.loop.run_for(seconds(2));
  scene.answers.back()(report_of("c1"));
  scene.loop.run_for(seconds(2));
  EXPECT_EQ(scene.asked, (std::vector<std::string>{"versions.git", "other.git"}));
  scene.matrices.erase(scene.matrices.begin());
  scene.loop.run_for(seconds(2));
  scene.answers.back()(report_of("o1"));
  EXPECT_EQ(scene.card().at("commit").as_string(), "o1");
  auto snapshot = parse_json(scene.model.snapshot(scene.loop.now()));
  EXPECT_EQ(snapshot.value().at("matrices").as_array().size(), 1U);
}

}  // namespace
}  // namespace lockstep::dashboard::matrix_feed_test
