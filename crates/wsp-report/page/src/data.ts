// Traces of the page: base64 text to columns of typed arrays.

/** A kernel; its work, where the trace knows it. */
export interface Kernel {
  name: string;
  operations: number | null;
  bytes: number | null;
}

/** What a machine can do at most, per second. */
export interface Machine {
  name: string;
  hz: number;
  operations: number;
  bytes: number;
}

/** Something else than a task on a row, as the head has it. */
interface Span {
  row: number;
  name: string;
  begin: number;
  end: number;
}

/** What went through a channel of a pipeline, between two processes. */
interface Channel {
  name: string;
  sender: string;
  receiver: string;
  depth: number;
  tokens: number;
  fullest: number;
  senderWaited: number;
  receiverWaited: number;
}

/** What stands before the columns. */
interface Head {
  name: string;
  key: string | null;
  clock: "nanoseconds" | "cycles";
  processes: string[];
  rows: [number, string][];
  kernels: Kernel[];
  machine: Machine | null;
  causes: string[];
  allEdges: boolean;
  tasks: number;
  spans: Span[];
  channels: Channel[];
  /** Names and lengths, and how many planes are not all 0. */
  columns: [string, number, number][];
}

/** Bars of rows: tasks, or what else took time there. */
export interface Bars {
  /** What a bar is: a kernel, or the number of a name. */
  kernel: Uint32Array;
  row: Uint32Array;
  started: Float64Array;
  ended: Float64Array;
  /** Places by row, then start; where each row begins in them, and how far bars up to each reach. */
  order: Uint32Array;
  rowStarts: Uint32Array;
  reach: Float64Array;
  /** Groups of `GROUP` bars of a row in this order: the first of each row, and of each when its last bar ends, the time in it, its longest bar. */
  groupStarts: Uint32Array;
  groupEnds: Float64Array;
  groupBusy: Float64Array;
  groupLongest: Uint32Array;
}

/** What else than tasks took time, such as the work of AICPUs and launches of task graphs. */
export interface Spans extends Bars {
  names: string[];
}

/** One run. Tasks have places, in the order of their ids. */
export interface Trace extends Bars, Omit<Head, "columns" | "tasks" | "spans"> {
  spans: Spans;
  count: number;
  /** The number of each kernel's colour: kernels of one name have one in all traces of a page. */
  hues: number[];
  id: Uint32Array;
  cause: Uint32Array;
  /** Ids of the last task before each, and of what held it; `NONE` where there is none. */
  last: Uint32Array;
  holder: Uint32Array;
  submitted: Float64Array;
  ready: Float64Array;
  /** Indices of task `t` lie from `indexEnds[t - 1]` to `indexEnds[t]`; the same of ids of the tasks before it. */
  indexEnds: Uint32Array;
  indices: Uint32Array;
  beforeEnds: Uint32Array;
  before: Uint32Array;
  /** Other numbers of tasks, such as the node of a task graph. */
  numbers: Map<string, Uint32Array>;
  /** When the last task ended. */
  end: number;
}

/** Bars of a group. */
export const GROUP = 32;

/** Instead of an id. */
export const NONE = 0xffffffff;

/** Bytes of base64 text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** What zlib has compressed. */
export async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Differences from number to number, folded to be small, a plane for each of their bytes that is not 0 everywhere, the lowest first. */
function column(planes: Uint8Array, length: number, count: number): Uint32Array {
  const values = new Uint32Array(length);
  let before = 0;
  for (let i = 0; i < length; i++) {
    let folded = count > 0 ? planes[i]! : 0;
    for (let plane = 1; plane < count; plane++) folded |= planes[plane * length + i]! << (8 * plane);
    before = (before + ((folded >>> 1) ^ -(folded & 1))) | 0;
    values[i] = before;
  }
  return values;
}

/** A trace from what `wsp_report` has packed. */
export function unpacked(buffer: ArrayBuffer): Trace {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size))) as Head;
  const columns = new Map<string, Uint32Array>();
  let at = 4 + size;
  for (const [name, length, planes] of head.columns) {
    columns.set(name, column(new Uint8Array(buffer, at, planes * length), length, planes));
    at += planes * length;
  }
  const take = (name: string): Uint32Array => {
    const found = columns.get(name) ?? new Uint32Array(0);
    columns.delete(name);
    return found;
  };
  const count = head.tasks;
  const wide = (name: string): Float64Array => {
    const low = new Float64Array(take(name));
    const high = take(`${name}.high`);
    for (let i = 0; i < high.length; i++) low[i]! += high[i]! * 2 ** 32;
    return low;
  };
  const [started, queued, waited, length] = [wide("started"), wide("queued"), wide("waited"), wide("length")];
  const times = { submitted: new Float64Array(count), ready: new Float64Array(count), ended: new Float64Array(count) };
  let end = 0;
  for (let t = 0; t < count; t++) {
    times.ready[t] = started[t]! - waited[t]!;
    times.submitted[t] = times.ready[t]! - queued[t]!;
    times.ended[t] = started[t]! + length[t]!;
    if (times.ended[t]! > end) end = times.ended[t]!;
  }
  const id = take("id");
  // Ids of other tasks are differences from the task's own; 0 is none.
  const other = (name: string): Uint32Array => {
    const of = take(name);
    for (let t = 0; t < count; t++) of[t] = of[t] === 0 ? NONE : id[t]! - of[t]!;
    return of;
  };
  const ends = (counts: Uint32Array): Uint32Array => {
    for (let t = 1; t < counts.length; t++) counts[t]! += counts[t - 1]!;
    return counts;
  };
  const beforeEnds = ends(take("before.count"));
  const before = take("before");
  for (let t = 0, i = 0; t < beforeEnds.length; t++) for (; i < beforeEnds[t]!; i++) before[i] = id[t]! - before[i]!;
  const [kernel, row, cause] = [take("kernel"), take("row"), take("cause")];
  const [last, holder] = [other("last"), other("holder")];
  const [indexEnds, indices] = [ends(take("index.count")), take("index")];
  const rows = byRow(row, started, times.ended, head.rows.length);
  const parts = { id, kernel, row, cause, last, holder, started, indexEnds, indices, beforeEnds, before };
  const hues = head.kernels.map((_, kernel) => kernel);
  const spans = spansOf(head.spans, head.rows.length);
  return { ...head, hues, spans, ...parts, ...times, ...rows, numbers: columns, count, end };
}

