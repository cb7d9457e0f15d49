#include "apiserver/schema/status.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

StatusError about_resource(int code, std::string reason, const ResourceType& type,
                           std::string_view name, std::string message) {
  StatusError error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  error.group = type.group;
  error.kind = type.plural;
  error.name = std::string(name);
  return error;
}

StatusError plain(int code, std::string reason, std::string message) {
  StatusError error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return error;
}

// field.ErrorList.ToAggregate: every text once; brackets only around several.
std::string aggregate(const std::vector<StatusCause>& causes) {
  std::vector<std::string> texts;
  for (const StatusCause& cause : causes) {
    std::string text = fmt::format("{}: {}", cause.field, cause.message);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  if (texts.size() == 1) return texts.front();
  return "[" + join(texts, ", ") + "]";
}

JsonArray causes_json(const std::vector<StatusCause>& causes) {
  JsonArray array;
  for (const StatusCause& cause : causes) {
    JsonObject object;
    if (!cause.reason.empty()) object["reason"] = cause.reason;
    if (!cause.message.empty()) object["message"] = cause.message;
    if (!cause.field.empty()) object["field"] = cause.field;
    array.push_back(std::move(object));
  }
  return array;
}

JsonObject details_json(const StatusError& error) {
  JsonObject details;
  if (!error.name.empty()) details["name"] = error.name;
  if (!error.group.empty()) details["group"] = error.group;
  if (!error.kind.empty()) details["kind"] = error.kind;
  if (!error.uid.empty()) details["uid"] = error.uid;
  if (!error.causes.empty()) details["causes"] = causes_json(error.causes);
  if (error.retry_after_seconds) details["retryAfterSeconds"] = *error.retry_after_seconds;
  return details;
}

// How field.Error shows the value: strings as %q, everything else as JSON.
std::string value_text(const Json& value) {
  if (value.is_string()) return go_quote(value.get_string());
  return print_json(value);
}

StatusCause cause(std::string_view reason, std::string field, std::string message,
                  std::string_view detail) {
  if (!detail.empty()) message += fmt::format(": {}", detail);
  return StatusCause{std::string(reason), std::move(message), std::move(field)};
}

void append_quoted(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\a':
      out += "\\a";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\v':
      out += "\\v";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

}  // namespace

Json StatusError::json() const {
  JsonObject status;
  status["kind"] = "Status";
  status["apiVersion"] = "v1";
  status["metadata"] = JsonObject();
  status["status"] = "Failure";
  if (!message.empty()) status["message"] = message;
  if (!reason.empty()) status["reason"] = reason;
  JsonObject details = details_json(*this);
  if (!details.empty() || reason == "NotFound" || reason == "MethodNotAllowed") {
    status["details"] = std::move(details);
  }
  status["code"] = code;
  return status;
}

StatusError not_found(const ResourceType& type, std::string_view name) {
  return about_resource(404, "NotFound", type, name,
                        fmt::format("{} {} not found", type.full_name(), go_quote(name)));
}

StatusError already_exists(const ResourceType& type, std::string_view name) {
  return about_resource(409, "AlreadyExists", type, name,
                        fmt::format("{} {} already exists", type.full_name(), go_quote(name)));
}

StatusError generate_name_conflict(const ResourceType& type, std::string_view name) {
  StatusError error = already_exists(type, name);
  error.message += ", the server was not able to generate a unique name for the object";
  error.retry_after_seconds = 1;
  return error;
}

StatusError conflict(const ResourceType& type, std::string_view name, std::string_view why) {
  return about_resource(409, "Conflict", type, name,
                        fmt::format("Operation cannot be fulfilled on {} {}: {}", type.full_name(),
                                    go_quote(name), why));
}

StatusError invalid(const ResourceType& type, std::string_view name,
                    std::vector<StatusCause> causes) {
  std::string kind = type.group.empty() ? type.kind : type.kind + "." + type.group;
  std::string message = fmt::format("{} {} is invalid", kind, go_quote(name));
  if (!causes.empty()) message += ": " + aggregate(causes);
  StatusError error = about_resource(422, "Invalid", type, name, std::move(message));
  error.kind = type.kind;
  error.causes = std::move(causes);
  return error;
}

StatusError bad_request(std::string message) {
  return plain(400, "BadRequest", std::move(message));
}

StatusError forbidden(const ResourceType& type, std::string_view name, std::string_view why) {
  std::string what = type.full_name();
  if (!name.empty()) what += " " + go_quote(name);
  return about_resource(403, "Forbidden", type, name,
                        fmt::format("{} is forbidden: {}", what, why));
}

StatusError unauthorized() { return plain(401, "Unauthorized", "Unauthorized"); }

// The real server's router answers these, before any handler could say more.
StatusError method_not_allowed(const ResourceType& type, std::string_view /*verb*/) {
  StatusError error = plain(405, "MethodNotAllowed",
                            "the server does not allow this method on the requested resource");
  error.group = type.group;
  error.kind = type.plural;
  return error;
}

StatusError path_not_found() {
  return plain(404, "NotFound", "the server could not find the requested resource");
}

StatusError expired(std::string message) { return plain(410, "Expired", std::move(message)); }

StatusError too_many_requests(std::string message, int retry_after_seconds) {
  StatusError error = plain(429, "TooManyRequests", std::move(message));
  error.retry_after_seconds = retry_after_seconds;
  return error;
}

StatusError unsupported_media_type(std::string_view got, const std::vector<std::string>& offered) {
  (void)got;  // the real message does not repeat it
  return plain(415, "UnsupportedMediaType",
               "the body of the request was in an unknown format - accepted media types include: " +
                   join(offered, ", "));
}

StatusError not_acceptable(const std::vector<std::string>& offered) {
  return plain(406, "NotAcceptable",
               "only the following media types are accepted: " + join(offered, ", "));
}

StatusError too_large(std::string message) {
  return plain(413, "RequestEntityTooLarge", "Request entity too large: " + message);
}

StatusError internal_error(std::string message) {
  StatusError error = plain(500, "InternalError", "Internal error occurred: " + message);
  error.causes.push_back(StatusCause{"", std::move(message), ""});
  return error;
}

StatusCause cause_required(std::string field, std::string_view detail) {
  return cause("FieldValueRequired", std::move(field), "Required value", detail);
}

StatusCause cause_invalid(std::string field, const Json& value, std::string_view detail) {
  return cause("FieldValueInvalid", std::move(field), "Invalid value: " + value_text(value),
               detail);
}

StatusCause cause_unsupported(std::string field, const Json& value,
                              const std::vector<std::string>& allowed) {
  std::vector<std::string> quoted;
  for (const std::string& choice : allowed) quoted.push_back(go_quote(choice));
  std::string detail = quoted.empty() ? "" : "supported values: " + join(quoted, ", ");
  return cause("FieldValueNotSupported", std::move(field),
               "Unsupported value: " + value_text(value), detail);
}

StatusCause cause_forbidden(std::string field, std::string_view detail) {
  return cause("FieldValueForbidden", std::move(field), "Forbidden", detail);
}

StatusCause cause_duplicate(std::string field, const Json& value) {
  return cause("FieldValueDuplicate", std::move(field), "Duplicate value: " + value_text(value),
               {});
}

StatusCause cause_type(std::string field, const Json& value, std::string_view wanted) {
  std::string got = go_quote(json_type_name(value));
  std::string detail = fmt::format("{} in body must be of type {}: {}", field, wanted, got);
  return cause("FieldValueTypeInvalid", std::move(field), "Invalid value: " + got, detail);
}

StatusCause cause_too_long(std::string field, std::string_view detail) {
  return cause("FieldValueTooLong", std::move(field), "Too long", detail);
}

StatusCause cause_too_many(std::string field, size_t count, size_t limit) {
  return cause("FieldValueTooMany", std::move(field), fmt::format("Too many: {}", count),
               fmt::format("must have at most {} item{}", limit, limit == 1 ? "" : "s"));
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) append_quoted(out, c);
  return out + "\"";
}

std::string_view json_type_name(const Json& value) {
  switch (value.kind()) {
    case JsonKind::null:
      return "null";
    case JsonKind::bool_:
      return "boolean";
    case JsonKind::int64:
    case JsonKind::uint64:
      return "integer";
    case JsonKind::double_:
      return "number";
    case JsonKind::string:
      return "string";
    case JsonKind::array:
      return "array";
    case JsonKind::object:
      return "object";
  }
  return "unknown";
}

Json success_status(const ResourceType& type, std::string_view name, std::string_view uid) {
  JsonObject details;
  details["name"] = name;
  if (!type.group.empty()) details["group"] = type.group;
  details["kind"] = type.plural;
  if (!uid.empty()) details["uid"] = uid;
  JsonObject status;
  status["kind"] = "Status";
  status["apiVersion"] = "v1";
  status["metadata"] = JsonObject();
  status["status"] = "Success";
  status["details"] = std::move(details);
  return status;
}

}  // namespace lockstep::apiserver
