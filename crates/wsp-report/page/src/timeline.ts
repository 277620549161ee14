// The timeline of a trace: rows of cores, time from left to right.

import type { Bars, Trace } from "./data.ts";
import { colour, element, hue, isDark } from "./dom.ts";
import { criticalPath } from "./facts.ts";
import { around, barAt, bounded, counted, marks, moved, opacity, runs, shown, zoomed, type View } from "./view.ts";

/** Pixels of the axis, of the names of rows, of a row at least and at most, and of the whole at most. */
const [AXIS, LOW, HIGH, MOST] = [22, 7, 22, 560];

/** What timelines of one page have in common. */
export interface Shared {
  view: View;
  end: number;
}

/** What is under the pointer or selected: a task or a span, by its place; -1 for none. */
export interface Pick {
  at: number;
  span: number;
}

/** Colours of a picture. */
interface Paint {
  dim: string;
  mark: string;
  on: string;
  hues: string[];
}

export class Timeline {
  readonly root: HTMLElement;
  /** The chain of the selected task, it first; a task that is shown beside. */
  selected: number[] = [];
  also = -1;
  /** The span that is selected. */
  span = -1;
  private readonly canvas = element("canvas", { tabindex: "0", role: "img" });
  private readonly tip = element("div", { class: "tip", hidden: "" });
  private critical: Uint8Array | null = null;
  /** Rows with tasks or spans, and the first that is seen. */
  private readonly rows: number[];
  private top = 0;
  private readonly names: number;

  constructor(
    private readonly trace: Trace,
    at: number,
    isOne: boolean,
    private readonly shared: Shared,
    private readonly redraw: () => void,
    pick: (pick: Pick) => void,
  ) {
    const isUsed = ({ rowStarts }: Bars, row: number): boolean => rowStarts[row]! < rowStarts[row + 1]!;
    this.rows = trace.rows.map((_, row) => row).filter((row) => isUsed(trace, row) || isUsed(trace.spans, row));
    const longest = Math.max(0, ...this.rows.map((row) => trace.rows[row]![1].length));
    this.names = Math.min(110, 12 + longest * 6.2);
    const title = isOne ? [element("div", { class: "name" }, `${"AB"[at]}: ${trace.name}`)] : [];
    this.canvas.setAttribute("aria-label", `Timeline of ${trace.name}: ${counted(trace.count, "task")} on ${counted(this.rows.length, "row")}`);
    this.root = element("div", { class: "timeline" }, ...title, this.canvas, this.tip);
    this.listen(pick);
  }

  private get width(): number {
    return Math.max(50, Math.floor(this.root.clientWidth - this.names));
  }

  private get rowHeight(): number {
    return Math.max(LOW, Math.min(HIGH, Math.floor((MOST - AXIS) / Math.max(1, this.rows.length))));
  }

  private get seen(): number {
    return Math.min(this.rows.length, Math.floor((MOST - AXIS) / this.rowHeight));
  }

  zoom(factor: number, share = 0.5): void {
    this.set(zoomed(this.shared.view, share, factor, this.shared.end));
  }

  move(share: number): void {
    this.set(moved(this.shared.view, share, this.shared.end));
  }

  all(): void {
    this.set(bounded({ from: 0, to: this.shared.end }, this.shared.end));
  }

  private set(view: View): void {
    this.shared.view = view;
    this.redraw();
  }

  /** Brings a task into view. */
  reveal(at: number): void {
    const { started, ended, row } = this.trace;
    const { view } = this.shared;
    if (started[at]! < view.from || ended[at]! > view.to) {
      this.shared.view = around(view, started[at]!, ended[at]!, this.shared.end);
    }
    const index = this.rows.indexOf(row[at]!);
    if (index < this.top || index >= this.top + this.seen) this.scroll(index - Math.floor(this.seen / 2));
  }

  private scroll(to: number): void {
    this.top = Math.max(0, Math.min(this.rows.length - this.seen, to));
  }

