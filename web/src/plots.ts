// Small plots on canvases: how many nodes are in which state, and lines.
import { lookOf } from "./model";
import type { Palette } from "./heatmap";
import type { Samples } from "./history";

// From the bottom up.
const order = [
  "upgrade-done", "uncordon-required", "validation-required", "pod-restart-required", "drain-required",
  "pod-deletion-required", "wait-for-jobs-required", "cordon-required", "upgrade-failed", "upgrade-required", "unknown",
];

function prepare(canvas: HTMLCanvasElement, palette: Palette): CanvasRenderingContext2D | null {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, height);
  return context;
}

function xOf(samples: Samples, width: number): (at: number) => number {
  const from = samples.at[0] ?? 0;
  const span = Math.max(1, (samples.at[samples.at.length - 1] ?? 1) - from);
  return (at) => ((at - from) / span) * width;
}

export function drawStates(
  canvas: HTMLCanvasElement, palette: Palette, samples: Samples, states: string[], began: number, at: number | undefined,
): void {
  const context = prepare(canvas, palette);
  if (!context) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  const x = xOf(samples, width);
  const total = Math.max(1, ...samples.counts.map((counts) => counts.reduce((a, b) => a + b, 0)));
  const below = samples.at.map(() => 0);
  for (const state of order) {
    const place = states.indexOf(state);
    if (place < 0 || !samples.counts.some((counts) => counts[place]! > 0)) continue;
    context.beginPath();
    samples.at.forEach((time, i) => context.lineTo(x(time), height - (below[i]! / total) * height));
    for (let i = samples.at.length - 1; i >= 0; i--) {
      below[i]! += samples.counts[i]![place]!;
      context.lineTo(x(samples.at[i]!), height - (below[i]! / total) * height);
    }
    context.closePath();
    const key = lookOf(state).key;
    context.globalAlpha = key === "waiting" || key === "unknown" ? 0.35 : 1;
    context.fillStyle = palette.states[key] ?? palette.muted;
    context.fill();
    context.globalAlpha = 1;
  }
  if (began > (samples.at[0] ?? began)) {
    context.fillStyle = palette.muted;
    for (let y = 0; y < height; y += 6) context.fillRect(x(began), y, 1, 3);
  }
  if (at === undefined) return;
  context.fillStyle = palette.ring;
  context.fillRect(Math.min(width - 2, Math.max(0, x(at) - 1)), 0, 2, height);
}

export function drawLine(
  canvas: HTMLCanvasElement, palette: Palette, samples: Samples, values: number[], colour: string,
): void {
  const context = prepare(canvas, palette);
  if (!context) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  const x = xOf(samples, width);
  const most = Math.max(1e-9, ...values);
  const y = (value: number) => height - 2 - (value / most) * (height - 6);
  context.beginPath();
  values.forEach((value, i) => context.lineTo(x(samples.at[i]!), y(value)));
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(0, height);
  context.closePath();
  context.globalAlpha = 0.18;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 1;
}
