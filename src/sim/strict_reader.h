// Reads a map of a document key by key and takes no mistake of its writer: a key that nobody asked
// for, a text where a number belongs. The first mistake is kept, with its place.
//
//   std::optional<Error> error;
//   {
//     StrictReader reader(json, "fleet", error);
//     reader.number("nodes", nodes);
//   }                                     // here unknown keys are found
//   if (error) …                          // "fleet: has the unknown key node; did you mean nodes?"
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "objects/int_or_percent.h"

namespace lockstep::sim {

class StrictReader {
 public:
  // The document must outlive it.
  StrictReader(const Json& json, std::string path, std::optional<Error>& error);
  ~StrictReader();
  StrictReader(const StrictReader&) = delete;
  StrictReader& operator=(const StrictReader&) = delete;

  // Null when it is not there; from now on the key is known.
  const Json* get(const std::string& key);
  std::string path(const std::string& key) const;
  void complain(const std::string& where, const std::string& what);
  std::optional<Error>& error() { return error_; }

  // What is not there leaves `into` as it is.
  void text(const std::string& key, std::string& into);
  void flag(const std::string& key, bool& into);
  // One of the known words; `what` it is, for the message: "phase of a rollout".
  void word(const std::string& key, std::string& into, const std::vector<std::string>& known,
            std::string_view what);
  // Zero or more.
  void decimal(const std::string& key, double& into);
  // From 0 to 1.
  void chance(const std::string& key, double& into);
  void duration(const std::string& key, Duration& into);
  // "90s", or "60s-120s".
  void range(const std::string& key, Duration& least, Duration& most);
  // A whole number, or "50%".
  void share(const std::string& key, IntOrPercent& into);
  template <typename Number>
  void number(const std::string& key, Number& into, int64_t least = 0,
              int64_t most = std::numeric_limits<int32_t>::max()) {
    const Json* value = get(key);
    if (value == nullptr) return;
    if (!value->is_int64() || value->get_int64() < least || value->get_int64() > most) {
      return complain(path(key), fmt::format("must be a whole number from {} to {}", least, most));
    }
    into = static_cast<Number>(value->get_int64());
  }

  // The same for what is only there when somebody wrote it.
  template <typename Value>
  void maybe(const std::string& key, std::optional<Value>& into,
             void (StrictReader::*read)(const std::string&, Value&)) {
    if (get(key) == nullptr) return;
    Value value{};
    (this->*read)(key, value);
    into = std::move(value);
  }

 private:
  const Json& json_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<Error>& error_;
};

}  // namespace lockstep::sim
