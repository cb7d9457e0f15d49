#include "sim/explore/sequences.h"

#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "fleet/state.h"

namespace lockstep::sim::sequences_test {
namespace {

TEST(Sequences, BeginInEveryStateOfTheUpgrade) {
  std::set<std::string> places;
  for (const auto& sequence : every_sequence()) {
    places.insert(sequence.name.substr(0, sequence.name.find('/')));
  }
  for (fleet::State state : fleet::all_states) {
    // Unknown is what a node is before the first second of a run.
    if (state == fleet::State::unknown) continue;
    EXPECT_TRUE(places.contains(std::string(fleet::display_name(state))))
        << fleet::display_name(state);
  }
}

TEST(Sequences, EachIsAScenarioOfItsOwn) {
  std::set<std::string> names;
  for (const auto& sequence : every_sequence()) {
    auto scenario = read_scenario(sequence.text, sequence.name);
    EXPECT_TRUE(scenario) << scenario.error().text() << "\n" << sequence.text;
    EXPECT_TRUE(names.insert(sequence.name).second) << sequence.name;
  }
  EXPECT_GE(names.size(), 250u);
}

TEST(Sequences, AreFoundByTheirName) {
  auto found = find_sequence("validation-required/pause");
  ASSERT_TRUE(found);
  EXPECT_TRUE(run_sequence(*found, 1).wrong.empty()) << join(run_sequence(*found, 1).wrong, "; ");
  auto missing = find_sequence("validation-required/paus");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("validation-required/pause"), std::string::npos);
}

TEST(Sequences, OneThatEndsElsewhereFails) {
  auto found = find_sequence("upgrade-required/third");
  ASSERT_TRUE(found);
  size_t at = found->text.rfind("580.130.01");
  found->text.replace(at, 10, "580.126.20");
  EXPECT_FALSE(run_sequence(*found, 1).wrong.empty());
}

}  // namespace
}  // namespace lockstep::sim::sequences_test
