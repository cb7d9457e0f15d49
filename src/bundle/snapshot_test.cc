#include "bundle/snapshot.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::snapshot_test {
namespace {

CriteriaWords words() {
  CriteriaWords words;
  auto added = words.add(*YamlFile::parse(
      "criteria.yaml",
      "kind: CriteriaWords\n"
      "service: {words: [aks, eks, gke, kind, oke], aliases: {self-managed: any}}\n"
      "accelerator: {words: [a100, b200, gb200, h100, l40, rtx-pro-6000]}\n"
      "os: {words: [amazonlinux, ubuntu], aliases: {al2023: amazonlinux}}\n"));
  EXPECT_TRUE(added.has_value()) << added.error().text();
  return words;
}

Snapshot snapshot_of(const std::string& measurements) {
  auto snapshot = Snapshot::read(
      *YamlFile::parse("snapshot.yaml",
                       "kind: Snapshot\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {}\n"
                       "measurements:\n" +
                           measurements));
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().text();
  return *snapshot;
}

Snapshot snapshot_with(const std::string& type, const std::string& subtype,
                       const std::string& data) {
  return snapshot_of("- {type: " + type + ", subtypes: [{subtype: " + subtype + ", data: {" + data +
                     "}}]}\n");
}

std::string error_of(const std::string& text) {
  auto file = YamlFile::parse("snapshot.yaml", text);
  if (!file) return file.error().text();
  auto snapshot = Snapshot::read(*file);
  return snapshot ? "" : snapshot.error().text();
}

constexpr auto eks =
    "- type: K8s\n"
    "  subtypes:\n"
    "  - subtype: server\n"
    "    data: {version: v1.33.5-eks-3025e55, platform: linux/amd64}\n"
    "- type: GPU\n"
    "  subtypes:\n"
    "  - subtype: smi\n"
    "    data: {gpu.model: NVIDIA H100 80GB HBM3, count: 8, driver: 580.10}\n"
    "- type: OS\n"
    "  subtypes:\n"
    "  - subtype: release\n"
    "    data: {ID: ubuntu, VERSION_ID: 24.04}\n"
    "- type: SystemD\n"
    "  subtypes:\n"
    "  - subtype: containerd.service\n"
    "    data: {ActiveState: active, Delegate: true}\n";

TEST(Snapshot, AValueIsFoundAsItIsWritten) {
  Snapshot snapshot = snapshot_of(eks);
  auto found = [&](std::string_view path) {
    return snapshot.find(*parse_constraint_path(path)).value_or("not measured");
  };
  EXPECT_EQ(found("K8s.server.version"), "v1.33.5-eks-3025e55");
  EXPECT_EQ(found("GPU.smi.gpu.model"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(found("GPU.smi.driver"), "580.10");
  EXPECT_EQ(found("GPU.smi.count"), "8");
  EXPECT_EQ(found("OS.release.VERSION_ID"), "24.04");
  EXPECT_EQ(found("SystemD.containerd.service.ActiveState"), "active");
  EXPECT_EQ(found("SystemD.containerd.service.Delegate"), "true");
  EXPECT_EQ(found("K8s.server.nothing"), "not measured");
  EXPECT_EQ(found("K8s.node.version"), "not measured");
  EXPECT_EQ(found("K9s.server.version"), "not measured");
}

TEST(Snapshot, WhatWeDoNotKnowIsLeftAlone) {
  EXPECT_EQ(error_of("kind: Snapshot\napiVersion: aicr.run/v1alpha2\nfingerprint: {a: b}\n"
                     "measurements:\n- type: Network\n  new: 1\n  subtypes:\n"
                     "  - {subtype: PF, context: {a: b}, items: [{data: {mtu: 1500}}]}\n"
                     "- {type: Bare}\n- {type: Bare, subtypes: null}\n"),
            "");
}

TEST(Snapshot, WhatIsNoSnapshotIsRefused) {
  EXPECT_EQ(error_of("kind: Snapshott\nmeasurements: []\n"),
            "snapshot.yaml:1:1: kind: must be Snapshot, not \"Snapshott\"");
  EXPECT_NE(error_of("[]").find("must be a map, not a list"), std::string::npos);
  EXPECT_NE(error_of("kind: Snapshot\n").find("measurements: is missing"), std::string::npos);
  EXPECT_NE(error_of("kind: Snapshot\nmeasurements: {}\n").find("snapshot.yaml:2:1"),
            std::string::npos);
}

TEST(Snapshot, AMeasurementWithoutItsNamesIsRefused) {
  std::string head = "kind: Snapshot\nmeasurements:\n";
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"- {subtypes: []}\n", "measurements[0].type: is missing"},
           {"- text\n", "measurements[0]: must be a map"},
           {"- {type: K8s, subtypes: {}}\n", "subtypes: must be a list"},
           {"- {type: K8s, subtypes: [{data: {}}]}\n", "subtypes[0].subtype: is missing"},
           {"- {type: K8s, subtypes: [{subtype: a, data: []}]}\n", "data: must be a map"}}) {
    EXPECT_NE(error_of(head + text).find(part), std::string::npos) << error_of(head + text);
  }
}