  markCritical(): void {
    this.critical = new Uint8Array(this.trace.count);
    for (const at of criticalPath(this.trace)) this.critical[at] = 1;
  }

  /** Where a bar is drawn: left, right, top; none where its row is not seen. */
  private box(at: number, bars: Bars = this.trace): [number, number, number] | null {
    const { view } = this.shared;
    const index = this.rows.indexOf(bars.row[at]!) - this.top;
    if (index < 0 || index >= this.seen) return null;
    const scale = this.width / (view.to - view.from);
    const x = (time: number): number => this.names + Math.max(-10, Math.min(this.width + 10, (time - view.from) * scale));
    return [x(bars.started[at]!), x(bars.ended[at]!), AXIS + index * this.rowHeight];
  }

  draw(): void {
    const begin = performance.now();
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.width, AXIS + this.seen * this.rowHeight + 2];
    const { canvas } = this;
    canvas.width = Math.round((width + this.names) * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.axis(context, width, height);
    const [dim, mark, on, dark] = [colour("dim"), colour("mark"), colour("on"), isDark()];
    const paint = { dim, mark, on, hues: this.trace.hues.map((number) => hue(number, dark)) };
    for (let index = 0; index < this.seen; index++) this.row(context, this.rows[this.top + index]!, AXIS + index * this.rowHeight, width, paint);
    this.chain(context);
    // What tests read: where rows lie, and how long the picture took.
    const { view } = this.shared;
    Object.assign(canvas.dataset, { from: view.from, to: view.to, left: this.names, width, axis: AXIS, row: this.rowHeight, first: this.rows[this.top] ?? 0, top: this.top });
    canvas.dataset.drawn = (performance.now() - begin).toFixed(1);
  }

