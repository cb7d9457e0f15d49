// The fleet as the server tells it: a snapshot, then changes (src/dashboard/fleet_model.h).

export interface Reason {
  name: string;
  text: string;
  remedy?: string;
}

export interface Pool {
  name: string;
  policy: string;
  target: string;
  total: number;
  upgraded: number;
  // Of the newest driver, whatever their state.
  running: number;
  waiting: number;
  active: number;
  unavailable: number;
  failed: number;
  maxUnavailable: number;
  maxParallel: number;
  maxFailures: number;
  paused?: string;
  held?: Reason;
  secondsLeft?: number;
}

export interface Gate {
  name: string;
  outcome: string;
  text: string;
  dryRun: boolean;
}

export interface Bake {
  seconds: number;
  targetSeconds: number;
  longestSeconds: number;
  gpuHours: number;
  targetGpuHours: number;
  controlGpuHours?: number;
  evidence?: number;
  limit?: number;
  outcome?: string;
  // It goes on at this moment.
  runs: boolean;
  // Until it can pass, by the rate of GPU-hours so far; not there where that is not known.
  secondsLeft?: number;
  began: number | null;
  text: string;
  detectable: string;
  kinds?: { kind: string; upgraded: number; control: number; evidence: number }[];
}

export interface Wave {
  name: string;
  state: string;
  nodes: number;
  done: number;
  failed: number;
  opened: number | null;
  verdict: string;
  verdictText: string;
  gates: Gate[];
  plannedGates?: string[];
  asks?: string;
  needsApproval?: boolean;
  approvedBy: string;
  approvedAt: number | null;
  bake?: Bake;
}

export interface Rollout {
  name: string;
  phase: string;
  since: number | null;
  over: boolean;
  started: number | null;
  reason: string;
  message: string;
  paused: boolean;
  from: string;
  to: string;
  total: number;
  onFailure: string;
  problems: string[];
  byReason: Record<string, number>;
  waves: Wave[];
  history: { at: number | null; phase: string; wave: string; reason: string; text: string; by: string }[];
}

export interface Attention extends Reason {
  node: string;
  state: number;
}

export interface Contact {
  ok: boolean;
  listed: boolean;
  since?: number | null;
  error?: string;
}

export interface MatrixEntry {
  commit: string;
  author: string;
  at: number;
  subject: string;
  body: string;
  takesBack: string[];
  changes: { slot: string; key: string; before: string; after: string }[];
}

// A version matrix in Git; without a commit it has not been read.
export interface Matrix {
  repository: string;
  branch: string;
  path: string;
  rollouts: string[];
  readable: boolean;
  error?: string;
  commit?: string;
  versions?: { key: string; current: string; canary: string }[];
  history?: MatrixEntry[];
  older?: boolean;
}

// [number, name, state, since, flags, reason, pool, wave, zone, rack, version, model, gpus, gpuPods]
type Row = [
  number, string, number, number, number, number, number, number, number, number, number, number, number, number,
];

interface Parts {
  about?: { version: string; cluster: string };
  pools?: Pool[];
  rollouts?: Rollout[];
  attention?: Attention[];
  matrices?: Matrix[];
  contact?: Contact;
  frozen?: Reason | null;
}

// Every one of them: what is left out here does not compile.
const partNames: Record<keyof Parts, true> = {
  about: true, pools: true, rollouts: true, attention: true, matrices: true, contact: true, frozen: true,
};

export interface Changes extends Parts {
  sequence: number;
  at: number;
  words?: string[];
  nodes?: Row[];
  gone?: number[];
}

export interface Snapshot extends Changes {
  id: string;
  states: string[];
}

export interface FleetNode {
  number: number;
  name: string;
  state: number;
  since: number;
  cordoned: boolean;
  notReady: boolean;
  skipped: boolean;
  inSync: boolean;
  reason: string;
  pool: string;
  wave: string;
  zone: string;
  rack: string;
  version: string;
  model: string;
  gpus: number;
  gpuPods: number;
}

export interface Change {
  at: number;
  node: number;
  from: number;
  to: number;
}

export const mostRecent = 60;

const byName = new Intl.Collator("en", { numeric: true });

export class Fleet {
  states: string[] = [];
  words: string[] = [];
  nodes = new Map<number, FleetNode>();
  byName = new Map<string, FleetNode>();
  parts: Parts = {};
  at = 0;
  // When `at` was heard, by our own clock, which may differ from the server's.
  private heard = 0;
  sequence = -1;
  // Nodes or their groups have changed: the map is laid out again.
  shape = 0;
  // Nodes that changed since they were last drawn.
  dirty = new Set<number>();
  recent: Change[] = [];
  counts: number[] = [];

  take(snapshot: Snapshot): void {
    this.states = snapshot.states;
    this.words = snapshot.words ?? [];
    this.nodes.clear();
    this.byName.clear();
    this.counts = this.states.map(() => 0);
    for (const row of snapshot.nodes ?? []) this.put(row, false, snapshot.at);
    this.shape++;
    this.takeParts(snapshot);
  }

  apply(changes: Changes): void {
    if (changes.words) this.words.push(...changes.words);
    for (const row of changes.nodes ?? []) this.put(row, true, changes.at);
    for (const number of changes.gone ?? []) {
      const node = this.nodes.get(number);
      if (!node) continue;
      this.counts[node.state]!--;
      this.nodes.delete(number);
      this.byName.delete(node.name);
      this.shape++;
    }
    this.takeParts(changes);
  }

  private takeParts(changes: Changes): void {
    this.sequence = changes.sequence;
    this.at = changes.at;
    this.heard = Date.now();
    for (const part of Object.keys(partNames) as (keyof Parts)[]) {
      if (part in changes) (this.parts as Record<string, unknown>)[part] = changes[part];
    }
  }

