// Random JSON documents for property tests: few names and few values, so that two of them meet.
#pragma once

#include <string>
#include <vector>

#include <rapidcheck.h>

#include "data/json.h"

namespace lockstep {

inline rc::Gen<Json> arbitrary_scalar() {
  using rc::gen::element;
  using rc::gen::map;
  return rc::gen::oneOf(
      rc::gen::just(Json(nullptr)), map(element(false, true), [](bool b) { return Json(b); }),
      map(element<int64_t>(-1, 0, 1, 1'000'000'007), [](int64_t n) { return Json(n); }),
      map(element(0.5, -1e-9, 2.0, 1e300), [](double n) { return Json(n); }),
      map(element<std::string>("", "a", "b", "\"\\\n\t\x01", "\u00e9\u20ac\U0001f600"),
          [](const std::string& text) { return Json(text); }));
}

inline rc::Gen<std::string> arbitrary_name() {
  return rc::gen::element<std::string>("a", "b", "c", "d", "a/b", "~", "");
}

inline rc::Gen<Json> arbitrary_json(int depth = 3) {
  if (depth == 0) return arbitrary_scalar();
  const auto child = arbitrary_json(depth - 1);
  const auto array = rc::gen::map(
      rc::gen::resize(5, rc::gen::container<std::vector<Json>>(child)),
      [](const std::vector<Json>& items) { return Json(JsonArray(items.begin(), items.end())); });
  using Fields = std::vector<std::pair<std::string, Json>>;
  const auto object = rc::gen::map(
      rc::gen::resize(5, rc::gen::container<Fields>(rc::gen::pair(arbitrary_name(), child))),
      [](const Fields& fields) {
        JsonObject result;
        for (const auto& [key, value] : fields) result.insert_or_assign(key, value);
        return Json(result);
      });
  return rc::gen::weightedOneOf<Json>({{2, arbitrary_scalar()}, {2, array}, {4, object}});
}

}  // namespace lockstep
