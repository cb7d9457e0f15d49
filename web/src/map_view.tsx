// The heat map in the page: size, pointer, keyboard, and the words for who does not see it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { HeatMap, type Palette } from "./heatmap";
import { groupsOf, lookOf, stateName, type Fleet, type FleetNode, type Grouping } from "./model";

interface Props {
  fleet: Fleet;
  palette: Palette;
  grouping: Grouping;
  filter: string;
  selected: string;
  states: Uint8Array | undefined;
  // Grows with every change; the map itself is drawn by drawers, not by rendering.
  shape: number;
  drawers: Set<() => void>;
  onSelect: (name: string) => void;
}

function describe(fleet: Fleet, node: FleetNode, state: number): string {
  const look = lookOf(fleet.states[state] ?? "");
  const extra = [node.cordoned ? "cordoned" : "", node.notReady ? "not Ready" : "", node.skipped ? "skipped" : ""];
  return [`${node.name}: ${look.name}, ${look.what}`, node.reason, ...extra].filter((text) => text !== "").join(" · ");
}

export function MapView(props: Props) {
  const { fleet, palette, grouping, filter, selected, states, shape, drawers, onSelect } = props;
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const map = useRef<HeatMap>();
  const [tip, setTip] = useState<{ x: number; y: number; text: string; left: boolean }>();
  const [spoken, setSpoken] = useState("");
  const [width, setWidth] = useState(0);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.floor(box.current?.clientWidth ?? 0)));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    if (!base.current || !overlay.current) return;
    map.current ??= new HeatMap(fleet, base.current, overlay.current, palette);
    const draw = () => void map.current?.draw();
    drawers.add(draw);
    return () => void drawers.delete(draw);
  }, []);

  useLayoutEffect(() => {
    if (!map.current || width === 0) return;
    const target = Math.max(300, Math.min(width * 0.75, window.innerHeight * 0.62));
    map.current.setPalette(palette);
    map.current.layOut(groupsOf(fleet, grouping), width, target);
    map.current.draw();
  }, [width, shape, grouping, palette]);

  useEffect(() => {
    map.current?.setFilter(filter.trim().toLowerCase());
    map.current?.showStates(states);
    map.current?.draw();
  }, [filter, states]);

  useEffect(() => {
    if (!map.current) return;
    map.current.selected = fleet.byName.get(selected)?.number ?? -1;
    map.current.drawOverlay();
  }, [selected, shape, width, grouping]);

  const stateOf = (node: FleetNode) => (states ? (states[node.number] ?? node.state) : node.state);
  const point = (node: FleetNode | undefined, speak: boolean) => {
    if (!map.current) return;
    map.current.hovered = node?.number ?? -1;
    map.current.drawOverlay();
    const place = node && map.current.boxOf(node.number);
    if (!node || !place) return setTip(undefined);
    const text = describe(fleet, node, stateOf(node));
    setTip({ x: place.x, y: place.y + place.size + 6, text, left: place.x > width / 2 });
    if (speak) setSpoken(text);
  };
  const under = (event: PointerEvent | MouseEvent) => {
    const bounds = base.current!.getBoundingClientRect();
    return map.current?.nodeAt(event.clientX - bounds.left, event.clientY - bounds.top);
  };
  const onKey = (event: KeyboardEvent) => {
    const current = map.current?.hovered ?? -1;
    if (event.key === "Enter" || event.key === " ") {
      const node = fleet.nodes.get(current);
      if (node) onSelect(node.name);
      event.preventDefault();
    } else if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") {
      const start = current >= 0 ? current : (fleet.byName.get(selected)?.number ?? -1);
      const node = map.current?.step(start, event.key);
      point(node, true);
      const place = node && map.current?.boxOf(node.number);
      if (place) {
        const top = base.current!.getBoundingClientRect().top + place.y;
        if (top < 0 || top > window.innerHeight - 60) window.scrollBy({ top: top - window.innerHeight / 2 });
      }
      event.preventDefault();
    }
  };

  const counts = fleet.states
    .map((state, i) => ({ state, count: fleet.counts[i] ?? 0 }))
    .filter((entry) => entry.count > 0)
    .map((entry) => `${entry.count} ${stateName(entry.state)}`);
  return (
    <div class="map" ref={box}>
      <div
        class="map-face"
        role="application"
        tabIndex={0}
        aria-label={`Map of ${fleet.nodes.size} nodes: ${counts.join(", ")}. Arrow keys go from node to node, Enter opens one.`}
        onKeyDown={onKey}
        onPointerMove={(event) => point(under(event), false)}
        onPointerLeave={() => point(undefined, false)}
        onBlur={() => point(undefined, false)}
        onClick={(event) => {
          const node = under(event);
          if (node) onSelect(node.name);
        }}
      >
        <canvas ref={base} data-testid="map" aria-hidden="true" />
        <canvas ref={overlay} class="map-overlay" aria-hidden="true" />
      </div>
      {tip && (
        <div class={`tip${tip.left ? " tip-left" : ""}`} style={{ top: `${tip.y}px`, ...(tip.left ? { right: `${width - tip.x - 10}px` } : { left: `${tip.x}px` }) }}>
          {tip.text}
        </div>
      )}
      <div class="unseen" aria-live="polite">{spoken}</div>
    </div>
  );
}
