// Small languages in resource definitions, which every user who may create a definition can send to
// the embedded API server: patterns and the JSONPath of printer columns. No crash, an error has
// words, and nothing takes long (-timeout).
//
// The first line is the pattern or path, the rest what it is applied to.
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/door/request_guard.h"
#include "apiserver/present/json_path.h"
#include "apiserver/schema/pattern.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;
using namespace lockstep::apiserver;
using lockstep::fuzz::require;

const Json& tree() {
  static const Json made = [] {
    Json deep = "x";
    for (int i = 0; i < 8; ++i) deep = JsonObject{{"a", deep}, {"b", JsonArray{deep, deep}}};
    return deep;
  }();
  return made;
}

void check_source_of(std::string_view host, std::string_view rest) {
  const RequestGuard guard{{"build.example"}, 8080, false};
  const auto checked = check_source(guard, {.host = host, .content_type = rest, .has_body = true});
  if (checked) {
    require(host.ends_with(":8080"), "only with the right port");
    require(rest.find("application/") != std::string_view::npos ||
                rest.find("APPLICATION/") != std::string_view::npos || rest.size() >= 12,
            "and a known type");
  } else {
    require(checked.error().code == 421 || checked.error().code == 415, "else it says why");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  const std::string_view first = text.substr(0, line);
  const std::string_view rest = line == std::string_view::npos ? "" : text.substr(line + 1);
  if (const auto pattern = Pattern::compile(first)) {
    (void)(*pattern)->matches(rest);
  } else {
    require(!pattern.error().message.empty(), "an error has words");
  }
  if (const auto path = JsonPath::parse(first)) {
    (void)path->find_all(tree());
    if (const auto json = parse_json(rest)) (void)path->find_all(*json);
  } else {
    require(!path.error().message.empty(), "an error has words");
  }
  check_source_of(first, rest);
  return 0;
}
