#include "kube/self_review.h"

#include <utility>

namespace lockstep::kube {

namespace {

Request self_review() {
  static const ResourceType type{"authentication.k8s.io", "v1", "SelfSubjectReview",
                                 "selfsubjectreviews", false};
  return create(type, "", JsonObject{{"apiVersion", type.api_version()}, {"kind", type.kind}});
}

Result<ClusterUser> read_identity(Reply reply) {
  auto document = document_of(std::move(reply));
  if (!document) return fail(document.error());
  const Json* user = find(**document, "status", "userInfo");
  ClusterUser identity;
  if (user == nullptr) return identity;
  identity.name = text_at(*user, "username");
  identity.groups = texts_at(*user, "groups");
  return identity;
}

}  // namespace

void find_identity(Api& api, std::function<void(Result<ClusterUser>)> done) {
  api.call(self_review(),
           [done = std::move(done)](Reply reply) { done(read_identity(std::move(reply))); });
}

Result<ClusterUser> find_identity(SyncApi& api) { return read_identity(api.call(self_review())); }

}  // namespace lockstep::kube
