// A support bundle of objects as a real API server keeps them: defaulted, with managedFields and
// the annotation of kubectl apply, and with what the real controllers make of them. Secrets are
// planted where users put them, and none may be in the bundle.
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/gzip.h"
#include "data/yaml.h"
#include "folder.h"
#include "installed.h"

namespace lockstep::real::support_bundle_test {
namespace {

using commands::has;

constexpr int planted_count = 35;
const std::string plant = R"x(set -eu
kubectl -n lockstep-system create secret generic registry --from-literal=password=HIDDEN01
kubectl -n lockstep-system create configmap settings --from-literal=apiToken=HIDDEN02
kubectl -n lockstep-system create configmap lockstep-extra \
  --from-literal=notes='{"url":"https://bot:HIDDEN03@git.example.com/x","token":"HIDDEN04"}'
cat > template.json <<'END'
{"metadata":{"labels":{"app":"planted"},"annotations":{"vault.example.com/agent":"HIDDEN05",
   "lockstep.dev/paused":"{\"auths\":{\"r.example.com\":{\"auth\":\"HIDDEN06\"}}}"}},
 "spec":{"schedulerName":"SCHEDULER","containers":[{"name":"main","image":"registry.example.com/agent:7.8.9",
   "command":["sh","-c","login --user a --pass HIDDEN07"],
   "args":["--password=HIDDEN08","--token","HIDDEN09","https://a:HIDDEN10@example.com/x"],
   "env":[{"name":"DB","value":"HIDDEN11"},{"name":"HOOK","value":"https://hooks.example.com/HIDDEN12"}],
   "readinessProbe":{"httpGet":{"port":1,"httpHeaders":[{"name":"X-Api-Key","value":"HIDDEN13"}]}},
   "lifecycle":{"preStop":{"exec":{"command":["curl","-H","Authorization: Bearer HIDDEN14"]}}}}],
  "volumes":[{"name":"csi","csi":{"driver":"csi.example.com","volumeAttributes":{"key":"HIDDEN15"}}}],
  "hostAliases":[{"ip":"10.0.0.1","hostnames":["hidden16.example.com"]}]}}
END
apply() {  # KIND NAMESPACE SCHEDULER
  printf '{"apiVersion":"apps/v1","kind":"%s","metadata":{"name":"planted","namespace":"%s"},"spec":{
    "selector":{"matchLabels":{"app":"planted"}},"template":%s}}' "$1" "$2" "$(sed "s/SCHEDULER/$3/" template.json)" |
    kubectl apply -f -
}
# No node: the server is not to look for a kubelet that has the log.
apply Deployment lockstep-system none
apply DaemonSet gpu-operator default-scheduler
kubectl apply -f - <<'END'
{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"planted","namespace":"lockstep-gates"},
 "spec":{"template":{"spec":{"serviceAccountName":"lockstep-gate","automountServiceAccountToken":false,
  "restartPolicy":"Never","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},
  "containers":[{"name":"gate","image":"nccl-tests","args":["--api-key=HIDDEN34"],
   "env":[{"name":"DB","value":"HIDDEN35"}],"securityContext":{"allowPrivilegeEscalation":false}}]}}}}
END
kubectl annotate node gpu-1 tool.example.com/state=HIDDEN17 \
  lockstep.dev/upgrade-failure="$(printf 'passphrase: |\n  HIDDEN18\nReason: DriverPodCrashes')"
kubectl label node gpu-1 tool.example.com/join=HIDDEN19
kubectl -n lockstep-system create -f - <<'END'
{"apiVersion":"v1","kind":"Event","metadata":{"name":"pull","namespace":"lockstep-system"},
 "involvedObject":{"kind":"Pod","name":"planted","namespace":"lockstep-system"},"reason":"FailedToPull",
 "type":"Warning","message":"GET https://s3.example.com/x?X-Amz-Signature=HIDDEN20 with ghp_HIDDEN21456789 failed"}
END
kubectl patch clusterpolicy cluster-policy --type=merge -p '{
  "metadata":{"annotations":{"other.example.com/x":"HIDDEN22"}},
  "spec":{"driver":{"env":[{"name":"HTTPS_PROXY","value":"http://u:HIDDEN23@proxy"}],"args":["--key","HIDDEN24"]},
          "toolkit":{"env":[{"name":"TOKEN","value":"HIDDEN25"}]},"anything":{"else":"HIDDEN26"}}}'
