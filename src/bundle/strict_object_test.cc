#include "bundle/strict_object.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::strict_object_test {
namespace {

struct Thing {
  std::string name;
  std::string version;
  bool flag = false;
  int64_t nodes = 0;
  std::vector<std::string> words;
  JsonObject anything;
  std::string inner;
  std::vector<std::string> items;
};

Result<Thing> read(std::string text) {
  LOCKSTEP_TRY(YamlFile file, YamlFile::parse("f.yaml", std::move(text)));
  Thing thing;
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictObject& object) {
    object.text("name", thing.name).required("name");
    object.text("version", thing.version).boolean("flag", thing.flag).count("nodes", thing.nodes);
    object.texts("words", thing.words).map("anything", thing.anything).unused({"later"});
    object.within("helm", [&](StrictObject& helm) { helm.text("chart", thing.inner); });
    object.each("items", [&](StrictObject& item) {
      std::string id;
      item.text("id", id).required("id");
      if (id == "bad") item.refuse("id", "is bad");
      thing.items.push_back(id);
    });
  }));
  return thing;
}

std::string error_of(std::string text) {
  auto thing = read(std::move(text));
  return thing ? "" : thing.error().text();
}

TEST(StrictObject, ReadsWhatItKnows) {
  auto thing = read(
      "name: a\nversion: 25.10\nflag: true\nnodes: 3\nwords: [x, 010]\nanything: {k: {l: 1}}\n"
      "later: 1\nhelm: {chart: c}\nitems: [{id: p}, {id: q}]\n");
  ASSERT_TRUE(thing.has_value()) << thing.error().text();
  EXPECT_EQ(thing->version, "25.10") << "as it is written";
  EXPECT_TRUE(thing->flag);
  EXPECT_EQ(thing->nodes, 3);
  EXPECT_EQ(thing->words, (std::vector<std::string>{"x", "010"}));
  EXPECT_EQ(print_json(thing->anything), R"({"k":{"l":1}})");
  EXPECT_EQ(thing->inner, "c");
  EXPECT_EQ(thing->items, (std::vector<std::string>{"p", "q"}));
}

TEST(StrictObject, NullIsAsGoodAsMissing) {
  auto thing = read("name: a\nversion:\nwords: null\nhelm:\nitems:\n");
  ASSERT_TRUE(thing.has_value()) << thing.error().text();
  EXPECT_EQ(thing->version, "");
}

TEST(StrictObject, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    std::string error;
  };
  for (const Case& c : std::vector<Case>{
           {"name: a\nversoin: 1\n",
            "f.yaml:2:1: unknown key \"versoin\": did you mean \"version\"?"},
           {"nmae: a\n", "f.yaml:1:1: unknown key \"nmae\": did you mean \"name\"?"},
           {"name: a\nhelm:\n  chrat: c\n",
            "f.yaml:3:3: unknown key \"chrat\": did you mean \"chart\"?"},
           {"name: a\nhelm:\n  zzzzzzz: c\n",
            "f.yaml:3:3: unknown key \"zzzzzzz\": known are chart"},
           {"name: a\nitems:\n  - id: p\n  - id: q\n    odd: 1\n",
            "f.yaml:5:5: unknown key \"odd\": known are id"},
           {"name: a\nitems: [{id: bad}]\n", "f.yaml:2:10: id is bad"},
           {"name: a\nitems: [{}]\n", "f.yaml:2:9: id is missing"},
           {"name: a\nitems: [3]\n", "f.yaml:2:9: must be a map, and is a number"},
           {"version: b\n", "f.yaml:1:1: name is missing"},
           {"name: ''\n", "f.yaml:1:1: name is missing"},
           {"name: [a]\n", "f.yaml:1:1: name must be text, and is a list"},
           {"name: a\nflag: 1\n", "f.yaml:2:1: flag must be true or false, and is a number"},
           {"name: a\nnodes: -1\n",
            "f.yaml:2:1: nodes must be a whole number, 0 or more, and is -1"},
           {"name: a\nwords: x\n", "f.yaml:2:1: words must be a list, and is text"},
           {"name: a\nwords: [x, {}]\n",
            "f.yaml:2:1: words must be a list of texts, and item 2 is a map"},
           {"name: a\nanything: 1\n", "f.yaml:2:1: anything must be a map, and is a number"},
           {"name: a\nhelm: 1\n", "f.yaml:2:1: must be a map, and is a number"},
           {"name: a\nitems: {}\n", "f.yaml:2:1: items must be a list, and is a map"},
           {"[]", "f.yaml:1:1: must be a map, and is a list"},
           {"", "f.yaml: must be a map, and is null"},
       }) {
    EXPECT_EQ(error_of(c.text), c.error) << c.text;
  }
}

TEST(StrictObject, KeepsTheFirstErrorAndTheYamlReadersOwn) {
  EXPECT_EQ(error_of("name: [a]\nflag: 1\n"), "f.yaml:1:1: name must be text, and is a list");
  EXPECT_EQ(error_of("name: a\nname: b\n").substr(0, 9), "f.yaml:2:");
}

TEST(Names, MayBecomeADirectoryAndAnObject) {
  for (auto good : {"a", "gpu-operator", "k8s", "0a"}) EXPECT_TRUE(check_name(good)) << good;
  for (auto bad : {"", "..", "a/b", "-a", "a-", "A", "a b", "$(x)", "a.b", "\xc3\xa4"}) {
    EXPECT_FALSE(check_name(bad)) << bad;
  }
  EXPECT_TRUE(check_name(std::string(63, 'a')));
  EXPECT_FALSE(check_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace lockstep::bundle::strict_object_test
