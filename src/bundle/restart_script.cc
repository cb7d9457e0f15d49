#include "bundle/restart_script.h"

#include <fmt/format.h>

#include "bundle/shell_text.h"

namespace lockstep::bundle {

namespace {

// The rules of `lockstep reroll`, for users of deploy.sh without such an image: node by node, and
// without the nodes that a rollout, a label or an administrator holds.
//
// Times are compared as text, which is right for the one format in which Kubernetes writes them. A
// driver counts from when it was ready: its module is loaded some time after its container began. A
// pod counts from .status.startTime and not from its container's: a container that was restarted in
// an old pod still has the mounts of the old driver. No associative arrays and no mapfile: the bash
// of macOS has neither.
constexpr std::string_view lists = R"BASH(
driver_fields='{range .items[*]}{"set|"}{.metadata.name}{"|"}{.metadata.generation}{"|"}'
driver_fields+='{.status.observedGeneration}{"|"}{.status.desiredNumberScheduled}{"|"}'
driver_fields+='{.status.updatedNumberScheduled}{"|"}'
driver_fields+='{.metadata.annotations.deprecated\.daemonset\.template\.generation}{"\n"}{end}'
node_fields='{range .items[*]}{"node|"}{.metadata.name}{"|"}{.spec.unschedulable}{"|"}'
for domain in 'nvidia\.com' 'lockstep\.dev'; do
  key=$domain/gpu-driver-upgrade
  node_fields+="{.metadata.labels.$key-state}{\"|\"}{.metadata.labels.$key\.skip}{\"|\"}"
  node_fields+="{.metadata.annotations.$key\.node-initial-state\.unschedulable}{\"|\"}"
done
for note in awaits-rollout kept-back-by upgrade-cordon upgrade-failure; do
  node_fields+="{.metadata.annotations.lockstep\.dev/$note}{\"|\"}"
done
node_fields+='{"\n"}{end}'
driver_pod_fields='{range .items[*]}{"driver|"}{.spec.nodeName}{"|"}'
driver_pod_fields+='{.metadata.ownerReferences[0].name}{"|"}{.metadata.deletionTimestamp}{"|"}'
driver_pod_fields+='{.metadata.labels.pod-template-generation}{"|"}'
driver_pod_fields+='{.metadata.labels.controller-revision-hash}{"|"}'
driver_pod_fields+='{.status.conditions[?(@.type=="Ready")].status}{"|"}'
driver_pod_fields+='{.status.conditions[?(@.type=="Ready")].lastTransitionTime}{"\n"}{end}'
plugin_pod_fields='{range .items[*]}{"plugin|"}{.metadata.name}{"|"}{.spec.nodeName}{"|"}'
plugin_pod_fields+='{.status.startTime}{"|"}{.metadata.deletionTimestamp}{"|"}'
plugin_pod_fields+='{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'

# list RESOURCE NAMESPACE SELECTOR FIELDS
list() {
  "$kubectl" get "$1" --namespace "$2" --selector "$3" --output "jsonpath=$4"
}
)BASH";

constexpr std::string_view examination = R"BASH(
# Of DaemonSets, nodes, driver pods and plugin pods on standard input, in lines: what is waited for
# (pending|TEXT), which nodes are not (left|TEXT), and the plugin pods that started before the
# driver of their node was ready, where that is done (old|POD|NODE). In the same second counts as
# before: a restart is cheap. Under the strategy OnDelete, too, a DaemonSet counts the pods that are of its
# newest revision.
examine() {
  awk -F'|' '
    function why_left(node) {
      if (skip[node] && holder[node] != "") return "held by rollout " holder[node]
      if (skip[node]) return "skipped by its label"
      if (rollout[node] != "" && state[node] == "upgrade-required")
        return "held by rollout " rollout[node]
      if (!cordoned[node]) return ""
      if (initially[node] || cordon[node] == "lifted") return "cordoned by an administrator"
      if (cordon[node] == "ours" || failure[node] != "") return ""
      if (state[node] == "upgrade-failed") return ""
      if (state[node] ~ /-required$/ && state[node] != "upgrade-required") return ""
      return "cordoned by an administrator"
    }
    function why_old(node, set) {
      set = owner[node]
      if (deleting[node]) return "its driver pod is being deleted"
      if (template[set] != "" && updated[set] < desired[set] && generation[node] != template[set] \
          && !((set, hash[node]) in newest)) return "its driver pod is of an older revision"
      if (ready[node] == "") return "its driver pod is not ready"
      return ""
    }
    function why_waiting(node, why) {
      why = why_old(node)
      if (why != "" || !labels || state[node] == "upgrade-done") return why
      return state[node] == "" ? "it has no upgrade state" : state[node]
    }
    $1 == "set" {
      observed[$2] = ($4 + 0 >= $3 + 0); desired[$2] = $5 + 0; updated[$2] = $6 + 0
      template[$2] = $7
    }
    $1 == "node" {
      cordoned[$2] = ($3 == "true"); state[$2] = ($4 != "" ? $4 : $7)
      skip[$2] = ($5 == "true" || $8 == "true"); initially[$2] = ($6 != "" || $9 != "")
      rollout[$2] = $10; holder[$2] = $11; cordon[$2] = $12; failure[$2] = $13
      if (state[$2] != "") labels = 1
    }
    # Of two on one node the one that stays.
    $1 == "driver" && $2 != "" && !(($2 in owner) && $4 != "") {
      owner[$2] = $3; deleting[$2] = ($4 != ""); generation[$2] = $5; hash[$2] = $6
      ready[$2] = ($7 == "True" ? $8 : "")
      if (template[$3] != "" && $5 == template[$3]) newest[$3, $6]
    }
    $1 == "plugin" && $4 != "" && $5 == "" { started[$2] = $4; place[$2] = $3 }
    END {
      for (node in owner) {
        ++pods[owner[node]]
        if (why_left(node) != "") ++held[owner[node]]
      }
      for (set in desired) {
        why = ""
        if (!observed[set]) why = "its newest template has not been observed yet"
        else if (template[set] == "" && desired[set] - updated[set] > held[set])
          why = updated[set] " of " desired[set] " pods are up to date"
        else if (desired[set] - pods[set] > 0) why = pods[set] + 0 " of " desired[set] " pods exist"
        if (why == "") continue
        waits[set]
        print "pending|DaemonSet " set ": " why
      }
      for (node in owner) {
        why = why_waiting(node)
        left = why == "" ? "" : why_left(node)
        if (why != "" && left == "") print "pending|Node " node ": " why
        if (left != "") print "left|" node " (" left ")"
        if (owner[node] in waits || (why != "" && (left == "" || why_old(node) != ""))) continue
        done[node]
      }
      for (pod in started)
        if (place[pod] in done && started[pod] <= ready[place[pod]]) print "old|" pod "|" place[pod]
    }' | sort
}

# Of old and present pods on standard input, the nodes that have no ready pod but an old one.
unready_nodes() {
  awk -F'|' '
    $1 == "old" { old[$2]; waiting[$3] }
    $1 == "plugin" && !($2 in old) && $5 == "" && $6 == "True" { delete waiting[$3] }
    END { for (node in waiting) print "  Node " node ": no ready pod yet" }' | sort
}
)BASH";

