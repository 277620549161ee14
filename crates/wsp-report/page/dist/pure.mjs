// Made by `cargo xtask report`: what needs no page, for tests.
// src/data.ts
var GROUP = 32;
var NONE = 4294967295;
function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
function column(planes, length, count) {
  const values = new Uint32Array(length);
  let before = 0;
  for (let i = 0; i < length; i++) {
    let folded = count > 0 ? planes[i] : 0;
    for (let plane = 1; plane < count; plane++) folded |= planes[plane * length + i] << 8 * plane;
    before = before + (folded >>> 1 ^ -(folded & 1)) | 0;
    values[i] = before;
  }
  return values;
}
function unpacked(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const columns = /* @__PURE__ */ new Map();
  let at = 4 + size;
  for (const [name, length2, planes] of head.columns) {
    columns.set(name, column(new Uint8Array(buffer, at, planes * length2), length2, planes));
    at += planes * length2;
  }
  const take = (name) => {
    const found = columns.get(name) ?? new Uint32Array(0);
    columns.delete(name);
    return found;
  };
  const count = head.tasks;
  const wide = (name) => {
    const low = new Float64Array(take(name));
    const high = take(`${name}.high`);
    for (let i = 0; i < high.length; i++) low[i] += high[i] * 2 ** 32;
    return low;
  };
  const [started, queued, waited2, length] = [wide("started"), wide("queued"), wide("waited"), wide("length")];
  const times = { submitted: new Float64Array(count), ready: new Float64Array(count), ended: new Float64Array(count) };
  let end = 0;
  for (let t = 0; t < count; t++) {
    times.ready[t] = started[t] - waited2[t];
    times.submitted[t] = times.ready[t] - queued[t];
    times.ended[t] = started[t] + length[t];
    if (times.ended[t] > end) end = times.ended[t];
  }
  const id = take("id");
  const other = (name) => {
    const of = take(name);
    for (let t = 0; t < count; t++) of[t] = of[t] === 0 ? NONE : id[t] - of[t];
    return of;
  };
  const ends = (counts) => {
    for (let t = 1; t < counts.length; t++) counts[t] += counts[t - 1];
    return counts;
  };
  const beforeEnds = ends(take("before.count"));
  const before = take("before");
  for (let t = 0, i = 0; t < beforeEnds.length; t++) for (; i < beforeEnds[t]; i++) before[i] = id[t] - before[i];
  const [kernel, row, cause] = [take("kernel"), take("row"), take("cause")];
  const [last, holder] = [other("last"), other("holder")];
  const [indexEnds, indices] = [ends(take("index.count")), take("index")];
  const rows = byRow(row, started, times.ended, head.rows.length);
  const parts = { id, kernel, row, cause, last, holder, started, indexEnds, indices, beforeEnds, before };
  const hues = head.kernels.map((_, kernel2) => kernel2);
  const spans = spansOf(head.spans, head.rows.length);
  return { ...head, hues, spans, ...parts, ...times, ...rows, numbers: columns, count, end };
}
function spansOf(spans, rows) {
  const names = [...new Set(spans.map(({ name }) => name))];
  const numbers = new Map(names.map((name, number) => [name, number]));
  const kernel = Uint32Array.from(spans, ({ name }) => numbers.get(name));
  const row = Uint32Array.from(spans, (span) => span.row);
  const [started, ended] = [Float64Array.from(spans, ({ begin }) => begin), Float64Array.from(spans, ({ end }) => end)];
  return { names, kernel, row, started, ended, ...byRow(row, started, ended, rows) };
}
function shareHues(traces) {
  const numbers = /* @__PURE__ */ new Map();
  for (const trace of traces) {
    trace.hues = trace.kernels.map(({ name }) => {
      const number = numbers.get(name) ?? numbers.size;
      numbers.set(name, number);
      return number;
    });
  }
}
function byRow(row, started, ended, rows) {
  const rowStarts = new Uint32Array(rows + 1);
  for (let t = 0; t < row.length; t++) rowStarts[row[t] + 1]++;
  for (let r = 0; r < rows; r++) rowStarts[r + 1] += rowStarts[r];
  const next = rowStarts.slice();
  const order = new Uint32Array(row.length);
  for (let t = 0; t < row.length; t++) order[next[row[t]]++] = t;
  const reach = new Float64Array(row.length);
  for (let r = 0; r < rows; r++) {
    const own = order.subarray(rowStarts[r], rowStarts[r + 1]);
    let isSorted = true;
    for (let i = 1; i < own.length && isSorted; i++) isSorted = started[own[i - 1]] <= started[own[i]];
    if (!isSorted) own.sort((a, b) => started[a] - started[b] || a - b);
    let far = 0;
    for (let i = 0; i < own.length; i++) {
      far = Math.max(far, ended[own[i]]);
      reach[rowStarts[r] + i] = far;
    }
  }
  return { order, rowStarts, reach, ...grouped(order, rowStarts, started, ended) };
}
function grouped(order, rowStarts, started, ended) {
  const rows = rowStarts.length - 1;
  const groupStarts = new Uint32Array(rows + 1);
  for (let r = 0; r < rows; r++) groupStarts[r + 1] = groupStarts[r] + Math.ceil((rowStarts[r + 1] - rowStarts[r]) / GROUP);
  const count = groupStarts[rows];
  const [groupEnds, groupBusy, groupLongest] = [new Float64Array(count), new Float64Array(count), new Uint32Array(count)];
  for (let r = 0; r < rows; r++) {
    for (let i = rowStarts[r]; i < rowStarts[r + 1]; i++) {
      const task = order[i];
      const group = groupStarts[r] + Math.floor((i - rowStarts[r]) / GROUP);
      const length = ended[task] - started[task];
      const longest = groupLongest[group];
      const isFirst = (i - rowStarts[r]) % GROUP === 0;
      groupEnds[group] = Math.max(groupEnds[group], ended[task]);
      groupBusy[group] += length;
      if (isFirst || length >= ended[longest] - started[longest]) groupLongest[group] = task;
    }
  }
  return { groupStarts, groupEnds, groupBusy, groupLongest };
}
function place(trace, id) {
  if (trace.id[id] === id) return id;
  let [low, high] = [0, trace.count];
  while (low < high) {
    const middle = low + high >> 1;
    if (trace.id[middle] < id) low = middle + 1;
    else high = middle;
  }
  return trace.id[low] === id ? low : -1;
}
function indicesOf(trace, at) {
  return listOf(trace.indexEnds, trace.indices, at);
}
function beforeOf(trace, at) {
  const all = listOf(trace.beforeEnds, trace.before, at);
  return all.length === 0 && trace.last[at] !== NONE ? trace.last.subarray(at, at + 1) : all;
}
function listOf(ends, values, at) {
  return values.subarray(at === 0 ? 0 : ends[at - 1] ?? 0, ends[at] ?? 0);
}