  private axis(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { view } = this.shared;
    context.strokeStyle = colour("line");
    context.fillStyle = colour("dim");
    context.textAlign = "center";
    for (const [time, text] of marks(view, Math.max(2, width / 130), this.trace.clock)) {
      const x = this.names + ((time - view.from) / (view.to - view.from)) * width;
      context.beginPath();
      context.moveTo(x, AXIS - 4);
      context.lineTo(x, height);
      context.stroke();
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(x, this.names + width - half), AXIS / 2 - 1);
    }
  }

  private row(context: CanvasRenderingContext2D, row: number, y: number, width: number, paint: Paint): void {
    const { trace, rowHeight, names } = this;
    const height = rowHeight - (rowHeight > 9 ? 2 : 1);
    const index = this.rows.indexOf(row);
    context.textAlign = "right";
    context.fillStyle = paint.dim;
    const every = Math.ceil(12 / rowHeight);
    if (index % every === 0) context.fillText(trace.rows[row]![1], names - 6, y + height / 2, names - 8);
    context.textAlign = "left";
    this.bars(context, trace.spans, row, [y, height, width], paint);
    this.bars(context, trace, row, [y, height, width], paint);
  }

  /** The bars of a row: tasks in the colours of their kernels, spans in a colour of none. */
  private bars(context: CanvasRenderingContext2D, bars: Bars, row: number, [y, height, width]: [number, number, number], paint: Paint): void {
    const { trace, names } = this;
    const isTask = bars === trace;
    const all = runs(bars, row, this.shared.view, width);
    for (let i = 0; i < all.length; i += 5) {
      const [x, count, kernel, level, task] = [all[i]!, all[i + 1]!, all[i + 2]!, all[i + 3]!, all[i + 4]!];
      context.globalAlpha = opacity(level);
      context.fillStyle = isTask ? paint.hues[kernel]! : paint.dim;
      // Tasks that are seen one by one are parted by a pixel.
      context.fillRect(names + x, y, level === 9 && count > 3 ? count - 1 : count, height);
      context.globalAlpha = 1;
      if (isTask && this.critical?.[task] && level === 9) {
        context.fillStyle = paint.mark;
        context.fillRect(names + x, y, Math.max(1, count - 1), 2);
      }
      if (level === 9 && count > 50 && height > 10) {
        context.fillStyle = paint.on;
        context.fillText(isTask ? trace.kernels[kernel]!.name : trace.spans.names[kernel]!, names + x + 4, y + height / 2 + 1, count - 8);
      }
    }
  }

  /** The selected task, and the way back to the start. */
  private chain(context: CanvasRenderingContext2D): void {
    const [ink, height] = [colour("ink"), this.rowHeight];
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.beginPath();
    const { view } = this.shared;
    // Where tasks are narrower than pixels, one edge in four of them is drawn.
    let drawn = Infinity;
    for (let i = 0; i + 1 < this.selected.length; i++) {
      const task = this.selected[i]!;
      if (this.trace.ended[task]! < view.from) break;
      if (this.trace.started[task]! > view.to) continue;
      const [to, from] = [this.box(task), this.box(this.selected[i + 1]!)];
      if (to === null || from === null || drawn - to[0] < 4) continue;
      drawn = to[0];
      context.moveTo(from[1], from[2] + height / 2);
      context.lineTo(to[0], to[2] + height / 2);
    }
    context.stroke();
    const marked: [number | undefined, Bars][] = [[this.selected[0], this.trace], [this.also, this.trace], [this.span, this.trace.spans]];
    for (const [at, bars] of marked) {
      const box = at === undefined || at < 0 ? null : this.box(at, bars);
      if (box !== null) context.strokeRect(box[0] - 1, box[2] - 1, Math.max(3, box[1] - box[0] + 2), height);
    }
    context.lineWidth = 1;
  }

  /** The task under the pointer, or else the span. */
  private under(event: MouseEvent): Pick {
    const row = this.rows[this.top + Math.floor((event.offsetY - AXIS) / this.rowHeight)];
    if (row === undefined || event.offsetY < AXIS) return { at: -1, span: -1 };
    const { view } = this.shared;
    const scale = (view.to - view.from) / this.width;
    const time = view.from + (event.offsetX - this.names) * scale;
    const at = barAt(this.trace, row, time, 3 * scale);
    return { at, span: at < 0 ? barAt(this.trace.spans, row, time, 3 * scale) : -1 };
  }

  private listen(pick: (pick: Pick) => void): void {
    const { canvas } = this;
    let [from, isMoved] = [-1, false];
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey && this.rows.length > this.seen) {
        this.scroll(this.top + Math.sign(event.deltaY + event.deltaX));
        this.redraw();
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.move(event.deltaX / this.width);
      } else {
        this.zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY)) / 400), Math.max(0, (event.offsetX - this.names) / this.width));
      }
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      [from, isMoved] = [event.offsetX, false];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from >= 0) {
        if (!isMoved && Math.abs(event.offsetX - from) < 4) return;
        this.move((from - event.offsetX) / this.width);
        [from, isMoved] = [event.offsetX, true];
        return;
      }
      const { at, span } = this.under(event);
      this.tip.hidden = at < 0 && span < 0;
      if (this.tip.hidden) return;
      const { trace } = this;
      this.tip.textContent = at < 0
        ? `${trace.spans.names[trace.spans.kernel[span]!]} · ${shown(trace.spans.ended[span]! - trace.spans.started[span]!, trace.clock)}`
        : `${trace.kernels[trace.kernel[at]!]!.name} · task ${trace.id[at]}`;
      this.tip.style.left = `${Math.min(event.offsetX + 12, this.width + this.names - 160)}px`;
      this.tip.style.top = `${canvas.offsetTop + event.offsetY + 14}px`;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!isMoved && from >= 0) pick(this.under(event));
      from = -1;
    });
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", (event) => this.zoom(0.25, (event.offsetX - this.names) / this.width));
    canvas.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (by === 0 || this.rows.length <= this.seen) return;
      event.preventDefault();
      this.scroll(this.top + by);
      this.redraw();
    });
  }
}
