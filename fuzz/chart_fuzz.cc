// A template of the chart, and values for it: any bytes. No crash, an error has words and names its
// template, and the same template with the same values gives the same text.
//
// The first line are the values, the rest is the template.
#include <cstdint>
#include <string>
#include <string_view>

#include "data/yaml.h"
#include "deploy/template_render.h"
#include "deploy/template_syntax.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;
using namespace lockstep::deploy;
using lockstep::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  const auto read = parse_yaml(text.substr(0, line), "values.yaml");
  const Json values = read ? *read : Json(JsonObject{});
  const auto parsed =
      parse_template(line == std::string_view::npos ? text : text.substr(line + 1), "t.yaml");
  if (!parsed) {
    require(!parsed.error().message.empty(), "an error has words");
    return 0;
  }
  const Json root = JsonObject{{"Values", values},
                               {"Release", JsonObject{{"Name", "r"}, {"Namespace", "n"}}},
                               {"Chart", JsonObject{{"Name", "c"}, {"Version", "1"}}}};
  const auto rendered = render_template(parsed->nodes, parsed->definitions, root, "t.yaml");
  const auto again = render_template(parsed->nodes, parsed->definitions, root, "t.yaml");
  require(rendered.has_value() == again.has_value(), "a template means one thing");
  if (rendered) {
    require(*rendered == *again, "whatever it says");
  } else {
    require(!rendered.error().message.empty(), "an error has words");
  }
  return 0;
}