// src/difference.ts
function matched(a, b) {
  const byIndices = a.indices.length > 0 && b.indices.length > 0;
  const names = /* @__PURE__ */ new Map();
  for (const { name } of [...a.kernels, ...b.kernels]) if (!names.has(name)) names.set(name, names.size);
  const hash = (trace, t) => {
    let mixed = names.get(trace.kernels[trace.kernel[t]].name);
    if (byIndices) for (const index of indicesOf(trace, t)) mixed = Math.imul(mixed, 2654435761) + index | 0;
    return mixed;
  };
  const same = (x, y) => {
    if (a.kernels[a.kernel[x]].name !== b.kernels[b.kernel[y]].name) return false;
    if (!byIndices) return true;
    const [of, to] = [indicesOf(a, x), indicesOf(b, y)];
    return of.length === to.length && of.every((index, i) => index === to[i]);
  };
  const first = /* @__PURE__ */ new Map();
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
    while (y >= 0 && !same(x, y)) [before, y] = [y, next[y]];
    if (y < 0) continue;
    other[x] = y;
    pairs++;
    if (before >= 0) next[before] = next[y];
    else first.set(key, next[y]);
  }
  return { other, pairs, alone: [a.count - pairs, b.count - pairs], byIndices };
}
function changed(match, value, most) {
  const top = [];
  for (let x = 0; x < match.other.length; x++) {
    const y = match.other[x];
    const by = y < 0 ? 0 : Math.abs(value(x, y));
    if (by === 0 || top.length === most && by <= top[most - 1][0]) continue;
    let at = top.length;
    while (at > 0 && top[at - 1][0] < by) at--;
    top.splice(at, 0, [by, x]);
    if (top.length > most) top.pop();
  }
  return top.map(([, x]) => x);
}
function turned(match, count) {
  const other = new Int32Array(count).fill(-1);
  match.other.forEach((y, x) => {
    if (y >= 0) other[y] = x;
  });
  return other;
}

// src/dom.ts
function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
function hue(number, dark = isDark()) {
  const lightness = (dark ? 62 : 42) + (number >> 3) % 3 * (dark ? 8 : 6);
  return `hsl(${(205 + number * 137.508) % 360} ${dark ? 55 : 58}% ${lightness}%)`;
}

