#include "sim/strict_reader.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::sim::strict_reader_test {
namespace {

// What the reader says of `text` when it is read as a map with these keys.
std::string complaint(const std::string& text) {
  auto json = parse_yaml(text);
  EXPECT_TRUE(json);
  std::optional<Error> error;
  {
    StrictReader reader(*json, "thing", error);
    std::string word;
    bool flag = false;
    double decimal = 0;
    Duration length{0};
    Duration least{0};
    Duration most{0};
    int number = 0;
    IntOrPercent share;
    reader.text("word", word);
    reader.flag("flag", flag);
    reader.decimal("decimal", decimal);
    reader.chance("chance", decimal);
    reader.word("colour", word, {"red", "green"}, "colour");
    reader.duration("length", length);
    reader.range("range", least, most);
    reader.number("number", number, 1);
    reader.share("share", share);
  }
  return error ? error->text() : "";
}

TEST(StrictReader, SaysWhereAndWhatIsWrong) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"{}", ""},
      {"{word: a, flag: true, decimal: 1.5, length: 90s, range: 1s-2s, number: 3, share: 50%}", ""},
      {"{range: 5s, share: 800%, decimal: 2}", ""},
      {"[]", "thing: must be a map"},
      {"{nunber: 3}", "thing: has the unknown key nunber; did you mean number?"},
      {"{zzzzzzzzzz: 3}", "thing: has the unknown key zzzzzzzzzz"},
      {"{word: 580.105}", "thing.word: must be a text; put it in quotes"},
      {"{flag: 1}", "thing.flag: must be true or false"},
      {"{decimal: much}", "thing.decimal: must be a number"},
      {"{decimal: -0.1}", "thing.decimal: must be 0 or more"},
      {"{chance: 1.5}", "thing.chance: must be a chance from 0 to 1"},
      {"{chance: -1}", "thing.chance: must be a chance from 0 to 1"},
      {"{chance: often}", "thing.chance: must be a chance from 0 to 1"},
      {"{colour: gren}", "thing.colour: gren is no colour; did you mean green?"},
      {"{colour: something}", "thing.colour: something is no colour; there are red, green"},
      {"{colour: \"\"}", "thing.colour: \"\" is no colour; there are red, green"},
      {"{colour: 5}", "thing.colour: must be a text; put it in quotes"},
      {"{length: 90}", "thing.length: must be a length of time such as 90s or 1h30m"},
      {"{length: -1s}", "thing.length: must be a length of time such as 90s or 1h30m"},
      {"{range: 2s-1s}", "thing.range: must be a length of time or a range such as 60s-120s"},
      {"{range: 1s-2s-3s}", "thing.range: must be a length of time or a range such as 60s-120s"},
      {"{number: 0}", "thing.number: must be a whole number from 1 to 2147483647"},
      {"{number: 1.5}", "thing.number: must be a whole number from 1 to 2147483647"},
      {"{number: 99999999999}", "thing.number: must be a whole number from 1 to 2147483647"},
      {"{share: -1}",
       "thing.share: must be a whole number up to 1000000, or a percentage of the nodes such as "
       "\"50%\", up to 10000%"},
      {"{share: half}",
       "thing.share: must be a whole number up to 1000000, or a percentage of the nodes such as "
       "\"50%\", up to 10000%"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(complaint(text), expected) << text;
}

TEST(StrictReader, KeepsTheFirstMistake) {
  EXPECT_EQ(complaint("{number: x, share: x}"),
            "thing.number: must be a whole number from 1 to 2147483647");
}

TEST(StrictReader, LeavesWhatIsNotThere) {
  auto json = parse_yaml("{given: 5}");
  std::optional<Error> error;
  int number = 7;
  std::optional<bool> flag;
  {
    StrictReader reader(*json, "", error);
    reader.number("other", number);
    reader.maybe("flag", flag, &StrictReader::flag);
    reader.number("given", number);
  }
  EXPECT_FALSE(error);
  EXPECT_EQ(number, 5);
  EXPECT_FALSE(flag);
}

}  // namespace
}  // namespace lockstep::sim::strict_reader_test
