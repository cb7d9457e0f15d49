// What would happen: who goes when, whose pods are moved, and who blocks.
import { useEffect, useState } from "preact/hooks";
import { duration, plural } from "./format";
import { lookOf } from "./model";
import { Glyph } from "./parts";

interface Planned {
  name: string;
  state: string;
  turn: number;
  restartOnly: boolean;
  moved: string[];
  waitedFor: string[];
  blocked: string[];
  held?: string;
}
interface Plan {
  turns: number;
  parallel: number;
  seconds: number;
  nodes: Planned[];
  failed: string[];
}

const pageSize = 200;
const under = (state: string) => state !== "upgrade-required" && state !== "upgrade-done" && state !== "upgrade-failed" && state !== "unknown";

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
  const shown = plan?.nodes.filter((node) => (only === "blocked" ? node.blocked.length > 0 || node.held : only === "moved" ? node.moved.length > 0 : true)) ?? [];
  return (
    <section class="card" aria-labelledby="plan-title" data-testid="plan">
      <div class="row wrap">
        <h2 id="plan-title">Plan</h2>
        <span class="grow" />
        <label><input type="checkbox" checked={assume} onChange={(event) => setAssume(event.currentTarget.checked)} /> as if a new driver version came</label>
        <label>Show <select value={only} onChange={(event) => setOnly(event.currentTarget.value as typeof only)}>
          <option value="all">all nodes</option>
          <option value="blocked">who waits or blocks</option>
          <option value="moved">whose pods move</option>
        </select></label>
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      {!plan && !error && <p class="muted">Working it out …</p>}
      {plan && plan.nodes.length === 0 && <p class="empty">Nothing to upgrade: every driver is the newest. Tick the box above to see what a new version would do.</p>}
      {plan && plan.nodes.length > 0 && (
        <>
          <p class="headline-small">
            {plural(plan.nodes.length, "node")} in {plural(plan.turns, "turn")} of up to {plan.parallel}; {plural(moved, "pod")} moved; {plural(blocked, "node")} blocked. About {duration(plan.seconds)} at 5 minutes a node.
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Nodes of the plan">
            <table>
              <thead><tr><th scope="col">Turn</th><th scope="col">Node</th><th scope="col">State</th><th scope="col">What happens</th></tr></thead>
              <tbody>
                {shown.slice(0, most).map((node) => (
                  <tr key={node.name}>
                    <td>{node.turn || "–"}</td>
                    <td><button type="button" class="link" onClick={() => onSelect(node.name)}>{node.name}</button></td>
                    <td class="nowrap"><Glyph state={node.state} /> {lookOf(node.state).name}</td>
                    <td>
                      {node.held && <p>waits: {node.held}</p>}
                      {node.restartOnly && <p>only its driver pod restarts</p>}
                      {node.waitedFor.length > 0 && <p>waits for {node.waitedFor.join(", ")}</p>}
                      {node.moved.length > 0 && <p>moves {node.moved.join(", ")}</p>}
                      {node.blocked.map((text) => <p class="blocked" key={text}>✗ blocked: {text}</p>)}
                      {!node.held && !node.restartOnly && !node.waitedFor.length && !node.moved.length && !node.blocked.length && <p class="muted">{under(node.state) ? "is under way" : "nobody is moved"}</p>}
                    </td>
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
