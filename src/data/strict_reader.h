// Reads strictly what users write: a field that nothing reads is a mistake, and so is a value of
// the wrong type. Every mistake says where it is, what is wrong and what is accepted:
// `rollout.yaml:7:5: waves[0].gats: unknown field; did you mean "gates"?`.
//
//   Reading reading(file);  // or Reading reading("spec"), of a value that is in no file
//   reading.map(file.json, [&](StrictReader& wave) {
//     wave.text("name", name).required("name");
//     wave.number("count", count, 1, 1000);
//     wave.within("bake", [&](StrictReader& bake) { bake.duration("duration", duration); });
//   });
//   LOCKSTEP_CHECK(reading.result());  // the first mistake; texts() are all of them
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "data/yaml_place.h"

namespace lockstep {

struct Mistake {
  std::string field;  // "spec.waves[0].name"; empty: the whole document
  std::string message;
  Place place;  // in the file
  bool is_unknown_field = false;

  // "spec.waves[0].name: is missing"
  std::string text() const;
  // The same with the place in the file.
  Error error() const;
};

struct ReadingRules {
  // Null is a value, mostly of the wrong type. Otherwise a field that is null counts as missing.
  bool refuse_null = false;
  // Where a string is expected, a number or a boolean is one, as it is written in the file: the
  // version 25.10 needs no quotes.
  bool plain_strings = false;
};

class StrictReader;
using ReaderBody = std::function<void(StrictReader&)>;

// One reading of one document, and the mistakes in it.
class Reading {
 public:
  // `root` begins the fields of mistakes.
  explicit Reading(std::string root = {}, ReadingRules rules = {});
  explicit Reading(const YamlFile& file, ReadingRules rules = {});

  // The document as a map, or as anything that `body` accepts.
  void map(const Json& json, const ReaderBody& body);
  void any(const Json& json, const ReaderBody& body);

  const std::vector<Mistake>& mistakes() const { return mistakes_; }
  // The first mistake.
  Result<void> result() const;
  std::vector<std::string> texts() const;

 private:
  friend class StrictReader;

  std::string root_;
  std::shared_ptr<const SourceText> source_;
  ReadingRules rules_;
  std::vector<Mistake> mistakes_;
};

// What a single value must be; an error says only what is wrong with it.
namespace strict {
Result<std::string> text(const Json& json);
Result<bool> flag(const Json& json);
Result<int64_t> number(const Json& json, int64_t least = 0,
                       int64_t most = std::numeric_limits<int64_t>::max());
Result<double> decimal(const Json& json, double least = 0,
                       double most = std::numeric_limits<double>::max());
// Not negative.
Result<Duration> duration(const Json& json);
// One of the known words.
Result<std::string> word(const Json& json, const std::vector<std::string>& known);
// The value that is paired with the word.
template <typename Value>
Result<Value> value_of(const Json& json, const auto& words) {
  std::vector<std::string> known;
  for (const auto& [word, value] : words) {
    if (json.is_string() && as_text(&json) == word) return value;
    known.emplace_back(word);
  }
  return fail(strict::word(json, known).error());
}
// "must be a map, not a list": of what `json` is not.
Error not_a(std::string_view wanted, const Json& json);
// The same with the value, for what is of the right type.
Error not_one(std::string_view wanted, const Json& json);
}  // namespace strict

// A value of the document, valid during the call that receives it.
class StrictReader {
 public:
  StrictReader(const StrictReader&) = delete;
  StrictReader& operator=(const StrictReader&) = delete;

  // Each reads one field of the map, if it is there; `into` may be an optional.
  template <typename Into>
  StrictReader& text(std::string_view key, Into& into) {
    return read(key, into, [&](const Json& json) { return scalar(json, key); });
  }
  template <typename Into>
  StrictReader& flag(std::string_view key, Into& into) {
    return read(key, into, &strict::flag);
  }
  template <typename Into>
  StrictReader& number(std::string_view key, Into& into, int64_t least = 0,
                       int64_t most = std::numeric_limits<int32_t>::max()) {
    return read(key, into, [&](const Json& json) { return strict::number(json, least, most); });
  }
  template <typename Into>
  StrictReader& decimal(std::string_view key, Into& into, double least = 0,
                        double most = std::numeric_limits<double>::max()) {
    return read(key, into, [&](const Json& json) { return strict::decimal(json, least, most); });
  }
  template <typename Into>
  StrictReader& duration(std::string_view key, Into& into) {
    return read(key, into, &strict::duration);
  }
  template <typename Into>
  StrictReader& word(std::string_view key, Into& into, const std::vector<std::string>& known) {
    return read(key, into, [&](const Json& json) { return strict::word(json, known); });
  }
  // The value of a word.
  template <typename Into>
  StrictReader& choice(std::string_view key, Into& into,
                       std::initializer_list<std::pair<std::string_view, Into>> words) {
    return read(key, into, [&](const Json& json) { return strict::value_of<Into>(json, words); });
  }
  template <typename Into, typename Value, size_t Count>
  StrictReader& choice(std::string_view key, Into& into,
                       const std::pair<std::string_view, Value> (&words)[Count]) {
    return read(key, into, [&](const Json& json) { return strict::value_of<Value>(json, words); });
  }
  StrictReader& texts(std::string_view key, std::vector<std::string>& into);
  StrictReader& object(std::string_view key, JsonObject& into);  // with any fields
  // By a function from a value to a Result.
  template <typename Into, typename Parse>
  StrictReader& read(std::string_view key, Into& into, const Parse& parse) {
    if (const Json* json = get(key)) {
      auto value = parse(*json);
      if (value) {
        assign(into, std::move(*value));
      } else {
        refuse(key, value.error().text());
      }
    }
    return *this;
  }

