#include "sim/actors/template_hash.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace lockstep::sim {

namespace {

void add(Digest& digest, const Json& value) {
  if (value.is_object()) {
    std::vector<std::string_view> keys;
    for (const auto& field : value.get_object()) keys.emplace_back(field.key());
    std::sort(keys.begin(), keys.end());
    digest.add("{");
    for (std::string_view key : keys) {
      digest.add(key);
      add(digest, value.get_object().at(key));
    }
    digest.add("}");
  } else if (value.is_array()) {
    digest.add("[");
    for (const Json& element : value.get_array()) add(digest, element);
    digest.add("]");
  } else {
    digest.add(print_json(value));
  }
}

}  // namespace

std::string template_hash(const Json& pod_template) {
  Digest digest;
  add(digest, pod_template);
  // Kubernetes' alphabet for this: no vowels, nothing easy to confuse.
  constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
  uint64_t value = digest.value();
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += alphabet[value % alphabet.size()];
    value /= alphabet.size();
  }
  return text;
}

}  // namespace lockstep::sim
