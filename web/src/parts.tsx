// Small pieces that many views use.
import { lookOf } from "./model";

// A state as it is drawn on the map, small enough for a line of text.
export function Glyph({ state }: { state: string }) {
  const look = lookOf(state);
  const filled = Math.round(14 * look.step);
  return (
    <svg class={`glyph g-${look.key}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <rect class="glyph-base" x="1" y="1" width="14" height="14" />
      {look.key !== "waiting" && look.key !== "unknown" && look.key !== "failed" && <rect class="glyph-fill" x="1" y={15 - filled} width="14" height={filled} />}
      {look.key === "failed" && <path class="glyph-cross" d="M4 4 L12 12 M12 4 L4 12" />}
    </svg>
  );
}

// "Awaiting approval" of "AwaitingApproval".
export function words(phase: string): string {
  return phase.replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
}

export function Meter({ value, most, label, bad }: { value: number; most: number; label: string; bad?: boolean }) {
  const part = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  return (
    <div class="meter">
      <div class={`meter-bar${bad ? " meter-bad" : ""}`} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={most} aria-valuenow={value}>
        <div style={{ width: `${part * 100}%` }} />
      </div>
      <span class="meter-text">{label}</span>
    </div>
  );
}
