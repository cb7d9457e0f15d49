#include "bundle/install_script.h"

#include <fmt/format.h>

#include "bundle/chart_repositories.h"
#include "bundle/shell_text.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view head = R"BASH(#!/usr/bin/env bash
# Installs or upgrades the release {}. deploy.sh runs this; it can be run alone, too.
# --dry-run prints what would be run.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")"

)BASH";

constexpr std::string_view print_if_dry_run = R"BASH(if [[ ${1:-} == --dry-run ]]; then
  printf '  cd %q &&' "$PWD"
  printf ' %q' "${command[@]}"
  echo
  exit
fi
)BASH";

std::string helm_script(const Release& release) {
  std::string script;
  std::string chart = ".";
  if (release.kind == ReleaseKind::upstream) {
    script += "# shellcheck source=/dev/null\n. ./upstream.env\n\n";
    chart = is_oci(release.repository) ? R"("${REPO%/}/$CHART" --version "$VERSION")"
                                       : R"("$CHART" --repo "$REPO" --version "$VERSION")";
  }
  script += fmt::format(
      "command=(\"${{HELM:-helm}}\" upgrade --install {} {}\n"
      "  --namespace {} --create-namespace --values values.yaml\n"
      "  {}{}--timeout {}s)\n",
      shell_word(release.name), chart, shell_word(release.ns), release.wait ? "--wait " : "",
      release.wait && release.wait_for_jobs ? "--wait-for-jobs " : "", release.timeout_seconds);
  script += print_if_dry_run;
  return script + "exec \"${command[@]}\" \"$@\"\n";
}

constexpr std::string_view wait_for_workloads = R"BASH(
# What has a rollout is waited for, as Helm does; the rest is there once it is applied.
"${command[0]}" get -k . --no-headers \
  --output custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name |
  while read -r kind namespace name; do
    case $kind in
      Deployment | DaemonSet | StatefulSet)
        "${command[0]}" rollout status "$kind/$name" --namespace "$namespace" \
          --timeout "${timeout_seconds}s" </dev/null
        ;;
    esac
  done
)BASH";

// Server-side, because the definitions of custom resources can be too long for the annotation that
// kubectl would leave.
std::string kustomize_script(const Release& release) {
  std::string script =
      "# kubectl apply -k reads kustomization.yaml, which names the source and its version.\n"
      "command=(\"${KUBECTL:-kubectl}\" apply -k . --server-side --force-conflicts)\n";
  script += print_if_dry_run;
  if (!release.ns.empty()) {
    script += fmt::format(
        "namespace={}\n"
        "if [[ -z $(\"${{command[0]}}\" get namespace \"$namespace\" --ignore-not-found "
        "--output name) ]]; then\n"
        "  \"${{command[0]}}\" create namespace \"$namespace\"\n"
        "fi\n",
        shell_word(release.ns));
  }
  script += "\"${command[@]}\"\n";
  if (release.wait) {
    script += fmt::format("timeout_seconds={}\n", release.timeout_seconds);
    script += wait_for_workloads;
  }
  return script;
}

}  // namespace

std::string install_script(const Release& release) {
  return fmt::format(fmt::runtime(head), release.name) + (release.kind == ReleaseKind::kustomize
                                                              ? kustomize_script(release)
                                                              : helm_script(release));
}

}  // namespace lockstep::bundle
