// Tests of what needs no page, of the bundle that `cargo xtask report` has made.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as pure from "../dist/pure.mjs";

const CAUSES = ["generation", "predecessor", "batch", "worker", "gate", "window", "start", "unrecorded"];

/** Numbers as a column has them. */
function column(values) {
  let before = 0;
  const folds = values.map((value) => {
    const by = (value - before) | 0;
    before = value;
    return ((by << 1) ^ (by >> 31)) >>> 0;
  });
  const planes = [0, 1, 2, 3].filter((plane) => folds.some((folded) => folded >>> (8 * plane) !== 0)).length;
  return [planes, Uint8Array.from({ length: planes * folds.length }, (_, i) => folds[i % folds.length] >>> (8 * Math.floor(i / folds.length)))];
}

/** A trace of tasks `{ id, kernel, row, cause, last, holder, times: [submitted, ready, started, ended], indices, before }`. */
function packed(tasks, more = {}) {
  const of = (value) => tasks.map(value);
  const relative = (name) => of((task) => (task[name] === undefined ? 0 : task.id - task[name]));
  const parts = [
    ["id", of((task) => task.id)],
    ["kernel", of((task) => task.kernel ?? 0)],
    ["row", of((task) => task.row ?? 0)],
    ["cause", of((task) => CAUSES.indexOf(task.cause ?? "generation"))],
    ["last", relative("last")],
    ["holder", relative("holder")],
    ["started", of((task) => task.times[2] % 2 ** 32)],
    ["started.high", of((task) => Math.floor(task.times[2] / 2 ** 32))],
    ["waited", of((task) => task.times[2] - task.times[1])],
    ["queued", of((task) => task.times[1] - task.times[0])],
    ["length", of((task) => task.times[3] - task.times[2])],
    ["index.count", of((task) => task.indices?.length ?? 0)],
    ["index", tasks.flatMap((task) => task.indices ?? [])],
    ["before.count", of((task) => task.before?.length ?? 0)],
    ["before", tasks.flatMap((task) => (task.before ?? []).map((id) => task.id - id))],
  ];
  const head = new TextEncoder().encode(JSON.stringify({
    name: "t.pftrace", key: "0123", clock: "nanoseconds", processes: ["p"], rows: [[0, "worker 0"], [0, "worker 1"]],
    kernels: ["gemm", "softmax", "store"].map((name) => ({ name, operations: null, bytes: null })), machine: null, causes: CAUSES,
    allEdges: true, tasks: tasks.length, spans: [], columns: parts.map(([name, values]) => [name, values.length, column(values)[0]]), ...more,
  }));
  const bytes = [new Uint8Array(new Uint32Array([head.length]).buffer), head, ...parts.map(([, values]) => column(values)[1])];
  return new Uint8Array(Buffer.concat(bytes)).buffer;
}

/** Two rows: a chain of four tasks, of which one waited for its worker. */
const TASKS = [
  { id: 0, kernel: 0, row: 0, times: [0, 0, 5, 15], indices: [0, 0] },
  { id: 1, kernel: 1, row: 1, cause: "predecessor", last: 0, holder: 0, times: [1, 15, 16, 20], indices: [0, 1], before: [0] },
  { id: 3, kernel: 1, row: 0, cause: "worker", holder: 0, times: [2, 2, 15, 40], indices: [1, 1] },
  { id: 7, kernel: 2, row: 1, cause: "predecessor", last: 3, holder: 3, times: [3, 40, 41, 50], indices: [2, 0], before: [1, 3] },
];

const trace = (tasks = TASKS, more) => pure.unpacked(packed(tasks, more));

test("columns give back what was packed", () => {
  const read = trace();
  assert.deepEqual([...read.id], [0, 1, 3, 7]);
  assert.deepEqual([...read.submitted], [0, 1, 2, 3]);
  assert.deepEqual([...read.ready], [0, 15, 2, 40]);
  assert.deepEqual([...read.ended], [15, 20, 40, 50]);
  assert.deepEqual([...read.holder], [pure.NONE, 0, 0, 3]);
  assert.deepEqual([0, 1, 2, 3].map((at) => [...pure.indicesOf(read, at)]), TASKS.map((task) => task.indices));
  assert.deepEqual([...pure.beforeOf(read, 3)], [1, 3]);
  assert.equal(read.end, 50);
  assert.deepEqual([0, 1, 2, 3, 7, 8].map((id) => pure.place(read, id)), [0, 1, -1, 2, 3, -1]);
});