constexpr std::string_view restarting = R"BASH(
# restart_older_pods PLUGIN_NAMESPACE PLUGIN_SELECTOR DRIVER_NAMESPACE DRIVER_SELECTOR
#   DRIVER_SECONDS PLUGIN_SECONDS
restart_older_pods() {
  local drivers nodes driver_pods plugins found older pending left names name
  local restarted='' count=0 deadline=$((SECONDS + $5)) plugin_deadline=''
  if [[ -n $dry_run ]]; then
    echo "  would wait for the driver ($4 in $3), and restart the pods ($2 in $1) older than it"
    return
  fi

  echo "  Waiting up to $5 s for the driver ($4 in $3)"
  while true; do
    drivers=$(list daemonsets "$3" "$4" "$driver_fields")
    if [[ -z $drivers ]]; then
      echo '  There is no DaemonSet of a driver: no pod to restart'
      return
    fi
    nodes=$("$kubectl" get nodes --output "jsonpath=$node_fields")
    driver_pods=$(list pods "$3" "$4" "$driver_pod_fields")
    plugins=$(list pods "$1" "$2" "$plugin_pod_fields")
    if [[ -z $driver_pods ]] && ! printf '%s
' "$drivers" | awk -F'|' '$5 + 0 > 0 { exit 1 }'; then
      pending='  No driver pod exists yet'
      found=''
    elif [[ -z $driver_pods ]]; then
      echo '  No node has a driver: no pod to restart'
      return
    else
      found=$(printf '%s
' "$drivers" "$nodes" "$driver_pods" "$plugins" | examine)
      pending=$(printf '%s
' "$found" | sed -n 's/^pending|/  /p')
    fi
    left=$(printf '%s
' "$found" | sed -n 's/^left|/    /p')
    older=$(printf '%s
' "$found" | sed -n '/^old|/p')
    if [[ -n $older ]]; then
      names=()
      while IFS='|' read -r _ name _; do names+=("$name"); done <<<"$older"
      echo "  Restarting ${#names[@]} pod(s) older than the driver of their node"
      "$kubectl" delete pods --namespace "$1" --ignore-not-found --wait=false "${names[@]}"
      restarted+=$older$'
'
      count=$((count + ${#names[@]}))
    fi

    if [[ -z $pending ]]; then
      plugin_deadline=${plugin_deadline:-$((SECONDS + $6))}
      pending=$(printf '%s
' "$restarted" "$plugins" | unready_nodes)
      [[ -n $plugins ]] ||
        pending="  No pod in $1 has the labels $2: is the DRA driver installed there?"
      [[ -n $pending ]] || break
      if ((SECONDS >= plugin_deadline)); then
        printf 'The pods were not all new and ready after %s s:
%s
' "$6" "$pending" >&2
        return 1
      fi
    elif ((SECONDS >= deadline)); then
      printf 'The driver was not ready after %s s:
%s
' "$5" "$pending" >&2
      return 1
    fi
    sleep "$poll_seconds"
  done

  if ((count > 0)); then
    echo '  The restarted pods are ready'
  else
    echo '  No pod is older than the driver of its node: none is restarted'
  fi
  if [[ -n $left ]]; then
    printf '  Not waited for, and restarted when their turn comes:
%s
' "$left"
  fi
}
)BASH";

}  // namespace

std::string restart_functions(const BundleModel& model) {
  if (model.restarts.empty()) return {};
  std::string script(lists);
  script += examination;
  script += restarting;
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
