// Access by the chart's admission policies on a real API server: users who steer a rollout, users
// who edit it, the controller's account, and the accounts of programs on nodes.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plugin_rights.h"
#include "real_cluster.h"

namespace lockstep::real::rights_test {
namespace {

const std::string controller = "system:serviceaccount:lockstep-system:lockstep-controller";
constexpr const char* job_gate =
    R"({"name":"mine","job":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})";

struct RealRights : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster.emplace(ControlPlaneOptions{
        .users = {
            {controller, {}}, {"steerer", {"sre"}}, {"editor", {"dev"}}, {"gatekeeper", {"dev"}}}});
  }
  std::string must(const std::string& script) {
    ProcessOutput run = cluster->sh(script);
    EXPECT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
    return run.output;
  }
  void install(const std::string& flags = "") {
    must(fmt::format("'{}' install --image registry/lockstep --set controller.replicas=0 {}",
                     commands::lockstep_program(), flags));
    must("kubectl wait --for=condition=Established crd/driverrollouts.lockstep.dev --timeout=30s");
    grant("steerer", "get,list,watch,patch");
    grant("editor", "get,list,watch,create,patch,update,delete");
    grant("gatekeeper", "get,list,watch,create,patch,update,delete");
    must("kubectl create role gates -n lockstep-gates --verb=create --resource=jobs.batch");
    must("kubectl create rolebinding gates -n lockstep-gates --role=gates --user=gatekeeper");
  }
  void grant(const std::string& user, const std::string& verbs) {
    must(
        fmt::format("kubectl create clusterrole {0} --verb={1} "
                    "--resource=driverrollouts.lockstep.dev && kubectl create clusterrolebinding "
                    "{0} --clusterrole={0} --user={0}",
                    user, verbs));
  }
  ProcessOutput as(const std::string& user, const std::string& words) {
    return cluster->sh(
        fmt::format("kubectl --kubeconfig '{}' {}", cluster->plane.kubeconfig(user), words));
  }
  ProcessOutput patch(const std::string& user, const std::string& patch) {
    return as(user, fmt::format("patch driverrollout driver --type=merge -p '{}'", patch));
  }
  ProcessOutput create(const std::string& kubeconfig, const std::string& json) {
    std::ofstream(cluster->directory() + "/probe.json") << json;
    return cluster->sh(fmt::format("kubectl --kubeconfig '{}' create -f '{}/probe.json'",
                                   kubeconfig, cluster->directory()));
  }
  static std::string rollout(const std::string& wave) {
    return fmt::format(
        R"({{"apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{{"name":"driver"}},
            "spec":{{"driver":{{"kind":"ClusterPolicy","name":"p"}},"waves":[
              {{"name":"canary","nodes":{{"count":1}}{}}},{{"name":"rest","nodes":{{"rest":true}}}}]}}}})",
        wave);
  }
  // The policies take a moment until they work: then patch alone does not set a label.
  void wait_for_policies() {
    int tries = 0;
    cluster->require("the admission policies", [&] {
      // What is there already would be no change.
      const std::string label =
          fmt::format(R"({{"metadata":{{"labels":{{"a":"b{}"}}}}}})", ++tries);
      return patch("steerer", label).exit_code != 0;
    });
  }
  static std::string annotations(const std::string& more) {
    return fmt::format(R"({{"metadata":{{"annotations":{{{}}}}}}})", more);
  }

  std::optional<RealCluster> cluster;
};

