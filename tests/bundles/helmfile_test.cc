// Real helmfile reads what the deployer "helmfile" writes, and sees the releases in their order.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workshop.h"

namespace lockstep::bundles::helmfile_test {
namespace {

// `helmfile build` fetches the charts of OCI registries. This Helm is the real one, but for the
// network: whatever is fetched is a chart of ours.
void go_offline(Workshop& workshop) {
  Path program = workshop.directory() / "bin/helm";
  Path real_helm = workshop.directory() / "bin/real-helm";
  std::filesystem::rename(program, real_helm);
  write(program,
        fmt::format("#!/usr/bin/env bash\n"
                    "if [[ $1 != pull ]]; then exec '{}' \"$@\"; fi\n"
                    "mkdir -p \"$4\" && cp -r '{}/print-values' \"$4/${{2##*/}}\"\n",
                    real_helm.string(), LOCKSTEP_TEST_CHARTS),
        true);
}

// "namespace/name", as `needs` writes it.
std::string identity(const Json& release) {
  return fmt::format("{}/{}", text_at(release, "namespace"), text_at(release, "name"));
}

TEST(Helmfile, BuildsEveryBundleAndNeedsWhatComesBefore) {
  Workshop workshop;
  go_offline(workshop);
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "helmfile");
    std::string file = (bundle / "helmfile.yaml").string();
    std::vector<Json> states =
        yaml_stream(workshop.sh(fmt::format("helmfile --file '{}' build", file)), file);
    ASSERT_EQ(states.size(), 1u) << query.name;
    const Json* releases = find(states[0], "releases");
    ASSERT_NE(releases, nullptr) << query.name;
    std::set<std::string> before;
    std::vector<std::string> names;
    for (const Json& release : releases->as_array()) {
      for (const std::string& needed : texts(find(release, "needs"))) {
        EXPECT_TRUE(before.contains(needed))
            << query.name << ": " << identity(release) << " needs " << needed;
      }
      before.insert(identity(release));
      names.emplace_back(text_at(release, "name"));
    }
    std::vector<std::string> folders;
    for (const Path& folder : numbered_folders(bundle)) folders.push_back(release_of(folder));
    EXPECT_EQ(names, folders) << query.name;
    expect_order(bundle, names);
  }
}

// Dependencies of components are dependencies of releases, whether direct or through others.
TEST(Helmfile, WaitsForEveryDependencyOfTheRecipe) {
  Workshop workshop;
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "helmfile");
    Json state = yaml(bundle / "helmfile.yaml");
    std::map<std::string, std::set<std::string>> reached;
    for (const Json& release : state.at("releases").as_array()) {
      std::set<std::string>& mine = reached[std::string(text_at(release, "name"))];
      for (const std::string& needed : texts(find(release, "needs"))) {
        std::string name = needed.substr(needed.find('/') + 1);
        mine.insert(name);
        mine.insert(reached[name].begin(), reached[name].end());
      }
    }
    for (const auto& [component, needed] : dependencies(bundle)) {
      for (const std::string& name : needed) {
        EXPECT_TRUE(reached[component].contains(name))
            << query.name << ": " << component << " does not wait for " << name;
      }
    }
  }
}

TEST(Helmfile, ListsEveryRelease) {
  Workshop workshop;
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "helmfile");
    std::string listed = workshop.sh(
        fmt::format("helmfile --file '{}/helmfile.yaml' list --output json", bundle.string()));
    auto releases = parse_json(listed);
    ASSERT_TRUE(releases) << listed;
    std::set<std::string> names;
    for (const Json& release : releases->as_array()) {
      names.emplace(text_at(release, "name"));
      EXPECT_TRUE(as_bool(find(release, "enabled"))) << print_json(release);
    }
    for (const Path& folder : numbered_folders(bundle)) {
      EXPECT_TRUE(names.contains(release_of(folder))) << query.name << ": " << folder;
    }
    EXPECT_EQ(names.size(), numbered_folders(bundle).size()) << query.name;
  }
}

}  // namespace
}  // namespace lockstep::bundles::helmfile_test