test("times beyond 32 bits are whole", () => {
  const far = 5 * 2 ** 40 + 3;
  const read = trace([{ id: 0, times: [far - 2, far - 1, far, far + 7] }]);
  assert.deepEqual([read.submitted[0], read.ready[0], read.started[0], read.ended[0]], [far - 2, far - 1, far, far + 7]);
});

test("base64 and zlib are undone", async () => {
  const { deflateSync } = await import("node:zlib");
  const bytes = new Uint8Array(packed(TASKS));
  const text = deflateSync(bytes).toString("base64");
  assert.deepEqual(new Uint8Array(await pure.inflated(pure.bytesOf(text))), bytes);
});

test("rows are ordered by start, whatever the numbers of tasks are", () => {
  const read = trace([{ id: 0, times: [0, 0, 30, 40] }, { id: 1, times: [0, 0, 10, 90] }, { id: 2, times: [0, 0, 20, 25] }]);
  assert.deepEqual([...read.order], [1, 2, 0]);
  assert.deepEqual([...read.reach], [90, 90, 90]);
});

test("a chain leads back to the start, and ends in a cycle that no run has made", () => {
  assert.deepEqual(pure.chain(trace(), 3), [3, 2, 0]);
  assert.deepEqual(pure.criticalPath(trace()), [0, 2, 3]);
  const cycle = trace([
    { id: 0, cause: "predecessor", holder: 1, times: [0, 0, 0, 1] },
    { id: 1, cause: "predecessor", holder: 0, times: [0, 0, 0, 2] },
  ]);
  assert.equal(pure.chain(cycle, 0).length, 2);
});

test("waits, loads and kernels are added up", () => {
  const read = trace();
  const told = (sums) => sums.map(({ of, tasks, time, longest }) => [of, tasks, time, longest]);
  // Generation waits for nothing, predecessors since the submission, the worker since ready.
  assert.deepEqual(told(pure.waits(read)), [[0, 1, 0, 0], [1, 2, 14 + 37, 37], [3, 1, 13, 13]]);
  assert.deepEqual(told(pure.loads(read)), [[0, 2, 35, 25], [1, 2, 13, 9]]);
  assert.deepEqual(pure.rowsOf(read), [1, 2, 1]);
  assert.deepEqual(told(pure.kernels(read)), [[1, 2, 29, 25], [0, 1, 10, 10], [2, 1, 9, 9]]);
});

test("what else took time stands on rows of its own, and counts once", () => {
  const span = (row, name, begin, end) => ({ row, name, begin, end });
  const rows = [[0, "worker 0"], [0, "worker 1"], [0, "stream 0"], [0, "AICPU 0"]];
  // Row 0 has tasks, whose time is in its load already; two launches overlap, and one goes on after the last task.
  const spans = [span(0, "lost", 0, 50), span(3, "polls", 10, 20), span(2, "G", 30, 45), span(2, "G", 40, 60), span(3, "generation", 0, 10)];
  const read = trace(TASKS, { rows, spans });
  assert.deepEqual(pure.loads(read).map(({ of, tasks, time }) => [of, tasks, time]), [[0, 2, 35], [1, 2, 13], [2, 0, 20], [3, 0, 20]]);
  assert.deepEqual(pure.runs(read.spans, 3, { from: 0, to: 50 }, 100).slice(0, 4), [0, 20, 2, 9].map((x, i) => (i === 2 ? read.spans.names.indexOf("generation") : x)));
  const at = pure.barAt(read.spans, 2, 35, 1);
  assert.deepEqual([read.spans.names[read.spans.kernel[at]], read.spans.started[at]], ["G", 30]);
  assert.equal(pure.barAt(read, 3, 15, 1), -1);
});

test("edges between kernels are counted, and give layers in which back edges count nothing", () => {
  assert.deepEqual(pure.kernelGraph(trace()), [{ from: 1, to: 2, count: 2 }, { from: 0, to: 1, count: 1 }]);
  const edges = [[0, 1], [1, 2], [0, 2], [2, 0], [2, 2]].map(([from, to]) => ({ from, to, count: 1 }));
  assert.deepEqual(pure.layers(4, edges), [0, 1, 2, 0]);
  // The edge that stands first goes forward.
  assert.deepEqual(pure.layers(2, [[1, 0], [0, 1]].map(([from, to], i) => ({ from, to, count: 9 - i }))), [1, 0]);
});

test("tasks after a task are those that have it before them", () => {
  assert.deepEqual(pure.afterOf(trace(), 1, 10), [[7], 1]);
  assert.deepEqual(pure.afterOf(trace(), 0, 0), [[], 1]);
});

