#include "fleet/reason.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "fleet/reason_test_util.h"

namespace lockstep::fleet::reason_test {
namespace {

TEST(ReasonTable, IsReadByTheNamesThatItShows) {
  ASSERT_GT(all_reasons().size(), 150U);
  for (const ReasonRow& row : all_reasons()) {
    const ReasonName name = ReasonName::read(row.name);
    EXPECT_EQ(name, row.reason) << row.name;
    EXPECT_EQ(name.view(), row.name);
    EXPECT_EQ(&name.row(), &row);
    EXPECT_EQ(to_string(row.reason), row.name);
  }
}

// "WaveNotOpen" is Reason::wave_not_open, so that each is found where the other is known.
TEST(ReasonTable, EveryEnumeratorIsItsNameInOtherLetters) {
  const std::pair<std::string_view, std::string_view> spellings[] = {
#define ROW(enumerator, name, ...) {#enumerator, name},
#include "fleet/reasons.inc"
#undef ROW
  };
  for (const auto& [enumerator, name] : spellings) {
    std::string expected;
    for (const char letter : name) {
      const bool is_capital = letter >= 'A' && letter <= 'Z';
      if (is_capital && !expected.empty()) expected += '_';
      expected += is_capital ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    EXPECT_EQ(enumerator, expected);
  }
}

TEST(ReasonTable, SaysOfEachInOneShortSentenceWhatItMeans) {
  for (const ReasonRow& row : all_reasons()) {
    EXPECT_TRUE(row.meaning.ends_with('.')) << row.name;
    EXPECT_LE(std::count(row.meaning.begin(), row.meaning.end(), ' '), 19) << row.name;
  }
}

// A failed node stays so until a user retries it; and it causes a notification.
TEST(ReasonTable, ARetryHelpsAgainstWhatANodeFailsWith) {
  for (const ReasonRow& row : all_reasons()) {
    if (row.reason_class != ReasonClass::waits_then_fails) continue;
    EXPECT_TRUE(row.retry_helps) << row.name;
    EXPECT_EQ(row.severity, Severity::warning) << row.name;
  }
  const ReasonRow& failed = ReasonName(Reason::failed).row();
  EXPECT_TRUE(failed.fails() && failed.retry_helps && failed.may_last);
}

TEST(ReasonTable, StepsDoNotAlarmAndFailuresDo) {
  for (const ReasonRow& row : all_reasons()) {
    if (row.fails()) {
      EXPECT_GE(row.severity, Severity::warning) << row.name;
    }
    if (row.reason_class == ReasonClass::fails) {
      EXPECT_TRUE(row.may_last) << row.name;
    }
  }
}

TEST(ReasonName, OfAnotherVersionIsKeptAsItIs) {
  const ReasonName other = ReasonName::read("SomethingNew");
  EXPECT_EQ(other, "SomethingNew");
  EXPECT_FALSE(other.empty());
  EXPECT_EQ(other, ReasonName::read("SomethingNew"));
  EXPECT_NE(other, ReasonName::read("SomethingElse"));
  EXPECT_NE(other, ReasonName(Reason::paused));
  // Nothing is known of it, so nothing is decided by it; but it causes a notification.
  EXPECT_FALSE(other.row().waits() || other.row().fails() || other.row().may_last);
  EXPECT_EQ(other.row().severity, Severity::warning);
  for (const char* hostile : {" ", "paused", "Paused ", "\x01\xff", "none", "other"}) {
    EXPECT_EQ(ReasonName::read(hostile), hostile);
    EXPECT_NE(ReasonName::read(hostile), ReasonName(Reason::paused)) << hostile;
  }
}

TEST(ReasonName, OfAnEarlierVersionIsReadByItsNewName) {
  EXPECT_EQ(ReasonName::read("BrokenOff"), Reason::interrupted);
  EXPECT_EQ(ReasonName::read("ControlFailsToo"), Reason::control_group_failing);
  EXPECT_EQ(ReasonName::read("CordonLifted"), Reason::uncordoned_by_user);
  EXPECT_EQ(ReasonName::read("Rival"), Reason::conflicting_controller);
  EXPECT_EQ(ReasonName::read("YoungOrphan").view(), "OrphanTooYoung");
}

TEST(ReasonName, OfNothingIsEmpty) {
  EXPECT_TRUE(ReasonName().empty());
  EXPECT_TRUE(ReasonName::read("").empty());
  EXPECT_EQ(ReasonName(), "");
  EXPECT_EQ(ReasonName().row().severity, Severity::none);
}

// Metrics and statuses list reasons by name.
TEST(ReasonName, IsOrderedByItsName) {
  const std::set<ReasonName> names{ReasonName::read("Zebra"), Reason::wave_open,
                                   ReasonName::read("Nearby"), Reason::aborted};
  std::vector<std::string> order;
  for (const ReasonName& name : names) order.push_back(name.str());
  EXPECT_EQ(join(order, " "), "Aborted Nearby WaveOpen Zebra");
}

TEST(Reason, OfAFailureIsReadAsItWasWritten) {
  const Reason failure{Reason::driver_crash_loop, "container driver: restarted 11 times", ""};
  EXPECT_EQ(failure.line(), "DriverCrashLoop: container driver: restarted 11 times");
  EXPECT_EQ(Reason::of_failure(failure.line()), failure);
  const Reason other = Reason::of_failure("GpuOnFire: smoke");
  EXPECT_EQ(other.name, "GpuOnFire");
  EXPECT_EQ(other.line(), "GpuOnFire: smoke");
  EXPECT_EQ(Reason::of_failure("GpuOnFire:").name, "GpuOnFire");
}

TEST(Reason, OfAFailureThatNamesNoneIsFailed) {
  EXPECT_EQ(Reason::of_failure("").name, Reason::failed);
  EXPECT_FALSE(Reason::of_failure("").text.empty());
  EXPECT_EQ(Reason::of_failure("by hand"), (Reason{Reason::failed, "by hand", ""}));
}

TEST(Reason, AsJsonHasARemedyWhereThereIsOne) {
  EXPECT_EQ(print_json(to_json(Reason{Reason::paused, "by ada", "lockstep resume"})),
            R"({"name":"Paused","text":"by ada","remedy":"lockstep resume"})");
  EXPECT_EQ(print_json(to_json(Reason{ReasonName::read("New"), "x", ""})),
            R"({"name":"New","text":"x"})");
  EXPECT_EQ(print_json(to_json(
                std::map<ReasonName, int64_t>{{ReasonName::read("New"), 2}, {Reason::paused, 3}})),
            R"({"New":2,"Paused":3})");
}

}  // namespace
}  // namespace lockstep::fleet::reason_test
