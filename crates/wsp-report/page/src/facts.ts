// What a report says of a run: waits, loads, kernels, chains, and edges between kernels.

import { NONE, beforeOf, place, type Trace } from "./data.ts";

/** The task that held a task; -1 for none, or one that the trace does not have. */
export function holderOf(trace: Trace, at: number): number {
  const id = trace.holder[at]!;
  return id === NONE ? -1 : place(trace, id);
}

/** From a task back to the start, along what each waited for last: the task itself first. */
export function chain(trace: Trace, at: number): number[] {
  const places: number[] = [];
  // Records that no run has made might close a cycle.
  for (let t = at; t >= 0 && places.length < trace.count; t = holderOf(trace, t)) places.push(t);
  return places;
}

/** The chain that ends with the task that was complete last, in the order of time. */
export function criticalPath(trace: Trace): number[] {
  let last = -1;
  for (let t = 0; t < trace.count; t++) if (last < 0 || trace.ended[t]! > trace.ended[last]!) last = t;
  return last < 0 ? [] : chain(trace, last).reverse();
}

/** How long a task waited for what its start waited for last. */
export function waited(trace: Trace, at: number): number {
  switch (trace.causes[trace.cause[at]!]) {
    case "predecessor":
    case "batch":
    case "unrecorded":
      return trace.ready[at]! - trace.submitted[at]!;
    case "worker":
    case "gate":
    case "start":
      return trace.started[at]! - trace.ready[at]!;
    default:
      return 0;
  }
}

/** Tasks and time, by something. */
export interface Sum {
  of: number;
  tasks: number;
  time: number;
  longest: number;
}

function sums(count: number, trace: Trace, by: (t: number) => number, time: (t: number) => number): Sum[] {
  const all: Sum[] = Array.from({ length: count }, (_, of) => ({ of, tasks: 0, time: 0, longest: 0 }));
  for (let t = 0; t < trace.count; t++) {
    const sum = all[by(t)]!;
    const more = time(t);
    sum.tasks++;
    sum.time += more;
    if (more > sum.longest) sum.longest = more;
  }
  return all.filter((sum) => sum.tasks > 0);
}

/** Waits by cause, in the order of causes. */
export function waits(trace: Trace): Sum[] {
  return sums(trace.causes.length, trace, (t) => trace.cause[t]!, (t) => waited(trace, t));
}

/** Time in tasks by row, in the order of rows; then rows without tasks, with the time up to the end of the run in which something else was there. */
export function loads(trace: Trace): Sum[] {
  const tasks = sums(trace.rows.length, trace, (t) => trace.row[t]!, (t) => trace.ended[t]! - trace.started[t]!);
  return [...tasks, ...otherLoads(trace)];
}

/** Rows without tasks; what is there at once counts once. */
function otherLoads({ spans, rowStarts, end }: Trace): Sum[] {
  const all: Sum[] = [];
  for (let row = 0; row + 1 < spans.rowStarts.length; row++) {
    const [begin, stop] = [spans.rowStarts[row]!, spans.rowStarts[row + 1]!];
    if (begin === stop || rowStarts[row] !== rowStarts[row + 1]) continue;
    const sum = { of: row, tasks: 0, time: 0, longest: 0 };
    let far = 0;
    for (let i = begin; i < stop; i++) {
      const [from, to] = [Math.max(far, spans.started[spans.order[i]!]!), Math.min(end, spans.ended[spans.order[i]!]!)];
      sum.time += Math.max(0, to - from);
      sum.longest = Math.max(sum.longest, to - from);
      far = Math.max(far, to);
    }
    all.push(sum);
  }
  return all;
}

/** Time in tasks by kernel, that in which most time went first. */
export function kernels(trace: Trace): Sum[] {
  const all = sums(trace.kernels.length, trace, (t) => trace.kernel[t]!, (t) => trace.ended[t]! - trace.started[t]!);
  return all.sort((a, b) => b.time - a.time || a.of - b.of);
}

/** On how many rows tasks of each kernel ran. */
export function rowsOf(trace: Trace): number[] {
  const rows = trace.kernels.map(() => new Set<number>());
  for (let t = 0; t < trace.count; t++) rows[trace.kernel[t]!]!.add(trace.row[t]!);
  return rows.map((of) => of.size);
}

/** Edges between tasks of two kernels. */
export interface Edge {
  from: number;
  to: number;
  count: number;
}

/** Edges between kernels, the most first. */
export function kernelGraph(trace: Trace): Edge[] {
  const counts = new Map<number, number>();
  const size = trace.kernels.length;
  for (let t = 0; t < trace.count; t++) {
    for (const id of beforeOf(trace, t)) {
      const from = place(trace, id);
      if (from < 0) continue;
      const pair = trace.kernel[from]! * size + trace.kernel[t]!;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  const all = [...counts].map(([pair, count]) => ({ from: Math.floor(pair / size), to: pair % size, count }));
  return all.sort((a, b) => b.count - a.count || a.from - b.from || a.to - b.to);
}

/** A layer for each kernel: behind all from which edges come, but for those that close a circle with edges that stand before them. */
export function layers(count: number, edges: Edge[]): number[] {
  const next: number[][] = Array.from({ length: count }, () => []);
  const reaches = (from: number, to: number): boolean => {
    const seen = new Set([from]);
    // A set gives what is added to it while it is gone through.
    for (const node of seen) for (const after of next[node]!) seen.add(after);
    return seen.has(to);
  };
  const layer = new Array<number>(count).fill(0);
  const push = (node: number): void => {
    for (const after of next[node]!) {
      if (layer[after]! > layer[node]!) continue;
      layer[after] = layer[node]! + 1;
      push(after);
    }
  };
  for (const { from, to } of edges) {
    if (from === to || reaches(to, from)) continue;
    next[from]!.push(to);
    push(from);
  }
  return layer;
}

/** Ids of the tasks that wait for a task, at most so many, and how many there are. */
export function afterOf(trace: Trace, at: number, most: number): [number[], number] {
  const id = trace.id[at]!;
  const found: number[] = [];
  let count = 0;
  for (let t = 0; t < trace.count; t++) {
    if (!beforeOf(trace, t).includes(id)) continue;
    if (found.length < most) found.push(trace.id[t]!);
    count++;
  }
  return [found, count];
}
