// What needs a look now: which nodes failed and why, which are in progress, and what changed last.
import type { Asked } from "./dialogs";
import { clock } from "./format";
import { lookOf, stateName, type Attention, type Fleet } from "./model";
import { Glyph, words } from "./parts";
import type { Person } from "./person";

export function NowPanel({ fleet, person, onSelect, onAsk }: {
  fleet: Fleet;
  person: Person;
  onSelect: (name: string) => void;
  onAsk: (asked: Asked) => void;
}) {
  const isFailed = (entry: Attention) => fleet.states[entry.state] === "upgrade-failed";
  const failed = fleet.attention.filter(isFailed);
  const active = fleet.attention.filter((entry) => !isFailed(entry));
  const failedCount = fleet.counts[fleet.states.indexOf("upgrade-failed")] ?? 0;
  const activeCount = fleet.pools.reduce((sum, pool) => sum + pool.active, 0);
  const entry = (item: Attention, withRemedy: boolean) => {
    const state = fleet.states[item.state] ?? "";
    return (
      <li key={item.node}>
        <div class="row">
          <button type="button" class="link" onClick={() => onSelect(item.node)}><Glyph state={state} /> {item.node}</button>
          <span class="muted grow">{lookOf(state).name}</span>
          {withRemedy && person.may("node") && <button type="button" class="small-button" onClick={() => onAsk({ verb: "retry", target: "node", name: item.node })}>Retry</button>}
        </div>
        <p class="small">{withRemedy ? <strong>{item.name}: </strong> : null}{item.text}</p>
        {withRemedy && item.remedy && <p class="small muted">To change it: {item.remedy}</p>}
      </li>
    );
  };
  // What continues only when a user acts.
  const waiting = [
    ...fleet.rollouts
      .filter((rollout) => rollout.phase === "AwaitingApproval" || rollout.phase === "Held" || rollout.paused)
      .map((rollout) => ({ key: `rollout ${rollout.name}`, text: rollout.paused ? `is paused; it is ${words(rollout.phase)}` : rollout.message || words(rollout.phase) })),
    ...fleet.pools
      .filter((pool) => pool.paused !== undefined)
      .map((pool) => ({ key: pool.name || pool.policy || "the pool", text: `is paused: ${pool.paused}` })),
  ];
  const recent = [...fleet.recent].reverse().slice(0, 14);
  return (
    <section class="card panel" aria-labelledby="now-title" data-testid="now">
      <h2 id="now-title">Now</h2>
      {waiting.length > 0 && (
        <div class="why" data-testid="waiting">
          <h3>Waits for a person</h3>
          <ul class="plain attention">
            {waiting.map((item) => <li key={item.key}><strong>{item.key}</strong><p class="small">{item.text}</p></li>)}
          </ul>
        </div>
      )}
      {failed.length > 0 && (
        <div class="failed-list" data-testid="failed">
          <h3>Failed ({failedCount})</h3>
          <ul class="plain attention">{failed.map((item) => entry(item, true))}</ul>
          {failedCount > failed.length && <p class="muted small">and {failedCount - failed.length} more</p>}
        </div>
      )}
      {active.length > 0 && (
        <>
          <h3>Under way ({activeCount})</h3>
          <ul class="plain attention under-way">{active.slice(0, 12).map((item) => entry(item, false))}</ul>
          {activeCount > Math.min(12, active.length) && <p class="muted small">{activeCount} in all; the map has every one</p>}
        </>
      )}
      {failed.length === 0 && active.length === 0 && waiting.length === 0 && <p class="empty">Nothing needs you. No node is under way and none has failed.</p>}
      {recent.length > 0 && (
        <>
          <h3 class="recent-title">Last changes</h3>
          <ul class="plain recent">
            {recent.map((change) => {
              const name = fleet.nodes.get(change.node)?.name ?? "";
              return (
                <li key={`${change.at}${change.node}${change.to}`}>
                  <time class="muted">{clock(change.at)}</time> <button type="button" class="link" onClick={() => onSelect(name)}>{name}</button> {stateName(fleet.states[change.from] ?? "")} → {stateName(fleet.states[change.to] ?? "")}
                </li>
              );
            })}
          </ul>
        </>
      )}
    </section>
  );
}