::testing::AssertionResult is_refused(const ProcessOutput& run, const std::string& why) {
  if (run.exit_code != 0 && run.error.find(why) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "not refused with \"" << why << "\", but exit " << run.exit_code << ":\n"
         << run.output << run.error;
}
::testing::AssertionResult is_done(const ProcessOutput& run) {
  if (run.exit_code == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << run.output << run.error;
}

TEST_F(RealRights, ThePatchOfARolloutGivesCommandsAndNothingElse) {
  install("--set controller.gates.jobs.enabled=true");
  ASSERT_TRUE(is_done(create(cluster->plane.kubeconfig("editor"), rollout(""))));
  wait_for_policies();
  EXPECT_TRUE(is_done(patch("steerer", R"({"spec":{"paused":true}})")));
  EXPECT_TRUE(is_done(patch("steerer", R"({"spec":{"paused":false}})")));
  // What makes a command without a rollout that is in progress: the annotations alone.
  EXPECT_TRUE(
      is_done(patch("steerer", annotations(R"("lockstep.dev/command":"{\"verb\":\"promote\"}",
                                "lockstep.dev/command-by":"steerer",
                                "lockstep.dev/steered":"2026-11-19T12:00:00Z promote by steerer")"))));
  for (
      const char* change :
      {R"({"spec":{"onFailure":"Hold"}})", R"({"spec":{"paused":true,"policy":{"maxFailures":9}}})",
       R"({"spec":{"waves":null}})", R"({"spec":{"matrix":{"repo":"https://evil.example"}}})",
       R"({"metadata":{"labels":{"a":"b"}}})", R"({"metadata":{"finalizers":["a.b/c"]}})",
       R"({"metadata":{"annotations":{"other":"x"}}})",
       R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}})"}) {
    EXPECT_TRUE(is_refused(patch("steerer", change), "needs the verb update")) << change;
  }
  EXPECT_TRUE(is_refused(
      patch("steerer", fmt::format(R"({{"spec":{{"waves":[{{"name":"canary","nodes":{{"count":1}},
                                      "gates":[{}]}}]}}}})",
                                   job_gate)),
      "needs the verb update"));
  // An account of a GitOps tool.
  EXPECT_TRUE(
      is_done(patch("editor", R"({"spec":{"onFailure":"Hold"},"metadata":{"labels":{"a":"b"}}})")));
  EXPECT_EQ(must("kubectl get driverrollout driver -o jsonpath='{.spec.onFailure}'"), "Hold");
}

TEST_F(RealRights, AJobGateNeedsTheRightToCreateJobsWhereGatesRun) {
  install("--set controller.gates.jobs.enabled=true");
  const std::string gates = fmt::format(R"(,"gates":["driver",{}])", job_gate);
  ASSERT_TRUE(is_done(create(cluster->plane.kubeconfig("gatekeeper"), rollout(gates))));
  wait_for_policies();
  // An existing value does not block a user who changes another field.
  EXPECT_TRUE(is_done(patch("editor", R"({"spec":{"onFailure":"Hold"}})")));
  const std::string changed = R"({"spec":{"waves":[{"name":"canary","nodes":{"count":1},"gates":[
      {"name":"mine","job":{"template":{"spec":{"containers":[{"name":"c","image":"evil"}]}}}}]},
      {"name":"rest","nodes":{"rest":true}}]}})";
  EXPECT_TRUE(is_refused(patch("editor", changed), "needs the verb create on jobs.batch"));
  must("kubectl delete driverrollout driver");
  EXPECT_TRUE(is_refused(create(cluster->plane.kubeconfig("editor"), rollout(gates)),
                         "needs the verb create on jobs.batch"));
  EXPECT_TRUE(
      is_done(create(cluster->plane.kubeconfig("editor"), rollout(R"(,"gates":["driver"])"))));
  EXPECT_TRUE(is_refused(patch("editor", changed), "needs the verb create on jobs.batch"));
  EXPECT_TRUE(is_done(patch("gatekeeper", changed)));
}

TEST_F(RealRights, JobGatesAreOffUntilTheyAreTurnedOn) {
  install();
  ASSERT_TRUE(is_done(create(cluster->plane.kubeconfig("editor"), rollout(""))));
  wait_for_policies();
  must("kubectl delete driverrollout driver");
  EXPECT_TRUE(is_refused(create(cluster->plane.kubeconfig("gatekeeper"),
                                rollout(fmt::format(R"(,"gates":[{}])", job_gate))),
                         "Job gates (gates[].job) are off"));
}

