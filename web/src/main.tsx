// The page: wires the connection, the person and the views together.
import { render } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { Connection } from "./connection";
import { ActionDialog, SignInDialog, type Asked } from "./dialogs";
import { clock, duration } from "./format";
import type { Palette } from "./heatmap";
import { History } from "./history";
import { MapView } from "./map_view";
import { groupingsOf, type Grouping } from "./model";
import { NodePanel } from "./node_panel";
import { NowPanel } from "./now_panel";
import { Person } from "./person";
import { PlanView } from "./plan_view";
import { RolloutView } from "./rollout_view";
import { PoolSummary, Stages } from "./summary";
import { TimeLine } from "./time_line";
import { VersionsView } from "./versions_view";

type Theme = "auto" | "light" | "dark";
// Words need not follow faster than a user reads; the map does.
const renderInterval = 200;

const viewNames = { fleet: "Fleet", plan: "Plan", versions: "Versions" };

const drawers = new Set<() => void>();
let renderPage: (() => void) | undefined;
let frame = 0;
let renderTimer = 0;
let lastRender = 0;

function changed(): void {
  if (frame === 0) {
    frame = requestAnimationFrame(() => {
      frame = 0;
      for (const draw of drawers) draw();
    });
  }
  if (renderTimer === 0) {
    const wait = Math.max(0, lastRender + renderInterval - performance.now());
    renderTimer = window.setTimeout(() => {
      renderTimer = 0;
      lastRender = performance.now();
      if (connection.state.link === "live") history.add(connection.fleet.now());
      renderPage?.();
    }, wait);
  }
}

const connection = new Connection(changed, () => person.signOut());
const person: Person = new Person(changed, () => connection.state.link === "live");
person.takeLink();
const history = new History(connection.fleet);

function readPalette(): Palette {
  // A variable itself is text that may hold both colours; what is made of it is the one that counts now.
  const probe = document.body.appendChild(document.createElement("i"));
  const value = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const states: Record<string, string> = {};
  for (const key of ["unknown", "waiting", "cordon", "wait", "evict", "restart", "validate", "uncordon", "done", "failed"]) {
    states[key] = value(`s-${key}`);
  }
  const palette = { text: value("text"), muted: value("muted"), surface: value("surface"), cell: value("cell"), mark: value("mark"), ring: value("ring"), states };
  probe.remove();
  return palette;
}

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem("lockstep-theme");
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto";
  }
}

function useTheme(): [Theme, (theme: Theme) => void, Palette] {
  const [theme, setTheme] = useState<Theme>(readTheme);
  const [system, setSystem] = useState(0);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const listen = () => setSystem((count) => count + 1);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  const palette = useMemo(() => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    try {
      localStorage.setItem("lockstep-theme", theme);
    } catch {
      // Then it is as the system's in the next tab.
    }
    return readPalette();
  }, [theme, system]);
  return [theme, setTheme, palette];
}

function Banner() {
  const { link, error, heard } = connection.state;
  const { contact, frozen } = connection.fleet.parts;
  if (link === "lost") {
    return (
      <p class="banner banner-bad" role="alert" data-testid="lost">
        Connection lost{heard ? ` at ${clock(heard)}` : ""}: {error}. What you see is old; the page tries again by itself.
      </p>
    );
  }
  if (contact && !contact.ok) {
    return (
      <p class="banner banner-bad" role="alert">
        The cluster does not answer{contact.since ? ` since ${clock(contact.since)}` : ""}: {contact.error}. What you see is old.
      </p>
    );
  }
  if (frozen) return <p class="banner banner-bad" role="alert">Nothing is done: {frozen.text}{frozen.remedy && ` To change it: ${frozen.remedy}`}</p>;
  return null;
}

function Waiting() {
  const { link, error } = connection.state;
  if (link === "failed") {
    return (
      <div class="card empty" role="alert" data-testid="failed-to-load">
        <h2>The fleet cannot be shown</h2>
        <p>{error}. The page tries again every two seconds.</p>
        <button type="button" onClick={() => void connection.start()}>Try now</button>
      </div>
    );
  }
  return <p class="loading">Loading the fleet …</p>;
}