  private put(row: Row, live: boolean, at: number): void {
    const word = (place: number) => this.words[row[place] as number] ?? "";
    const node: FleetNode = {
      number: row[0],
      name: row[1],
      state: row[2],
      since: row[3],
      cordoned: (row[4] & 1) !== 0,
      notReady: (row[4] & 2) !== 0,
      skipped: (row[4] & 4) !== 0,
      inSync: (row[4] & 8) !== 0,
      reason: word(5),
      pool: word(6),
      wave: word(7),
      zone: word(8),
      rack: word(9),
      version: word(10),
      model: word(11),
      gpus: row[12],
      gpuPods: row[13],
    };
    const before = this.nodes.get(node.number);
    this.nodes.set(node.number, node);
    this.byName.set(node.name, node);
    this.counts[node.state] = (this.counts[node.state] ?? 0) + 1;
    this.dirty.add(node.number);
    if (!before) {
      this.shape++;
      return;
    }
    this.counts[before.state]!--;
    if (before.wave !== node.wave || before.zone !== node.zone || before.rack !== node.rack || before.pool !== node.pool) {
      this.shape++;
    }
    if (live && before.state !== node.state) {
      this.recent.push({ at, node: node.number, from: before.state, to: node.state });
      if (this.recent.length > mostRecent) this.recent.shift();
    }
  }

  // The server's time now: at rest it sends nothing, and time goes on.
  now(): number {
    return this.at + Math.max(0, Date.now() - this.heard);
  }
  get pools(): Pool[] {
    return this.parts.pools ?? [];
  }
  get rollouts(): Rollout[] {
    return this.parts.rollouts ?? [];
  }
  get attention(): Attention[] {
    return this.parts.attention ?? [];
  }
}

export type Grouping = "wave" | "rack" | "zone" | "pool" | "state" | "none";

export interface Group {
  title: string;
  nodes: FleetNode[];
}

// Waves in the order of their rollout, everything else by name.
export function groupsOf(fleet: Fleet, grouping: Grouping): Group[] {
  const groups = new Map<string, FleetNode[]>();
  for (const node of fleet.nodes.values()) {
    const key = grouping === "none" ? "" : grouping === "state" ? String(node.state) : node[grouping];
    const list = groups.get(key);
    if (list) list.push(node);
    else groups.set(key, [node]);
  }
  const order = new Map<string, number>();
  for (const rollout of fleet.rollouts) {
    for (const wave of rollout.waves) if (!order.has(wave.name)) order.set(wave.name, order.size);
  }
  const place = (key: string) => (key === "" ? 1e9 : (order.get(key) ?? 1e6));
  return [...groups.entries()]
    .sort(([a], [b]) => (grouping === "wave" ? place(a) - place(b) : 0) || byName.compare(a, b))
    .map(([key, nodes]) => ({
      title: titleOf(fleet, grouping, key),
      nodes: nodes.sort((a, b) => byName.compare(a.name, b.name)),
    }));
}

function titleOf(fleet: Fleet, grouping: Grouping, key: string): string {
  if (grouping === "none") return "";
  if (grouping === "state") return stateName(fleet.states[Number(key)] ?? "");
  if (key !== "") return key;
  return grouping === "pool" ? "ClusterPolicy" : `no ${grouping}`;
}

// Which groupings say anything in this fleet.
export function groupingsOf(fleet: Fleet): Grouping[] {
  const found: Grouping[] = [];
  const values = { wave: new Set<string>(), rack: new Set<string>(), zone: new Set<string>(), pool: new Set<string>() };
  for (const node of fleet.nodes.values()) {
    values.wave.add(node.wave);
    values.rack.add(node.rack);
    values.zone.add(node.zone);
    values.pool.add(node.pool);
  }
  for (const key of ["wave", "rack", "zone", "pool"] as const) {
    if (values[key].size > 1 || (key !== "pool" && [...values[key]].some((value) => value !== ""))) found.push(key);
  }
  return [...found, "state", "none"];
}

// The position of a state on a node's way, from 0 to 1, and how it is drawn beside its colour.
export interface Look {
  key: string;
  name: string;
  what: string;
  step: number;
}

const looks: Record<string, Look> = {
  unknown: { key: "unknown", name: "not managed", what: "has no upgrade state yet", step: 0 },
  "upgrade-done": { key: "done", name: "done", what: "runs the driver it should", step: 1 },
  "upgrade-required": { key: "waiting", name: "waits", what: "waits for its turn", step: 0 },
  "cordon-required": { key: "cordon", name: "cordon", what: "is taken out of service", step: 0.15 },
  "wait-for-jobs-required": { key: "wait", name: "wait for jobs", what: "lets jobs finish", step: 0.3 },
  "pod-deletion-required": { key: "evict", name: "evict", what: "moves GPU pods away", step: 0.4 },
  "drain-required": { key: "evict", name: "drain", what: "moves all pods away", step: 0.5 },
  "pod-restart-required": { key: "restart", name: "restart", what: "loads the new driver", step: 0.65 },
  "validation-required": { key: "validate", name: "validate", what: "checks the new driver", step: 0.8 },
  "uncordon-required": { key: "uncordon", name: "uncordon", what: "goes back into service", step: 0.9 },
  "upgrade-failed": { key: "failed", name: "failed", what: "could not be upgraded", step: 0 },
};

export function lookOf(state: string): Look {
  return looks[state] ?? { key: "unknown", name: state, what: state, step: 0 };
}
export function stateName(state: string): string {
  return lookOf(state).name;
}
