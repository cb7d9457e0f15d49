#include "bundle/deploy_helm.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bundle/model_check.h"
#include "bundle/release_files.h"
#include "bundle/restart_script.h"
#include "bundle/shell_text.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view deploy_head = R"BASH(#!/usr/bin/env bash
# Installs or upgrades every release of this bundle, in order. --help says more.
set -euo pipefail
export LC_ALL=C
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

helm=${HELM:-helm}
kubectl=${KUBECTL:-kubectl}
poll_seconds=${POLL_SECONDS:-5}
export HELM=$helm KUBECTL=$kubectl
)BASH";

constexpr std::string_view deploy_options = R"BASH(
usage() {
  cat <<'END'
Usage: ./deploy.sh [--dry-run] [--from RELEASE]

Installs or upgrades every release of this bundle, in order, and waits for each.

  --dry-run        print what would be run, and run nothing
  --from RELEASE   leave out the releases before this one
  --help           this text

HELM and KUBECTL name the programs to use.
END
}

stop() {
  printf 'deploy.sh: %s\n' "$1" >&2
  exit 2
}

dry_run=''
from=''
while (($# > 0)); do
  case $1 in
    --dry-run) dry_run=yes ;;
    --from)
      (($# > 1)) || stop '--from needs the name of a release'
      from=$2
      shift
      ;;
    --from=*) from=${1#--from=} ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) stop "unknown argument '$1'; --help lists the known ones" ;;
  esac
  shift
done

total=${#releases[@]}
first=0
if [[ -n $from ]]; then
  while ((first < total)) && [[ ${releases[first]#*-} != "$from" ]]; do
    first=$((first + 1))
  done
  ((first < total)) || stop "there is no release '$from'; there are: ${releases[*]#*-}"
fi

check_programs() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || stop "'$program' is not installed"
  done
}

check_files() {
  local check=()
  if [[ ! -f checksums.txt ]]; then
    echo 'There is no checksums.txt: the files are used as they are'
    return
  fi
  if command -v sha256sum >/dev/null; then
    check=(sha256sum)
  elif command -v shasum >/dev/null; then
    check=(shasum -a 256)
  else
    echo 'There is no sha256sum: the files are used as they are'
    return
  fi
  "${check[@]}" --check --quiet checksums.txt ||
    stop 'the files above are not as they were made; remove checksums.txt to use them all the same'
}
)BASH";

constexpr std::string_view deploy_loop = R"BASH(
current=''
on_exit() {
  local status=$?
  if ((status != 0)) && [[ -n $current ]]; then
    printf "deploy.sh: the release '%s' failed. To go on from there: ./deploy.sh --from %s\n" \
      "$current" "$current" >&2
  fi
  exit "$status"
}
trap on_exit EXIT

for ((position = first; position < total; ++position)); do
  folder=${releases[position]}
  current=${folder#*-}
  echo "[$((position + 1))/$total] $current"
  bash "$folder/install.sh" ${dry_run:+--dry-run}
)BASH";

constexpr std::string_view deploy_end = R"BASH(done
current=''
if [[ -z $dry_run ]]; then echo 'Every release is deployed'; fi
)BASH";

bool needs_kubectl(const BundleModel& model) {
  return !model.restarts.empty() ||
         std::any_of(model.releases.begin(), model.releases.end(),
                     [](const Release& release) { return release.kind == ReleaseKind::kustomize; });
}

std::string deploy_script(const BundleModel& model) {
  std::string script(deploy_head);
  script += "\n# In the order in which they are deployed.\nreleases=(\n";
  for (size_t position = 0; position < model.releases.size(); ++position) {
    script += fmt::format("  {}\n", shell_word(release_folder(position, model.releases[position])));
  }
  script += ")\n";
  script += deploy_options;
  const std::string restarts = restart_functions(model);
  script += restarts;
  script +=
      fmt::format("\nif [[ -z $dry_run ]]; then\n  check_programs \"$helm\"{}\n  check_files\nfi\n",
                  needs_kubectl(model) ? " \"$kubectl\"" : "");
  script += deploy_loop;
  if (!restarts.empty()) script += "  after_release \"$current\"\n";
  script += deploy_end;
  return script;
}

constexpr std::string_view undeploy_head = R"BASH(#!/usr/bin/env bash
# Takes every release of this bundle out of the cluster, the last one first. Namespaces and the
# definitions of custom resources stay. --help says more.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

usage() {
  cat <<'END'
Usage: ./undeploy.sh --yes | --dry-run

Uninstalls every release of this bundle, the last one first. Namespaces and the definitions of
custom resources stay. What is not there is left out, so that it can be run again.

  --yes       do it
  --dry-run   print what would be run, and run nothing
  --help      this text

HELM and KUBECTL name the programs to use.
END
}

dry_run=''
case ${1:-} in
  --yes) ;;
  --dry-run) dry_run=yes ;;
  --help | -h)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

# remove RELEASE COMMAND...
remove() {
  echo "$1"
  shift
  if [[ -n $dry_run ]]; then
    printf ' %q' "$@"
    echo
    return
  fi
  "$@"
}

)BASH";

std::string undeploy_script(const BundleModel& model) {
  std::string script(undeploy_head);
  for (size_t position = model.releases.size(); position-- > 0;) {
    const Release& release = model.releases[position];
    const std::string name = shell_word(release.name);
    if (release.kind == ReleaseKind::kustomize) {
      script += fmt::format(
          "remove {} \"${{KUBECTL:-kubectl}}\" delete -k {} --ignore-not-found --timeout {}s\n",
          name, shell_word(release_folder(position, release)), release.timeout_seconds);
    } else {
      script += fmt::format(
          "remove {} \"${{HELM:-helm}}\" uninstall {} --namespace {} --ignore-not-found --wait "
          "--timeout {}s\n",
          name, name, shell_word(release.ns), release.timeout_seconds);
    }
  }
  return script;
}

}  // namespace

Result<BundleFiles> deploy_with_helm(const BundleModel& model) {
  LOCKSTEP_CHECK(check_model(model));
  BundleFiles files;
  add_release_folders(files, model, true);
  files["deploy.sh"] = {deploy_script(model), true};
  files["undeploy.sh"] = {undeploy_script(model), true};
  add_recipe_and_readme(
      files, model, "A bundle for Helm",
      {"`./deploy.sh --dry-run` shows every command that will be run.",
       "`./deploy.sh` installs or upgrades the releases below, in this order, in the cluster that "
       "kubectl speaks to. It needs helm and kubectl.",
       "If a release fails, mend what it says and go on with `./deploy.sh --from RELEASE`.",
       "`./undeploy.sh --yes` takes everything away again, the last release first."});
  return files;
}

}  // namespace lockstep::bundle