function NoNodes() {
  const listed = connection.fleet.parts.contact?.listed;
  return (
    <div class="card empty" data-testid="empty">
      <h2>{listed ? "No GPU nodes" : "The fleet is being listed …"}</h2>
      {listed && (
        <p>
          No node runs a GPU driver from a driver DaemonSet (label <code>app=nvidia-driver-daemonset</code> or{" "}
          <code>app.kubernetes.io/component=nvidia-driver</code>) in a driver namespace (<code>--driver-namespaces</code>). When the GPU operator brings one, its nodes appear here by themselves.
        </p>
      )}
    </div>
  );
}

function App() {
  const [tick, render] = useReducer((count: number) => count + 1, 0);
  const [theme, setTheme, palette] = useTheme();
  const [view, setView] = useState<"fleet" | "plan" | "versions">("fleet");
  const [chosen, setGrouping] = useState<Grouping>();
  const [filter, setFilter] = useState("");
  const [selected, setSelected] = useState("");
  const [moment, setMoment] = useState<number>();
  const [asked, setAsked] = useState<Asked>();
  const [signingIn, setSigningIn] = useState(person.offered !== "");
  const [notice, setNotice] = useState("");
  renderPage = () => render(undefined as never);
  const { fleet } = connection;

  const groupings = useMemo(() => groupingsOf(fleet), [fleet.shape]);
  const grouping = chosen && groupings.includes(chosen) ? chosen : (groupings[0] ?? "none");
  const states = useMemo(() => (moment === undefined ? undefined : history.statesAt(moment)), [moment]);
  const ready = fleet.sequence >= 0;

  useEffect(() => {
    if (!ready) return;
    const load = () => void history.load(false).then(changed, () => undefined);
    const timer = window.setTimeout(load, 50);
    return () => window.clearTimeout(timer);
  }, [ready]);
  useEffect(() => {
    if (notice === "") return;
    const timer = window.setTimeout(() => setNotice(""), 6000);
    return () => window.clearTimeout(timer);
  }, [notice]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !typing) {
        document.getElementById("filter")?.focus();
        event.preventDefault();
      } else if (event.key === "Escape" && !asked && !signingIn) {
        setSelected("");
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [asked, signingIn]);

  const select = (name: string) => {
    setView("fleet");
    setSelected(name);
  };
  const openMatch = () => {
    const wanted = filter.trim().toLowerCase();
    const match = fleet.byName.get(wanted) ?? [...fleet.nodes.values()].find((node) => node.name.toLowerCase().includes(wanted));
    if (wanted && match) select(match.name);
  };
  const total = fleet.pools.reduce((sum, pool) => sum + pool.total, 0);
  const running = fleet.pools.reduce((sum, pool) => sum + pool.running, 0);
  const failures = fleet.pools.reduce((sum, pool) => sum + pool.failed, 0);
  // For who has the page in a tab among others.
  const title = total === 0 ? "Lockstep" : `${failures ? `✗ ${failures} failed · ` : ""}${running}/${total} · Lockstep`;
  if (document.title !== title) document.title = title;
  const link = connection.state.link;
  const about = fleet.parts.about;
  return (
    <>
      <header class="top">
        <h1>Lockstep</h1>
        {about?.cluster && <span class="muted cluster">{about.cluster}</span>}
        <span class={`link-state link-${moment === undefined ? link : "back"}`} data-testid="link">
          <span aria-hidden="true">{moment !== undefined ? "◀" : link === "live" ? "●" : link === "loading" ? "◌" : "▲"}</span> {moment !== undefined ? "looking back" : link === "failed" ? "no answer" : link}
        </span>
        <nav aria-label="Views">
          {(["fleet", "plan", "versions"] as const).map((name) => (
            <button type="button" key={name} aria-current={view === name ? "page" : undefined} class={view === name ? "tab tab-on" : "tab"} onClick={() => setView(name)}>
              {viewNames[name]}
            </button>
          ))}
        </nav>
        <span class="grow" />
        <label class="theme"><span class="unseen">Colours</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            <option value="auto">Auto</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
        {person.access ? (
          <span class="row person"><span class="muted user" data-testid="user">{person.access.user}</span> <button type="button" onClick={() => person.signOut()}>Sign out</button></span>
        ) : (
          <button type="button" onClick={() => setSigningIn(true)}>Sign in to act</button>
        )}
      </header>
      <Banner />
      {notice && <p class="banner banner-good" role="status">{notice}</p>}
      <main>
        {!ready && <Waiting />}
        {ready && view === "versions" && <VersionsView matrices={fleet.parts.matrices ?? []} />}
        {ready && fleet.nodes.size === 0 && view !== "versions" && <NoNodes />}
        {ready && fleet.nodes.size > 0 && view === "plan" && <PlanView onSelect={select} />}
        {ready && fleet.nodes.size > 0 && view === "fleet" && (
          <>
            {fleet.pools.map((pool) => <PoolSummary key={pool.name} pool={pool} person={person} inWaves={fleet.rollouts.some((rollout) => !rollout.over && rollout.phase !== "Pending")} onAsk={setAsked} />)}
            {fleet.rollouts.map((rollout) => <RolloutView key={rollout.name} rollout={rollout} person={person} now={fleet.now()} onAsk={setAsked} />)}
            <div class="columns">
              <div class="left">
                <section class="card" aria-labelledby="map-title">
                  <div class="row wrap tools">
                    <h2 id="map-title">Fleet</h2>
                    <label>by <select data-testid="grouping" value={grouping} onChange={(event) => setGrouping(event.currentTarget.value as Grouping)}>
                      {groupings.map((name) => <option key={name} value={name}>{name === "none" ? "name" : name}</option>)}
                    </select></label>
                    <span class="grow" />
                    <form onSubmit={(event) => { event.preventDefault(); openMatch(); }}>
                      <input id="filter" type="search" placeholder="Find a node, reason, rack ( / )" aria-label="Find a node, a reason or a rack; Enter opens the first" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
                    </form>
                  </div>
                  <Stages fleet={fleet} states={states} />
                  <MapView fleet={fleet} palette={palette} grouping={grouping} filter={filter} selected={selected} states={states} shape={grouping === "state" ? tick : fleet.shape} drawers={drawers} onSelect={setSelected} />
                </section>
                <TimeLine fleet={fleet} history={history} palette={palette} tick={tick} moment={moment} onMoment={setMoment} />
              </div>
              <aside class="side" aria-label="Details">
                {selected
                  ? <NodePanel name={selected} fleet={fleet} person={person} version={tick} onClose={() => setSelected("")} onAsk={setAsked} />
                  : <NowPanel fleet={fleet} person={person} onSelect={select} onAsk={setAsked} />}
              </aside>
            </div>
          </>
        )}
      </main>
      <footer class="muted">
        lockstep {about?.version} · seen {ready ? clock(fleet.at) : "nothing yet"}
        {link === "lost" && connection.state.heard > 0 && ` · ${duration((Date.now() - connection.state.heard) / 1000)} ago`}
      </footer>
      {asked && <ActionDialog asked={asked} person={person} onClose={() => setAsked(undefined)} onDone={(text) => { setAsked(undefined); setNotice(text); }} />}
      {signingIn && <SignInDialog person={person} onClose={() => setSigningIn(false)} />}
    </>
  );
}

const root = document.getElementById("root")!;
root.textContent = "";
render(<App />, root);
void connection.start();
// A browser has few connections for one server, and hidden tabs would hold them all.
document.addEventListener("visibilitychange", () => connection.setSeen(!document.hidden));
// Ages and the time line go on while nothing changes.
window.setInterval(changed, 1000);
