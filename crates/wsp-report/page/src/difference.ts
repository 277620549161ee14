// Two runs: which task of one is which of the other, and what differs.

import { indicesOf, type Trace } from "./data.ts";

/** Which task is which. */
export interface Match {
  /** The place in the other run of each task; -1 for none. */
  other: Int32Array;
  /** How many there are of both, and of one alone. */
  pairs: number;
  alone: [number, number];
  byIndices: boolean;
}

/** Matches tasks by kernel and indices; of those that have them in common, or have none, the first with the first. */
export function matched(a: Trace, b: Trace): Match {
  const byIndices = a.indices.length > 0 && b.indices.length > 0;
  const names = new Map<string, number>();
  for (const { name } of [...a.kernels, ...b.kernels]) if (!names.has(name)) names.set(name, names.size);
  const hash = (trace: Trace, t: number): number => {
    let mixed = names.get(trace.kernels[trace.kernel[t]!]!.name)!;
    if (byIndices) for (const index of indicesOf(trace, t)) mixed = (Math.imul(mixed, 0x9e3779b1) + index) | 0;
    return mixed;
  };
  const same = (x: number, y: number): boolean => {
    if (a.kernels[a.kernel[x]!]!.name !== b.kernels[b.kernel[y]!]!.name) return false;
    if (!byIndices) return true;
    const [of, to] = [indicesOf(a, x), indicesOf(b, y)];
    return of.length === to.length && of.every((index, i) => index === to[i]);
  };
  // A list for each hash, through the array of what comes next.
  const first = new Map<number, number>();
  const next = new Int32Array(b.count).fill(-1);
  for (let y = b.count - 1; y >= 0; y--) {
    const key = hash(b, y);
    next[y] = first.get(key) ?? -1;
    first.set(key, y);
  }
  const other = new Int32Array(a.count).fill(-1);
  let pairs = 0;
  for (let x = 0; x < a.count; x++) {
    const key = hash(a, x);
    let before = -1;
    let y = first.get(key) ?? -1;
    while (y >= 0 && !same(x, y)) [before, y] = [y, next[y]!];
    if (y < 0) continue;
    other[x] = y;
    pairs++;
    if (before >= 0) next[before] = next[y]!;
    else first.set(key, next[y]!);
  }
  return { other, pairs, alone: [a.count - pairs, b.count - pairs], byIndices };
}

/** The tasks of the first run whose `value` changed most, the most first. */
export function changed(match: Match, value: (a: number, b: number) => number, most: number): number[] {
  const top: [number, number][] = [];
  for (let x = 0; x < match.other.length; x++) {
    const y = match.other[x]!;
    const by = y < 0 ? 0 : Math.abs(value(x, y));
    if (by === 0 || (top.length === most && by <= top[most - 1]![0])) continue;
    let at = top.length;
    while (at > 0 && top[at - 1]![0] < by) at--;
    top.splice(at, 0, [by, x]);
    if (top.length > most) top.pop();
  }
  return top.map(([, x]) => x);
}

/** The other way round. */
export function turned(match: Match, count: number): Int32Array {
  const other = new Int32Array(count).fill(-1);
  match.other.forEach((y, x) => {
    if (y >= 0) other[y] = x;
  });
  return other;
}
