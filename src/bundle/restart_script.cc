#include "bundle/restart_script.h"

#include <fmt/format.h>

#include "bundle/shell_text.h"

namespace lockstep::bundle {

namespace {

// Times are compared as text, which is right for the one format in which Kubernetes writes them.
// A driver counts from when it was ready: its module is loaded some time after its container began.
// A pod counts from .status.startTime and not from its container's: a container that was restarted
// in an old pod still has the mounts of the old driver.
// No associative arrays and no mapfile: the bash of macOS has neither.
constexpr std::string_view functions = R"BASH(
driver_fields='{range .items[*]}{.metadata.name}{"|"}{.metadata.generation}{"|"}'
driver_fields+='{.status.observedGeneration}{"|"}{.status.desiredNumberScheduled}{"|"}'
driver_fields+='{.status.updatedNumberScheduled}{"|"}{.status.numberReady}{"\n"}{end}'
driver_pod_fields='{range .items[*]}{"driver|"}{.spec.nodeName}{"|"}'
driver_pod_fields+='{.status.conditions[?(@.type=="Ready")].lastTransitionTime}{"\n"}{end}'
plugin_pod_fields='{range .items[*]}{"plugin|"}{.metadata.name}{"|"}{.spec.nodeName}{"|"}'
plugin_pod_fields+='{.status.startTime}{"|"}{.metadata.deletionTimestamp}{"|"}'
plugin_pod_fields+='{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'

# list RESOURCE NAMESPACE SELECTOR FIELDS
list() {
  "$kubectl" get "$1" --namespace "$2" --selector "$3" --output "jsonpath=$4"
}

# Of DaemonSets on standard input, those that are not done. Under the strategy OnDelete, too, a
# DaemonSet counts the pods that are of its newest revision.
unfinished_drivers() {
  awk -F'|' 'NF && ($3 + 0 < $2 + 0 || $5 + 0 < $4 + 0 || $6 + 0 < $4 + 0) {
    printf "  DaemonSet %s: %d of %d pods are up to date, %d are ready\n", $1, $5, $4, $6
  }'
}

# Of driver and plugin pods on standard input, the plugin pods that started before the driver of
# their node was ready. In the same second counts as before: a restart is cheap.
older_pods() {
  awk -F'|' '
    $1 == "driver" && $3 > ready[$2] { ready[$2] = $3 }
    $1 == "plugin" && $4 != "" && $5 == "" && $4 <= ready[$3] { print "old|" $2 "|" $3 }'
}

# Of old and present pods on standard input, the nodes that have no ready pod but an old one.
unready_nodes() {
  awk -F'|' '
    $1 == "old" { old[$2]; waiting[$3] }
    $1 == "plugin" && !($2 in old) && $5 == "" && $6 == "True" { delete waiting[$3] }
    END { for (node in waiting) print "  Node " node ": no ready pod yet" }' | sort
}

# restart_older_pods PLUGIN_NAMESPACE PLUGIN_SELECTOR DRIVER_NAMESPACE DRIVER_SELECTOR
#   DRIVER_SECONDS PLUGIN_SECONDS
restart_older_pods() {
  local drivers plugins older pending deadline names name
  if [[ -n $dry_run ]]; then
    echo "  would wait for the driver ($4 in $3), then restart the pods ($2 in $1) older than it"
    return
  fi

  echo "  Waiting up to $5 s for the driver ($4 in $3)"
  deadline=$((SECONDS + $5))
  while true; do
    drivers=$(list daemonsets "$3" "$4" "$driver_fields")
    if [[ -z $drivers ]]; then
      echo '  There is no DaemonSet of a driver: no pod to restart'
      return
    fi
    pending=$(printf '%s\n' "$drivers" | unfinished_drivers)
    [[ -n $pending ]] || break
    if ((SECONDS >= deadline)); then
      printf 'The driver was not ready after %s s:\n%s\n' "$5" "$pending" >&2
      return 1
    fi
    sleep "$poll_seconds"
  done

  drivers=$(list pods "$3" "$4" "$driver_pod_fields")
  plugins=$(list pods "$1" "$2" "$plugin_pod_fields")
  older=$(printf '%s\n' "$drivers" "$plugins" | older_pods)
  if [[ -z $older ]]; then
    echo '  No pod is older than the driver of its node: none is restarted'
    return
  fi

  names=()
  while IFS='|' read -r _ name _; do names+=("$name"); done <<<"$older"
  echo "  Restarting ${#names[@]} pod(s) older than the driver of their node"
  "$kubectl" delete pods --namespace "$1" --ignore-not-found --wait=false "${names[@]}"
  deadline=$((SECONDS + $6))
  while true; do
    plugins=$(list pods "$1" "$2" "$plugin_pod_fields")
    pending=$(printf '%s\n' "$older" "$plugins" | unready_nodes)
    [[ -n $pending ]] || break
    if ((SECONDS >= deadline)); then
      printf 'The restarted pods were not ready after %s s:\n%s\n' "$6" "$pending" >&2
      return 1
    fi
    sleep "$poll_seconds"
  done
  echo '  The restarted pods are ready'
}
)BASH";

}  // namespace

std::string restart_functions(const BundleModel& model) {
  if (model.restarts.empty()) return {};
  std::string script(functions);
  script += "\n# What follows a release.\nafter_release() {\n  case $1 in\n";
  for (const Release& release : model.releases) {
    std::string calls;
    for (const GuardedRestart& restart : model.restarts) {
      if (restart.release != release.name) continue;
      calls += fmt::format(
          "      restart_older_pods {} {} {} {} {} {}\n", shell_word(restart.plugin_namespace),
          shell_word(restart.plugin_selector), shell_word(restart.driver_namespace),
          shell_word(restart.driver_selector), restart.driver_seconds, restart.plugin_seconds);
    }
    if (calls.empty()) continue;
    script += fmt::format("    {})\n{}      ;;\n", shell_word(release.name), calls);
  }
  return script + "  esac\n}\n";
}

}  // namespace lockstep::bundle
