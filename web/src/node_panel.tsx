// One node: why it is where it is, what would change that, and what was seen on the way.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Asked } from "./dialogs";
import { clock, duration } from "./format";
import { lookOf, type Fleet, type Reason } from "./model";
import type { Person } from "./person";
import { Glyph } from "./parts";

interface Card {
  name: string;
  pool: string;
  state: string;
  since?: number;
  reason: Reason;
  cordoned: boolean;
  cordonedByUs: boolean;
  ready: boolean;
  skipped: boolean;
  driver: { version: string; target: string; inSync: boolean; ready: boolean; pod?: string };
  gpuPods: number;
  pods: { name: string; fate: string; because?: string }[];
  conditions: { type: string; status: string; reason: string; message: string }[];
  kernel: string;
  os: string;
  wave?: string;
  zone?: string;
  rack?: string;
  model?: string;
  gpus?: number;
  failure?: string;
  steered?: string;
  health?: string;
  states?: [number, number][];
  events?: { at: number; type: string; reason: string; message: string; count: number }[];
  eventsMissing?: string;
}

export function NodePanel({ name, fleet, person, version, onClose, onAsk }: {
  name: string;
  fleet: Fleet;
  person: Person;
  version: number;
  onClose: () => void;
  onAsk: (asked: Asked) => void;
}) {
  const [card, setCard] = useState<Card>();
  const [error, setError] = useState("");
  const node = fleet.byName.get(name);
  // Asked for again when the node's row changes, not with every tick.
  const mark = node ? `${node.state} ${node.reason} ${node.since} ${node.gpuPods} ${node.skipped}` : "";
  useEffect(() => {
    let current = true;
    const load = async () => {
      try {
        const answer = await fetch(`/api/nodes/${encodeURIComponent(name)}`, { cache: "no-store" });
        const body = (await answer.json()) as Card & { error?: string };
        if (!current) return;
        if (!answer.ok) throw new Error(body.error ?? `the server answers ${answer.status}`);
        setCard(body);
        setError("");
      } catch (problem) {
        if (current) setError(problem instanceof Error ? problem.message : String(problem));
      }
    };
    void load();
    return () => void (current = false);
  }, [name, mark, Math.floor(version / 50)]);

  const panel = useRef<HTMLElement>(null);
  // On a narrow screen the panel is above the map, perhaps out of sight.
  useEffect(() => {
    const top = panel.current?.getBoundingClientRect().top ?? 0;
    if (top < 0 || top > window.innerHeight * 0.8) panel.current?.scrollIntoView({ block: "start" });
  }, [name]);

  const shown = card?.name === name ? card : undefined;
  return (
    <section ref={panel} class="card panel" aria-labelledby="node-title" data-testid="node-panel">
      <div class="row">
        <h2 id="node-title" class="grow">{name}</h2>
        <button type="button" aria-label={`Close ${name}`} onClick={onClose}>✕</button>
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      {!shown && !error && <p class="muted">Loading …</p>}
      {shown && <Body card={shown} fleet={fleet} person={person} onAsk={onAsk} />}
    </section>
  );
}

