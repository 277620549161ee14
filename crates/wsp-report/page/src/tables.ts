// The parts of the page below the timeline.

import type { Trace } from "./data.ts";
import { changed, type Match } from "./difference.ts";
import { drawn, element, hue, section, table } from "./dom.ts";
import { criticalPath, kernelGraph, kernels, layers, loads, rowsOf, waits, type Sum } from "./facts.ts";
import { counted, shown } from "./view.ts";

/** Rows of a table, kernels of a drawing. */
const [MOST_ROWS, MOST_NODES] = [100, 40];

const many = (count: number): string => count.toLocaleString("en");

const percent = (part: number, of: number): string => (of > 0 ? `${((100 * part) / of).toFixed(1)} %` : "");

/** Operations per second. */
function perSecond(rate: number): string {
  const [unit, name] = rate >= 1e12 ? [1e12, "T"] : rate >= 1e9 ? [1e9, "G"] : [1e6, "M"];
  return `${Number((rate / unit).toPrecision(3))} ${name}/s`;
}

/** A bar as long as a share. */
function bar(share: number, background = ""): HTMLElement {
  const style = `width:${(100 * Math.min(1, share)).toFixed(1)}%${background === "" ? "" : `;background:${background}`}`;
  return element("span", { class: "bar" }, element("span", { style }));
}

/** The colours of timelines: kernels, each once, and what else took time. */
export function legend(traces: Trace[]): HTMLElement[] {
  const entry = (name: string, background: string): HTMLElement =>
    element("span", {}, element("i", { style: `background:${background}` }), name);
  const names = new Map(traces.flatMap((trace) => trace.kernels.map(({ name }, kernel): [string, number] => [name, trace.hues[kernel]!])));
  const shown = [...names].slice(0, MOST_NODES).map(([name, number]) => entry(name, hue(number)));
  if (names.size > MOST_NODES) shown.push(element("span", {}, `and ${counted(names.size - MOST_NODES, "kernel")} more`));
  const others = traces.some((trace) => trace.spans.names.length > 0) ? [entry("no task", "var(--dim)")] : [];
  return [...shown, ...others];
}

/** What the page is about. */
export function overview(traces: Trace[]): HTMLElement[] {
  return traces.map((trace, at) => {
    const machine = trace.machine === null ? "" : ` · ${trace.machine.name}`;
    const rows = loads(trace).filter((load) => load.tasks > 0).length;
    const facts = `${shown(trace.end, trace.clock)} · ${counted(trace.count, "task")} on ${counted(rows, "row")}${machine} · program ${trace.key ?? "not known"}`;
    const name = traces.length > 1 ? `${"AB"[at]}: ${trace.name}` : trace.name;
    return element("div", {}, element("h1", {}, name), element("p", { class: "dim" }, `${trace.processes.join(", ")} · ${facts}`));
  });
}

/** Critical path, waits, loads and channels of a trace. */
export function sections(trace: Trace, name: string, select: (place: number) => void): HTMLElement[] {
  const time = (value: number): string => shown(value, trace.clock);
  const path = criticalPath(trace);
  const on = new Map<number, Sum>();
  for (const at of path) {
    const sum = on.get(trace.kernel[at]!) ?? { of: trace.kernel[at]!, tasks: 0, time: 0, longest: 0 };
    const took = trace.ended[at]! - trace.started[at]!;
    on.set(sum.of, { ...sum, tasks: sum.tasks + 1, time: sum.time + took, longest: Math.max(sum.longest, took) });
  }
  const busy = [...on.values()].reduce((all, sum) => all + sum.time, 0);
  const last = element("button", { class: "task" }, "its last task");
  last.addEventListener("click", () => select(path.at(-1) ?? -1));
  const critical = [...on.values()].sort((a, b) => b.time - a.time || a.of - b.of).map((sum) =>
    [trace.kernels[sum.of]!.name, many(sum.tasks), time(sum.time), bar(sum.time / trace.end, hue(trace.hues[sum.of]!))]);
  const by = waits(trace);
  const most = Math.max(1, ...by.map((sum) => sum.time));
  const causes = by.map((sum) => [trace.causes[sum.of]!, many(sum.tasks), time(sum.time), bar(sum.time / most)]);
  const rows = loads(trace);
  // Rows of workers and rows of what else took time: as many of either.
  const seen = [true, false].flatMap((hasTasks) => rows.filter((load) => load.tasks > 0 === hasTasks).slice(0, MOST_ROWS));
  const load = seen.map((sum) =>
    [trace.rows[sum.of]![1], sum.tasks > 0 ? many(sum.tasks) : "", percent(sum.time, trace.end), bar(trace.end > 0 ? sum.time / trace.end : 0)]);
  const channels = trace.channels.slice(0, MOST_ROWS).map((of) =>
    [of.name, `${of.sender} to ${of.receiver}`, many(of.tokens), `${many(of.fullest)} of ${many(of.depth)}`, time(of.senderWaited), time(of.receiverWaited)]);
  const others = trace.channels.length > channels.length ? [`and ${counted(trace.channels.length - channels.length, "channel")} more`] : [];
  const more = rows.length > seen.length ? [`and ${counted(rows.length - seen.length, "row")} more`] : [];
  return [
    section(`Critical path${name}`, element("p", {}, `${counted(path.length, "task")}, ${time(busy)} of ${time(trace.end)} in ${path.length === 1 ? "it" : "them"}; `, last),
      table(["kernel", "tasks", "time", ""], critical)),
    section(`Waits by cause${name}`, table(["cause", "tasks", "waited", ""], causes)),
    section(`Load${name}`, table(["row", "tasks", "busy", ""], load), ...more),
    ...(channels.length > 0
      ? [section(`Channels${name}`, table(["channel", "", "tokens", "slots in use", "sender waited", "receiver waited"], channels), ...others)]
      : []),
  ];
}

