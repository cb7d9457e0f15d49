#include "fleet/driver.h"

#include <gtest/gtest.h>

namespace lockstep::fleet::driver_test {
namespace {

std::shared_ptr<DaemonSet> make_set() {
  auto set = std::make_shared<DaemonSet>();
  set->meta.uid = "uid-set";
  set->meta.labels = {{"app", "nvidia-driver-daemonset"}};
  return set;
}

std::shared_ptr<Pod> make_pod(std::string_view revision) {
  auto pod = std::make_shared<Pod>();
  pod->meta.labels = {{"app", "nvidia-driver-daemonset"},
                      {"controller-revision-hash", Text(revision)}};
  pod->meta.owners = {{"apps/v1", "DaemonSet", "driver", "uid-set", true}};
  pod->phase = PodPhase::running;
  ContainerStatus status;
  status.ready = true;
  pod->container_statuses = {status};
  return pod;
}

std::shared_ptr<const ControllerRevision> revision(int64_t number, std::string_view name) {
  auto made = std::make_shared<ControllerRevision>();
  made->revision = number;
  made->meta.name = Text(name);
  return made;
}

TEST(Driver, IsKnownByTheLabelsOfClusterPolicyAndNvidiaDriver) {
  const DriverOptions options;
  DaemonSet set;
  Pod pod;
  set.meta.ns = pod.meta.ns = "gpu-operator";
  EXPECT_FALSE(is_driver_daemon_set(set, options));
  EXPECT_FALSE(is_driver_pod(pod, options));
  for (const StringMap& labels : {StringMap{{"app", "nvidia-driver-daemonset"}},
                                  StringMap{{"app.kubernetes.io/component", "nvidia-driver"},
                                            {"app", "nvidia-gpu-driver"}}}) {
    set.meta.labels = labels;
    EXPECT_TRUE(is_driver_daemon_set(set, options));
    set.meta.labels = {};
    set.pod_template.labels = labels;
    EXPECT_TRUE(is_driver_daemon_set(set, options)) << "by its template";
    pod.meta.labels = labels;
    EXPECT_TRUE(is_driver_pod(pod, options));
  }
  pod.meta.labels = {{"app", "nvidia-operator-validator"}};
  EXPECT_FALSE(is_driver_pod(pod, options));
}

// Any tenant can write the labels, and an owner of any name.
TEST(Driver, IsInADriverNamespaceOnly) {
  DriverOptions options;
  DaemonSet set;
  Pod pod;
  Pod validator;
  set.pod_template.labels = pod.meta.labels = {{"app", "nvidia-driver-daemonset"}};
  validator.meta.labels = {{"app", "nvidia-operator-validator"}};
  pod.meta.owners = validator.meta.owners = {{"apps/v1", "DaemonSet", "some", "uid", true}};
  for (const auto& [ns, counts] : {std::pair("gpu-operator", true),
                                   {"team-a", false},
                                   {"gpu-operator-2", false},
                                   {"", false}}) {
    set.meta.ns = pod.meta.ns = validator.meta.ns = ns;
    EXPECT_EQ(is_driver_daemon_set(set, options), counts) << ns;
    EXPECT_EQ(is_driver_pod(pod, options), counts) << ns;
    EXPECT_EQ(is_validator_pod(validator, options), counts) << ns;
    EXPECT_TRUE(looks_like_driver(set));
  }
  options.namespaces = {"gpu-operator", "team-a"};
  set.meta.ns = "team-a";
  EXPECT_TRUE(is_driver_daemon_set(set, options)) << "as --driver-namespaces says";
}

TEST(Driver, OfAPodItsDaemonSetOrNoControllerAtAllIsTheOwner) {
  const DriverOptions options;
  Pod pod;
  pod.meta.ns = "gpu-operator";
  for (std::string_view label : {"nvidia-driver-daemonset", "nvidia-operator-validator"}) {
    const bool is_driver = label == "nvidia-driver-daemonset";
    pod.meta.labels = {{"app", Text(label)}};
    pod.meta.owners = {{"apps/v1", "DaemonSet", "some", "uid", true}};
    EXPECT_EQ(is_driver_pod(pod, options), is_driver);
    EXPECT_EQ(is_validator_pod(pod, options), !is_driver);
    // Its DaemonSet was deleted with --cascade=orphan.
    pod.meta.owners = {};
    EXPECT_EQ(is_driver_pod(pod, options), is_driver);
    EXPECT_FALSE(is_validator_pod(pod, options));
    pod.meta.owners = {{"apps/v1", "ReplicaSet", "some", "uid", true}};
    EXPECT_FALSE(is_driver_pod(pod, options));
    EXPECT_FALSE(is_validator_pod(pod, options));
  }
}

TEST(Driver, IsWantedWhereTheWholeNodeSelectorMatches) {
  DaemonSet set;
  Node node;
  EXPECT_TRUE(wants_pod_on(set, node));
  set.pod_template.node_selector = {{"gpu", "true"}, {"zone", "a"}};
  EXPECT_FALSE(wants_pod_on(set, node));
  node.meta.labels = {{"gpu", "true"}, {"zone", "b"}};
  EXPECT_FALSE(wants_pod_on(set, node));
  node.meta.labels = {{"gpu", "true"}, {"zone", "a"}, {"x", "y"}};
  EXPECT_TRUE(wants_pod_on(set, node));
}

Taint taint(std::string_view key, std::string_view effect, std::string_view value = "") {
  return {Text(key), Text(value), Text(effect), {}};
}

TEST(Driver, IsNotWantedWhereATaintIsNotTolerated) {
  DaemonSet set;
  Node node;
  node.taints = {taint("gpu-repair", "NoSchedule", "yes")};
  EXPECT_FALSE(wants_pod_on(set, node));
  set.pod_template.tolerations = {{"nvidia.com/gpu", "Exists", "", "NoSchedule"}};
  EXPECT_FALSE(wants_pod_on(set, node));
  set.pod_template.tolerations = {{"gpu-repair", "Equal", "no", ""}};
  EXPECT_FALSE(wants_pod_on(set, node));
  set.pod_template.tolerations = {{"gpu-repair", "", "yes", "NoSchedule"}};
  EXPECT_TRUE(wants_pod_on(set, node));
  set.pod_template.tolerations = {{"gpu-repair", "Exists", "", "NoExecute"}};
  EXPECT_FALSE(wants_pod_on(set, node));
  set.pod_template.tolerations = {{"", "Exists", "", ""}};
  EXPECT_TRUE(wants_pod_on(set, node));
}

TEST(Driver, EveryDaemonSetToleratesACordonAndWhatTheNodeControllerWrites) {
  DaemonSet set;
  Node node;
  node.taints = {taint("node.kubernetes.io/unschedulable", "NoSchedule"),
                 taint("node.kubernetes.io/not-ready", "NoExecute"),
                 taint("anything", "PreferNoSchedule")};
  EXPECT_TRUE(wants_pod_on(set, node));
}

TEST(Driver, TheNewestRevisionHasTheHighestNumber) {
  EXPECT_EQ(newest_revision({}), nullptr);
  EXPECT_EQ(newest_revision({revision(9, "a"), revision(10, "b"), revision(2, "c")})->meta.name,
            "b");
  EXPECT_EQ(newest_revision({revision(3, "b"), revision(3, "a")})->meta.name, "b");
  EXPECT_EQ(newest_revision({revision(3, "a"), revision(3, "b")})->meta.name, "b");
}

TEST(Driver, OfRevisionsWithOneNumberTheYoungestIsTheNewest) {
  auto older = std::make_shared<ControllerRevision>(*revision(3, "z"));
  older->meta.created = Time::from_unix(1000);
  auto younger = std::make_shared<ControllerRevision>(*revision(3, "a"));
  younger->meta.created = Time::from_unix(2000);
  EXPECT_EQ(newest_revision({older, younger})->meta.name, "a");
  EXPECT_EQ(newest_revision({younger, older})->meta.name, "a");
}

TEST(Driver, APodOfTheNewestRevisionIsInSync) {
  DriverView view{make_set(), "new", make_pod("new")};
  EXPECT_TRUE(view.is_in_sync());
  EXPECT_FALSE(view.is_out_of_sync());
  EXPECT_TRUE(view.is_settled());
  view.pod = make_pod("old");
  EXPECT_FALSE(view.is_in_sync());
  EXPECT_TRUE(view.is_out_of_sync());
  EXPECT_FALSE(view.is_settled());
}

TEST(Driver, IsNeitherInNorOutOfSyncWhileSomethingIsMissing) {
  for (const DriverView& view :
       {DriverView{}, DriverView{make_set(), "new", nullptr},
        DriverView{make_set(), "", make_pod("old")}, DriverView{nullptr, "", make_pod("old")}}) {
    EXPECT_FALSE(view.is_in_sync());
    EXPECT_FALSE(view.is_out_of_sync());
    EXPECT_FALSE(view.is_settled());
    EXPECT_FALSE(view.is_cosmetic_change());
  }
  EXPECT_FALSE(DriverView{}.wanted());
  EXPECT_FALSE(DriverView{}.is_orphan());
  EXPECT_EQ(DriverView{}.version(), "");
  EXPECT_EQ(DriverView{}.newest_version(), "");
}

TEST(Driver, APodWhoseDaemonSetIsGoneIsAnOrphan) {
  DriverView view{make_set(), "new", make_pod("new")};
  EXPECT_FALSE(view.is_orphan());
  view.set = nullptr;
  EXPECT_TRUE(view.is_orphan());
  EXPECT_TRUE(view.wanted());
  view.set = make_set();
  auto pod = make_pod("new");
  pod->meta.owners[0].uid = "uid-of-one-that-was-made-again";
  view.pod = pod;
  EXPECT_TRUE(view.is_orphan());
  EXPECT_FALSE(view.is_in_sync());
  pod->meta.owners.clear();
  EXPECT_TRUE(view.is_orphan());
  EXPECT_FALSE(view.is_out_of_sync());
}

TEST(Driver, IsReadyWhenItRunsAndEveryContainerIs) {
  EXPECT_TRUE(is_running_and_ready(*make_pod("a")));
  auto pod = make_pod("a");
  pod->container_statuses.emplace_back();
  EXPECT_FALSE(is_running_and_ready(*pod)) << "one of two";
  pod = make_pod("a");
  pod->container_statuses.clear();
  EXPECT_FALSE(is_running_and_ready(*pod)) << "nothing is known of its containers";
  pod = make_pod("a");
  pod->phase = PodPhase::pending;
  EXPECT_FALSE(is_running_and_ready(*pod));
  pod = make_pod("a");
  pod->meta.deleted = Time::from_unix(1);
  EXPECT_FALSE(is_running_and_ready(*pod)) << "on its way out";
}

TEST(Driver, AChangeIsCosmeticWhenTheDigestsAreTheSameAndNotEmpty) {
  auto with = [](std::string_view running, std::string_view wanted) {
    auto pod = make_pod("old");
    auto set = make_set();
    auto put = [](PodSpec& spec, std::string_view digest) {
      if (digest == "none") return;
      Container container;
      container.environment = {{"DRIVER_CONFIG_DIGEST", Text(digest)}};
      spec.init_containers = {container};
    };
    put(pod->spec, running);
    put(set->pod_template.spec, wanted);
    return DriverView{set, "new", pod};
  };
  EXPECT_TRUE(with("abc", "abc").is_cosmetic_change());
  EXPECT_FALSE(with("abc", "abd").is_cosmetic_change());
  EXPECT_FALSE(with("", "").is_cosmetic_change());
  EXPECT_FALSE(with("none", "abc").is_cosmetic_change());
  EXPECT_FALSE(with("abc", "none").is_cosmetic_change());
  EXPECT_FALSE(with("none", "none").is_cosmetic_change());
  DriverView unknown = with("abc", "abc");
  EXPECT_FALSE(unknown.is_revision_unknown());
  unknown.newest_revision = "";
  EXPECT_TRUE(unknown.is_revision_unknown());
  EXPECT_FALSE(unknown.is_cosmetic_change()) << "the template may be an old one";
  DriverView orphan = with("abc", "abc");
  auto pod = std::make_shared<Pod>(*orphan.pod);
  pod->meta.owners.clear();
  orphan.pod = pod;
  EXPECT_FALSE(orphan.is_cosmetic_change());
}

TEST(DriverVersion, IsTheBeginningOfTheImagesTag) {
  EXPECT_EQ(version_of_image("nvcr.io/nvidia/driver:580.126.20-ubuntu24.04"), "580.126.20");
  EXPECT_EQ(version_of_image("driver:580.126.20"), "580.126.20");
  EXPECT_EQ(version_of_image("host:5000/driver:580.126.20@sha256:12ab"), "580.126.20");
}

TEST(DriverVersion, IsEmptyWhereTheTagDoesNotSay) {
  for (std::string_view image : {"", "driver", "host:5000/driver", "driver:latest", "driver:580",
                                 "driver:580-5.15.0-1051-aws-ubuntu22.04", "driver@sha256:12ab",
                                 "driver:", "driver:.5", "driver:1.2x", "host:1.2/driver"}) {
    EXPECT_EQ(version_of_image(image), "") << image;
  }
}

TEST(DriverVersion, OfPodAndTemplateComeFromTheFirstContainerThatSays) {
  DriverView view{make_set(), "new", nullptr};
  auto pod = make_pod("old");
  Container helper;
  helper.image = "helper:latest";
  Container main;
  main.image = "driver:570.1.2";
  pod->spec.containers = {helper, main};
  view.pod = pod;
  EXPECT_EQ(view.version(), "570.1.2");
  auto set = make_set();
  main.image = "driver:580.1.2";
  set->pod_template.spec.containers = {main};
  view.set = set;
  EXPECT_EQ(view.newest_version(), "580.1.2");
}

TEST(DriverVersion, IsNotThatOfAnotherComponentBesideADriverWithoutOne) {
  Container gds;
  gds.name = "nvidia-gds-ctr";
  gds.image = "nvidia-fs:2.20.5-ubuntu24.04";
  Container main;
  main.name = "nvidia-driver-ctr";
  main.image = "driver:580-6.8.0-60-generic-ubuntu24.04";
  auto set = make_set();
  set->pod_template.spec.containers = {gds, main};
  EXPECT_EQ(driver_image_of(set->pod_template.spec), main.image.view());
  EXPECT_EQ((DriverView{set, {}, nullptr}.newest_version()), "");
}

TEST(DriverVersion, IsLoadedAsTheObjectSaysWhereItDoes) {
  EXPECT_EQ(loaded_version("580.105.08"), "580.105.08");
  EXPECT_EQ(loaded_version("580.105.08-corp1"), "580.105.08");
  EXPECT_EQ(loaded_version("580"), "");
  EXPECT_EQ(loaded_version("sha256:ab12"), "");
}

TEST(Driver, VersionsAreTheSameWithAndWithoutTheZerosThatSemanticVersionsForbid) {
  EXPECT_TRUE(is_same_version("580.105.8", "580.105.08"));
  EXPECT_TRUE(is_same_version("580.65.6", "580.65.06"));
  EXPECT_TRUE(is_same_version("580.126.20", "580.126.20"));
  EXPECT_TRUE(is_same_version("580.95.0", "580.95"));
  EXPECT_TRUE(is_same_version("580.0.0", "580.00"));
  EXPECT_FALSE(is_same_version("580.105.8", "580.105.80"));
  EXPECT_FALSE(is_same_version("580.105.8", "580.15.8"));
  EXPECT_FALSE(is_same_version("580.105", "580.105.8"));
  EXPECT_FALSE(is_same_version("", "580"));
}

Pod client_started_at(Time time) {
  Pod pod;
  ContainerStatus status;
  status.started = time;
  pod.container_statuses = {status};
  return pod;
}

TEST(OlderThanDriver, IsOneThatStartedBeforeTheDriverWasReadyOrInThatSecond) {
  const Time ready = Time::from_unix(1000) + milliseconds(700);
  EXPECT_TRUE(is_older_than_driver(client_started_at(Time::from_unix(999)), ready));
  EXPECT_TRUE(is_older_than_driver(client_started_at(Time::from_unix(1000)), ready));
  EXPECT_TRUE(is_older_than_driver(client_started_at(ready + milliseconds(200)), ready));
  EXPECT_FALSE(is_older_than_driver(client_started_at(Time::from_unix(1001)), ready));
}

TEST(OlderThanDriver, IsNotOneThatIsKnownToHaveComeAfter) {
  const Time ready = Time::from_unix(1000);
  EXPECT_FALSE(is_older_than_driver(client_started_at(ready), ready, true));
  EXPECT_TRUE(is_older_than_driver(client_started_at(ready - seconds(1)), ready, true));
}

TEST(OlderThanDriver, IsNotOneThatDoesNotRunYet) {
  Pod pod = client_started_at(Time());
  EXPECT_FALSE(is_older_than_driver(pod, Time::from_unix(1000)));
}

}  // namespace
}  // namespace lockstep::fleet::driver_test