function Body({ card, fleet, person, onAsk }: { card: Card; fleet: Fleet; person: Person; onAsk: (asked: Asked) => void }) {
  const look = lookOf(card.state);
  const ask = (verb: string) => onAsk({ verb, target: "node", name: card.name });
  const facts: [string, string][] = [
    ["Driver", `${card.driver.version || "none"}${card.driver.inSync ? ", the newest" : card.driver.target ? `, to become ${card.driver.target}` : ""}${card.driver.ready ? "" : ", not ready"}`],
    ["Node", `${card.ready ? "Ready" : "not Ready"}${card.cordoned ? `, cordoned${card.cordonedByUs ? " for the upgrade" : " by a user"}` : ""}${card.skipped ? ", skipped" : ""}`],
    ["GPUs", [card.gpus ? String(card.gpus) : "", card.model ?? ""].filter(Boolean).join(" × ")],
    ["Where", [card.wave && `wave ${card.wave}`, card.zone, card.rack, card.pool && `pool ${card.pool}`].filter(Boolean).join(" · ")],
    ["System", [card.os, card.kernel].filter(Boolean).join(" · ")],
    ["By hand", card.steered ?? ""],
    ["GPU health", card.health ?? ""],
  ];
  return (
    <>
      <p class={`state-line s-${look.key}`}>
        <Glyph state={card.state} /> <strong>{look.name}</strong> {look.what}
        {card.since ? <span class="muted"> · for {duration((fleet.now() - card.since) / 1000)}</span> : null}
      </p>
      <div class={`why${look.key === "failed" ? " why-failed" : ""}`} data-testid="why">
        <p><strong>{card.reason.name}</strong><br />{card.reason.text}</p>
        {card.reason.remedy && <p class="remedy"><span class="muted">What would change it:</span> {card.reason.remedy}</p>}
      </div>
      {card.failure && !card.failure.endsWith(card.reason.text) && <p class="evidence"><span class="muted">Written on the node:</span> {card.failure}</p>}
      {person.may("node") && (
        <div class="row">
          {look.key === "failed" && <button type="button" class="primary" onClick={() => ask("retry")}>Retry</button>}
          {card.skipped ? <button type="button" onClick={() => ask("unskip")}>Take part again</button> : <button type="button" onClick={() => ask("skip")}>Skip</button>}
        </div>
      )}
      <dl class="facts">
        {facts.filter(([, value]) => value !== "").map(([key, value]) => (
          <>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      <h3>States over time</h3>
      <StateList card={card} fleet={fleet} />
      {card.gpuPods > 0 && (
        <>
          <h3>GPU pods ({card.gpuPods})</h3>
          <ul class="plain">
            {card.pods.map((pod) => (
              <li key={pod.name}><span class={`fate fate-${pod.fate}`}>{pod.fate}</span> {pod.name}{pod.because && <span class="muted"> — {pod.because}</span>}</li>
            ))}
          </ul>
        </>
      )}
      {card.conditions.some((condition) => condition.type !== "Ready" || condition.status !== "True") && (
        <>
          <h3>Conditions</h3>
          <ul class="plain">
            {card.conditions.map((condition) => <li key={condition.type}>{condition.type} {condition.status}: {condition.message || condition.reason}</li>)}
          </ul>
        </>
      )}
      <h3>Events</h3>
      {card.eventsMissing && <p class="error">{card.eventsMissing}</p>}
      {card.events?.length === 0 && !card.eventsMissing && <p class="muted">none are kept any more</p>}
      <ul class="plain events" tabIndex={0} aria-label="Events">
        {card.events?.map((event) => (
          <li key={`${event.at}${event.message}`} class={event.type === "Warning" ? "warning" : ""}>
            <time class="muted">{clock(event.at)}</time> <strong>{event.type === "Warning" ? "⚠ " : ""}{event.reason}</strong>{event.count > 1 ? ` ×${event.count}` : ""} {event.message}
          </li>
        ))}
      </ul>
    </>
  );
}

function StateList({ card, fleet }: { card: Card; fleet: Fleet }) {
  const states = card.states ?? [];
  if (states.length === 0) {
    return <p class="muted">{card.since ? `${lookOf(card.state).name} since ${clock(card.since)}; what came before was not seen` : "nothing was seen to change"}</p>;
  }
  return (
    <ol class="plain states">
      {states.map(([at, state], i) => {
        const name = fleet.states[state] ?? "";
        const end = states[i + 1]?.[0] ?? fleet.now();
        return (
          <li key={at}>
            <time class="muted">{clock(at)}</time> <Glyph state={name} /> {lookOf(name).name} <span class="muted">{duration((end - at) / 1000)}</span>
          </li>
        );
      })}
    </ol>
  );
}