/** Kernels with their work, and where they lie below the roof. */
export function roofline(trace: Trace): HTMLElement {
  const { machine } = trace;
  const seconds = (time: number): number | null =>
    trace.clock === "nanoseconds" ? time / 1e9 : machine === null || machine.hz === 0 ? null : time / machine.hz;
  const points: { of: number; intensity: number; rate: number }[] = [];
  const on = rowsOf(trace);
  const rows = kernels(trace).map((sum) => {
    const { name, operations, bytes } = trace.kernels[sum.of]!;
    const time = (value: number): string => shown(value, trace.clock);
    const took = seconds(sum.time);
    const start = [name, many(sum.tasks), time(sum.time), time(sum.time / sum.tasks), time(sum.longest)];
    if (operations === null || bytes === null || took === null || took === 0) return [...start, "not known", "", ""];
    const [intensity, rate] = [operations / Math.max(bytes, 1), (operations / took) * on[sum.of]!];
    if (operations > 0 && bytes > 0) points.push({ of: sum.of, intensity, rate });
    const roof = machine === null ? "" : percent(rate, Math.min(machine.operations, intensity * machine.bytes));
    return [...start, intensity.toFixed(2), perSecond(rate), roof];
  });
  const all = table(["kernel", "tasks", "time", "mean", "longest", "operations per byte", "rate of its rows", "of the roof"], rows);
  if (machine === null || points.length === 0) {
    const why = points.length === 0
      ? "Operations and bytes of the kernels are not known: a trace of `wsp sim --model` has those of kernels without a `cost`."
      : "The roof is not known: the trace names no machine model.";
    return element("div", {}, element("p", { class: "dim" }, why), all);
  }
  return element("div", {}, plot(trace, points, machine.operations, machine.bytes), all);
}

function plot(trace: Trace, points: { of: number; intensity: number; rate: number }[], peak: number, bandwidth: number): SVGElement {
  const [width, height, left, bottom] = [560, 260, 62, 34];
  const xs = [...points.map((p) => p.intensity), peak / bandwidth].map(Math.log10);
  const ys = [...points.map((p) => p.rate), peak].map(Math.log10);
  const [x0, x1] = [Math.floor(Math.min(...xs) - 0.3), Math.ceil(Math.max(...xs) + 0.3)];
  const [y0, y1] = [Math.floor(Math.min(...ys) - 0.3), Math.ceil(Math.max(...ys) + 0.1)];
  const x = (value: number): number => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 20);
  const y = (value: number): number => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - bottom - 10);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": "Roofline of kernels" });
  for (let e = x0; e <= x1; e++) {
    svg.append(drawn("line", { x1: x(10 ** e), x2: x(10 ** e), y1: 10, y2: height - bottom, class: "grid" }),
      drawn("text", { x: x(10 ** e), y: height - bottom + 14, "text-anchor": "middle" }, String(10 ** e)));
  }
  for (let e = y0; e <= y1; e++) {
    svg.append(drawn("line", { x1: left, x2: width - 20, y1: y(10 ** e), y2: y(10 ** e), class: "grid" }),
      drawn("text", { x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, perSecond(10 ** e)));
  }
  const low = 10 ** x0;
  const roof = [[low, Math.max(low * bandwidth, 10 ** y0)], [peak / bandwidth, peak], [10 ** x1, peak]];
  svg.append(drawn("polyline", { points: roof.map(([i, r]) => `${x(i!)},${y(r!)}`).join(" "), class: "roof" }),
    drawn("text", { x: (width + left) / 2, y: height - 4, "text-anchor": "middle" }, "operations per byte; operations per second of the rows that ran the kernel"));
  for (const point of points) {
    const [cx, cy] = [x(point.intensity), y(point.rate)];
    svg.append(drawn("circle", { cx, cy, r: 5, fill: hue(trace.hues[point.of]!) }), drawn("text", { x: cx + 8, y: cy + 4 }, trace.kernels[point.of]!.name));
  }
  return svg;
}

