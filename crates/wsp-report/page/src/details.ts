// The task that is selected: its times, why it was late, its edges, and the way back to the start.

import { NONE, beforeOf, indicesOf, place, type Trace } from "./data.ts";
import { element, table } from "./dom.ts";
import { afterOf, chain, criticalPath, waited } from "./facts.ts";
import type { Selection } from "./main.ts";
import { counted, shown } from "./view.ts";

/** Tasks of a list that are shown. */
const MOST = 40;

/** What each cause says. */
const CAUSES: Record<string, string> = {
  generation: "its generation",
  predecessor: "task # before it",
  batch: "the batch that released the task before it when task # was complete",
  worker: "a worker, busy with task #",
  gate: "a gate, held by task #",
  window: "a place in the window, held by task #",
  start: "the start policy",
  unrecorded: "something before it that was not recorded",
};

export class Details {
  /** From the selected task back to the start. */
  chain: number[] = [];
  /** The same task in the other trace; -1 for none. */
  other = -1;
  /** Which task is which in the other trace, once that is known. */
  others: [Int32Array, Int32Array] | null = null;
  private selection: Selection = { trace: 0, at: -1 };
  /** Where the chain is, along which keys go. */
  private walk: { trace: number; chain: number[]; position: number } | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly traces: Trace[],
    private readonly select: (selection: Selection) => void,
  ) {
    this.nothing();
  }

  private nothing(): void {
    this.root.replaceChildren(element("p", { class: "dim" }, "Click on a task: why it started when it did, and the way back to the start."));
  }

  private span(trace: Trace, at: number): void {
    const { names, kernel, row, started, ended } = trace.spans;
    const time = (value: number): string => shown(value, trace.clock);
    this.root.replaceChildren(element("h2", {}, names[kernel[at]!]!), table(["", ""], [
      ["row", trace.rows[row[at]!]![1]],
      ["began", time(started[at]!)],
      ["ended", `${time(ended[at]!)}, after ${time(ended[at]! - started[at]!)}`],
    ]));
  }

  /** Goes along the chain: 1 towards the start, -1 back. */
  step(by: number): void {
    const { walk } = this;
    if (walk === null) return this.critical();
    const to = walk.chain[walk.position + by];
    if (to === undefined) return;
    walk.position += by;
    this.select({ trace: walk.trace, at: to });
  }

  /** Selects the task that was complete last. */
  critical(): void {
    const trace = this.selection.trace;
    const path = criticalPath(this.traces[trace]!);
    this.walk = null;
    this.select({ trace, at: path.at(-1) ?? -1 });
  }

  show(selection: Selection): void {
    const { trace: of, at, span = -1 } = selection;
    const trace = this.traces[of]!;
    this.selection = selection;
    this.chain = at < 0 ? [] : chain(trace, at);
    this.other = at < 0 ? -1 : (this.others?.[of as 0 | 1]?.[at] ?? -1);
    const { walk } = this;
    if (at < 0) this.walk = null;
    else if (walk === null || walk.trace !== of || walk.chain[walk.position] !== at) this.walk = { trace: of, chain: this.chain, position: 0 };
    if (at < 0) {
      delete this.root.dataset.task;
      return span < 0 ? this.nothing() : this.span(trace, span);
    }
    this.root.dataset.task = String(trace.id[at]);
    this.root.dataset.cause = trace.causes[trace.cause[at]!];
    this.root.replaceChildren(...this.about(of, at));
  }

  /** A task that can be clicked on. */
  link({ trace: of, at }: Selection): HTMLElement {
    const trace = this.traces[of]!;
    const indices = indicesOf(trace, at);
    const name = `${trace.id[at]} ${trace.kernels[trace.kernel[at]!]!.name}${indices.length > 0 ? ` [${indices.join(", ")}]` : ""}`;
    const made = element("button", { class: "task" }, name);
    made.addEventListener("click", () => this.select({ trace: of, at }));
    return made;
  }

  private links(of: number, ids: ArrayLike<number>, count: number): (Node | string)[] {
    if (count === 0) return [element("span", { class: "dim" }, "none that the trace has")];
    const all: (Node | string)[] = Array.from({ length: Math.min(ids.length, MOST) }, (_, i) => {
      const at = place(this.traces[of]!, ids[i]!);
      return at < 0 ? `${ids[i]} (not in the trace) ` : this.link({ trace: of, at });
    });
    if (count > all.length) all.push(` and ${(count - all.length).toLocaleString("en")} more`);
    return all;
  }

  private about(of: number, at: number): (Node | string)[] {
    const trace = this.traces[of]!;
    const time = (value: number): string => shown(value, trace.clock);
    const indices = indicesOf(trace, at);
    const rows: [string, Node | string][] = [
      ["row", trace.rows[trace.row[at]!]![1]],
      ["indices", indices.length > 0 ? indices.join(", ") : "not known"],
      ["submitted", time(trace.submitted[at]!)],
      ["ready", time(trace.ready[at]!)],
      ["started", time(trace.started[at]!)],
      ["ended", `${time(trace.ended[at]!)}, after ${time(trace.ended[at]! - trace.started[at]!)}`],
      ...[...trace.numbers].map(([name, values]): [string, string] => [name, String(values[at])]),
    ];
    const word = trace.causes[trace.cause[at]!]!;
    const holder = trace.holder[at]!;
    const sentence = holder !== NONE && word === "generation" ? "its generation, after the window had waited for task #" : CAUSES[word]!;
    const why = element("p", { class: "why" }, `It started when it did because of ${sentence.replace("#", String(holder))}; it waited ${time(waited(trace, at))}.`);
    const name = this.traces.length > 1 ? ` of ${"AB"[of]}` : "";
    const parts: (Node | string)[] = [
      element("h2", {}, `Task ${trace.id[at]}${name}: ${trace.kernels[trace.kernel[at]!]!.name}`),
      why,
      table(["", ""], rows),
    ];
    if (this.traces.length > 1) parts.push(this.compared(of, at));
    const [after, count] = afterOf(trace, at, MOST);
    const before = beforeOf(trace, at);
    const what = trace.allEdges ? "Tasks" : "Last task";
    parts.push(
      element("h3", {}, `${what} before it`), ...this.links(of, before, before.length),
      element("h3", {}, trace.allEdges ? "Tasks that wait for it" : "Tasks whose last it was"), ...this.links(of, after, count),
      element("h3", {}, `Back to the start: ${counted(this.chain.length - 1, "task")}`),
      element("ol", { class: "chain" }, ...this.chain.slice(0, MOST).map((task) =>
        element("li", {}, this.link({ trace: of, at: task }), ` ${trace.causes[trace.cause[task]!]}, starts at ${time(trace.started[task]!)}`))),
    );
    if (this.chain.length > MOST) parts.push(`and ${(this.chain.length - MOST).toLocaleString("en")} more`);
    return parts;
  }

  private compared(of: number, at: number): HTMLElement {
    const [trace, to] = [this.traces[of]!, 1 - of];
    const other = this.traces[to]!;
    if (this.other < 0) return element("p", { class: "dim" }, `${"AB"[to]} has no such task.`);
    const signed = (by: number): string => `${by < 0 ? "−" : "+"}${shown(Math.abs(by), trace.clock)}`;
    const by = (of: (trace: Trace, at: number) => number): string => signed(of(other, this.other) - of(trace, at));
    return element("p", {}, `In ${"AB"[to]}: `, this.link({ trace: to, at: this.other }),
      ` started ${by((of, at) => of.started[at]!)}, took ${by((of, at) => of.ended[at]! - of.started[at]!)}, waited ${by(waited)}; ${other.causes[other.cause[this.other]!]}.`);
  }
}