kubectl create -f - <<'END'
{"apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{"name":"driver",
  "annotations":{"lockstep.dev/steered":"2026-11-19T12:00:00Z pause by admin: password is HIDDEN27"}},
 "spec":{"driver":{"kind":"ClusterPolicy","name":"cluster-policy"},
  "matrix":{"repo":"https://bot:HIDDEN28@git.example.com/x.git"},
  "waves":[{"name":"rest","nodes":{"rest":true},"gates":[
   {"name":"ask","webhook":{"url":"https://hooks.example.com/T/HIDDEN29","headers":{"X-Key":"HIDDEN30"}}}]}]}}
END
kubectl patch driverrollout driver --subresource=status --type=merge -p '{
  "status":{"phase":"Held","reason":"Asked","message":"POST https://hooks.example.com/T/HIDDEN31: 500"}}'
kubectl create -f - <<'END'
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"default"},
 "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.nvidia.com"}}],
  "config":[{"opaque":{"driver":"gpu.nvidia.com","parameters":{"apiVersion":"a/v1","kind":"B","token":"HIDDEN32"}}}]}}}
END
kubectl create -f - <<'END'
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
 "spec":{"driver":"other.example.com","allNodes":true,"pool":{"name":"p","generation":1,"resourceSliceCount":1},
  "devices":[{"name":"d","attributes":{"license":{"string":"HIDDEN33"}}}]}}
END
)x";

// The numbers of those that are there.
std::set<std::string> hidden_in(const std::string& text) {
  std::set<std::string> found;
  for (const std::string mark : {"HIDDEN", "hidden"}) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      found.insert(text.substr(at + mark.size(), 2));
    }
  }
  return found;
}

std::string read_archive(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  auto archive = gunzip(bytes);
  EXPECT_TRUE(archive.has_value()) << file;
  return archive.value_or("");
}

std::string token_in(const std::string& kubeconfig) {
  auto file = parse_yaml(SystemFiles().read(kubeconfig).value_or(""), "kubeconfig");
  const JsonArray* users = file ? array_of(find(*file, "users")) : nullptr;
  return users == nullptr ? "" : std::string(text_at(users->at(0), "user", "token"));
}

TEST(RealSupportBundle, HoldsNoSecretOfTheObjectsOfARealServer) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  RealCluster cluster;
  cluster.add_real_fleet(1, 20);
  install_chart(cluster, "--set controller.gates.jobs.enabled=true");
  ProcessOutput done = cluster.sh(fmt::format("cd '{}'\n{}", cluster.directory(), plant));
  ASSERT_EQ(done.exit_code, 0) << done.output << done.error;
  auto with_secrets = [&](const ResourceType& type, const std::string& ns) {
    for (const Json& object : cluster.list(type, ns)) {
      if (!hidden_in(print_json(object)).empty()) return true;
    }
    return false;
  };
  cluster.require("what the controllers make of them", [&] {
    return with_secrets(resource::pods, "lockstep-system") &&
           with_secrets(resource::pods, "gpu-operator") &&
           with_secrets(resource::pods, "lockstep-gates") &&
           with_secrets(resource::controller_revisions, "gpu-operator");
  });
  // The server has every one of them.
  const ProcessOutput there = cluster.sh(
      "kubectl get -A -o json nodes,pods,deployments,daemonsets,jobs,controllerrevisions,events,"
      "configmaps,clusterpolicies,driverrollouts,resourceclaims,resourceslices; "
      "kubectl get secret registry -n lockstep-system -o jsonpath='{.data.password}' | base64 -d");
  std::set<std::string> all;
  for (int i = 1; i <= planted_count; ++i) all.insert(fmt::format("{:02}", i));
  ASSERT_EQ(hidden_in(there.output), all) << there.error;

  const std::string file = cluster.directory() + "/support.tar.gz";
  ProcessOutput run = cluster.lockstep({"support-bundle", "-f", file});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const std::string archive = read_archive(file);
  EXPECT_EQ(hidden_in(archive), std::set<std::string>{});
  EXPECT_FALSE(has(archive, "SElEREVO")) << "the same in base64";
  const std::string token = token_in(cluster.plane.kubeconfig("admin"));
  ASSERT_FALSE(token.empty());
  EXPECT_FALSE(has(archive, token)) << "of the user who makes the bundle";
  for (const char* part :
       {"objects/nodes.json", "objects/driverrollouts.lockstep.dev.json", "doctor.json",
        "objects/lockstep-system/deployments.apps.json",
        "objects/gpu-operator/controllerrevisions.apps.json",
        "objects/lockstep-gates/jobs.batch.json", "DriverPodCrashes", "FailedToPull",
        "registry.example.com/agent:7.8.9", "\"HTTPS_PROXY\"", "git.example.com"}) {
    EXPECT_TRUE(has(archive, part)) << part;
  }
}

}  // namespace
}  // namespace lockstep::real::support_bundle_test
