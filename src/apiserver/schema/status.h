// How the API server says no: the Status object of Kubernetes with code, reason and causes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/time.h"
#include "data/json.h"
#include "objects/resource_type.h"

namespace lockstep::apiserver {

struct StatusCause {
  std::string reason;   // "FieldValueRequired"
  std::string message;  // "Required value"
  std::string field;    // "spec.containers"
};

struct StatusError {
  int code = 500;
  std::string reason;  // "NotFound"
  std::string message;
  // details
  std::string group;
  std::string
      kind;  // the plural for NotFound and its like, the Kind for Invalid: as Kubernetes does
  std::string name;
  std::string uid;
  std::vector<StatusCause> causes;
  std::optional<int> retry_after_seconds;

  // The Status object.
  Json json() const;
};

template <typename T>
using Outcome = tl::expected<T, StatusError>;
using Refusal = tl::unexpected<StatusError>;

// The messages are those of Kubernetes, byte for byte: kubectl and client-go read them.
StatusError not_found(const ResourceType& type, std::string_view name);
StatusError already_exists(const ResourceType& type, std::string_view name);
StatusError conflict(const ResourceType& type, std::string_view name, std::string_view why);
// 422: "Pod \"x\" is invalid: [cause, cause]".
StatusError invalid(const ResourceType& type, std::string_view name,
                    std::vector<StatusCause> causes);
StatusError bad_request(std::string message);
StatusError forbidden(const ResourceType& type, std::string_view name, std::string_view why);
StatusError unauthorized();
StatusError method_not_allowed(const ResourceType& type, std::string_view verb);
StatusError expired(std::string message);  // 410
StatusError too_many_requests(std::string message, int retry_after_seconds);
StatusError unsupported_media_type(std::string_view got, const std::vector<std::string>& offered);
StatusError too_large(std::string message);
StatusError internal_error(std::string message);
// 404 for a path that is not a resource.
StatusError path_not_found();
// 406: none of the types in Accept is offered.
StatusError not_acceptable(const std::vector<std::string>& offered);
// 409 for generateName when eight random names were all taken.
StatusError generate_name_conflict(const ResourceType& type, std::string_view name);

// One cause in the words of field.Error: required("spec.x") is "Required value".
StatusCause cause_required(std::string field, std::string_view detail = {});
StatusCause cause_invalid(std::string field, const Json& value, std::string_view detail);
StatusCause cause_unsupported(std::string field, const Json& value,
                              const std::vector<std::string>& allowed);
StatusCause cause_forbidden(std::string field, std::string_view detail);
StatusCause cause_duplicate(std::string field, const Json& value);
StatusCause cause_type(std::string field, const Json& value, std::string_view wanted);
StatusCause cause_too_long(std::string field, std::string_view detail);
// "Too many: 5: must have at most 3 items".
StatusCause cause_too_many(std::string field, size_t count, size_t limit);

// As Go's %q writes it.
std::string go_quote(std::string_view text);
// The name of a value's type as OpenAPI spells it: "string", "integer", "null".
std::string_view json_type_name(const Json& value);

// {"kind":"Status","status":"Success",…} as a delete answers.
Json success_status(const ResourceType& type, std::string_view name, std::string_view uid);

}  // namespace lockstep::apiserver