// The command line, and what a user writes by hand.
TEST_F(RealRights, ACommandIsByTheUserWhoGivesIt) {
  install();
  ASSERT_TRUE(is_done(create(cluster->plane.kubeconfig("editor"), rollout(""))));
  wait_for_policies();
  const std::string command = R"("lockstep.dev/command":"{\"verb\":\"promote\",\"by\":\"boss\"}")";
  EXPECT_TRUE(is_refused(patch("steerer", annotations(command)), "lockstep.dev/command-by"));
  EXPECT_TRUE(
      is_refused(patch("steerer", annotations(command + R"(,"lockstep.dev/command-by":"boss")")),
                 "lockstep.dev/command-by: steerer"));
  EXPECT_TRUE(is_refused(patch("steerer", annotations(command +
                                                      R"(,"lockstep.dev/command-by":"steerer",
                                                         "lockstep.dev/command-groups":"sre\nadmins")")),
                         "a group that the user is not in"));
  EXPECT_TRUE(is_done(patch("steerer", annotations(command +
                                                   R"(,"lockstep.dev/command-by":"steerer",
                                                      "lockstep.dev/command-groups":"sre")"))));
  // Nor may an editor use the name of the previous author.
  EXPECT_TRUE(is_refused(
      patch("editor", annotations(R"("lockstep.dev/command":"{\"verb\":\"rollback\"}")")),
      "lockstep.dev/command-by: editor"));
  EXPECT_TRUE(is_refused(patch("editor", annotations(R"("lockstep.dev/command-groups":"dev")")),
                         "lockstep.dev/command-by: editor"));
  for (const char* line : {"2026-11-19T12:00:00Z pause by boss: why", "pause by boss by steerer",
                           "2026-11-19T12:00:00Z pause by steererX", "nothing"}) {
    EXPECT_TRUE(is_refused(
        patch("steerer", annotations(fmt::format(R"("lockstep.dev/steered":"{}")", line))),
        "must name the user who steers"))
        << line;
  }
  ProcessOutput paused =
      cluster->sh(fmt::format("'{}' rollout pause driver --reason test --kubeconfig '{}'",
                              commands::lockstep_program(), cluster->plane.kubeconfig("steerer")));
  EXPECT_TRUE(is_done(paused));
  EXPECT_NE(must("kubectl get driverrollout driver -o yaml").find("pause by steerer: test"),
            std::string::npos);
}

TEST_F(RealRights, WhoMayApproveIsNotChangedByWhoIsToBeApproved) {
  install();
  const std::string approvers = R"(,"approvers":{"groups":["sre"],"notAuthor":true})";
  EXPECT_TRUE(is_done(create(cluster->plane.kubeconfig("admin"), rollout(""))));
  wait_for_policies();
  must("kubectl delete driverrollout driver");
  EXPECT_TRUE(is_refused(create(cluster->plane.kubeconfig("editor"), rollout(approvers)),
                         "lockstep.dev/spec-by must name who changes the spec: editor"));
  std::ofstream(cluster->directory() + "/rollout.json") << rollout(approvers);
  EXPECT_TRUE(is_done(cluster->sh(fmt::format(
      "'{}' rollout create -f '{}/rollout.json' --kubeconfig '{}'", commands::lockstep_program(),
      cluster->directory(), cluster->plane.kubeconfig("editor")))));
  EXPECT_TRUE(is_refused(patch("editor", annotations(R"("lockstep.dev/spec-by":"gatekeeper")")),
                         "spec-by"));
  EXPECT_TRUE(is_refused(patch("gatekeeper", R"({"spec":{"onFailure":"Hold"}})"), "spec-by"));
  must(
      "kubectl patch driverrollout driver --subresource=status --type=merge -p "
      R"('{"status":{"phase":"AwaitingApproval"}}')");
  EXPECT_TRUE(is_refused(
      patch(
          "editor",
          R"({"spec":{"waves":[{"name":"canary","nodes":{"count":1}},{"name":"rest","nodes":{"rest":true}}]}})"),
      "approvers of a wave may not change"));
  EXPECT_TRUE(is_refused(
      patch(
          "editor",
          R"({"spec":{"waves":[{"name":"other","nodes":{"count":1}},{"name":"rest","nodes":{"rest":true}}]}})"),
      "nor may such a wave go"));
}

std::string job(const std::string& pod, const std::string& ns = "lockstep-gates") {
  return fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"generateName":"probe-",
      "namespace":"{}"}},"spec":{{"backoffLimit":0,"template":{{"spec":{{"restartPolicy":"Never",{}}}}}}}}})",
                     ns, pod);
}
const std::string powerless =
    R"("serviceAccountName":"lockstep-gate","automountServiceAccountToken":false,)";
const std::string seccomp = R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},)";
std::string container(const std::string& fields) {
  return R"("containers":[{"name":"c","image":"i","securityContext":{"allowPrivilegeEscalation":false)" +
         fields + "}]";
}

