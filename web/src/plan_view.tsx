// What would happen: the controller's decisions run forward. Which node starts when, whose pods are moved, what blocks.
import { useEffect, useState } from "preact/hooks";
import { clock, duration, plural } from "./format";
import { lookOf } from "./model";
import { Glyph } from "./parts";

interface Reason {
  name: string;
  text: string;
  remedy: string;
}
interface Planned {
  name: string;
  state: string;
  wave?: string;
  outcome: "done" | "failed" | "stuck" | "not started";
  startSeconds?: number;
  endSeconds?: number;
  restartOnly: boolean;
  moved: string[];
  waitedFor: string[];
  waitsUnlimited: boolean;
  blocked: string[];
  reason?: Reason;
}
interface PlannedRollout {
  name: string;
  phase: string;
  rollback: string;
  refused: Reason[];
  excluded: string[];
  endPhase: string;
  end: Reason;
}
interface PlannedEvent {
  seconds: number;
  at: string;
  rollout: string;
  wave: string;
  text: string;
}
interface Plan {
  seconds: number;
  nodeSeconds: number;
  mostAtOnce: number;
  refused: Reason[];
  nodes: Planned[];
  failed: string[];
  rollouts: PlannedRollout[];
  events: PlannedEvent[];
}

const pageSize = 200;
const after = (seconds?: number) => (seconds === undefined ? "–" : seconds === 0 ? "now" : `+${duration(seconds)}`);
const said = (reason?: Reason) => (reason ? `${reason.name}: ${reason.text}${reason.remedy ? `. Next: ${reason.remedy}` : ""}` : "");
const isInProgress = (node: Planned) => node.startSeconds !== undefined && !["upgrade-required", "upgrade-done", "upgrade-failed", "unknown"].includes(node.state);
const waits = (node: Planned) => node.blocked.length > 0 || node.outcome !== "done";

function Refusals({ refused }: { refused: Reason[] }) {
  return <>{refused.map((reason) => <p class="why why-failed" key={reason.name + reason.text}>Would not start: {said(reason)}</p>)}</>;
}