/** Kernels in layers, with the number of edges between their tasks. */
export function graph(trace: Trace): HTMLElement {
  const edges = kernelGraph(trace);
  const what = trace.allEdges ? "edges" : "edges from the last task before each";
  const shownEdges = edges.slice(0, MOST_ROWS);
  const rows = shownEdges.map((edge) => [trace.kernels[edge.from]!.name, trace.kernels[edge.to]!.name, many(edge.count)]);
  const list = table(["from", "to", what], rows);
  const more = edges.length > MOST_ROWS ? [`and ${counted(edges.length - MOST_ROWS, "pair")} more`] : [];
  const used = kernels(trace).map((sum) => sum.of);
  if (used.length > MOST_NODES) return element("div", {}, `${many(used.length)} kernels, too many to draw.`, list, ...more);
  return element("div", {}, element("div", { class: "scroll" }, drawnGraph(trace, used, edges)), list, ...more);
}

function drawnGraph(trace: Trace, used: number[], edges: { from: number; to: number; count: number }[]): SVGElement {
  const number = new Map(used.map((kernel, at) => [kernel, at]));
  const inner = edges.map((edge) => ({ from: number.get(edge.from)!, to: number.get(edge.to)!, count: edge.count }));
  const layer = layers(used.length, inner);
  const columns: number[][] = [];
  layer.forEach((of, node) => (columns[of] ??= []).push(node));
  const longest = Math.max(...used.map((kernel) => trace.kernels[kernel]!.name.length));
  const [step, across] = [54, Math.max(90, longest * 7 + 40)];
  // The numbers of edges stand between the boxes.
  const gap = 20 + 6.5 * Math.max(4, ...edges.map((edge) => many(edge.count).length));
  const widest = Math.max(...columns.map((column) => column?.length ?? 0));
  const [width, height] = [columns.length * (across + gap), widest * step + 30];
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, style: `width:${width}px`, class: "graph", role: "img", "aria-label": "Kernels and edges between their tasks" });
  const center = (node: number): [number, number] => {
    const column = columns[layer[node]!]!;
    return [layer[node]! * (across + gap) + across / 2, (column.indexOf(node) + 0.5 + (widest - column.length) / 2) * step + 15];
  };
  for (const edge of inner) {
    const [[x0, y0], [x1, y1]] = [center(edge.from), center(edge.to)];
    const isBack = layer[edge.from]! >= layer[edge.to]!;
    const [from, to] = isBack ? [x0, x1] : [x0 + across / 2, x1 - across / 2];
    const [bend, top] = isBack ? [24, -16] : [(to - from) / 2, 0];
    const path = isBack
      ? `M${from} ${y0 - 14} C${from + bend} ${y0 - 14 + top * 1.6} ${to - bend} ${y1 - 14 + top * 1.6} ${to} ${y1 - 14}`
      : `M${from} ${y0} C${from + bend} ${y0} ${to - bend} ${y1} ${to} ${y1}`;
    const [tx, ty] = isBack ? [(from + to) / 2, (y0 + y1) / 2 - 24] : between([from, y0], [to, y1], layer[edge.to]! - layer[edge.from]!, across + gap);
    svg.append(drawn("path", { d: path, class: isBack ? "edge back" : "edge" }), drawn("text", { x: tx, y: ty, "text-anchor": "middle", class: "count" }, many(edge.count)));
  }
  used.forEach((kernel, node) => {
    const [x, y] = center(node);
    svg.append(drawn("rect", { x: x - across / 2, y: y - 14, width: across, height: 28, rx: 5, class: "node", stroke: hue(trace.hues[kernel]!) }),
      drawn("text", { x, y: y + 4, "text-anchor": "middle" }, trace.kernels[kernel]!.name));
  });
  return svg;
}

