#include "apiserver/schema/status.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::status_test {
namespace {

const ResourceType daemon_sets{"apps", "v1", "DaemonSet", "daemonsets", true};

TEST(Status, SaysWhatKubernetesSays) {
  struct Case {
    StatusError error;
    int code;
    std::string reason;
    std::string message;
  };
  const Case cases[] = {
      {not_found(resource::pods, "web"), 404, "NotFound", "pods \"web\" not found"},
      {not_found(daemon_sets, "d"), 404, "NotFound", "daemonsets.apps \"d\" not found"},
      {already_exists(daemon_sets, "d"), 409, "AlreadyExists",
       "daemonsets.apps \"d\" already exists"},
      {conflict(resource::nodes, "n", "the object has been modified"), 409, "Conflict",
       "Operation cannot be fulfilled on nodes \"n\": the object has been modified"},
      {forbidden(resource::pods, "", "no"), 403, "Forbidden", "pods is forbidden: no"},
      {forbidden(resource::pods, "a", "no"), 403, "Forbidden", "pods \"a\" is forbidden: no"},
      {method_not_allowed(resource::pods, "patch"), 405, "MethodNotAllowed",
       "the server does not allow this method on the requested resource"},
      {path_not_found(), 404, "NotFound", "the server could not find the requested resource"},
      {too_large("limit is 3"), 413, "RequestEntityTooLarge",
       "Request entity too large: limit is 3"},
      {internal_error("x"), 500, "InternalError", "Internal error occurred: x"},
      {generate_name_conflict(resource::pods, "a"), 409, "AlreadyExists",
       "pods \"a\" already exists, the server was not able to generate a unique name for the "
       "object"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(each.error.code, each.code);
    EXPECT_EQ(each.error.reason, each.reason);
    EXPECT_EQ(each.error.message, each.message);
  }
}

TEST(Status, InvalidListsEachCauseOnce) {
  StatusCause required = cause_required("spec.selector");
  EXPECT_EQ(invalid(daemon_sets, "d", {required}).message,
            "DaemonSet.apps \"d\" is invalid: spec.selector: Required value");
  EXPECT_EQ(
      invalid(daemon_sets, "d", {required, required, cause_forbidden("spec", "why")}).message,
      "DaemonSet.apps \"d\" is invalid: [spec.selector: Required value, spec: Forbidden: why]");
  EXPECT_EQ(invalid(resource::pods, "", {}).message, "Pod \"\" is invalid");
}

TEST(Status, ObjectHasTheShapeOfKubernetes) {
  EXPECT_EQ(print_json(invalid(resource::pods, "p", {cause_required("spec")}).json()),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"Pod \"p\" is invalid: spec: Required value","reason":"Invalid",)"
            R"("details":{"name":"p","kind":"Pod","causes":[{"reason":"FieldValueRequired",)"
            R"("message":"Required value","field":"spec"}]},"code":422})");
  EXPECT_EQ(print_json(bad_request("no").json()),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"no","reason":"BadRequest","code":400})");
  EXPECT_EQ(print_json(success_status(daemon_sets, "d", "u")),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",)"
            R"("details":{"name":"d","group":"apps","kind":"daemonsets","uid":"u"}})");
}

TEST(Status, CausesAreFieldErrors) {
  EXPECT_EQ(cause_invalid("a", "x\"y\n", "why").message, "Invalid value: \"x\\\"y\\n\": why");
  EXPECT_EQ(cause_invalid("a", 3, "why").message, "Invalid value: 3: why");
  EXPECT_EQ(cause_invalid("a", json("{'b':[1]}"), "why").message,
            "Invalid value: {\"b\":[1]}: why");
  EXPECT_EQ(cause_unsupported("a", "x", {"b", "c"}).message,
            "Unsupported value: \"x\": supported values: \"b\", \"c\"");
  EXPECT_EQ(cause_type("spec.n", "x", "integer").message,
            "Invalid value: \"string\": spec.n in body must be of type integer: \"string\"");
  EXPECT_EQ(cause_too_many("a", 2, 1).message, "Too many: 2: must have at most 1 item");
  EXPECT_EQ(cause_required("a", "why").message, "Required value: why");
}

}  // namespace
}  // namespace lockstep::apiserver::status_test