test("pixels: tasks that are wide stand alone, others share pixels", () => {
  const tasks = Array.from({ length: 1000 }, (_, id) => ({ id, kernel: id % 2 === 0 ? 0 : 1, times: [0, 0, 10 * id, 10 * id + (id % 2 === 0 ? 8 : 2)] }));
  const read = trace(tasks);
  const all = pure.runs(read, 0, { from: 0, to: 10000 }, 100);
  // Ten tasks in each pixel, half of the time of one kernel longer: one run, half busy.
  assert.deepEqual(all.slice(0, 4), [0, 100, 0, 4]);
  const near = pure.runs(read, 0, { from: 100, to: 200 }, 1000);
  assert.equal(near.length / 5, 10);
  assert.deepEqual(near.slice(0, 5), [0, 80, 0, 9, 10]);
  assert.deepEqual(near.slice(5, 10), [100, 20, 1, 9, 11]);
  const pixels = (list) => list.filter((_, i) => i % 5 === 1).reduce((sum, count) => sum + count, 0);
  for (const [from, to] of [[0, 1], [5, 4321], [9000, 10000]]) {
    for (const width of [1, 7, 640]) assert.ok(pixels(pure.runs(read, 0, { from, to }, width)) <= width + 1, `${from} ${to} ${width}`);
  }
});

test("groups of tasks change no pixel", () => {
  let state = 7;
  const draw = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  let free = 0;
  const tasks = Array.from({ length: 5000 }, (_, id) => {
    const start = free + draw(9);
    free = start + draw(20);
    return { id, kernel: draw(3), row: 0, times: [0, 0, start, free] };
  });
  const read = trace(tasks);
  // Each group is one that lies in no pixel.
  const apart = { ...read, groupEnds: read.groupEnds.map(() => Infinity) };
  let differ = 0;
  for (const [from, to] of [[0, free], [100, 30000], [free / 2, free / 2 + 9000]]) {
    for (const width of [3, 40, 333]) {
      const busy = (of) => {
        const pixels = new Float64Array(width + 1);
        const all = pure.runs(of, 0, { from, to }, width);
        for (let i = 0; i < all.length; i += 5) for (let x = 0; x < all[i + 1]; x++) pixels[all[i] + x] = Math.min(8, all[i + 3]);
        return pixels;
      };
      const [one, other] = [busy(read), busy(apart)];
      one.forEach((level, x) => {
        assert.ok(Math.abs(level - other[x]) <= 1, `${from} ${to} ${width}: ${x}: ${level}, ${other[x]}`);
        differ += level !== other[x];
      });
    }
  }
  assert.ok(differ < 10, `${differ}`);
});

