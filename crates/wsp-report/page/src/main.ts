// The page: reads the traces in it, and shows them.

import { bytesOf, inflated, shareHues, unpacked, type Trace } from "./data.ts";
import { element, section } from "./dom.ts";
import { Details } from "./details.ts";
import { differences } from "./tables.ts";
import { matched, turned } from "./difference.ts";
import { graph, legend, overview, roofline, sections } from "./tables.ts";
import { search } from "./search.ts";
import { Timeline } from "./timeline.ts";
import { bounded } from "./view.ts";

/** Tasks that a search shows. */
const MOST_FOUND = 100;

/** What is selected: a task of a trace, by its place. */
export interface Selection {
  trace: number;
  at: number;
  /** A span instead of a task. */
  span?: number;
}

async function traces(): Promise<Trace[]> {
  const found = [...document.querySelectorAll<HTMLScriptElement>("script[type='application/octet-stream']")];
  return Promise.all(found.map(async (script) => {
    const bytes = bytesOf(script.textContent ?? "");
    script.textContent = "";
    return unpacked(await inflated(bytes));
  }));
}

async function main(): Promise<void> {
  const all = await traces();
  shareHues(all);
  const [head, tools, stage, side, rest] = ["head", "tools", "stage", "side", "rest"].map((id) => document.getElementById(id)!) as
    [HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement];
  head.append(...overview(all));
  // What else takes time may go on when the last task has ended.
  const end = Math.max(...all.map((trace) => trace.spans.reach.reduce((far, to) => Math.max(far, to), trace.end)), 1);
  const shared = { view: bounded({ from: 0, to: end }, end), end };
  const details = new Details(side, all, (selection) => select(selection, true));
  const timelines = all.map((trace, at) => new Timeline(trace, at, all.length > 1, shared, redraw, (pick) =>
    select({ trace: at, ...pick }, false)));
  const colours = element("div", { class: "legend" }, ...legend(all));
  stage.append(colours, ...timelines.map((timeline) => timeline.root));

  function redraw(): void {
    for (const timeline of timelines) timeline.draw();
  }

  /** Shows a task, and brings it into view. */
  function select(selection: Selection, moves: boolean): void {
    details.show(selection);
    timelines.forEach((timeline, at) => {
      timeline.selected = at === selection.trace ? details.chain : [];
      timeline.span = at === selection.trace ? (selection.span ?? -1) : -1;
      timeline.also = at === selection.trace ? -1 : details.other;
    });
    if (moves && selection.at >= 0) timelines[selection.trace]!.reveal(selection.at);
    redraw();
  }

  const field = element("input", { type: "search", placeholder: "task, kernel [i, j] or row", "aria-label": "Search for tasks" });
  const results = element("div", { class: "found", role: "status" });
  field.addEventListener("input", () => {
    results.replaceChildren();
    all.forEach((trace, at) => {
      const { places, count } = search(trace, field.value, MOST_FOUND);
      if (field.value.trim() === "") return;
      const name = all.length > 1 ? ` in ${"AB"[at]}` : "";
      results.append(element("span", {}, `${count.toLocaleString("en")} found${name} `));
      for (const place of places.slice(0, 12)) results.append(details.link({ trace: at, at: place }));
    });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") results.querySelector("button")?.click();
    if (event.key === "Escape") field.blur();
  });
  const button = (text: string, label: string, key: string): HTMLElement => {
    const made = element("button", { "aria-label": label, title: `${label} (${key})` }, text);
    made.addEventListener("click", () => act(key));
    return made;
  };
  const keys = element("span", { class: "keys" }, "keys: + − zoom, ← → move, 0 all, n p along the chain, c critical path, / search, Esc none");
  tools.append(field, button("+", "Zoom in", "+"), button("−", "Zoom out", "-"), button("all", "Show all", "0"),
    button("critical", "Select the critical path", "c"), keys, results);

  /** Does what a key says; whether it says something. */
  function act(key: string): boolean {
    const first = timelines[0]!;
    switch (key) {
      case "+": case "=": first.zoom(0.5); return true;
      case "-": case "_": first.zoom(2); return true;
      case "ArrowLeft": first.move(-0.2); return true;
      case "ArrowRight": first.move(0.2); return true;
      case "0": first.all(); return true;
      case "n": details.step(1); return true;
      case "p": details.step(-1); return true;
      case "c": details.critical(); return true;
      case "/": field.focus(); return true;
      case "Escape": select({ trace: 0, at: -1 }, false); return true;
      default: return false;
    }
  }
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (act(event.key)) event.preventDefault();
  });
  new ResizeObserver(redraw).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.replaceChildren(...legend(all));
    redraw();
  });
  redraw();
  document.body.dataset.picture = performance.now().toFixed(0);

  // The rest is computed when the first picture stands.
  requestAnimationFrame(() => setTimeout(() => {
    for (const timeline of timelines) timeline.markCritical();
    redraw();
    const parts = all.map((trace, at) => {
      const name = all.length > 1 ? ` of ${"AB"[at]}` : "";
      const first = sections(trace, name, (place) => select({ trace: at, at: place }, true));
      const roof = section(`Roofline${name}`, roofline(trace));
      // Its table has eight columns.
      roof.className = "all";
      return [...first, roof, section(`Kernels and edges${name}`, graph(trace))];
    });
    // What is the same part of both stands side by side.
    parts[0]!.forEach((_, part) => rest.append(...parts.map((of) => of[part]!)));
    const [a, b] = all;
    if (a !== undefined && b !== undefined) {
      const match = matched(a, b);
      details.others = [match.other, turned(match, b.count)];
      rest.prepend(differences(a, b, match, (place) => select({ trace: 0, at: place }, true)));
    }
    document.body.dataset.complete = performance.now().toFixed(0);
  }, 0));
}

main().catch((fault: unknown) => {
  document.getElementById("head")!.append(element("p", { class: "fault" }, `The report cannot be shown: ${String(fault)}`));
});

