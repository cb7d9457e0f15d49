#include "apiserver/builtin_defaults.h"

#include <gtest/gtest.h>

#include "apiserver/resources.h"
#include "apiserver/testing.h"

namespace lockstep::apiserver {
namespace {

class BuiltinDefaultsTest : public testing::Test {
 protected:
  Json with_defaults(std::string_view group, std::string_view plural, std::string text) {
    Json object = json(std::move(text));
    const ResourceInfo* info = table_.find(group, "v1", plural);
    if (info == nullptr) {
      ADD_FAILURE() << plural;
      return {};
    }
    default_builtin(*info, object);
    // Twice is once.
    Json again = object;
    default_builtin(*info, again);
    EXPECT_TRUE(json_equal(object, again)) << print_json(again);
    // Whatever is filled in must be known to the type.
    EXPECT_TRUE(unknown_fields(*info->schema, object).empty()) << print_json(object);
    EXPECT_EQ(decode_error(*info->schema, object).value_or(""), "");
    return object;
  }

  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

TEST_F(BuiltinDefaultsTest, Pods) {
  Json pod = with_defaults(
      "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'nvcr.io:443/a/"
      "b','resources':{'limits':{'nvidia.com/gpu':1}},"
      "'livenessProbe':{'httpGet':{'port':80}}}],'volumes':[{'name':'e'},{'name':'s','secret':{}}],"
      "'serviceAccountName':'sa'}}");
  EXPECT_TRUE(json_equal(
      pod,
      json("{'spec':{'containers':[{'name':'c','image':'nvcr.io:443/a/b','resources':{'limits':"
           "{'nvidia.com/gpu':1},'requests':{'nvidia.com/"
           "gpu':1}},'livenessProbe':{'httpGet':{'port':80,"
           "'path':'/','scheme':'HTTP'},'timeoutSeconds':1,'periodSeconds':10,'successThreshold':1,"
           "'failureThreshold':3},'imagePullPolicy':'Always','terminationMessagePath':"
           "'/dev/"
           "termination-log','terminationMessagePolicy':'File'}],'volumes':[{'name':'e','emptyDir':"
           "{}},"
           "{'name':'s','secret':{'defaultMode':420}}],'serviceAccountName':'sa','serviceAccount':'"
           "sa',"
           "'restartPolicy':'Always','terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst',"
           "'securityContext':{},'schedulerName':'default-scheduler','enableServiceLinks':true},"
           "'status':{'phase':'Pending'}}")))
      << print_json(pod);
}

TEST_F(BuiltinDefaultsTest, ImagesWithoutTagArePulledAlways) {
  struct Case {
    const char* image;
    const char* policy;
  };
  const Case cases[] = {
      {"a", "Always"},        {"a:latest", "Always"},         {"a:1", "IfNotPresent"},
      {"r:5000/a", "Always"}, {"r:5000/a:1", "IfNotPresent"}, {"a@sha256:00", "IfNotPresent"}};
  for (const Case& each : cases) {
    Json pod = with_defaults(
        "", "pods",
        fmt::format("{{'spec':{{'containers':[{{'name':'c','image':'{}'}}]}}}}", each.image));
    EXPECT_EQ(text_at(find(pod, "spec", "containers")->get_array()[0], "imagePullPolicy"),
              each.policy)
        << each.image;
  }
}

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
}  // namespace lockstep::apiserver