TEST(Snapshot, CriteriaAreReadFromTheMeasurements) {
  Criteria criteria = criteria_of(snapshot_of(eks), words());
  EXPECT_EQ(criteria.service, "eks");
  EXPECT_EQ(criteria.accelerator, "h100");
  EXPECT_EQ(criteria.os, "ubuntu");
  EXPECT_EQ(criteria.intent, "");
  EXPECT_EQ(criteria_of(snapshot_of("  []\n"), words()), Criteria{});
}

TEST(Snapshot, TheServiceIsToldByTheServersVersion) {
  auto service = [](const std::string& version) {
    return criteria_of(snapshot_with("K8s", "server", "version: " + version), words()).service;
  };
  EXPECT_EQ(service("v1.33.5-eks-3025e55"), "eks");
  EXPECT_EQ(service("v1.34.3-gke.1318000"), "gke");
  EXPECT_EQ(service("v1.33.1-aks-1"), "aks");
  EXPECT_EQ(service("v1.33.1"), "");
}

TEST(Snapshot, TheServiceIsToldByTheNodesProvider) {
  auto service = [](const std::string& provider) {
    return criteria_of(snapshot_with("K8s", "node", "provider: '" + provider + "'"), words())
        .service;
  };
  EXPECT_EQ(service("eks"), "eks");
  EXPECT_EQ(service("aws:///us-east-1a/i-0"), "eks");
  EXPECT_EQ(service("gce://project/zone/name"), "gke");
  EXPECT_EQ(service("azure:///subscriptions/1"), "aks");
  EXPECT_EQ(service("oci"), "oke");
  EXPECT_EQ(service("ocid1.instance.oc1.x"), "oke");
  EXPECT_EQ(service("kind://docker/a/b"), "kind");
  EXPECT_EQ(service("vsphere://1"), "");
}

TEST(Snapshot, WhatSaysTheServiceOutrightComesFirst) {
  Snapshot snapshot = snapshot_of(
      "- type: K8s\n"
      "  subtypes:\n"
      "  - {subtype: server, data: {service: GKE, version: v1.33.5-eks-3025e55}}\n"
      "  - {subtype: node, data: {provider: aks}}\n");
  EXPECT_EQ(criteria_of(snapshot, words()).service, "gke");
  Snapshot unsaid = snapshot_of(
      "- type: K8s\n"
      "  subtypes:\n"
      "  - {subtype: server, data: {service: self-managed, version: v1.33.5-eks-3025e55}}\n"
      "  - {subtype: node, data: {provider: aks}}\n");
  EXPECT_EQ(criteria_of(unsaid, words()).service, "aks");
}

