#include "data/strict_reader.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::strict_reader_test {
namespace {

enum class Colour { red, green };

struct Thing {
  std::string name;
  std::string version;
  bool flag = false;
  int count = 0;
  std::optional<int> limit;
  double share = 0;
  std::optional<Duration> length;
  Colour colour = Colour::red;
  std::string word;
  std::vector<std::string> words;
  JsonObject anything;
  std::string inner;
  std::vector<std::string> items;
  std::map<std::string, int64_t> counts;
};

void read_thing(StrictReader& reader, Thing& thing) {
  reader.text("name", thing.name).required("name");
  reader.text("version", thing.version).flag("flag", thing.flag);
  reader.number("count", thing.count, 1).number("limit", thing.limit, 1, 10);
  reader.decimal("share", thing.share, 0, 1).duration("length", thing.length);
  reader.choice("colour", thing.colour, {{"red", Colour::red}, {"green", Colour::green}});
  reader.word("word", thing.word, {"yes", "no"});
  reader.texts("words", thing.words).object("anything", thing.anything).unused({"later"});
  reader.within("helm", [&](StrictReader& helm) { helm.text("chart", thing.inner); });
  reader.each("items", [&](StrictReader& item) {
    std::string id;
    item.text("id", id).required("id", "each item needs one");
    if (id == "bad") item.refuse("id", "is bad");
    thing.items.push_back(id);
  });
  reader.any("counts", [&](StrictReader& counts) {
    counts.entries([&](const std::string& name, StrictReader& value) {
      value.read(thing.counts[name], [](const Json& json) { return strict::number(json); });
    });
  });
}

// All mistakes, a line each.
std::string mistakes_in(std::string_view text, ReadingRules rules = {}) {
  auto json = parse_yaml(text);
  EXPECT_TRUE(json) << text;
  Reading reading("", rules);
  Thing thing;
  reading.map(*json, [&](StrictReader& reader) { read_thing(reader, thing); });
  std::string lines;
  for (const std::string& line : reading.texts()) lines += (lines.empty() ? "" : "\n") + line;
  return lines;
}

std::string error_in_file(std::string text) {
  auto file = YamlFile::parse("f.yaml", std::move(text));
  if (!file) return file.error().text();
  Thing thing;
  auto read = read_strictly(*file, [&](StrictReader& reader) { read_thing(reader, thing); });
  return read ? "" : read.error().text();
}

TEST(StrictReader, ReadsWhatItKnows) {
  auto file = YamlFile::parse(
      "f.yaml",
      "name: a\nversion: '1'\nflag: true\ncount: 3\nlimit: 4\nshare: 0.5\nlength: 90s\n"
      "colour: green\nword: 'no'\nwords: [x, y]\nanything: {k: {l: 1}}\nlater: 1\n"
      "helm: {chart: c}\nitems: [{id: p}, {id: q}]\ncounts: {a.b: 2}\n");
  ASSERT_TRUE(file) << file.error().text();
  Thing thing;
  Reading reading(*file, {.plain_strings = true});
  reading.map(file->json, [&](StrictReader& reader) { read_thing(reader, thing); });
  ASSERT_TRUE(reading.result()) << reading.result().error().text();
  EXPECT_EQ(thing.version, "1");
  EXPECT_TRUE(thing.flag);
  EXPECT_EQ(thing.count, 3);
  EXPECT_EQ(thing.limit, 4);
  EXPECT_EQ(thing.share, 0.5);
  EXPECT_EQ(thing.length, seconds(90));
  EXPECT_EQ(thing.colour, Colour::green);
  EXPECT_EQ(thing.word, "no");
  EXPECT_EQ(thing.words, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(print_json(thing.anything), R"({"k":{"l":1}})");
  EXPECT_EQ(thing.inner, "c");
  EXPECT_EQ(thing.items, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(thing.counts, (std::map<std::string, int64_t>{{"a.b", 2}}));
}

TEST(StrictReader, LeavesWhatIsNotThere) {
  Thing thing;
  thing.count = 7;
  Reading reading;
  reading.map(JsonObject{{"name", "a"}, {"limit", nullptr}},
              [&](StrictReader& reader) { read_thing(reader, thing); });
  EXPECT_TRUE(reading.mistakes().empty());
  EXPECT_EQ(thing.count, 7);
  EXPECT_EQ(thing.limit, std::nullopt);
}

TEST(StrictReader, SaysWhereAndWhatIsWrongAndWhatIsAccepted) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"[]", "must be a map, not a list"},
      {"{name: a, nunber: 3}",
       "nunber: unknown field; expected one of: name, version, flag, "
       "count, limit, share, length, colour, word, words, anything, "
       "later, helm, items, counts"},
      {"{name: a, contu: 3}", "contu: unknown field; did you mean \"count\"?"},
      {"{name: a, helm: {chrat: c}}", "helm.chrat: unknown field; did you mean \"chart\"?"},
      {"{name: a, helm: {zzzzzzz: c}}", "helm.zzzzzzz: unknown field; expected chart"},
      {"{name: a, helm: c}", "helm: must be a map, not a string"},
      {"{name: 580.105}", "name: must be a string, not a number; put it in quotes"},
      {"{name: [a]}", "name: must be a string, not a list"},
      {"{name: ''}", "name: is missing"},
      {"{}", "name: is missing"},
      {"{name: a, flag: 1}", "flag: must be true or false, not a number"},
      {"{name: a, count: 0}", "count: must be a whole number, 1 or more, not 0"},
      {"{name: a, count: 1.5}", "count: must be a whole number, 1 or more, not 1.5"},
      {"{name: a, count: 99999999999}",
       "count: must be a whole number from 1 to 2147483647, not 99999999999"},
      {"{name: a, limit: 11}", "limit: must be a whole number from 1 to 10, not 11"},
      {"{name: a, limit: []}", "limit: must be a whole number from 1 to 10, not a list"},
      {"{name: a, share: 1.5}", "share: must be a number from 0 to 1, not 1.5"},
      {"{name: a, share: half}", "share: must be a number from 0 to 1, not \"half\""},
      {"{name: a, length: 90}", "length: must be a duration such as 90s or 1h30m, not 90"},
      {"{name: a, length: -1s}", "length: must be a duration such as 90s or 1h30m, not \"-1s\""},
      {"{name: a, colour: gren}", "colour: unknown value \"gren\"; did you mean \"green\"?"},
      {"{name: a, colour: x}", "colour: unknown value \"x\"; expected one of: red, green"},
      {"{name: a, colour: 5}", "colour: must be a string, not a number; put it in quotes"},
      {"{name: a, word: 'yess'}", "word: unknown value \"yess\"; did you mean \"yes\"?"},
      {"{name: a, words: x}", "words: must be a list, not a string"},
      {"{name: a, words: [x, {}]}", "words[1]: must be a string, not a map"},
      {"{name: a, anything: 1}", "anything: must be a map, not a number"},
      {"{name: a, items: {}}", "items: must be a list, not a map"},
      {"{name: a, items: [{id: p}, 3]}", "items[1]: must be a map, not a number"},
      {"{name: a, items: [{}]}", "items[0].id: is missing; each item needs one"},
      {"{name: a, items: [{id: bad}]}", "items[0].id: is bad"},
      {"{name: a, counts: {b: x}}", "counts.b: must be a whole number, 0 or more, not \"x\""},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(mistakes_in(text), expected) << text;
}

TEST(StrictReader, NamesEveryMistakeAndOneOfEachField) {
  EXPECT_EQ(mistakes_in("{nmae: a, flag: 1, items: [{id: bad, odd: 1}, {id: bad}]}"),
            "flag: must be true or false, not a number\n"
            "items[0].id: is bad\n"
            "items[0].odd: unknown field; expected id\n"
            "items[1].id: is bad\n"
            "nmae: unknown field; did you mean \"name\"?\n"
            "name: is missing");
  Reading reading;
  reading.map(JsonObject{{"id", 5}}, [&](StrictReader& reader) {
    std::string id;
    reader.text("id", id).required("id");
    reader.refuse("id", "must not be empty");
    reader.any("id", [](StrictReader& value) { value.refuse("has a second mistake"); });
  });
  EXPECT_EQ(reading.texts(),
            std::vector<std::string>{"id: must be a string, not a number; put it in quotes"});
}

TEST(StrictReader, NullIsAsGoodAsMissingUnlessItIsRefused) {
  EXPECT_EQ(mistakes_in("name: a\nversion:\nwords: null\nhelm:\nitems:\n"), "");
  EXPECT_EQ(mistakes_in("name: a\nflag:\nhelm:\n", {.refuse_null = true}),
            "flag: must be true or false, not null\nhelm: must be a map, not null");
}

TEST(StrictReader, OneValueMayBeTheOnlyOne) {
  auto mistakes = [](Json json) {
    Reading reading;
    reading.map(json, [](StrictReader& reader) {
      if (!reader.must_be("kind", "Recipe", "make one by \"lockstep recipe\"")) {
        reader.ignore_unknown();
      }
    });
    return reading.texts();
  };
  EXPECT_TRUE(mistakes(JsonObject{{"kind", "Recipe"}}).empty());
  EXPECT_EQ(mistakes(JsonObject{{"kind", "Pod"}, {"spec", 1}}),
            std::vector<std::string>{
                "kind: must be Recipe, not \"Pod\"; make one by \"lockstep recipe\""});
  EXPECT_EQ(mistakes(JsonObject{{"spec", 1}}),
            std::vector<std::string>{"kind: is missing; make one by \"lockstep recipe\""});
  Reading reading;
  reading.map(JsonObject{}, [](StrictReader& reader) { reader.must_be("kind", "Recipe"); });
  EXPECT_EQ(reading.texts(), std::vector<std::string>{"kind: is missing; set it to Recipe"});
}

TEST(StrictReader, APartMayBeWrongOnItsOwn) {
  Reading reading;
  std::vector<std::string> errors;
  reading.map(*parse_yaml("{a: {id: 1}, b: {id: x}}"), [&](StrictReader& reader) {
    for (std::string_view key : {"a", "b"}) {
      auto read = reader.apart([&](StrictReader& map) {
        std::string id;
        map.within(key, [&](StrictReader& part) { part.text("id", id); });
      });
      errors.push_back(read ? "" : read.error().text());
    }
  });
  EXPECT_EQ(errors, (std::vector<std::string>{
                        "a.id: must be a string, not a number; put it in quotes", ""}));
  EXPECT_TRUE(reading.mistakes().empty());
}

TEST(StrictReader, InAFileSaysTheLineToo) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"name: a\nversoin: 1\n", "f.yaml:2:1: versoin: unknown field; did you mean \"version\"?"},
      {"name: a\nitems:\n  - id: p\n  - id: q\n    odd: 1\n",
       "f.yaml:5:5: items[1].odd: unknown field; expected id"},
      {"name: a\nitems: [{id: bad}]\n", "f.yaml:2:10: items[0].id: is bad"},
      {"name: a\nitems: [{}]\n", "f.yaml:2:9: items[0].id: is missing; each item needs one"},
      {"version: b\n", "f.yaml:1:1: name: is missing"},
      {"[]", "f.yaml:1:1: must be a map, not a list"},
      {"", "f.yaml: must be a map, not null"},
      {"name: [a]\nflag: 1\n", "f.yaml:1:1: name: must be a string, not a list"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(error_in_file(text), expected) << text;
  EXPECT_EQ(error_in_file("name: a\nname: b\n").substr(0, 9), "f.yaml:2:") << "the YAML reader's";
}