/** Red, green and blue of a colour of CSS, from 0 to 1. */
function parsed(hsl) {
  const [h, s, l] = hsl.match(/[\d.]+/g).map(Number);
  return [0, 8, 4].map((n) => {
    const k = (n + h / 30) % 12;
    return l / 100 - (s / 100) * Math.min(l / 100, 1 - l / 100) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

test("a lonely task of any kernel is seen on the back, light or dark", () => {
  const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  for (const [dark, back, least] of [[true, [20, 23, 27], 2.2], [false, [255, 255, 255], 1.5]]) {
    const behind = back.map((x) => x / 255);
    for (let number = 0; number < 48; number++) {
      const mixed = parsed(pure.hue(number, dark)).map((x, i) => x * pure.opacity(1) + behind[i] * (1 - pure.opacity(1)));
      const [low, high] = [luminance(mixed), luminance(behind)].sort((a, b) => a - b);
      const contrast = (high + 0.05) / (low + 0.05);
      assert.ok(contrast >= least, `${dark ? "dark" : "light"} ${number}: ${contrast}`);
    }
  }
  for (let level = 1; level < 8; level++) assert.ok(pure.opacity(level) < pure.opacity(level + 1));
});

test("a long task is seen where others that began later have ended", () => {
  const read = trace([{ id: 0, times: [0, 0, 0, 1000] }, { id: 1, kernel: 1, times: [0, 0, 10, 20] }]);
  assert.deepEqual(pure.runs(read, 0, { from: 500, to: 600 }, 10), [0, 10, 0, 9, 0]);
  assert.equal(pure.barAt(read, 0, 15, 1), 1);
  assert.equal(pure.barAt(read, 0, 500, 1), 0);
  assert.equal(pure.barAt(read, 0, 1010, 1), -1);
  assert.equal(pure.barAt(read, 0, 1010, 11), 0);
});

test("views stay within the run", () => {
  assert.deepEqual(pure.zoomed({ from: 0, to: 100 }, 0.25, 0.5, 100), { from: 12.5, to: 62.5 });
  assert.deepEqual(pure.zoomed({ from: 0, to: 100 }, 0.5, 8, 100), { from: 0, to: 100 });
  assert.deepEqual(pure.moved({ from: 10, to: 20 }, -5, 100), { from: 0, to: 10 });
  assert.deepEqual(pure.moved({ from: 10, to: 20 }, 50, 100), { from: 90, to: 100 });
  assert.deepEqual(pure.around({ from: 0, to: 10 }, 50, 52, 100), { from: 46, to: 56 });
  const deep = pure.zoomed({ from: 0, to: 1 }, 0.5, 1e-9, 100);
  assert.ok(deep.to - deep.from >= 0.01 - 1e-12);
});

test("times have units, and marks tell neighbours apart", () => {
  assert.equal(pure.shown(1234567, "cycles"), "1,234,567 cycles");
  assert.equal(pure.shown(1500, "nanoseconds"), "1.5 µs");
  assert.equal(pure.shown(12, "nanoseconds"), "12 ns");
  const texts = pure.marks({ from: 1e6, to: 1e6 + 100 }, 5, "nanoseconds").map(([, text]) => text);
  assert.equal(new Set(texts).size, texts.length);
});

test("one of a kind is singular", () => {
  assert.deepEqual([0, 1, 1234].map((number) => pure.counted(number, "row")), ["0 rows", "1 row", "1,234 rows"]);
});

test("search takes numbers, kernels, indices and rows", () => {
  const read = trace();
  const found = (query) => pure.search(read, query, 10).places.map((at) => read.id[at]);
  assert.deepEqual(found("3"), [3]);
  assert.deepEqual(found("#7"), [7]);
  assert.deepEqual(found("2"), []);
  assert.deepEqual(found("Soft"), [1, 3]);
  assert.deepEqual(found("softmax [1]"), [3]);
  assert.deepEqual(found("[0, 1]"), [1]);
  assert.deepEqual(found("worker 1"), [1, 7]);
  assert.deepEqual(found("nothing"), []);
  assert.deepEqual(found(" "), []);
  assert.deepEqual(pure.search(read, "softmax", 1), { places: [1], count: 2 });
});

test("tasks are matched by kernel and indices, else in their order", () => {
  const other = TASKS.map((task, i) => ({ ...task, id: 10 + i, last: undefined, holder: undefined, before: [] })).reverse();
  other.forEach((task, i) => (task.id = i));
  other.push({ id: 9, kernel: 0, times: [0, 0, 0, 1], indices: [9, 9] });
  const b = trace(other);
  const match = pure.matched(trace(), b);
  assert.deepEqual([...match.other], [3, 2, 1, 0]);
  assert.deepEqual([match.pairs, match.alone, match.byIndices], [4, [0, 1], true]);
  assert.deepEqual([...pure.turned(match, b.count)], [3, 2, 1, 0, -1]);
  const bare = (tasks) => trace(tasks.map((task) => ({ ...task, indices: [] })));
  const byOrder = pure.matched(bare(TASKS), bare(other));
  assert.deepEqual([...byOrder.other], [3, 1, 2, 0]);
  assert.equal(byOrder.byIndices, false);
});

test("kernels of two traces are one by their names", () => {
  const renamed = trace(TASKS, { kernels: ["softmax", "gemm", "store"].map((name) => ({ name, operations: null, bytes: null })) });
  assert.equal(pure.matched(trace(), renamed).pairs, 1);
});

test("kernels of one name have one colour in both traces", () => {
  const named = (names) => trace(TASKS, { kernels: names.map((name) => ({ name, operations: null, bytes: null })) });
  const [a, b] = [trace(), named(["store", "another", "gemm"])];
  assert.deepEqual(b.hues, [0, 1, 2]);
  pure.shareHues([a, b]);
  assert.deepEqual(a.hues, [0, 1, 2]);
  assert.deepEqual(b.hues, [2, 3, 0]);
});

test("the tasks that changed most come first", () => {
  const match = { other: Int32Array.from([0, 1, 2, -1]), pairs: 3, alone: [1, 0], byIndices: true };
  const by = [5, 0, -9];
  assert.deepEqual(pure.changed(match, (a) => by[a], 10), [2, 0]);
  assert.deepEqual(pure.changed(match, (a) => by[a], 1), [2]);
});
