#include "dashboard/person.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace lockstep::dashboard {

namespace {

// An issuer's address may be part of it, and admission compares all of it.
constexpr size_t longest_name = 1000;

const ResourceType& access_reviews() {
  static const ResourceType type{"authorization.k8s.io", "v1", "SelfSubjectAccessReview",
                                 "selfsubjectaccessreviews", false};
  return type;
}

Json review(const ResourceType& type, Json spec) {
  JsonObject object{{"apiVersion", type.api_version()}, {"kind", type.kind}};
  if (!spec.is_null()) object["spec"] = std::move(spec);
  return object;
}

// Calls back with the user as the cluster knows them.
void find_user(kube::Api& api, std::function<void(Result<kube::ClusterUser>)> done) {
  kube::find_identity(api, [done = std::move(done)](Result<kube::ClusterUser> found) {
    if (!found) {
      // Clusters before 1.28 do not say.
      if (found.error().kind == ErrorKind::not_found)
        return done(kube::ClusterUser{"a signed-in user", {}});
      return done(fail(found.error()));
    }
    found->name = operate::clean_line(found->name, longest_name);
    if (found->name.empty()) found->name = "a user without a name";
    done(std::move(found));
  });
}

struct Question {
  std::string_view name;
  const ResourceType* type;
};

// What is asked, one after the other.
struct AccessSearch : std::enable_shared_from_this<AccessSearch> {
  std::shared_ptr<kube::Api> api;
  JsonCallback done;
  std::string user;
  JsonObject allowed;
  std::vector<Question> questions;

  void next() {
    if (questions.empty()) {
      return done(Json(JsonObject{{"user", user}, {"allowed", std::move(allowed)}}));
    }
    Question question = questions.back();
    questions.pop_back();
    JsonObject attributes{
        {"verb", "patch"}, {"group", question.type->group}, {"resource", question.type->plural}};
    api->call(kube::create(access_reviews(), "",
                           review(access_reviews(),
                                  JsonObject{{"resourceAttributes", std::move(attributes)}})),
              [self = shared_from_this(), name = question.name](kube::Reply reply) {
                auto document = kube::document_of(std::move(reply));
                if (!document) return self->done(fail(document.error()));
                // A user who may steer one kind of policy must not be told that they may not.
                bool may = as_bool(find(**document, "status", "allowed"));
                self->allowed[name] = may || as_bool(find(Json(self->allowed), name));
                self->next();
              });
  }
};

struct Performance : std::enable_shared_from_this<Performance> {
  std::shared_ptr<kube::Api> api;
  JsonCallback done;
  std::string what;
  std::vector<kube::Request> requests;
  size_t place = 0;

  void next() {
    if (place == requests.size()) return done(Json(JsonObject{{"done", what}}));
    kube::Request request = requests[place++];
    std::string object = request.describe();
    api->call(std::move(request), [self = shared_from_this(), object](kube::Reply reply) {
      auto document = kube::document_of(std::move(reply));
      if (!document) return self->done(fail(document.error().at(object)));
      self->next();
    });
  }
};

}  // namespace

void find_access(std::shared_ptr<kube::Api> api, JsonCallback done) {
  auto search = std::make_shared<AccessSearch>();
  search->api = std::move(api);
  search->done = std::move(done);
  search->questions = {{"pool", &fleet::nvidia_drivers},
                       {"pool", &fleet::cluster_policies},
                       {"rollout", &fleet::driver_rollouts},
                       {"node", &resource::nodes}};
  find_user(*search->api, [search](Result<kube::ClusterUser> user) {
    if (!user) return search->done(fail(user.error()));
    search->user = std::move(user->name);
    search->next();
  });
}

void perform(std::shared_ptr<kube::Api> api, const operate::Action& action, Time now,
             const fleet::Keys& keys, std::vector<operate::PolicyObject> policies,
             JsonCallback done) {
  auto performance = std::make_shared<Performance>();
  performance->api = std::move(api);
  performance->done = std::move(done);
  performance->what = fmt::format("{} {}", action.verb, action.name);
  find_user(*performance->api, [performance, action, now, keys,
                                policies = std::move(policies)](Result<kube::ClusterUser> user) {
    if (!user) return performance->done(fail(user.error()));
    auto go = [performance, action, now, keys, policies, user = *user](const Json& object) {
      auto requests = operate::requests_of(action, user, now, keys, policies, object);
      if (!requests) return performance->done(fail(requests.error()));
      performance->requests = std::move(*requests);
      performance->next();
    };
    if (action.target == operate::ActionTarget::pool) return go(Json());
    // What it would change is asked of the cluster itself: a page may be behind.
    const ResourceType& type =
        action.target == operate::ActionTarget::node ? resource::nodes : fleet::driver_rollouts;
    kube::Request read = kube::get(type, {"", action.name});
    performance->api->call(std::move(read), [performance, go](kube::Reply reply) {
      auto document = kube::document_of(std::move(reply));
      if (!document) return performance->done(fail(document.error()));
      go(**document);
    });
  });
}

}  // namespace lockstep::dashboard
