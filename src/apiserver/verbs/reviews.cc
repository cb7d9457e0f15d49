#include "apiserver/verbs/reviews.h"

#include <map>
#include <string_view>

namespace lockstep::apiserver {

namespace {

JsonObject name_caller(const Caller& caller) {
  JsonArray groups;
  for (const auto& group : caller.groups) groups.push_back(Json(group));
  return {{"userInfo", JsonObject{{"username", caller.user}, {"groups", groups}}}};
}

JsonObject review_no_token(const Caller&) {
  return {{"authenticated", false}, {"error", "tokens are not reviewed by this server"}};
}

JsonObject list_all_rules(const Caller&) {
  JsonObject everything{
      {"verbs", JsonArray{"*"}}, {"apiGroups", JsonArray{"*"}}, {"resources", JsonArray{"*"}}};
  JsonObject paths{{"verbs", JsonArray{"*"}}, {"nonResourceURLs", JsonArray{"*"}}};
  return {{"resourceRules", JsonArray{everything}},
          {"nonResourceRules", JsonArray{paths}},
          {"incomplete", false}};
}

JsonObject allow(const Caller&) {
  return {{"allowed", true}, {"reason", "this server lets everybody do everything"}};
}

// The status of a review, by its kind. The others ask whether something is allowed.
using Review = JsonObject (*)(const Caller& caller);

Review review_of(std::string_view kind) {
  static const std::map<std::string_view, Review> reviews = {
      {"SelfSubjectReview", name_caller},
      {"TokenReview", review_no_token},
      {"SelfSubjectRulesReview", list_all_rules}};
  auto found = reviews.find(kind);
  return found == reviews.end() ? allow : found->second;
}

}  // namespace

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
  fields["status"] = review_of(info.type.kind)(caller);
  Answer answer;
  answer.code = 201;
  answer.body = std::move(review);
  return answer;
}

}  // namespace lockstep::apiserver
