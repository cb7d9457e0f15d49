// The fleet drawn on a canvas, one cell a node. Shape says what colour says: a cell is hollow while its node waits, fills
// up on the way, is full when done, and crossed out when failed.
import { lookOf, type Fleet, type FleetNode, type Group } from "./model";

export interface Palette {
  text: string;
  muted: string;
  surface: string;
  cell: string;
  mark: string;
  ring: string;
  states: Record<string, string>;
}

interface Block {
  x: number;
  y: number;
  columns: number;
  first: number;
  count: number;
}

interface Title {
  x: number;
  y: number;
  text: string;
  width: number;
}

const sizes = [44, 38, 32, 27, 23, 20, 17, 15, 13, 11, 10, 9, 8, 7, 6];
const titleHeight = 22;
const blockGap = 12;
// Beyond this many groups they are side by side.
const mostRows = 7;

export class HeatMap {
  private nodes: FleetNode[] = [];
  private places = new Map<number, number>();
  private blocks: Block[] = [];
  private titles: Title[] = [];
  private xs = new Float32Array(0);
  private ys = new Float32Array(0);
  private size = 10;
  private gap = 1;
  private width = 0;
  private height = 0;
  private ratio = 1;
  private all = true;
  private states: Uint8Array | undefined;
  private filter = "";
  selected = -1;
  hovered = -1;

  constructor(
    private readonly fleet: Fleet,
    private readonly base: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
    private palette: Palette,
  ) {}

  get count(): number {
    return this.nodes.length;
  }
  get cellSize(): number {
    return this.size;
  }

