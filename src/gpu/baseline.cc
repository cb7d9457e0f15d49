#include "gpu/baseline.h"

namespace lockstep::gpu {

namespace {

constexpr std::string_view kind = "lockstep-gate-baseline";
constexpr int64_t version = 1;

}  // namespace

std::string baseline_text(const Json& facts, Time taken) {
  JsonObject document{{"kind", kind}, {"version", version}, {"taken", format_rfc3339(taken)}};
  document["facts"] = facts;
  return print_json_pretty(Json(std::move(document))) + "\n";
}

Result<Json> read_baseline(std::string_view text, std::string_view name) {
  auto document = parse_json(text);
  if (!document) {
    Error error = document.error();
    error.kind = ErrorKind::invalid;  // also one that is nested too deeply
    error.message = fmt::format("not a whole baseline (cut off?): {}", error.message);
    return fail(error.at(name));
  }
  if (text_at(*document, "kind") != kind)
    return fail(ErrorKind::invalid, "not a baseline of lockstep gate --save-baseline",
                std::string(name));
  if (int64_t of = as_integer(find(*document, "version")); of != version)
    return fail(
        ErrorKind::invalid,
        fmt::format("a baseline of version {}; this program reads version {}: save it again", of,
                    version),
        std::string(name));
  const Json* facts = find(*document, "facts");
  const Json* gpus = facts == nullptr ? nullptr : find(*facts, "gpus");
  if (gpus == nullptr || !gpus->is_object())
    return fail(ErrorKind::invalid, "the baseline has no GPUs in it", std::string(name));
  return *facts;
}

}  // namespace lockstep::gpu
