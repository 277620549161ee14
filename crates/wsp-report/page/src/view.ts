// What part of a run is seen, and what stands in each pixel of it.

import { ticks, tickStep } from "d3-array";
import { GROUP, type Bars } from "./data.ts";

/** A span of time. */
export interface View {
  from: number;
  to: number;
}

/** A view within the run; no shorter than a hundredth of a unit of time. */
export function bounded(view: View, end: number): View {
  const length = Math.min(Math.max(view.to - view.from, 0.01), Math.max(end, 1));
  const from = Math.min(Math.max(view.from, 0), Math.max(end, 1) - length);
  return { from, to: from + length };
}

/** A view that is `factor` times as long, with the moment at `share` of it where it was. */
export function zoomed(view: View, share: number, factor: number, end: number): View {
  const length = view.to - view.from;
  const at = view.from + share * length;
  const from = at - share * length * factor;
  return bounded({ from, to: from + length * factor }, end);
}

/** A view that is moved by a share of its length. */
export function moved(view: View, share: number, end: number): View {
  const by = share * (view.to - view.from);
  return bounded({ from: view.from + by, to: view.to + by }, end);
}

/** A view in which a span is in the middle, and as long as it was where the span fits. */
export function around(view: View, from: number, to: number, end: number): View {
  const length = Math.max(view.to - view.from, (to - from) * 3);
  const middle = (from + to) / 2;
  return bounded({ from: middle - length / 2, to: middle + length / 2 }, end);
}

/** Runs of pixels of one row: five numbers for each, the first pixel, how many, the kernel, how much of it is busy of 8, and a task in it. */
export function runs(bars: Bars, row: number, view: View, width: number): number[] {
  const scale = width / (view.to - view.from);
  const { order, rowStarts, reach, started, ended, kernel } = bars;
  const all: number[] = [];
  // The pixel at hand, what is busy of it, and its longest task.
  let [pixel, busy, longest, shown] = [-1, 0, 0, -1];
  const push = (x: number, count: number, of: number, level: number, task: number): void => {
    const at = all.length - 5;
    if (at >= 0 && level < 9 && all[at]! + all[at + 1]! === x && all[at + 2] === of && all[at + 3] === level) {
      all[at + 1]! += count;
    } else {
      all.push(x, count, of, level, task);
    }
  };
  const flush = (): void => {
    if (pixel >= 0) push(pixel, 1, kernel[shown]!, Math.max(1, Math.min(8, Math.round(busy * 8))), shown);
    [pixel, busy, longest] = [-1, 0, 0];
  };
  const [begin, stop] = [rowStarts[row]!, rowStarts[row + 1]!];
  for (let i = firstAfter(reach, begin, stop, view.from); i < stop; i++) {
    const task = order[i]!;
    if (started[task]! >= view.to) break;
    if ((i - begin) % GROUP === 0 && started[task]! >= view.from) {
      // A group that lies within a pixel counts as one task, which is its longest.
      const group = bars.groupStarts[row]! + (i - begin) / GROUP;
      const x = Math.floor((started[task]! - view.from) * scale);
      if (x < width && Math.floor((bars.groupEnds[group]! - view.from) * scale) === x) {
        if (x !== pixel) flush();
        pixel = x;
        busy += bars.groupBusy[group]! * scale;
        const most = bars.groupLongest[group]!;
        const wide = (ended[most]! - started[most]!) * scale;
        if (wide >= longest) [longest, shown] = [wide, most];
        i += GROUP - 1;
        continue;
      }
    }
    const from = Math.max((started[task]! - view.from) * scale, 0);
    const to = Math.min((ended[task]! - view.from) * scale, width);
    if (to < 0) continue;
    const x = Math.min(Math.floor(from), width - 1);
    if (to - from >= 2) {
      flush();
      const first = Math.round(from);
      // Tasks that are seen one by one are kept apart.
      all.push(first, Math.max(1, Math.round(to) - first), kernel[task]!, 9, task);
      continue;
    }
    if (x !== pixel) {
      flush();
      pixel = x;
    }
    busy += to - from;
    if (to - from >= longest) [longest, shown] = [to - from, task];
  }
  flush();
  return all;
}

/** How much of a pixel's back is covered where so much of it is busy, of 8: a lonely task is to be seen. */
export function opacity(level: number): number {
  return Math.min(1, 0.66 + level * 0.04);
}

/** The first place whose value is above a limit; values ascend. */
function firstAfter(values: Float64Array, from: number, to: number, limit: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The bar on a row at a moment, or the nearest within a tolerance; -1 for none. */
export function barAt(bars: Bars, row: number, time: number, tolerance: number): number {
  const { order, rowStarts, reach, started, ended } = bars;
  const stop = rowStarts[row + 1] ?? 0;
  let [best, distance] = [-1, Infinity];
  for (let i = firstAfter(reach, rowStarts[row] ?? 0, stop, time - tolerance); i < stop; i++) {
    const task = order[i]!;
    if (started[task]! > time + tolerance) break;
    const off = Math.max(started[task]! - time, time - ended[task]!, 0);
    if (off < distance || (off === 0 && started[task]! >= started[best]!)) [best, distance] = [task, off];
  }
  return distance <= tolerance ? best : -1;
}

/** Moments for the marks of an axis, with what is written there. */
export function marks(view: View, count: number, clock: string): [number, string][] {
  const step = tickStep(view.from, view.to, count);
  return ticks(view.from, view.to, count).map((time) => [time, shown(time, clock, step)]);
}

/** A number with the word for what it counts. */
export function counted(number: number, word: string): string {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A time with its unit; with a step, as precise as tells neighbours apart. */
export function shown(time: number, clock: string, step?: number): string {
  if (clock === "cycles") {
    const digits = step !== undefined && step < 1 ? 2 : 0;
    const number = time.toLocaleString("en", { maximumFractionDigits: digits });
    // An axis has no room for the word.
    return step === undefined ? `${number} cycles` : number;
  }
  const size = Math.max(Math.abs(time), step ?? 0);
  const [unit, name] = UNITS.find(([unit]) => size >= unit) ?? [1, "ns"];
  const digits = step === undefined ? (unit === 1 ? 0 : 3) : Math.min(6, Math.max(0, Math.ceil(Math.log10(unit / step))));
  return `${(time / unit).toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: digits })} ${name}`;
}