  // The field's value: a map, a list of maps, anything, a list of anything.
  StrictReader& within(std::string_view key, const ReaderBody& body);
  StrictReader& each(std::string_view key, const ReaderBody& body);
  StrictReader& any(std::string_view key, const ReaderBody& body);
  StrictReader& items(std::string_view key, const ReaderBody& body);

  // The field has one accepted value. True: it has that value.
  bool must_be(std::string_view key, std::string_view wanted, std::string_view advice = {});
  // A missing field is reported after the unknown ones: the missing "name" is mostly the unknown
  // "nmae".
  StrictReader& required(std::string_view key, std::string_view advice = {});
  // Known to the format, and not read here.
  StrictReader& unused(std::initializer_list<std::string_view> keys);
  StrictReader& ignore_unknown();
  // Whether the map has a field that was not asked for up to now.
  bool has_unknown() const { return !unknown().empty(); }

  // This value itself, whatever it is.
  const Json& json() const { return json_; }
  template <typename Into>
  void text(Into& into) {
    read(into, [&](const Json& json) { return scalar(json, {}); });
  }
  void texts(std::vector<std::string>& into);
  void as_map(const ReaderBody& body);
  void as_list(const ReaderBody& body);
  // A map whose keys are names that users choose.
  void entries(const std::function<void(const std::string& name, StrictReader& value)>& body);
  // The value by a function from a value to a Result.
  template <typename Into, typename Parse>
  void read(Into& into, const Parse& parse) {
    auto value = parse(json_);
    if (value) {
      assign(into, std::move(*value));
    } else {
      refuse(value.error().text());
    }
  }

  // Runs `body` and returns its first mistake. The reading does not keep what is wrong there.
  Result<void> apart(const ReaderBody& body);

  // Null pointer when it is not there. From now on the field is known.
  const Json* get(std::string_view key);
  bool has(std::string_view key) const;
  // For what only the caller can check. Of each field the first mistake is kept.
  void refuse(std::string_view key, std::string what);
  void refuse(std::string what);
  // Refuses the field with the result's error, if it is one.
  void check(std::string_view key, const Result<void>& result);
  bool is_refused(std::string_view key) const;

  // "spec.waves[0].name"
  std::string field(std::string_view key = {}) const;
  Place place(std::string_view key = {}) const;

 private:
  friend class Reading;

  StrictReader(Reading& reading, const Json& json) : reading_(reading), json_(json) {}
  StrictReader(StrictReader& parent, const Json& json, std::string_view key)
      : reading_(parent.reading_), json_(json), parent_(&parent), key_(key) {}
  StrictReader(StrictReader& parent, const Json& json, size_t index)
      : reading_(parent.reading_), json_(json), parent_(&parent), index_(index) {}

  template <typename T>
  static void assign(T& into, auto&& value) {
    into = static_cast<T>(std::forward<decltype(value)>(value));
  }
  template <typename T>
  static void assign(std::optional<T>& into, auto&& value) {
    assign(into.emplace(), std::forward<decltype(value)>(value));
  }
  Result<std::string> scalar(const Json& json, std::string_view key) const;
  bool has_room(bool is_unknown_field) const;
  void add(std::string_view key, std::string message, bool is_unknown_field);
  std::vector<std::string> unknown() const;
  void finish();
  YamlPath path() const;

  Reading& reading_;
  const Json& json_;
  StrictReader* parent_ = nullptr;
  std::string key_;
  std::optional<size_t> index_;
  bool ignores_unknown_ = false;
  bool is_refused_ = false;
  std::vector<std::string> known_;
  std::set<std::string, std::less<>> refused_;
  std::vector<std::pair<std::string, std::string>> required_;  // with the advice
};

// A value that has been read before, so that its mistakes are known.
template <typename Read>
auto read_again(const Json& json, const Read& read) {
  std::invoke_result_t<Read, StrictReader&> value{};
  Reading reading;
  reading.any(json, [&](StrictReader& reader) { value = read(reader); });
  return value;
}

// A whole file that is a map, read by the rules of recipes: its first mistake.
Result<void> read_strictly(const YamlFile& file, const ReaderBody& body);

}  // namespace lockstep
