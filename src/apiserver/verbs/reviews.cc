#include "apiserver/verbs/reviews.h"

namespace lockstep::apiserver {

bool is_review(const ResourceInfo& info) {
  return info.type.group == "authorization.k8s.io" || info.type.group == "authentication.k8s.io";
}

Outcome<Answer> answer_review(const ResourceInfo& info, const kube::Request& request,
                              const Caller& caller) {
  if (!request.body->is_object()) return Refusal(bad_request("the body must be an object"));
  Json review = *request.body;
  JsonObject& fields = review.as_object();
  fields["apiVersion"] = info.type.api_version();
  fields["kind"] = info.type.kind;
  ensure_object(fields, "metadata")["creationTimestamp"] = nullptr;
  JsonArray groups;
  for (const auto& group : caller.groups) groups.push_back(Json(group));
  JsonObject user{{"username", caller.user}, {"groups", groups}};
  const std::string& kind = info.type.kind;
  if (kind == "SelfSubjectReview") {
    fields["status"] = JsonObject{{"userInfo", user}};
  } else if (kind == "TokenReview") {
    fields["status"] =
        JsonObject{{"authenticated", false}, {"error", "tokens are not reviewed by this server"}};
  } else if (kind == "SelfSubjectRulesReview") {
    JsonObject everything{
        {"verbs", JsonArray{"*"}}, {"apiGroups", JsonArray{"*"}}, {"resources", JsonArray{"*"}}};
    JsonObject paths{{"verbs", JsonArray{"*"}}, {"nonResourceURLs", JsonArray{"*"}}};
    fields["status"] = JsonObject{{"resourceRules", JsonArray{everything}},
                                  {"nonResourceRules", JsonArray{paths}},
                                  {"incomplete", false}};
  } else {
    fields["status"] =
        JsonObject{{"allowed", true}, {"reason", "this server lets everybody do everything"}};
  }
  Answer answer;
  answer.code = 201;
  answer.body = std::move(review);
  return answer;
}

}  // namespace lockstep::apiserver