// What an attacker who has the controller's token could make of it.
TEST_F(RealRights, TheControllersAccountMakesOnlyGates) {
  install(
      "--set controller.gates.jobs.enabled=true --set image.repository=registry/lockstep "
      "--set-string image.tag=1");
  // Rights that RBAC does not give it: the policy must hold without it.
  must(fmt::format("kubectl create clusterrolebinding much --clusterrole=cluster-admin --user={}",
                   controller));
  const std::string account = cluster->plane.kubeconfig(controller);
  cluster->require("the admission policy", [&] {
    return create(account, job(R"("containers":[{"name":"c","image":"i"}])")).exit_code != 0;
  });
  const std::string built_in = R"("runtimeClassName":"nvidia","nodeName":"gpu-1","tolerations":[
      {"operator":"Exists"}],"containers":[{"name":"gate","image":"registry/lockstep:1",
      "args":["gate","driver","--termination-message","/dev/termination-log"],
      "terminationMessagePolicy":"FallbackToLogsOnError",
      "env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"},
             {"name":"NVIDIA_DRIVER_CAPABILITIES","value":"all"}],
      "securityContext":{"privileged":true}}])";
  EXPECT_TRUE(is_done(create(account, job(powerless + built_in))));
  EXPECT_TRUE(is_done(create(account, job(powerless + seccomp + container("}")))));
  EXPECT_TRUE(
      is_refused(create(account, job(powerless + built_in, "default")), "lockstep-gates alone"));
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string pod = powerless + built_in;
    pod.replace(pod.find(from), from.size(), to);
    return job(pod);
  };
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"registry/lockstep:1", "registry/lockstep:2"},
           {R"("args":["gate")", R"("args":["controller")"},
           {R"("/dev/termination-log")", R"("/dev/nvme0n1")"},
           {R"("args")", R"("command":["sh"],"args")"},
           {R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"all"})",
            R"({"name":"LD_PRELOAD","value":"x"})"},
           {R"("containers")", R"("volumes":[{"name":"v","hostPath":{"path":"/"}}],"containers")"},
           {R"("privileged":true)", R"("privileged":true,"runAsUser":0)"},
           {R"("containers")", R"("initContainers":[{"name":"i","image":"i"}],"containers")"}}) {
    EXPECT_TRUE(is_refused(create(account, changed(from, to)), "a gate has no privileges")) << to;
  }
  for (
      const auto& [pod, why] : std::vector<std::pair<std::string, std::string>>{
          {seccomp + container("}"), "runs as lockstep-gate"},
          {R"("serviceAccountName":"lockstep-gate",)" + seccomp + container("}"),
           "automountServiceAccountToken false"},
          {powerless + seccomp + R"("hostPID":true,)" + container("}"), "hostPID"},
          {powerless + seccomp + R"("hostNetwork":true,)" + container("}"), "hostNetwork"},
          {powerless + seccomp + R"("priorityClassName":"system-node-critical",)" + container("}"),
           "priorityClassName"},
          {powerless + seccomp + R"("volumes":[{"name":"v","hostPath":{"path":"/"}}],)" +
               container("}"),
           "no privileges"},
          {powerless + seccomp + R"("volumes":[{"name":"v","secret":{"secretName":"s"}}],)" +
               container("}"),
           "Secrets"},
          {powerless + seccomp +
               R"("containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}])",
           "no privileges"},
          {powerless + seccomp + container(R"(,"capabilities":{"add":["SYS_ADMIN"]}})"),
           "no privileges"},
          {powerless + seccomp + container(R"(,"procMount":"Unmasked"})"), ""},
          {powerless + seccomp + container(R"(},"ports":[{"containerPort":1,"hostPort":22}])"),
           "no privileges"},
          {powerless + seccomp + container(R"(},"envFrom":[{"secretRef":{"name":"s"}}])"),
           "Secrets"},
          {powerless + seccomp +
               container(
                   R"(},"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"),
           "Secrets"},
          {powerless + R"("securityContext":{"seccompProfile":{"type":"Unconfined"}},)" +
               container("}"),
           "no privileges"}}) {
    EXPECT_TRUE(is_refused(create(account, job(pod)), why)) << pod;
  }
}

