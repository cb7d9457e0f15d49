// Roles as Kubernetes' own authorizer reads them, laid beside the calls that a program makes: what
// is asked for and not granted, and what is granted and never asked for.
#pragma once

#include <compare>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "data/json.h"
#include "kube/api.h"

namespace lockstep::deploy {

// One call as an authorizer sees it, or one thing that a rule grants: then an empty `ns` is all
// namespaces and objects without one, and an empty `name` is all names.
struct Access {
  std::string verb;      // "list", "watch", "delete", …
  std::string resource;  // "pods", "pods/eviction", "daemonsets.apps"
  std::string ns;
  std::string name;

  auto operator<=>(const Access&) const = default;
};
std::string describe(const Access& access);
inline void PrintTo(const Access& access, std::ostream* out) { *out << describe(access); }

// The roles that are bound to the service account, rule by rule and verb by verb. Throws when a
// binding leads nowhere or a rule says more than an Access can.
std::set<Access> granted_by(const std::vector<Json>& manifests, const std::string& ns,
                            const std::string& account);

bool allows(const Access& grant, const Access& call);

struct Comparison {
  std::set<Access> missing;      // calls that no grant allows
  std::set<Access> superfluous;  // grants that no call needs
};
Comparison compare(const std::set<Access>& grants, const std::set<Access>& calls);

// Writes down what goes through it.
class RecordingApi final : public kube::Api {
 public:
  RecordingApi(kube::Api& inner, std::set<Access>& calls) : inner_(inner), calls_(calls) {}
  void call(kube::Request request, kube::ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                                   kube::WatchHandler handler) override;

 private:
  kube::Api& inner_;
  std::set<Access>& calls_;
};

}  // namespace lockstep::deploy
