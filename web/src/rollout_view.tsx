// A rollout as a pipeline: waves from left to right, each with its gates, its bake in numbers, and who approves.
import type { Asked } from "./dialogs";
import { clock, duration, number, plural } from "./format";
import type { Bake, Gate, Rollout, Wave } from "./model";
import { Meter, words } from "./parts";
import type { Person } from "./person";

const marks: Record<string, string> = { Passed: "✓", Failed: "✗", Inconclusive: "?", Error: "!", Running: "…" };
const steps: [string, string][] = [
  ["promote", "Promote"], ["pause", "Pause"], ["resume", "Resume"], ["retry", "Retry"], ["abort", "Abort"], ["rollback", "Roll back"],
];

function offered(rollout: Rollout, verb: string): boolean {
  if (verb === "pause") return !rollout.paused && !rollout.over;
  if (verb === "resume") return rollout.paused;
  if (verb === "promote") return rollout.phase === "AwaitingApproval" || rollout.phase === "Held";
  if (verb === "retry") return rollout.phase === "Held";
  if (verb === "abort") return !rollout.over;
  return rollout.phase !== "RolledBack" && rollout.phase !== "RollingBack" && rollout.phase !== "Pending";
}

export function RolloutView({ rollout, person, now, onAsk }: {
  rollout: Rollout;
  person: Person;
  now: number;
  onAsk: (asked: Asked) => void;
}) {
  const bad = rollout.phase === "Held" || rollout.phase === "RollingBack";
  const current = rollout.waves.find((wave) => wave.state === rollout.phase);
  return (
    <section class="card rollout" aria-labelledby={`rollout-${rollout.name}`} data-testid="rollout">
      <div class="row wrap">
        <h2 id={`rollout-${rollout.name}`}>{rollout.name}</h2>
        <span class={`chip${bad ? " chip-bad" : rollout.phase === "Complete" ? " chip-good" : ""}`}>{words(rollout.phase)}{rollout.paused ? ", paused" : ""}</span>
        {rollout.to && <span class="muted">{rollout.from || "?"} → <strong>{rollout.to}</strong></span>}
        {rollout.since !== null && <span class="muted">for {duration((now - rollout.since) / 1000)}</span>}
        <span class="grow" />
        {person.may("rollout") && steps.filter(([verb]) => offered(rollout, verb)).map(([verb, title]) => (
          <button type="button" key={verb} class={verb === "promote" ? "primary" : ""} onClick={() => onAsk({ verb, target: "rollout", name: rollout.name, ...(verb === "promote" && current ? { wave: current.name } : {}) })}>{title}</button>
        ))}
      </div>
      {rollout.message && <p class={bad ? "why why-failed" : "why"}><strong>{rollout.reason}</strong> {rollout.message}</p>}
      {rollout.problems.map((problem) => <p class="error" key={problem}>{problem}</p>)}
      <ol class="waves" tabIndex={0} aria-label={`Waves of ${rollout.name}`}>
        {rollout.waves.map((wave) => <WaveCard key={wave.name} wave={wave} current={wave === current} now={now} />)}
      </ol>
      {rollout.history.length > 0 && (
        <details>
          <summary>What was decided ({rollout.history.length})</summary>
          <ul class="plain">
            {[...rollout.history].reverse().map((entry) => (
              <li key={`${entry.at}${entry.text}`}>
                <time class="muted">{entry.at === null ? "" : clock(entry.at)}</time> <strong>{words(entry.phase)}</strong> {entry.wave} {entry.reason}: {entry.text}{entry.by && ` (by ${entry.by})`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function WaveCard({ wave, current, now }: { wave: Wave; current: boolean; now: number }) {
  const closed = wave.state === "not open";
  const mark = wave.state === "Passed" ? "✓" : wave.verdict === "Failed" ? "✗" : current ? "▶" : closed ? "○" : "·";
  const planned = (wave.plannedGates ?? []).filter((name) => !wave.gates.some((gate) => gate.name === name));
  return (
    <li class={`wave${current ? " wave-current" : ""}${closed ? " wave-closed" : ""}${wave.verdict === "Failed" ? " wave-failed" : ""}`}>
      <div class="row">
        <strong>{mark} {wave.name}</strong>
        <span class="muted grow right">{words(wave.state)}</span>
      </div>
      {wave.asks && <p class="muted small">{wave.asks}</p>}
      {wave.nodes > 0 && <Meter value={wave.done} most={wave.nodes} label={`${wave.done} of ${plural(wave.nodes, "node")}${wave.failed ? `, ${wave.failed} failed` : ""}`} bad={wave.failed > 0} />}
      {wave.gates.map((gate) => <GateLine key={gate.name} gate={gate} />)}
      {planned.map((name) => <p class="gate muted" key={name}>○ gate {name}</p>)}
      {wave.bake && <BakeLines bake={wave.bake} now={now} />}
      {wave.verdictText && wave.verdictText !== wave.bake?.text && <p class="small">{wave.verdictText}</p>}
      {wave.needsApproval && (
        <p class="small">{wave.approvedBy ? `✓ approved by ${wave.approvedBy}${wave.approvedAt ? `, ${clock(wave.approvedAt)}` : ""}` : "○ needs a user's approval"}</p>
      )}
    </li>
  );
}

function GateLine({ gate }: { gate: Gate }) {
  return (
    <p class={`gate gate-${gate.outcome.toLowerCase()}`}>
      {marks[gate.outcome] ?? "·"} gate {gate.name}{gate.dryRun ? " (dry run)" : ""}: {gate.outcome.toLowerCase()} <span class="muted">{gate.text}</span>
    </p>
  );
}

function BakeLines({ bake, now }: { bake: Bake; now: number }) {
  const passed = bake.began !== null && bake.runs ? Math.max(bake.seconds, (now - bake.began) / 1000) : bake.seconds;
  const known = bake.secondsLeft === undefined ? undefined : bake.secondsLeft - (passed - bake.seconds);
  const left = Math.max(0, known ?? bake.targetSeconds - passed);
  const begun = bake.began !== null;
  return (
    <div class="bake">
      <Meter value={Math.min(passed, bake.targetSeconds)} most={bake.targetSeconds} label={begun && !bake.runs ? "bake over" : begun ? `bake ${passed > bake.targetSeconds ? `${duration(bake.targetSeconds)} and ${duration(passed - bake.targetSeconds)} more` : `${duration(passed)} of ${duration(bake.targetSeconds)}`}${bake.runs && left > 0 ? `, about ${duration(left)} left` : ""}` : `bake ${duration(bake.targetSeconds)}`} />
      {bake.targetGpuHours > 0 && <Meter value={bake.gpuHours} most={bake.targetGpuHours} label={`${number(bake.gpuHours)} of ${number(bake.targetGpuHours)} GPU-hours`} />}
      {bake.evidence !== undefined && bake.limit !== undefined && <Meter value={Math.min(bake.evidence, bake.limit)} most={bake.limit} label={`evidence of harm ${number(bake.evidence)}, fails at ${number(bake.limit)}`} bad={bake.evidence > bake.limit / 2} />}
      {bake.kinds?.filter((kind) => kind.upgraded + kind.control > 0).map((kind) => <p class="small muted" key={kind.kind}>{kind.kind}: {kind.upgraded} on upgraded nodes, {kind.control} on others</p>)}
      {bake.text && <p class="small">{bake.text}</p>}
      {bake.detectable && <p class="small muted">{bake.detectable}</p>}
    </div>
  );
}
