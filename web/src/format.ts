// Numbers and times for display.

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s < 600 && s % 60 ? ` ${s % 60} s` : ""}`;
  const two = (big: number, unit: string, small: number, rest: string) => `${big} ${unit}${small ? ` ${small} ${rest}` : ""}`;
  if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

export function clock(milliseconds: number): string {
  const date = new Date(milliseconds);
  const sameDay = Math.abs(Date.now() - milliseconds) < 12 * 3.6e6;
  const time = date.toLocaleTimeString("en-GB");
  return sameDay ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

export function number(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value >= 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(2).replace(/\.?0+$/, "");
}

export function plural(count: number, what: string): string {
  return `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
}
