// Snapshot, then server-sent events; begins again when the server says so. What went wrong is a state of its own,
// because a user who leaves the page open must see that it has grown old.
import { Fleet, type Changes, type Snapshot } from "./model";

export type Link = "loading" | "live" | "lost" | "failed";

export interface ConnectionState {
  link: Link;
  error: string;
  // When the server was last heard of, in milliseconds.
  heard: number;
}

const retryDelay = 2000;
const hideDelay = 15_000;
// A server that does not answer for so long may be another one when it does.
const goneDelay = 30_000;

export class Connection {
  readonly fleet = new Fleet();
  state: ConnectionState = { link: "loading", error: "", heard: 0 };
  private source: EventSource | undefined;
  private timer = 0;
  private hiding = 0;
  private last = "";
  private goneTimer = 0;

  // `changed`: something is to be drawn; called at most once a frame by the caller's own doing. `gone`: the server that
  // answered so far does not any more, or another process answers in its place.
  constructor(
    private readonly changed: () => void,
    private readonly gone: () => void,
  ) {}

  async start(): Promise<void> {
    window.clearTimeout(this.timer);
    this.source?.close();
    try {
      const answer = await fetch("/api/snapshot", { cache: "no-store" });
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      const snapshot = (await answer.json()) as Snapshot;
      if (this.last !== "" && epochOf(snapshot.id) !== epochOf(this.last)) this.gone();
      this.fleet.take(snapshot);
      this.set("live", "");
      this.listen(snapshot.id);
    } catch (problem) {
      const known = this.fleet.sequence >= 0;
      this.set(known ? "lost" : "failed", problem instanceof Error ? problem.message : String(problem));
      this.timer = window.setTimeout(() => void this.start(), retryDelay);
    }
  }

  // Whether the page is visible. What happens meanwhile is heard of afterwards, from the number that was seen last.
  setSeen(seen: boolean): void {
    window.clearTimeout(this.hiding);
    if (!seen) {
      this.hiding = window.setTimeout(() => {
        if (this.state.link !== "live") return;
        this.source?.close();
        this.source = undefined;
      }, hideDelay);
    } else if (this.source === undefined && this.last !== "") {
      // Not known to be the same server before it answers.
      this.set("loading", "");
      this.listen(this.last);
    }
  }

  private listen(id: string): void {
    this.last = id;
    const source = new EventSource(`/api/events?after=${encodeURIComponent(id)}`);
    this.source = source;
    source.onmessage = (event: MessageEvent<string>) => {
      const changes = JSON.parse(event.data) as Changes;
      this.last = event.lastEventId;
      if (changes.sequence <= this.fleet.sequence) return;
      this.fleet.apply(changes);
      this.set("live", "");
    };
    source.addEventListener("reset", () => void this.start());
    source.onopen = () => this.set("live", "");
    source.onerror = () => {
      this.set("lost", "no answer from the dashboard's server");
      // The browser tries again by itself, unless it was refused.
      if (source.readyState === EventSource.CLOSED) {
        source.close();
        this.timer = window.setTimeout(() => void this.start(), retryDelay);
      }
    };
  }

  private set(link: Link, error: string): void {
    if (link === "live") {
      window.clearTimeout(this.goneTimer);
      this.goneTimer = 0;
    } else if (link === "lost" && this.goneTimer === 0) {
      this.goneTimer = window.setTimeout(() => this.gone(), goneDelay);
    }
    this.state = { link, error, heard: link === "live" ? Date.now() : this.state.heard };
    this.changed();
  }
}

// Of "epoch:number": which process numbered it.
function epochOf(id: string): string {
  return id.slice(0, id.lastIndexOf(":"));
}
