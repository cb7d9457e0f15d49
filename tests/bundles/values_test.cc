// Helm reads values.yaml as exactly the values that we meant, whatever a string looks like.
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "workshop.h"

namespace lockstep::bundles::values_test {
namespace {

// What real Helm has read from a values file.
Json helm_reads(Workshop& workshop, const Path& file) {
  std::string rendered = workshop.sh(
      "helm template print '" LOCKSTEP_TEST_CHARTS "/print-values' -f '" + file.string() + "'");
  Json document = yaml_stream(rendered, "helm's output").at(0);
  auto text = base64_decode(text_at(document, "values"));
  auto values = parse_json(text.value_or("cut short"));
  if (!values) throw std::runtime_error(values.error().text());
  return *values;
}

// Each of them is a number, a truth value, a date, nothing, or an error, when it is not quoted.
JsonObject strings_that_look_like_something_else() {
  static constexpr std::string_view words =
      "1.10 0755 on off 1e3 0123456 null ~ yes no y n True FALSE 0x1F 0b11 0o17 1_000 12:30:45 "
      "190:20:30 1:2 2001-01-01 2001-12-14t21:59:43.10-05:00 .5 5. +12 -0 .inf -.Inf .nan 1e400 "
      "12345678901234567890 0.1000000000000000055511151231257827 = << - --- ... !tag &anchor "
      "*alias %directive @at `tick` #a a#b 'quoted' \"double\" it's back\\n ${HOME} $(id) v26.3.1 "
      "580.126.20 Größe 日本語 🚀";
  JsonArray texts;
  for (auto word : split(words, ' ')) texts.emplace_back(word);
  for (const char* text :
       {"", " leading", "trailing ", "a: b", "a #b", "- a", "? a", "{a: 1}", "[1, 2]"}) {
    texts.emplace_back(text);
  }
  for (const char* text :
       {"a\nb", "a\nb\n", "a\n\n", "\n", "  a\n b\n", "é\nü", "a\rb", "a\r\nb"}) {
    texts.emplace_back(text);
  }
  // A tab, DEL, a control character, NEL, a line separator, a byte order mark; a template.
  for (const char* text : {"\ttab", "a\tb", "\x7f", "\x01", "\xc2\x85", "\xe2\x80\xa8",
                           "\xef\xbb\xbf", "{{ .Values }}"}) {
    texts.emplace_back(text);
  }
  JsonObject values;
  for (size_t i = 0; i < texts.size(); ++i) values["text" + std::to_string(i)] = texts[i];
  return values;
}

Json nasty_values() {
  JsonObject keys;
  for (const char* key :
       {"on", "1", "1.10", "null", "~", "a.b/c", "a: b", "Größe", "", "yes", "-"}) {
    keys[key] = key;
  }
  JsonObject values;
  values["strings"] = strings_that_look_like_something_else();
  values["keys"] = keys;
  values["types"] = JsonObject{{"yes", true},
                               {"no", false},
                               {"zero", 0},
                               {"negative", -17},
                               {"large", int64_t{9007199254740991}},
                               {"half", 0.5},
                               {"tenth", 0.1},
                               {"huge", 1.5e300},
                               {"tiny", 5e-324},
                               {"empty list", JsonArray{}},
                               {"empty map", JsonObject{}},
                               {"list", JsonArray{1, "1", JsonArray{JsonArray{"x"}}, JsonObject{}}},
                               {"nothing", nullptr}};
  return values;
}

TEST(ValuesInHelm, EveryScalarKeepsItsTypeAndItsBytes) {
  Workshop workshop;
  Json meant = nasty_values();
  write(workshop.directory() / "values.yaml", print_yaml(meant));
  Json seen = helm_reads(workshop, workshop.directory() / "values.yaml");
  for (const char* part : {"strings", "keys", "types"}) {
    for (const auto& [key, value] : meant.at(part).as_object()) {
      const Json* found = find(seen, part, std::string_view(key));
      ASSERT_NE(found, nullptr) << part << " " << print_json(key) << print_json(seen);
      EXPECT_TRUE(json_equal(*found, value))
          << part << " " << key << ": " << print_json(*found) << " is not " << print_json(value);
    }
  }
}

// The seed is fixed: the same strings in every run.
TEST(ValuesInHelm, StringsOfAwkwardPiecesKeepTheirBytes) {
  const std::vector<std::string> pieces{"0", "1", "9", ".", "-",    "+",  "e",  "E",  "x",  "o",
                                        "_", ":", " ", "#", "'",    "\"", "\\", "\n", "\t", "!",
                                        "&", "*", "{", "}", "[",    "]",  ",",  "|",  ">",  "%",
                                        "@", "~", "y", "n", "true", "ü",  "🚀"};
  std::mt19937 random(4);
  JsonArray meant;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t length = 1 + random() % 6; length > 0; --length)
      text += pieces[random() % pieces.size()];
    meant.emplace_back(text);
  }
  Workshop workshop;
  write(workshop.directory() / "values.yaml", print_yaml(JsonObject{{"texts", meant}}));
  Json seen = helm_reads(workshop, workshop.directory() / "values.yaml");
  const JsonArray& found = seen.at("texts").as_array();
  ASSERT_EQ(found.size(), meant.size());
  for (size_t i = 0; i < meant.size(); ++i) {
    EXPECT_TRUE(json_equal(found[i], meant[i]))
        << print_json(found[i]) << " is not " << print_json(meant[i]);
  }
}

// From the command line through the bundle to Helm.
TEST(ValuesInHelm, WhatIsSetOnTheCommandLineArrivesInHelm) {
  struct Row {
    const char* flag;
    std::string text;
    Json meant;
  };
  std::vector<Row> rows{
      {"--set", "true", true},           {"--set", "17", 17},
      {"--set", "-1.5", -1.5},           {"--set", "1.10.0", "1.10.0"},
      {"--set", "v1.10", "v1.10"},       {"--set", "a,b=c", "a,b=c"},
      {"--set-string", "1.10", "1.10"},  {"--set-string", "true", "true"},
      {"--set-string", "null", "null"},  {"--set-string", "", ""},
      {"--set-json", "null", nullptr},   {"--set-json", "[1,\"1\"]", JsonArray{1, "1"}},
      {"--set-json", "\"0755\"", "0755"}};
  for (const auto& [key, value] : strings_that_look_like_something_else()) {
    rows.push_back({"--set-json", print_json(value), value});
  }
  std::vector<std::string> flags;
  for (size_t i = 0; i < rows.size(); ++i) {
    flags.insert(flags.end(),
                 {rows[i].flag, "cert-manager:nasty.row" + std::to_string(i) + "=" + rows[i].text});
  }
  Workshop workshop;
  Path bundle = workshop.bundle(flagship(), "helm", flags);
  for (const Path& folder : numbered_folders(bundle)) {
    if (release_of(folder) != "cert-manager") continue;
    Json seen = helm_reads(workshop, folder / "values.yaml");
    for (size_t i = 0; i < rows.size(); ++i) {
      const Json* found = find(seen, "nasty", "row" + std::to_string(i));
      ASSERT_NE(found, nullptr) << rows[i].flag << " " << rows[i].text;
      EXPECT_TRUE(json_equal(*found, rows[i].meant))
          << rows[i].flag << " " << rows[i].text << ": " << print_json(*found);
    }
    return;
  }
  FAIL() << "there is no cert-manager in " << bundle;
}

}  // namespace
}  // namespace lockstep::bundles::values_test
