#include "apiserver/kinds/builtin_defaults.h"

#include <gtest/gtest.h>

#include "apiserver/kinds/defaults_test_util.h"

namespace lockstep::apiserver::builtin_defaults_test {
namespace {

TEST_F(BuiltinDefaultsTest, FieldsOfOtherKinds) {
  struct Case {
    const char* group;
    const char* plural;
    const char* object;
    const char* path;  // up to three steps
    const char* value;
  };
  const Case cases[] = {
      {"apps", "daemonsets", "{'spec':{}}", "spec.updateStrategy",
       "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':1,'maxSurge':0}}"},
      {"apps", "daemonsets", "{'spec':{'updateStrategy':{'type':'OnDelete'}}}",
       "spec.updateStrategy", "{'type':'OnDelete'}"},
      {"apps", "daemonsets", "{'spec':{'template':{'spec':{}}}}", "spec.revisionHistoryLimit",
       "10"},
      {"apps", "deployments", "{'spec':{}}", "spec.strategy",
       "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}}"},
      {"apps", "deployments", "{'spec':{'replicas':0}}", "spec.replicas", "0"},
      {"apps", "replicasets", "{'spec':{}}", "spec.replicas", "1"},
      {"apps", "statefulsets", "{'spec':{}}", "spec.podManagementPolicy", "'OrderedReady'"},
      {"batch", "jobs", "{'spec':{}}", "spec.completions", "1"},
      {"batch", "jobs", "{'metadata':{'name':'j','uid':'u'},'spec':{'template':{}}}",
       "spec.selector", "{'matchLabels':{'batch.kubernetes.io/controller-uid':'u'}}"},
      {"batch", "cronjobs", "{'spec':{}}", "spec.concurrencyPolicy", "'Allow'"},
      {"", "services", "{'spec':{'ports':[{'port':80}]}}", "spec.ports",
       "[{'port':80,'protocol':'TCP','targetPort':80}]"},
      {"", "secrets", "{'stringData':{'a':'hi'},'data':{'b':'Yg=='}}", "data",
       "{'b':'Yg==','a':'aGk='}"},
      {"", "secrets", "{}", "type", "'Opaque'"},
      {"", "namespaces", "{'metadata':{'name':'a'}}", "metadata.labels",
       "{'kubernetes.io/metadata.name':'a'}"},
      {"resource.k8s.io", "resourceclaims",
       "{'spec':{'devices':{'requests':[{'name':'g','exactly':{'deviceClassName':'gpu'}}]}}}",
       "spec.devices.requests",
       "[{'name':'g','exactly':{'deviceClassName':'gpu','allocationMode':'ExactCount','count':1}}"
       "]"},
      {"rbac.authorization.k8s.io", "rolebindings",
       "{'roleRef':{},'subjects':[{'kind':'User','name':'a'},"
       "{'kind':'ServiceAccount','name':'b'}]}",
       "subjects",
       "[{'kind':'User','name':'a','apiGroup':'rbac.authorization.k8s.io'},{'kind':'ServiceAccount'"
       ",'name':'b'}]"},
      {"", "replicationcontrollers",
       "{'spec':{'selector':{},'template':{'metadata':{'labels':{'a':'b'}}}}}", "spec.selector",
       "{'a':'b'}"},
      {"", "replicationcontrollers",
       "{'metadata':{'labels':{}},'spec':{'template':{'metadata':{'labels':{'a':'b'}}}}}",
       "metadata.labels", "{'a':'b'}"},
      {"", "replicationcontrollers",
       "{'spec':{'selector':{'c':'d'},'template':{'metadata':{'labels':{'a':'b'}}}}}",
       "spec.selector", "{'c':'d'}"},
      {"storage.k8s.io", "storageclasses", "{}", "reclaimPolicy", "'Delete'"},
  };
  for (const Case& each : cases) {
    Json object = with_defaults(each.group, each.plural, each.object);
    const Json* found = &object;
    std::string_view path = each.path;
    while (found != nullptr && !path.empty()) {
      size_t dot = path.find('.');
      found = find(*found, path.substr(0, dot));
      path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    ASSERT_NE(found, nullptr) << each.plural << " " << each.path;
    EXPECT_TRUE(json_equal(*found, json(each.value))) << each.plural << " " << print_json(*found);
  }
}

}  // namespace
}  // namespace lockstep::apiserver::builtin_defaults_test