function spansOf(spans: Span[], rows: number): Spans {
  const names = [...new Set(spans.map(({ name }) => name))];
  const numbers = new Map(names.map((name, number) => [name, number]));
  const kernel = Uint32Array.from(spans, ({ name }) => numbers.get(name)!);
  const row = Uint32Array.from(spans, (span) => span.row);
  const [started, ended] = [Float64Array.from(spans, ({ begin }) => begin), Float64Array.from(spans, ({ end }) => end)];
  return { names, kernel, row, started, ended, ...byRow(row, started, ended, rows) };
}

/** Gives kernels of one name one colour in all traces; the first trace keeps its own. */
export function shareHues(traces: Trace[]): void {
  const numbers = new Map<string, number>();
  for (const trace of traces) {
    trace.hues = trace.kernels.map(({ name }) => {
      const number = numbers.get(name) ?? numbers.size;
      numbers.set(name, number);
      return number;
    });
  }
}

/** Places by row and start. */
function byRow(row: Uint32Array, started: Float64Array, ended: Float64Array, rows: number) {
  const rowStarts = new Uint32Array(rows + 1);
  for (let t = 0; t < row.length; t++) rowStarts[row[t]! + 1]!++;
  for (let r = 0; r < rows; r++) rowStarts[r + 1]! += rowStarts[r]!;
  const next = rowStarts.slice();
  const order = new Uint32Array(row.length);
  for (let t = 0; t < row.length; t++) order[next[row[t]!]!++] = t;
  const reach = new Float64Array(row.length);
  for (let r = 0; r < rows; r++) {
    const own = order.subarray(rowStarts[r], rowStarts[r + 1]);
    let isSorted = true;
    for (let i = 1; i < own.length && isSorted; i++) isSorted = started[own[i - 1]!]! <= started[own[i]!]!;
    if (!isSorted) own.sort((a, b) => started[a]! - started[b]! || a - b);
    let far = 0;
    for (let i = 0; i < own.length; i++) {
      far = Math.max(far, ended[own[i]!]!);
      reach[rowStarts[r]! + i] = far;
    }
  }
  return { order, rowStarts, reach, ...grouped(order, rowStarts, started, ended) };
}

/** Groups of tasks, which a picture takes as one where they are narrower than a pixel. */
function grouped(order: Uint32Array, rowStarts: Uint32Array, started: Float64Array, ended: Float64Array) {
  const rows = rowStarts.length - 1;
  const groupStarts = new Uint32Array(rows + 1);
  for (let r = 0; r < rows; r++) groupStarts[r + 1] = groupStarts[r]! + Math.ceil((rowStarts[r + 1]! - rowStarts[r]!) / GROUP);
  const count = groupStarts[rows]!;
  const [groupEnds, groupBusy, groupLongest] = [new Float64Array(count), new Float64Array(count), new Uint32Array(count)];
  for (let r = 0; r < rows; r++) {
    for (let i = rowStarts[r]!; i < rowStarts[r + 1]!; i++) {
      const task = order[i]!;
      const group = groupStarts[r]! + Math.floor((i - rowStarts[r]!) / GROUP);
      const length = ended[task]! - started[task]!;
      const longest = groupLongest[group]!;
      const isFirst = (i - rowStarts[r]!) % GROUP === 0;
      groupEnds[group] = Math.max(groupEnds[group]!, ended[task]!);
      groupBusy[group]! += length;
      if (isFirst || length >= ended[longest]! - started[longest]!) groupLongest[group] = task;
    }
  }
  return { groupStarts, groupEnds, groupBusy, groupLongest };
}

/** The place of a task; -1 where the trace does not have it. */
export function place(trace: Trace, id: number): number {
  if (trace.id[id] === id) return id;
  let [low, high] = [0, trace.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trace.id[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return trace.id[low] === id ? low : -1;
}

/** The indices of a task. */
export function indicesOf(trace: Trace, at: number): Uint32Array {
  return listOf(trace.indexEnds, trace.indices, at);
}

/** The ids of the tasks before a task: all that are known, or the last of them. */
export function beforeOf(trace: Trace, at: number): Uint32Array {
  const all = listOf(trace.beforeEnds, trace.before, at);
  return all.length === 0 && trace.last[at] !== NONE ? trace.last.subarray(at, at + 1) : all;
}

function listOf(ends: Uint32Array, values: Uint32Array, at: number): Uint32Array {
  return values.subarray(at === 0 ? 0 : (ends[at - 1] ?? 0), ends[at] ?? 0);
}