// src/facts.ts
function holderOf(trace, at) {
  const id = trace.holder[at];
  return id === NONE ? -1 : place(trace, id);
}
function chain(trace, at) {
  const places = [];
  for (let t = at; t >= 0 && places.length < trace.count; t = holderOf(trace, t)) places.push(t);
  return places;
}
function criticalPath(trace) {
  let last = -1;
  for (let t = 0; t < trace.count; t++) if (last < 0 || trace.ended[t] > trace.ended[last]) last = t;
  return last < 0 ? [] : chain(trace, last).reverse();
}
function waited(trace, at) {
  switch (trace.causes[trace.cause[at]]) {
    case "predecessor":
    case "batch":
    case "unrecorded":
      return trace.ready[at] - trace.submitted[at];
    case "worker":
    case "gate":
    case "start":
      return trace.started[at] - trace.ready[at];
    default:
      return 0;
  }
}
function sums(count, trace, by, time) {
  const all = Array.from({ length: count }, (_, of) => ({ of, tasks: 0, time: 0, longest: 0 }));
  for (let t = 0; t < trace.count; t++) {
    const sum = all[by(t)];
    const more = time(t);
    sum.tasks++;
    sum.time += more;
    if (more > sum.longest) sum.longest = more;
  }
  return all.filter((sum) => sum.tasks > 0);
}
function waits(trace) {
  return sums(trace.causes.length, trace, (t) => trace.cause[t], (t) => waited(trace, t));
}
function loads(trace) {
  const tasks = sums(trace.rows.length, trace, (t) => trace.row[t], (t) => trace.ended[t] - trace.started[t]);
  return [...tasks, ...otherLoads(trace)];
}
function otherLoads({ spans, rowStarts, end }) {
  const all = [];
  for (let row = 0; row + 1 < spans.rowStarts.length; row++) {
    const [begin, stop] = [spans.rowStarts[row], spans.rowStarts[row + 1]];
    if (begin === stop || rowStarts[row] !== rowStarts[row + 1]) continue;
    const sum = { of: row, tasks: 0, time: 0, longest: 0 };
    let far = 0;
    for (let i = begin; i < stop; i++) {
      const [from, to] = [Math.max(far, spans.started[spans.order[i]]), Math.min(end, spans.ended[spans.order[i]])];
      sum.time += Math.max(0, to - from);
      sum.longest = Math.max(sum.longest, to - from);
      far = Math.max(far, to);
    }
    all.push(sum);
  }
  return all;
}
function kernels(trace) {
  const all = sums(trace.kernels.length, trace, (t) => trace.kernel[t], (t) => trace.ended[t] - trace.started[t]);
  return all.sort((a, b) => b.time - a.time || a.of - b.of);
}
function rowsOf(trace) {
  const rows = trace.kernels.map(() => /* @__PURE__ */ new Set());
  for (let t = 0; t < trace.count; t++) rows[trace.kernel[t]].add(trace.row[t]);
  return rows.map((of) => of.size);
}
function kernelGraph(trace) {
  const counts = /* @__PURE__ */ new Map();
  const size = trace.kernels.length;
  for (let t = 0; t < trace.count; t++) {
    for (const id of beforeOf(trace, t)) {
      const from = place(trace, id);
      if (from < 0) continue;
      const pair = trace.kernel[from] * size + trace.kernel[t];
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  const all = [...counts].map(([pair, count]) => ({ from: Math.floor(pair / size), to: pair % size, count }));
  return all.sort((a, b) => b.count - a.count || a.from - b.from || a.to - b.to);
}
function layers(count, edges) {
  const next = Array.from({ length: count }, () => []);
  const reaches = (from, to) => {
    const seen = /* @__PURE__ */ new Set([from]);
    for (const node of seen) for (const after of next[node]) seen.add(after);
    return seen.has(to);
  };
  const layer = new Array(count).fill(0);
  const push = (node) => {
    for (const after of next[node]) {
      if (layer[after] > layer[node]) continue;
      layer[after] = layer[node] + 1;
      push(after);
    }
  };
  for (const { from, to } of edges) {
    if (from === to || reaches(to, from)) continue;
    next[from].push(to);
    push(from);
  }
  return layer;
}
function afterOf(trace, at, most) {
  const id = trace.id[at];
  const found = [];
  let count = 0;
  for (let t = 0; t < trace.count; t++) {
    if (!beforeOf(trace, t).includes(id)) continue;
    if (found.length < most) found.push(trace.id[t]);
    count++;
  }
  return [found, count];
}

// src/search.ts
function search(trace, query, most) {
  const text = query.trim().toLowerCase();
  if (text === "") return { places: [], count: 0 };
  if (/^#?\d+$/.test(text)) {
    const at = place(trace, Number(text.replace("#", "")));
    return { places: at < 0 ? [] : [at], count: at < 0 ? 0 : 1 };
  }
  const bracket = /\[([\d\s,]*)\]/.exec(text);
  const indices = (bracket?.[1] ?? "").split(/[\s,]+/).filter((part) => part !== "").map(Number);
  const words = text.replace(/\[[^\]]*\]?/, " ").trim();
  const kernels2 = trace.kernels.map(({ name }) => name.toLowerCase().includes(words));
  const isKernel = kernels2.includes(true);
  const rows = trace.rows.map(([, name]) => !isKernel && name.toLowerCase().includes(words));
  const found = { places: [], count: 0 };
  for (let t = 0; t < trace.count; t++) {
    if (!(isKernel ? kernels2[trace.kernel[t]] : rows[trace.row[t]])) continue;
    if (indices.length > 0) {
      const own = indicesOf(trace, t);
      if (!indices.every((index, i) => own[i] === index)) continue;
    }
    if (found.places.length < most) found.places.push(t);
    found.count++;
  }
  return found;
}

// node_modules/d3-array/src/ticks.js
var e10 = Math.sqrt(50);
var e5 = Math.sqrt(10);
var e2 = Math.sqrt(2);
function tickSpec(start, stop, count) {
  const step = (stop - start) / Math.max(0, count), power = Math.floor(Math.log10(step)), error = step / Math.pow(10, power), factor = error >= e10 ? 10 : error >= e5 ? 5 : error >= e2 ? 2 : 1;
  let i1, i2, inc;
  if (power < 0) {
    inc = Math.pow(10, -power) / factor;
    i1 = Math.round(start * inc);
    i2 = Math.round(stop * inc);
    if (i1 / inc < start) ++i1;
    if (i2 / inc > stop) --i2;
    inc = -inc;
  } else {
    inc = Math.pow(10, power) * factor;
    i1 = Math.round(start / inc);
    i2 = Math.round(stop / inc);
    if (i1 * inc < start) ++i1;
    if (i2 * inc > stop) --i2;
  }
  if (i2 < i1 && 0.5 <= count && count < 2) return tickSpec(start, stop, count * 2);
  return [i1, i2, inc];
}
function ticks(start, stop, count) {
  stop = +stop, start = +start, count = +count;
  if (!(count > 0)) return [];
  if (start === stop) return [start];
  const reverse = stop < start, [i1, i2, inc] = reverse ? tickSpec(stop, start, count) : tickSpec(start, stop, count);
  if (!(i2 >= i1)) return [];
  const n = i2 - i1 + 1, ticks2 = new Array(n);
  if (reverse) {
    if (inc < 0) for (let i = 0; i < n; ++i) ticks2[i] = (i2 - i) / -inc;
    else for (let i = 0; i < n; ++i) ticks2[i] = (i2 - i) * inc;
  } else {
    if (inc < 0) for (let i = 0; i < n; ++i) ticks2[i] = (i1 + i) / -inc;
    else for (let i = 0; i < n; ++i) ticks2[i] = (i1 + i) * inc;
  }
  return ticks2;
}
function tickIncrement(start, stop, count) {
  stop = +stop, start = +start, count = +count;
  return tickSpec(start, stop, count)[2];
}
function tickStep(start, stop, count) {
  stop = +stop, start = +start, count = +count;
  const reverse = stop < start, inc = reverse ? tickIncrement(stop, start, count) : tickIncrement(start, stop, count);
  return (reverse ? -1 : 1) * (inc < 0 ? 1 / -inc : inc);
}

// src/view.ts
function bounded(view, end) {
  const length = Math.min(Math.max(view.to - view.from, 0.01), Math.max(end, 1));
  const from = Math.min(Math.max(view.from, 0), Math.max(end, 1) - length);
  return { from, to: from + length };
}
function zoomed(view, share, factor, end) {
  const length = view.to - view.from;
  const at = view.from + share * length;
  const from = at - share * length * factor;
  return bounded({ from, to: from + length * factor }, end);
}
function moved(view, share, end) {
  const by = share * (view.to - view.from);
  return bounded({ from: view.from + by, to: view.to + by }, end);
}
function around(view, from, to, end) {
  const length = Math.max(view.to - view.from, (to - from) * 3);
  const middle = (from + to) / 2;
  return bounded({ from: middle - length / 2, to: middle + length / 2 }, end);
}
function runs(bars, row, view, width) {
  const scale = width / (view.to - view.from);
  const { order, rowStarts, reach, started, ended, kernel } = bars;
  const all = [];
  let [pixel, busy, longest, shown2] = [-1, 0, 0, -1];
  const push = (x, count, of, level, task) => {
    const at = all.length - 5;
    if (at >= 0 && level < 9 && all[at] + all[at + 1] === x && all[at + 2] === of && all[at + 3] === level) {
      all[at + 1] += count;
    } else {
      all.push(x, count, of, level, task);
    }
  };
  const flush = () => {
    if (pixel >= 0) push(pixel, 1, kernel[shown2], Math.max(1, Math.min(8, Math.round(busy * 8))), shown2);
    [pixel, busy, longest] = [-1, 0, 0];
  };
  const [begin, stop] = [rowStarts[row], rowStarts[row + 1]];
  for (let i = firstAfter(reach, begin, stop, view.from); i < stop; i++) {
    const task = order[i];
    if (started[task] >= view.to) break;
    if ((i - begin) % GROUP === 0 && started[task] >= view.from) {
      const group = bars.groupStarts[row] + (i - begin) / GROUP;
      const x2 = Math.floor((started[task] - view.from) * scale);
      if (x2 < width && Math.floor((bars.groupEnds[group] - view.from) * scale) === x2) {
        if (x2 !== pixel) flush();
        pixel = x2;
        busy += bars.groupBusy[group] * scale;
        const most = bars.groupLongest[group];
        const wide = (ended[most] - started[most]) * scale;
        if (wide >= longest) [longest, shown2] = [wide, most];
        i += GROUP - 1;
        continue;
      }
    }
    const from = Math.max((started[task] - view.from) * scale, 0);
    const to = Math.min((ended[task] - view.from) * scale, width);
    if (to < 0) continue;
    const x = Math.min(Math.floor(from), width - 1);
    if (to - from >= 2) {
      flush();
      const first = Math.round(from);
      all.push(first, Math.max(1, Math.round(to) - first), kernel[task], 9, task);
      continue;
    }
    if (x !== pixel) {
      flush();
      pixel = x;
    }
    busy += to - from;
    if (to - from >= longest) [longest, shown2] = [to - from, task];
  }
  flush();
  return all;
}
function opacity(level) {
  return Math.min(1, 0.66 + level * 0.04);
}
function firstAfter(values, from, to, limit) {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = low + high >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
function barAt(bars, row, time, tolerance) {
  const { order, rowStarts, reach, started, ended } = bars;
  const stop = rowStarts[row + 1] ?? 0;
  let [best, distance] = [-1, Infinity];
  for (let i = firstAfter(reach, rowStarts[row] ?? 0, stop, time - tolerance); i < stop; i++) {
    const task = order[i];
    if (started[task] > time + tolerance) break;
    const off = Math.max(started[task] - time, time - ended[task], 0);
    if (off < distance || off === 0 && started[task] >= started[best]) [best, distance] = [task, off];
  }
  return distance <= tolerance ? best : -1;
}
function marks(view, count, clock) {
  const step = tickStep(view.from, view.to, count);
  return ticks(view.from, view.to, count).map((time) => [time, shown(time, clock, step)]);
}
function counted(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}
var UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "\xB5s"],
  [1, "ns"]
];
function shown(time, clock, step) {
  if (clock === "cycles") {
    const digits2 = step !== void 0 && step < 1 ? 2 : 0;
    const number = time.toLocaleString("en", { maximumFractionDigits: digits2 });
    return step === void 0 ? `${number} cycles` : number;
  }
  const size = Math.max(Math.abs(time), step ?? 0);
  const [unit, name] = UNITS.find(([unit2]) => size >= unit2) ?? [1, "ns"];
  const digits = step === void 0 ? unit === 1 ? 0 : 3 : Math.min(6, Math.max(0, Math.ceil(Math.log10(unit / step))));
  return `${(time / unit).toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: digits })} ${name}`;
}
export {
  GROUP,
  NONE,
  afterOf,
  around,
  barAt,
  beforeOf,
  bounded,
  bytesOf,
  chain,
  changed,
  counted,
  criticalPath,
  holderOf,
  hue,
  indicesOf,
  inflated,
  kernelGraph,
  kernels,
  layers,
  loads,
  marks,
  matched,
  moved,
  opacity,
  place,
  rowsOf,
  runs,
  search,
  shareHues,
  shown,
  turned,
  unpacked,
  waited,
  waits,
  zoomed
};
