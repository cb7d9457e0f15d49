// The scripts of the deployer "helm": read by bash and shellcheck, and run, with a Helm that writes
// down what it is asked for, and a real kubectl.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "recording_helm.h"
#include "workshop.h"

namespace lockstep::bundles::deploy_script_test {
namespace {

TEST(DeployScript, EveryScriptPassesBashAndShellcheck) {
  Workshop workshop;
  for (const Query& query : queries()) {
    Path bundle = workshop.bundle(query, "helm");
    std::string scripts;
    int count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(bundle)) {
      if (entry.path().extension() != ".sh") continue;
      scripts += fmt::format(" '{}'", entry.path().string());
      ++count;
    }
    EXPECT_GE(count, 2) << bundle;
    ProcessOutput syntax =
        workshop.try_sh(fmt::format("for f in{}; do bash -n $f || exit 1; done", scripts));
    EXPECT_EQ(syntax.exit_code, 0) << syntax.error;
    ProcessOutput check = workshop.try_sh("shellcheck -x -P SCRIPTDIR" + scripts);
    EXPECT_EQ(check.exit_code, 0) << check.output << check.error;
  }
}

TEST(DeployScript, InstallsEveryReleaseInOrderAndTwiceInARow) {
  for (const Query& query : queries()) {
    Workshop workshop;
    workshop.serve_empty();
    Path bundle = workshop.bundle(query, "helm");
    RecordingHelm helm(workshop);
    for (int run = 0; run < 2; ++run) {
      helm.forget();
      ProcessOutput deploy = workshop.try_sh(fmt::format("'{}/deploy.sh'", bundle.string()));
      ASSERT_EQ(deploy.exit_code, 0) << query.name << deploy.output << deploy.error;
      std::vector<std::string> releases;
      std::vector<Call> calls = helm.installs();
      for (const Path& folder : numbered_folders(bundle)) {
        if (!std::filesystem::exists(folder / "upstream.env") &&
            !std::filesystem::exists(folder / "Chart.yaml")) {
          continue;  // made by kustomize, without Helm
        }
        std::string release = release_of(folder);
        ASSERT_LT(releases.size(), calls.size()) << release << " was not installed";
        const Call& call = calls[releases.size()];
        EXPECT_TRUE(has(call, "--install")) << fmt::format("{}", fmt::join(call, " "));
        EXPECT_TRUE(has(call, release))
            << release << ": " << fmt::format("{}", fmt::join(call, " "));
        releases.push_back(release);
      }
      EXPECT_EQ(calls.size(), releases.size()) << query.name;
      expect_order(bundle, releases);
    }
  }
}

TEST(DeployScript, StopsAtTheReleaseThatFailsAndSaysHowToGoOn) {
  Workshop workshop;
  workshop.serve_empty();
  RecordingHelm helm(workshop, "gpu-operator");
  Path bundle = workshop.bundle(flagship(), "helm");
  ProcessOutput deploy = workshop.try_sh(fmt::format("'{}/deploy.sh'", bundle.string()));
  EXPECT_NE(deploy.exit_code, 0) << deploy.output;
  EXPECT_NE(deploy.error.find("--from gpu-operator"), std::string::npos) << deploy.error;
  std::vector<Call> calls = helm.installs();
  ASSERT_FALSE(calls.empty());
  EXPECT_TRUE(has(calls.back(), "gpu-operator"));

  RecordingHelm mended(workshop);
  deploy = workshop.try_sh(fmt::format("'{}/deploy.sh' --from gpu-operator", bundle.string()));
  EXPECT_EQ(deploy.exit_code, 0) << deploy.output << deploy.error;
  calls = mended.installs();
  ASSERT_FALSE(calls.empty());
  EXPECT_TRUE(has(calls.front(), "gpu-operator"));
}

}  // namespace
}  // namespace lockstep::bundles::deploy_script_test