function TimeAxis({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.rollouts.map((rollout) => (
        <div key={rollout.name}>
          <Refusals refused={rollout.refused} />
          <p>
            Rollout <b>{rollout.name}</b> ({rollout.phase}) ends as {rollout.endPhase}
            {rollout.end.name && rollout.end.name !== rollout.endPhase ? `: ${said(rollout.end)}` : ""}. Rollback: {rollout.rollback}.
          </p>
          {rollout.excluded.length > 0 && <p class="muted">Excluded: {rollout.excluded.slice(0, 8).join(", ")}{rollout.excluded.length > 8 ? ` and ${rollout.excluded.length - 8} more` : ""}</p>}
        </div>
      ))}
      {plan.events.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Time axis of the plan">
          <table>
            <thead><tr><th scope="col">At</th><th scope="col">Time</th><th scope="col">Wave</th><th scope="col">What happens</th></tr></thead>
            <tbody>
              {plan.events.map((event, index) => (
                <tr key={index}>
                  <td class="nowrap">{after(event.seconds)}</td>
                  <td class="nowrap">{clock(Date.parse(event.at))}</td>
                  <td>{event.wave}</td>
                  <td>{plan.rollouts.length > 1 ? `${event.rollout}: ` : ""}{event.text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function WhatHappens({ node }: { node: Planned }) {
  const isPlain = node.outcome === "done" && !node.restartOnly && !node.waitedFor.length && !node.moved.length && !node.blocked.length;
  return (
    <>
      {node.outcome === "not started" && <p>does not start: {said(node.reason)}</p>}
      {node.restartOnly && <p>only its driver pod restarts</p>}
      {node.waitedFor.length > 0 && <p>waits for {node.waitedFor.join(", ")}{node.waitsUnlimited ? " (no time limit, not counted)" : ""}</p>}
      {node.moved.length > 0 && <p>moves {node.moved.join(", ")}</p>}
      {node.blocked.map((text) => <p class="blocked" key={text}>✗ blocked: {text}</p>)}
      {node.outcome === "failed" && <p class="blocked">fails {after(node.endSeconds)}: {said(node.reason)}</p>}
      {node.outcome === "stuck" && <p class="blocked">does not finish: {said(node.reason)}</p>}
      {isPlain && <p class="muted">{isInProgress(node) ? "in progress" : "no pod is moved"}</p>}
    </>
  );
}

export function PlanView({ onSelect }: { onSelect: (name: string) => void }) {
  const [plan, setPlan] = useState<Plan>();
  const [error, setError] = useState("");
  const [assume, setAssume] = useState(false);
  const [only, setOnly] = useState<"all" | "blocked" | "moved">("all");
  const [most, setMost] = useState(pageSize);
  useEffect(() => {
    let current = true;
    setPlan(undefined);
    fetch(`/api/plan${assume ? "?assume=1" : ""}`, { cache: "no-store" })
      .then(async (answer) => {
        const body = (await answer.json()) as Plan & { error?: string };
        if (!answer.ok) throw new Error(body.error ?? `the server answers ${answer.status}`);
        if (current) {
          setPlan(body);
          setError("");
        }
      })
      .catch((problem: unknown) => current && setError(problem instanceof Error ? problem.message : String(problem)));
    return () => void (current = false);
  }, [assume]);

  const blocked = plan?.nodes.filter((node) => node.blocked.length > 0).length ?? 0;
  const moved = plan?.nodes.reduce((sum, node) => sum + node.moved.length, 0) ?? 0;
  const starting = plan?.nodes.filter((node) => node.outcome !== "not started").length ?? 0;
  const shown = plan?.nodes.filter((node) => (only === "blocked" ? waits(node) : only === "moved" ? node.moved.length > 0 : true)) ?? [];
  const hasWaves = plan?.nodes.some((node) => node.wave) ?? false;
  return (
    <section class="card" aria-labelledby="plan-title" data-testid="plan">
      <div class="row wrap">
        <h2 id="plan-title">Plan</h2>
        <span class="grow" />
        <label><input type="checkbox" checked={assume} onChange={(event) => setAssume(event.currentTarget.checked)} /> as if a new driver version came</label>
        <label>Show <select value={only} onChange={(event) => setOnly(event.currentTarget.value as typeof only)}>
          <option value="all">all nodes</option>
          <option value="blocked">nodes that wait, fail or block</option>
          <option value="moved">nodes whose pods move</option>
        </select></label>
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      {!plan && !error && <p class="muted">Working it out …</p>}
      {plan && <Refusals refused={plan.refused} />}
      {plan && plan.refused.length > 0 && <p class="muted">The rest of the plan assumes that this is solved.</p>}
      {plan && <TimeAxis plan={plan} />}
      {plan && plan.nodes.length === 0 && <p class="empty">Nothing to upgrade: every driver is the newest. Tick the box above to see what a new version would do.</p>}
      {plan && plan.nodes.length > 0 && (
        <>
          <p class="headline-small">
            {starting} of {plural(plan.nodes.length, "node")} start, at most {plan.mostAtOnce} at once; {plural(moved, "pod")} moved; {plural(blocked, "node")} blocked. About {duration(plan.seconds)} at {duration(plan.nodeSeconds)} a node.
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Nodes of the plan">
            <table>
              <thead><tr><th scope="col">Start</th><th scope="col">Node</th>{hasWaves && <th scope="col">Wave</th>}<th scope="col">State</th><th scope="col">What happens</th></tr></thead>
              <tbody>
                {shown.slice(0, most).map((node) => (
                  <tr key={node.name}>
                    <td class="nowrap">{after(node.startSeconds)}</td>
                    <td><button type="button" class="link" onClick={() => onSelect(node.name)}>{node.name}</button></td>
                    {hasWaves && <td>{node.wave}</td>}
                    <td class="nowrap"><Glyph state={node.state} /> {lookOf(node.state).name}</td>
                    <td><WhatHappens node={node} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {shown.length > most && <button type="button" onClick={() => setMost(most + pageSize)}>Show more ({shown.length - most})</button>}
        </>
      )}
      {plan && plan.failed.length > 0 && <p class="why why-failed">{plural(plan.failed.length, "node")} failed and {plan.failed.length === 1 ? "waits" : "wait"} for a retry: {plan.failed.slice(0, 8).join(", ")}</p>}
    </section>
  );
}
