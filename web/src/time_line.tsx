// The past under the map: plots, and a slider that turns the whole map back.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Palette } from "./heatmap";
import type { History } from "./history";
import type { Fleet } from "./model";
import { clock, duration, number } from "./format";
import { drawLine, drawStates } from "./plots";

interface Props {
  fleet: Fleet;
  history: History;
  palette: Palette;
  tick: number;
  moment: number | undefined;
  onMoment: (at: number | undefined) => void;
}

export function TimeLine({ fleet, history, palette, tick, moment, onMoment }: Props) {
  const states = useRef<HTMLCanvasElement>(null);
  const failures = useRef<HTMLCanvasElement>(null);
  const lost = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState("");
  const { samples } = history;
  const failed = fleet.states.indexOf("upgrade-failed");
  const failedNow = samples.counts[samples.counts.length - 1]?.[failed] ?? 0;

  useEffect(() => {
    if (states.current) drawStates(states.current, palette, samples, fleet.states, history.began, moment);
    const failedColour = palette.states["failed"]!;
    if (failures.current) drawLine(failures.current, palette, samples, samples.counts.map((counts) => counts[failed] ?? 0), failedColour);
    if (lost.current) drawLine(lost.current, palette, samples, samples.lost, palette.states["evict"]!);
  }, [tick, palette, moment]);

  const move = async (at: number) => {
    try {
      if (!history.loaded) await history.load(true);
      setError("");
      onMoment(at);
    } catch (problem) {
      setError(String(problem));
    }
  };
  const live = () => {
    history.forget();
    onMoment(undefined);
  };
  const span = Math.max(1, history.to - history.from);
  return (
    <section class="card timeline" aria-labelledby="timeline-title">
      <div class="row">
        <h2 id="timeline-title">Time line</h2>
        <span class="muted grow" data-testid="moment">
          {moment === undefined
            ? `nodes by state, the last ${duration(span / 1000)}`
            : `the map at ${clock(moment)}, ${duration((history.to - moment) / 1000)} ago`}
        </span>
        {moment !== undefined && <button type="button" class="primary" onClick={live}>Back to live</button>}
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      <canvas class="plot-states" ref={states} aria-hidden="true" />
      {history.began > history.from && (
        <p class="muted small" data-testid="began">
          Seen since {clock(history.began)}. Before that (left of the line) it is known since when each node is in its present state, and not what it was in.
        </p>
      )}
      <input
        type="range"
        aria-label="Moment to show"
        aria-valuetext={moment === undefined ? "live" : clock(moment)}
        min={0}
        max={1000}
        value={moment === undefined ? 1000 : Math.round(((moment - history.from) / span) * 1000)}
        onInput={(event) => {
          const value = Number(event.currentTarget.value);
          if (value >= 1000) live();
          else void move(history.from + (span * value) / 1000);
        }}
      />
      <div class="plots">
        <figure>
          <figcaption>Failed nodes <strong>{failedNow}</strong></figcaption>
          <canvas class="plot" ref={failures} aria-hidden="true" />
        </figure>
        <figure>
          <figcaption>GPU-hours out of service{history.began > history.from && ` since ${clock(history.began)}`} <strong>{number(history.lost)}</strong></figcaption>
          <canvas class="plot" ref={lost} aria-hidden="true" />
        </figure>
      </div>
    </section>
  );
}