TEST(Snapshot, TheAcceleratorIsAWholePartOfTheModelsName) {
  auto accelerator = [](const std::string& model) {
    return criteria_of(snapshot_with("GPU", "smi", "gpu.model: " + model), words()).accelerator;
  };
  EXPECT_EQ(accelerator("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(accelerator("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(accelerator("NVIDIA GB200"), "gb200");
  EXPECT_EQ(accelerator("NVIDIA B200"), "b200");
  EXPECT_EQ(accelerator("NVIDIA RTX PRO 6000 Blackwell"), "rtx-pro-6000");
  EXPECT_EQ(accelerator("NVIDIA L40"), "l40");
  EXPECT_EQ(accelerator("NVIDIA L40S"), "");
  EXPECT_EQ(accelerator("NVIDIA GH200 480GB"), "");
  EXPECT_EQ(accelerator("NVIDIA RTX A1000"), "");
  EXPECT_EQ(criteria_of(snapshot_with("GPU", "hardware", "model: h100"), words()).accelerator,
            "h100");
}

TEST(Snapshot, TheLabelsOfAllNodesComeBeforeTheModelOfOne) {
  std::string smi = "- {type: GPU, subtypes: [{subtype: smi, data: {gpu.model: NVIDIA H100}}]}\n";
  auto accelerator = [&](const std::string& labels) {
    return criteria_of(snapshot_of(smi +
                                   "- type: NodeTopology\n  subtypes:\n  - subtype: label\n"
                                   "    data:\n" +
                                   labels),
                       words())
        .accelerator;
  };
  EXPECT_EQ(accelerator("      nvidia.com/gpu.product: NVIDIA-A100-SXM4|n1,n2\n"), "a100");
  EXPECT_EQ(accelerator("      nvidia.com/gpu.product: NVIDIA-Unknown|n1\n"), "h100");
  EXPECT_EQ(accelerator("      nvidia.com/gpu.product.NVIDIA-H100: NVIDIA-H100|n1\n"
                        "      nvidia.com/gpu.product.NVIDIA-A100: NVIDIA-A100|n2\n"),
            "");
  EXPECT_EQ(accelerator("      nvidia.com/gpu.productivity: NVIDIA-A100|n1\n"), "h100");
}

TEST(Snapshot, TheOperatingSystemIsThatOfTheRelease) {
  auto os = [](const std::string& id) {
    return criteria_of(snapshot_with("OS", "release", "ID: " + id), words()).os;
  };
  EXPECT_EQ(os("ubuntu"), "ubuntu");
  EXPECT_EQ(os("amzn"), "amazonlinux");
  EXPECT_EQ(os("al2023"), "amazonlinux");
  EXPECT_EQ(os("gentoo"), "");
}

Overlay overlay_with(std::vector<std::pair<std::string, std::string>> constraints) {
  Overlay overlay;
  overlay.name = "h100-eks";
  overlay.file = "overlays/h100-eks.yaml";
  for (auto& [name, value] : constraints) {
    Constraint& constraint = overlay.spec.constraints.emplace_back();
    constraint.name = std::move(name);
    constraint.value = std::move(value);
  }
  return overlay;
}

std::vector<std::string> unmet_texts(std::vector<std::pair<std::string, std::string>> constraints) {
  auto found = unmet(overlay_with(std::move(constraints)), snapshot_of(eks));
  if (!found) return {found.error().text()};
  std::vector<std::string> texts;
  for (const ExcludedOverlay& excluded : *found) texts.push_back(excluded.text());
  return texts;
}

TEST(Snapshot, AnOverlayWhoseDemandsAreMetApplies) {
  EXPECT_TRUE(unmet_texts({}).empty());
  EXPECT_TRUE(unmet_texts({{"K8s.server.version", ">= 1.32.4"},
                           {"OS.release.ID", "ubuntu"},
                           {"OS.release.VERSION_ID", "24.04"}})
                  .empty());
}

TEST(Snapshot, AnUnmetDemandSaysWhatWasExpectedAndFound) {
  EXPECT_EQ(unmet_texts({{"K8s.server.version", ">= 1.34"}, {"OS.release.ID", "rhel"}}),
            (std::vector<std::string>{
                "the overlay h100-eks is left out: K8s.server.version must be \">= 1.34\", and is "
                "\"v1.33.5-eks-3025e55\"",
                "the overlay h100-eks is left out: OS.release.ID must be \"rhel\", and is "
                "\"ubuntu\""}));
}

TEST(Snapshot, WhatWasNotMeasuredIsNotMet) {
  EXPECT_EQ(unmet_texts({{"OS.sysctl.kernel", ">= 6.8"}}),
            std::vector<std::string>{"the overlay h100-eks is left out: OS.sysctl.kernel must be "
                                     "\">= 6.8\", and was not measured"});
}

TEST(Snapshot, AConstraintThatCannotBeReadIsAnError) {
  EXPECT_TRUE(unmet_texts({{"K8s.server", "1"}})
                  .front()
                  .starts_with("overlays/h100-eks.yaml: the constraint \"K8s.server\" must be"));
  EXPECT_TRUE(
      unmet_texts({{"K8s.server.version", ">= new"}})
          .front()
          .starts_with("overlays/h100-eks.yaml: K8s.server.version: the constraint's value"));
}

}  // namespace
}  // namespace lockstep::bundle::snapshot_test
