// The upgrade in one sentence and one bar, for each pool; and what holds it.
import type { Asked } from "./dialogs";
import { duration, plural } from "./format";
import { lookOf, type Fleet, type Pool } from "./model";
import { Glyph } from "./parts";
import type { Person } from "./person";

// In the order of a node's way.
const way = [
  "upgrade-required", "cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required",
  "pod-restart-required", "validation-required", "uncordon-required", "upgrade-done", "upgrade-failed", "unknown",
];

export function PoolSummary({ pool, person, inWaves, onAsk }: { pool: Pool; person: Person; inWaves: boolean; onAsk: (asked: Asked) => void }) {
  const over = pool.waiting + pool.active === 0;
  const details = [
    pool.active > 0 || !over ? `${pool.active} under way${pool.maxParallel ? ` (limit ${pool.maxParallel})` : ""}` : "",
    pool.waiting > 0 ? `${pool.waiting.toLocaleString("en-US")} waiting` : "",
    `${pool.unavailable} unavailable (limit ${pool.maxUnavailable})`,
    pool.failed > 0 ? `${pool.failed} failed (limit ${pool.maxFailures})` : "",
    // Waves wait for bakes and users, whatever the pace of nodes.
    pool.secondsLeft !== undefined && !over && !inWaves ? `about ${duration(pool.secondsLeft)} left` : "",
  ].filter((text) => text !== "");
  const title = pool.name || pool.policy || "all nodes";
  return (
    <section class="card summary" aria-label={`Upgrade of ${title}`}>
      <div class="row wrap">
        <p class="headline" data-testid="headline">
          <strong>{pool.running.toLocaleString("en-US")}</strong> of {plural(pool.total, "node")} run {pool.target ? <strong>{pool.target}</strong> : "the newest driver"}
        </p>
        <span class="grow" />
        {person.may("pool") && (pool.paused === undefined
          ? <button type="button" onClick={() => onAsk({ verb: "pause", target: "pool", name: pool.name })}>Pause</button>
          : <button type="button" class="primary" onClick={() => onAsk({ verb: "resume", target: "pool", name: pool.name })}>Resume</button>)}
      </div>
      <div class="bar" role="meter" aria-label={`${pool.running} of ${pool.total} run the newest driver`} aria-valuemin={0} aria-valuemax={pool.total} aria-valuenow={pool.running}>
        <div class="bar-done" style={{ width: `${(pool.running / Math.max(1, pool.total)) * 100}%` }} />
        <div class="bar-active" style={{ width: `${(pool.active / Math.max(1, pool.total)) * 100}%` }} />
        <div class="bar-failed" style={{ width: `${(pool.failed / Math.max(1, pool.total)) * 100}%` }} />
      </div>
      <p class="muted">{pool.name ? <strong>{title} · </strong> : null}{details.join(" · ")}</p>
      {pool.paused !== undefined && <p class="why">Paused: {pool.paused}</p>}
      {pool.held && pool.paused === undefined && !over && (
        <p class={pool.held.name.endsWith("Limit") ? "muted small" : "why"}>
          No further node starts now: {pool.held.text} <span class="muted">({pool.held.name})</span>{pool.held.remedy && `. To change it: ${pool.held.remedy}`}
        </p>
      )}
    </section>
  );
}

// Legend and pipeline in one: the states in the order of a node's way, with how many are in each.
export function Stages({ fleet, states }: { fleet: Fleet; states: Uint8Array | undefined }) {
  const counts = fleet.states.map(() => 0);
  if (states) for (const node of fleet.nodes.values()) counts[states[node.number] ?? node.state]!++;
  const shown = states ? counts : fleet.counts;
  return (
    <ol class="stages" aria-label="Nodes by state">
      {way.map((state) => {
        const count = shown[fleet.states.indexOf(state)] ?? 0;
        const rare = state === "wait-for-jobs-required" || state === "drain-required" || state === "unknown";
        if (rare && count === 0) return null;
        const look = lookOf(state);
        return (
          <li key={state} class={count === 0 ? "stage stage-none" : "stage"} title={`${state}: ${look.what}`}>
            <Glyph state={state} /> {look.name} <strong>{count.toLocaleString("en-US")}</strong>
          </li>
        );
      })}
    </ol>
  );
}