// NVIDIA's operator makes a privileged DaemonSet of these objects.
TEST_F(RealRights, TheControllersAccountChangesOnlyTheDriversImage) {
  cluster->add_real_fleet(1, 20);
  install();
  // Rights that RBAC does not give it: the policy must hold without it.
  must(fmt::format("kubectl create clusterrolebinding much --clusterrole=cluster-admin --user={}",
                   controller));
  auto patch_policy = [&](const std::string& user, const std::string& change,
                          const std::string& more = "") {
    return as(user, fmt::format("patch clusterpolicy cluster-policy --type=merge -p '{}' {}",
                                change, more));
  };
  int tries = 0;
  cluster->require("the admission policy", [&] {
    return patch_policy(controller, annotations(fmt::format(R"("probe":"{}")", ++tries)))
               .exit_code != 0;
  });
  // What a rollback writes.
  EXPECT_TRUE(is_done(patch_policy(
      controller,
      R"({"spec":{"driver":{"version":"570.1","image":"driver","repository":"nvcr.io/nvidia",
                      "usePrecompiled":false}}})")));
  EXPECT_TRUE(is_done(patch_policy(
      controller,
      R"({"spec":{"driver":{"image":null,"repository":null,"usePrecompiled":null}}})")));
  for (
      const auto& [change, field] : std::vector<std::pair<std::string, std::string>>{
          {R"({"spec":{"driver":{"version":"570.2","env":[{"name":"A","value":"b"}]}}})",
           "spec.driver.env"},
          {R"({"spec":{"driver":{"enabled":false}}})", "spec.driver.enabled"},
          {R"({"spec":{"driver":{"upgradePolicy":{"autoUpgrade":false,"maxParallelUpgrades":9}}}})",
           "spec.driver.upgradePolicy"},
          {R"({"spec":{"driver":null}})", "spec.driver."},
          {R"({"spec":{"toolkit":{"enabled":true,"env":[{"name":"A","value":"b"}]}}})",
           "spec.toolkit"},
          {annotations(R"("lockstep.dev/paused":"true")"), "metadata.annotations"},
          {R"({"metadata":{"labels":{"a":"b"}}})", "metadata.labels"},
          {R"({"metadata":{"finalizers":["a.b/c"]}})", "metadata.finalizers"}}) {
    EXPECT_TRUE(is_refused(patch_policy(controller, change), field)) << change;
  }
  EXPECT_TRUE(is_refused(as(controller, "delete clusterpolicy cluster-policy"),
                         "may not create or delete the driver"));
  // It is the controller's account that is limited.
  EXPECT_TRUE(is_done(patch_policy("admin", R"({"metadata":{"labels":{"a":"b"}}})")));
}

// A pod of the plugin that was taken over reaches its own node, and no other.
TEST_F(RealRights, TheDraPluginWritesOfItsOwnNodeAlone) {
  cluster->add_real_fleet(2, 20);
  install("--set draPlugin.enabled=true");
  const std::string here =
      log_in_on_node(*cluster, {"lockstep-dra", "lockstep-dra-plugin"}, "gpu-1");
  const std::string there =
      log_in_on_node(*cluster, {"lockstep-dra", "lockstep-dra-plugin"}, "gpu-2");
  auto slice = [](const std::string& node, const std::string& driver = "gpu.lockstep.dev") {
    return fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{
        "name":"{0}-{1}"}},"spec":{{"driver":"{1}","nodeName":"{0}","pool":{{"name":"{0}",
        "generation":1,"resourceSliceCount":1}},"devices":[{{"name":"gpu-0"}}]}}}})",
                       node, driver);
  };
  int tries = 0;
  cluster->require("the admission policies", [&] {
    return create(there, slice("gpu-1", fmt::format("other{}.example.com", ++tries))).exit_code !=
           0;
  });
  EXPECT_TRUE(is_done(create(here, slice("gpu-1"))));
  EXPECT_TRUE(is_refused(create(there, slice("gpu-1")), "only the ResourceSlices of that node"));
  EXPECT_TRUE(
      is_refused(create(here, slice("gpu-1", "gpu.nvidia.com")), "only the ResourceSlices"));
  // Devices are known by their pool: one of another node's must not come from here.
  std::string foreign = slice("gpu-1");
  foreign.replace(foreign.find(R"("pool":{"name":"gpu-1")"), 22, R"("pool":{"name":"gpu-2")");
  EXPECT_TRUE(is_refused(create(here, foreign), "only the ResourceSlices"));
  auto kubectl = [&](const std::string& kubeconfig, const std::string& words) {
    return cluster->sh(fmt::format("kubectl --kubeconfig '{}' {}", kubeconfig, words));
  };
  EXPECT_TRUE(is_refused(kubectl(there, "delete resourceslice gpu-1-gpu.lockstep.dev"),
                         "only the ResourceSlices"));
  // One without a node, as `kubectl create token` makes it.
  EXPECT_TRUE(
      is_refused(cluster->sh(fmt::format("kubectl --kubeconfig '{}' create -f '{}/probe.json' --as "
                                         "system:serviceaccount:lockstep-dra:lockstep-dra-plugin",
                                         cluster->plane.kubeconfig("admin"), cluster->directory())),
                 "bound to no node"));

  must(R"(cat <<'END' | kubectl create -f -
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"default"},
 "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.lockstep.dev"}}]}}}