  layOut(groups: Group[], width: number, target: number): void {
    this.nodes = groups.flatMap((group) => group.nodes);
    this.places = new Map(this.nodes.map((node, place) => [node.number, place]));
    this.xs = new Float32Array(this.nodes.length);
    this.ys = new Float32Array(this.nodes.length);
    for (const size of sizes) {
      this.size = size;
      this.gap = size >= 20 ? 3 : size >= 11 ? 2 : 1;
      this.height = this.flow(groups, width);
      if (this.height <= target) break;
    }
    this.width = width;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const canvas of [this.base, this.overlay]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.height}px`;
    }
    this.all = true;
  }

  private flow(groups: Group[], width: number): number {
    const pitch = this.size + this.gap;
    const widest = Math.max(1, Math.floor((width + this.gap) / pitch));
    const beside = groups.length > mostRows;
    this.blocks = [];
    this.titles = [];
    let x = 0;
    let y = 0;
    let rowHeight = 0;
    let first = 0;
    for (const group of groups) {
      const count = group.nodes.length;
      let columns = beside ? Math.max(Math.ceil(Math.sqrt(count * 1.6)), Math.ceil(64 / pitch)) : widest;
      columns = Math.max(1, Math.min(columns, widest));
      const blockWidth = columns * pitch - this.gap;
      const top = group.title === "" ? 0 : titleHeight;
      const height = top + Math.ceil(count / columns) * pitch;
      if (x > 0 && x + blockWidth > width) {
        x = 0;
        y += rowHeight + blockGap;
        rowHeight = 0;
      }
      if (top) {
        const text = beside ? group.title : `${group.title}  ·  ${count}`;
        this.titles.push({ x, y: y + 15, text, width: blockWidth });
      }
      this.blocks.push({ x, y: y + top, columns, first, count });
      for (let i = 0; i < count; i++) {
        this.xs[first + i] = x + (i % columns) * pitch;
        this.ys[first + i] = y + top + Math.floor(i / columns) * pitch;
      }
      first += count;
      rowHeight = Math.max(rowHeight, height);
      x += blockWidth + blockGap;
    }
    return Math.max(60, y + rowHeight + 4);
  }

  setPalette(palette: Palette): void {
    this.palette = palette;
    this.all = true;
  }

  // The states of an earlier moment, by the nodes' numbers; none: as they are.
  showStates(states: Uint8Array | undefined): void {
    this.states = states;
    this.all = true;
  }

  setFilter(filter: string): void {
    if (filter === this.filter) return;
    this.filter = filter;
    this.all = true;
  }

  private matches(node: FleetNode): boolean {
    if (this.filter === "") return true;
    const looked = `${node.name} ${node.reason} ${node.zone} ${node.rack} ${node.version}`.toLowerCase();
    return looked.includes(this.filter);
  }

  // Draws what changed; all of it after layOut() and the like. True: something was drawn.
  draw(): boolean {
    const context = this.base.getContext("2d", { alpha: false });
    if (!context) return false;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (this.all) {
      this.all = false;
      context.fillStyle = this.palette.surface;
      context.fillRect(0, 0, this.width, this.height);
      context.font = "600 12px system-ui, sans-serif";
      context.fillStyle = this.palette.muted;
      for (const title of this.titles) context.fillText(title.text, title.x, title.y, Math.max(40, title.width));
      for (let place = 0; place < this.nodes.length; place++) this.cell(context, place);
      this.fleet.dirty.clear();
      this.drawOverlay();
      // What the benchmark calls the first picture.
      if (this.nodes.length > 0 && performance.getEntriesByName("lockstep-map").length === 0) performance.mark("lockstep-map");
      return true;
    }
    if (this.fleet.dirty.size === 0) return false;
    for (const number of this.fleet.dirty) {
      const place = this.places.get(number);
      if (place === undefined) continue;
      this.nodes[place] = this.fleet.nodes.get(number) ?? this.nodes[place]!;
      if (!this.states) this.cell(context, place);
    }
    this.fleet.dirty.clear();
    return true;
  }

  private cell(context: CanvasRenderingContext2D, place: number): void {
    const node = this.nodes[place]!;
    const x = this.xs[place]!;
    const y = this.ys[place]!;
    const size = this.size;
    const state = this.states ? (this.states[node.number] ?? node.state) : node.state;
    const look = lookOf(this.fleet.states[state] ?? "");
    const colour = this.palette.states[look.key] ?? this.palette.muted;
    context.fillStyle = this.palette.surface;
    context.fillRect(x - 0.5, y - 0.5, size + 1, size + 1);
    const faint = !this.matches(node);
    context.globalAlpha = faint ? 0.18 : 1;
    this.shape(context, x, y, size, look.key, look.step, colour);
    if (node.skipped && !this.states) {
      context.fillStyle = this.palette.text;
      context.fillRect(x + size * 0.2, y + size / 2 - 1, size * 0.6, 2);
    }
    if (node.notReady && !this.states) {
      context.fillStyle = this.palette.states["failed"]!;
      context.beginPath();
      context.moveTo(x + size, y);
      context.lineTo(x + size, y + size * 0.4);
      context.lineTo(x + size * 0.6, y);
      context.fill();
    }
    if (size >= 27) this.name(context, node, look.key, x, y);
    context.globalAlpha = 1;
  }

  private shape(
    context: CanvasRenderingContext2D, x: number, y: number, size: number, key: string, step: number, colour: string,
  ): void {
    if (key === "done") {
      context.fillStyle = colour;
      context.fillRect(x, y, size, size);
    } else if (key === "failed") {
      context.fillStyle = colour;
      context.fillRect(x, y, size, size);
      context.strokeStyle = this.palette.mark;
      context.lineWidth = Math.max(1.2, size / 11);
      const inset = size >= 27 ? size * 0.3 : size * 0.2;
      const low = size >= 27 ? size * 0.62 : size - inset;
      context.beginPath();
      context.moveTo(x + inset, y + (size >= 27 ? size * 0.16 : inset));
      context.lineTo(x + size - inset, y + low);
      context.moveTo(x + size - inset, y + (size >= 27 ? size * 0.16 : inset));
      context.lineTo(x + inset, y + low);
      context.stroke();
    } else if (key === "waiting" || key === "unknown") {
      context.fillStyle = this.palette.cell;
      context.fillRect(x, y, size, size);
      const line = size >= 13 ? 1.5 : 1;
      context.strokeStyle = colour;
      context.lineWidth = line;
      if (key === "waiting") context.strokeRect(x + line / 2, y + line / 2, size - line, size - line);
    } else {
      context.fillStyle = this.palette.cell;
      context.fillRect(x, y, size, size);
      context.globalAlpha *= 0.35;
      context.fillStyle = colour;
      context.fillRect(x, y, size, size);
      context.globalAlpha = context.globalAlpha / 0.35;
      const filled = Math.max(2, size * step);
      context.fillRect(x, y + size - filled, size, filled);
    }
  }

  private name(context: CanvasRenderingContext2D, node: FleetNode, key: string, x: number, y: number): void {
    const short = /(\d+)\D*$/.exec(node.name)?.[1] ?? node.name.slice(-4);
    context.font = `${this.size >= 38 ? 11 : 9.5}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.fillStyle = key === "done" || key === "failed" || key === "restart" ? this.palette.mark : this.palette.text;
    context.fillText(short.slice(-5), x + this.size / 2, y + this.size - 5, this.size - 2);
    context.textAlign = "start";
  }

  // The rings around the chosen cell and the one under the pointer or the keyboard.
  drawOverlay(): void {
    const context = this.overlay.getContext("2d");
    if (!context) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    for (const [number, width] of [[this.hovered, 1.5], [this.selected, 3]] as const) {
      const place = this.places.get(number);
      if (place === undefined) continue;
      context.strokeStyle = this.palette.ring;
      context.lineWidth = width;
      const out = width / 2 + 0.5;
      context.strokeRect(this.xs[place]! - out, this.ys[place]! - out, this.size + 2 * out, this.size + 2 * out);
    }
  }

  nodeAt(x: number, y: number): FleetNode | undefined {
    const pitch = this.size + this.gap;
    for (const block of this.blocks) {
      const column = Math.floor((x - block.x) / pitch);
      const row = Math.floor((y - block.y) / pitch);
      if (column < 0 || row < 0 || column >= block.columns) continue;
      const place = row * block.columns + column;
      if (place < block.count) return this.nodes[block.first + place];
    }
    return undefined;
  }

  // The place of the cell, for what is shown beside it.
  boxOf(number: number): { x: number; y: number; size: number } | undefined {
    const place = this.places.get(number);
    if (place === undefined) return undefined;
    return { x: this.xs[place]!, y: this.ys[place]!, size: this.size };
  }

  // The cell that an arrow key leads to.
  step(from: number, key: string): FleetNode | undefined {
    const place = this.places.get(from);
    if (key === "Home" || place === undefined) return this.nodes[0];
    if (key === "End") return this.nodes[this.nodes.length - 1];
    if (key === "ArrowRight") return this.nodes[Math.min(place + 1, this.nodes.length - 1)];
    if (key === "ArrowLeft") return this.nodes[Math.max(place - 1, 0)];
    const x = this.xs[place]! + this.size / 2;
    const pitch = this.size + this.gap;
    const down = key === "ArrowDown";
    for (let y = this.ys[place]! + this.size / 2; y >= 0 && y <= this.height; y += down ? pitch / 2 : -pitch / 2) {
      const found = this.nodeAt(x, y);
      if (found && found.number !== from) return found;
    }
    return this.nodes[place];
  }
}
