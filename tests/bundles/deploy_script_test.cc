// The scripts of the deployer "helm": read by bash and shellcheck, and run, with a Helm that writes
// down what it is asked for, and a genuine kubectl.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "workshop.h"

namespace lockstep::bundles {
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

using Call = std::vector<std::string>;

// A Helm that does nothing and remembers all. A word that is a values file must be there.
const std::string recording_helm = R"(#!/usr/bin/env bash
{ printf '%s\x1f' "$@"; printf '\n'; } >> 'LOG'
for word in "$@"; do
  case $word in *.yaml) [[ -f $word ]] || { echo "there is no $word" >&2; exit 1; } ;; esac
done
[[ ${1:-} != version ]] || echo v4.2.3
)";

// The calls that install something, in their order.
std::vector<Call> installs(const std::string& log) {
  std::vector<Call> calls;
  for (auto line : split(log, '\n')) {
    Call call;
    for (auto word : split(line, '\x1f')) call.emplace_back(word);
    if (!call.empty() && call[0] == "upgrade") calls.push_back(call);
  }
  return calls;
}

bool has(const Call& call, const std::string& word) {
  return std::ranges::find(call, word) != call.end();
}

TEST(DeployScript, InstallsEveryReleaseInOrderAndTwiceInARow) {
  for (const Query& query : queries()) {
    Workshop workshop;
    workshop.serve_empty();
    Path bundle = workshop.bundle(query, "helm");
    Path log = workshop.directory() / "helm.log";
    std::string helm = recording_helm;
    helm.replace(helm.find("LOG"), 3, log.string());
    std::filesystem::remove(workshop.directory() / "bin/helm");
    write(workshop.directory() / "bin/helm", helm, true);
    for (int run = 0; run < 2; ++run) {
      std::filesystem::remove(log);
      ProcessOutput deploy = workshop.try_sh(fmt::format("'{}/deploy.sh'", bundle.string()));
      ASSERT_EQ(deploy.exit_code, 0) << query.name << deploy.output << deploy.error;
      std::vector<std::string> releases;
      std::vector<Call> calls = installs(read(log));
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

// What comes from values and flags must never be read as shell.
TEST(DeployScript, StopsAtTheReleaseThatFails) {
  Workshop workshop;
  workshop.serve_empty();
  Path bundle = workshop.bundle(flagship(), "helm");
  Path log = workshop.directory() / "helm.log";
  std::filesystem::remove(workshop.directory() / "bin/helm");
  write(workshop.directory() / "bin/helm",
        fmt::format("#!/bin/sh\nprintf '%s\\037' \"$@\" >> '{0}'\necho >> '{0}'\n"
                    "case \" $* \" in *' cert-manager '*) echo broken >&2; exit 1;; esac\n",
                    log.string()),
        true);
  ProcessOutput deploy = workshop.try_sh(fmt::format("'{}/deploy.sh'", bundle.string()));
  EXPECT_NE(deploy.exit_code, 0) << deploy.output;
  EXPECT_NE((deploy.output + deploy.error).find("cert-manager"), std::string::npos);
  std::vector<Call> calls = installs(read(log));
  ASSERT_FALSE(calls.empty());
  EXPECT_TRUE(has(calls.back(), "cert-manager"));
}

}  // namespace
}  // namespace lockstep::bundles
