// The past: counts of states from time to time, for the plots, and every change of a state, for the time line.
import type { Fleet } from "./model";

export interface Samples {
  at: number[];
  lost: number[];
  counts: number[][];
}

interface RawHistory {
  began: number;
  forgotten: number;
  lost: number;
  gpusOut: number;
  changes: [number, number, number, number][];
  samples: number[][];
}

const mostSamples = 1200;

export class History {
  samples: Samples = { at: [], lost: [], counts: [] };
  lost = 0;
  // Before this moment only what nodes say of themselves is known.
  began = 0;
  private raw: RawHistory | undefined;
  private times: number[] = [];
  private now: Uint8Array = new Uint8Array(0);

  constructor(private readonly fleet: Fleet) {}

  // Without the changes, which are requested when a user turns the time back.
  async load(changes: boolean): Promise<void> {
    const answer = await fetch(`/api/history${changes ? "" : "?changes=0"}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const raw = (await answer.json()) as RawHistory;
    this.lost = raw.lost;
    this.began = raw.began;
    let at = 0;
    this.samples = { at: [], lost: [], counts: [] };
    for (const [passed, lost, ...counts] of raw.samples) {
      at += passed!;
      this.samples.at.push(at);
      this.samples.lost.push(lost!);
      this.samples.counts.push(counts);
    }
    if (!changes) return;
    this.raw = raw;
    at = 0;
    this.times = raw.changes.map(([passed]) => (at += passed));
    this.now = new Uint8Array(Math.max(0, ...this.fleet.nodes.keys()) + 1);
    for (const node of this.fleet.nodes.values()) this.now[node.number] = node.state;
  }

  // A live point, so that the plots go on without asking.
  add(at: number): void {
    const last = this.samples.at[this.samples.at.length - 1] ?? 0;
    if (at - last < 900) return;
    const states = this.fleet.states;
    let out = 0;
    for (const node of this.fleet.nodes.values()) {
      const state = states[node.state] ?? "";
      if (isOut(state)) out += node.gpus;
    }
    if (last > 0) this.lost += (out * (at - last)) / 3.6e6;
    this.samples.at.push(at);
    this.samples.lost.push(this.lost);
    this.samples.counts.push([...this.fleet.counts]);
    if (this.samples.at.length <= mostSamples) return;
    for (const list of [this.samples.at, this.samples.lost, this.samples.counts] as unknown[][]) {
      list.splice(0, list.length, ...list.filter((_, place) => place % 2 === 0));
    }
  }

  get from(): number {
    return this.samples.at[0] ?? 0;
  }
  get to(): number {
    return this.samples.at[this.samples.at.length - 1] ?? 0;
  }
  get loaded(): boolean {
    return this.raw !== undefined;
  }
  forget(): void {
    this.raw = undefined;
  }

  // By the nodes' numbers: every change after that moment is undone.
  statesAt(at: number): Uint8Array {
    const states = this.now.slice();
    const changes = this.raw?.changes ?? [];
    for (let i = changes.length - 1; i >= 0 && this.times[i]! > at; i--) {
      const [, node, from] = changes[i]!;
      if (node < states.length) states[node] = from;
    }
    return states;
  }
}

function isOut(state: string): boolean {
  return state !== "" && state !== "unknown" && state !== "upgrade-done" && state !== "upgrade-required";
}