END
)");
  must(
      R"(kubectl patch resourceclaim c --subresource=status --type=merge -p '{"status":{"allocation":{
      "devices":{"results":[{"request":"r","driver":"gpu.lockstep.dev","pool":"gpu-1","device":"gpu-0"}]},
      "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",
      "values":["gpu-1"]}]}]}}}}')");
  // As the plugin does, which may not read the status.
  auto say = [&](const std::string& kubeconfig, const std::string& status) {
    std::ofstream(cluster->directory() + "/status.json") << fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
             "metadata":{{"name":"c","namespace":"default"}},"status":{{{}}}}})",
        status);
    return kubectl(kubeconfig,
                   fmt::format("apply --server-side --force-conflicts --subresource=status "
                               "--validate=false -f '{}/status.json'",
                               cluster->directory()));
  };
  const std::string ours =
      R"("devices":[{"driver":"gpu.lockstep.dev","pool":"gpu-1","device":"gpu-0"}])";
  // By the policy, or by Kubernetes itself, which asks from 1.36 on whether it is the account's
  // node.
  EXPECT_TRUE(is_refused(say(there, ours), "orbidden"));
  EXPECT_TRUE(is_done(say(here, ours)));
  EXPECT_TRUE(is_refused(say(here, R"("reservedFor":[{"resource":"pods","name":"p","uid":"u"}])"),
                         "forbidden"));
  for (const char* much : {"patch pods/status", "get pods", "delete pods", "patch nodes"}) {
    EXPECT_NE(kubectl(here, fmt::format("auth can-i {} -n default", much)).exit_code, 0) << much;
  }
}

TEST_F(RealRights, TheDriverManagerWritesItsOwnNodeAlone) {
  cluster->add_real_fleet(2, 20);
  must("kubectl create serviceaccount nvidia-driver -n gpu-operator");
  install("--set driverManager.enabled=true");
  const std::string here = log_in_on_node(*cluster, {"gpu-operator", "nvidia-driver"}, "gpu-1");
  auto kubectl = [&](const std::string& words) {
    return cluster->sh(fmt::format("kubectl --kubeconfig '{}' {}", here, words));
  };
  int tries = 0;
  cluster->require("the admission policies", [&] {
    return kubectl(fmt::format("label --overwrite node gpu-2 probe=a{}", ++tries)).exit_code != 0;
  });
  // `kubectl cordon` reports the refusal and exits with 0.
  EXPECT_NE(kubectl("cordon gpu-2").error.find("may not write nodes of gpu-2"), std::string::npos);
  EXPECT_TRUE(
      is_refused(kubectl("label --overwrite node gpu-2 probe=b"), "may not write nodes of gpu-2"));
  EXPECT_TRUE(is_done(kubectl("cordon gpu-1")));
  for (const char* node : {"gpu-1", "gpu-2"}) {
    must(fmt::format(R"(cat <<'END' | kubectl create -f -
{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"on-{0}","namespace":"default"}},
 "spec":{{"nodeName":"{0}","tolerations":[{{"operator":"Exists"}}],"containers":[{{"name":"c","image":"i"}}]}}}}
END
)",
                     node));
  }
  EXPECT_TRUE(
      is_refused(kubectl("delete pod on-gpu-2 --wait=false"), "may not write pods of gpu-2"));
  EXPECT_TRUE(is_done(kubectl("delete pod on-gpu-1 --wait=false")));
}

// The expressions fit every kind that they are for.
TEST_F(RealRights, NoPolicyHasAnExpressionThatTheServerWarnsOf) {
  install(
      "--set draPlugin.enabled=true --set driverManager.enabled=true --set "
      "controller.gates.jobs.enabled=true");
  for (const char* policy : {"rollout-steering", "gate-jobs", "driver-objects", "dra-plugin-slices",
                             "dra-plugin-claims", "driver-manager-node"}) {
    const std::string get = fmt::format(
        "kubectl get validatingadmissionpolicy lockstep-{} -o jsonpath='{{.status}}'", policy);
    cluster->require("the type check", [&] {
      return cluster->sh(get).output.find("observedGeneration") != std::string::npos;
    });
    Json status = *parse_json(must(get));
    EXPECT_EQ(find(status, "typeChecking", "expressionWarnings"), nullptr) << print_json(status);
  }
}

}  // namespace
}  // namespace lockstep::real::rights_test
