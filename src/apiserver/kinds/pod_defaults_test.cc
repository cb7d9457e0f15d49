#include <gtest/gtest.h>

#include "apiserver/kinds/defaults_test_util.h"

namespace lockstep::apiserver::pod_defaults_test {
namespace {

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

}  // namespace
}  // namespace lockstep::apiserver::pod_defaults_test