TEST(StrictReader, InAFileOfVersionsStringsNeedNoQuotes) {
  auto file = YamlFile::parse("f.yaml", "name: 25.10\nwords: [x, 010, true]\n");
  Thing thing;
  auto read = read_strictly(*file, [&](StrictReader& reader) { read_thing(reader, thing); });
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(thing.name, "25.10");
  EXPECT_EQ(thing.words, (std::vector<std::string>{"x", "010", "true"}));
}

TEST(StrictReader, ShowsNoSecretAndNoControlCharacters) {
  EXPECT_EQ(mistakes_in("{name: 12345678}").find("1234"), std::string::npos);
  const auto of_key = [](std::string_view key) {
    Reading reading;
    reading.map(JsonObject{{key, 1}}, [](StrictReader&) {});
    return reading.texts().front();
  };
  EXPECT_EQ(of_key("\x1b[31m\n"), R"("\x1b[31m\n": unknown field)");
  EXPECT_EQ(of_key(std::string(10'000, 'k')), "\"" + std::string(64, 'k') + "\"…: unknown field");
}

TEST(StrictReader, KeepsSoManyMistakesAndNoMore) {
  JsonObject object{{"name", 5}};
  for (int i = 0; i < 3000; ++i) object["unknown" + std::to_string(i)] = 1;
  JsonArray items;
  for (int i = 0; i < 5000; ++i) items.emplace_back(i == 0 ? object : JsonObject{{"name", 5}});
  Reading reading;
  reading.any(Json(std::move(items)), [](StrictReader& list) {
    list.as_list([](StrictReader& item) {
      item.as_map([&](StrictReader& map) {
        std::string name;
        map.text("name", name);
      });
    });
  });
  EXPECT_EQ(reading.mistakes().size(), 2000U);
  EXPECT_FALSE(reading.mistakes().back().is_unknown_field);
}

}  // namespace
}  // namespace lockstep::strict_reader_test