/** Where the number of an edge stands that goes through so many gaps between layers: on the edge, in the gap that is nearest to its middle. */
function between([x0, y0]: [number, number], [x1, y1]: [number, number], gaps: number, step: number): [number, number] {
  const x = (x0 + x1) / 2 + (gaps % 2 === 0 ? step / 2 : 0);
  // The curve is a cubic one, whose inner points lie in the middle between the ends.
  const share = (x - x0) / (x1 - x0);
  let [low, high] = [0, 1];
  for (let i = 0; i < 20; i++) {
    const t = (low + high) / 2;
    if (1.5 * t * (1 - t) + t ** 3 < share) low = t;
    else high = t;
  }
  return [x, y0 + (y1 - y0) * low * low * (3 - 2 * low) - 3];
}

/** What is another in the second trace. */
export function differences(a: Trace, b: Trace, match: Match, select: (place: number) => void): HTMLElement {
  const time = (value: number): string => shown(value, a.clock);
  const change = (from: number, to: number): string => {
    const by = from > 0 ? ` (${to >= from ? "+" : "−"}${Math.abs((to / from - 1) * 100).toFixed(1)} %)` : "";
    return from === to ? "the same" : `${to >= from ? "+" : "−"}${time(Math.abs(to - from))}${by}`;
  };
  const merged = (of: Sum[], to: Sum[], names: [(of: number) => string, (of: number) => string]): string[][] => {
    const second = new Map(to.map((sum) => [names[1](sum.of), sum]));
    const rows = of.map((sum) => {
      const name = names[0](sum.of);
      const other = second.get(name);
      second.delete(name);
      return [name, many(sum.tasks), many(other?.tasks ?? 0), time(sum.time), time(other?.time ?? 0), change(sum.time, other?.time ?? 0)];
    });
    for (const [name, sum] of second) rows.push([name, "0", many(sum.tasks), time(0), time(sum.time), change(0, sum.time)]);
    return rows;
  };
  const heading = ["", "tasks of A", "of B", "time in A", "in B", "change"];
  const kernelNames: [(of: number) => string, (of: number) => string] = [(of) => a.kernels[of]!.name, (of) => b.kernels[of]!.name];
  const causeNames: [(of: number) => string, (of: number) => string] = [(of) => a.causes[of]!, (of) => b.causes[of]!];
  const length = (of: Trace, at: number): number => of.ended[at]! - of.started[at]!;
  const list = (value: (x: number, y: number) => number): HTMLElement => {
    const rows = changed(match, value, 20).map((x) => {
      const y = match.other[x]!;
      const task = element("button", { class: "task" }, `${a.id[x]} ${a.kernels[a.kernel[x]!]!.name}`);
      task.addEventListener("click", () => select(x));
      return [task, change(length(a, x), length(b, y)), change(a.started[x]!, b.started[y]!), `${a.causes[a.cause[x]!]}, ${b.causes[b.cause[y]!]}`];
    });
    return rows.length === 0 ? element("p", { class: "dim" }, "none") : table(["task of A", "its time", "its start", "causes"], rows);
  };
  const how = match.byIndices ? "by kernel and indices" : "by kernel and order: indices are not known";
  const all = section("Difference",
    element("p", {}, `B ends ${change(a.end, b.end)}. ${counted(match.pairs, "task")} ${match.pairs === 1 ? "is" : "are"} in both, matched ${how}; in A alone ${many(match.alone[0])}, in B alone ${many(match.alone[1])}.`),
    element("h3", {}, "Kernels"), table(heading, merged(kernels(a), kernels(b), kernelNames)),
    element("h3", {}, "Waits"), table(heading, merged(waits(a), waits(b), causeNames)),
    element("h3", {}, "Tasks that took longer or shorter"), list((x, y) => length(b, y) - length(a, x)),
    element("h3", {}, "Tasks that started later or earlier"), list((x, y) => b.started[y]! - a.started[x]!));
  all.className = "all";
  return all;
}
