// Search for tasks.

import { indicesOf, place, type Trace } from "./data.ts";

/** What was found: the first places, and how many there are. */
export interface Found {
  places: number[];
  count: number;
}

/**
 * Finds tasks: `17` is a number of a task, `gemm` a part of the name of its kernel, `[3, 4]` its outermost indices, `worker 2` a part
 * of the name of its row; all that is said must hold. A row is only looked for where no kernel has the words.
 */
export function search(trace: Trace, query: string, most: number): Found {
  const text = query.trim().toLowerCase();
  if (text === "") return { places: [], count: 0 };
  if (/^#?\d+$/.test(text)) {
    const at = place(trace, Number(text.replace("#", "")));
    return { places: at < 0 ? [] : [at], count: at < 0 ? 0 : 1 };
  }
  const bracket = /\[([\d\s,]*)\]/.exec(text);
  const indices = (bracket?.[1] ?? "").split(/[\s,]+/).filter((part) => part !== "").map(Number);
  const words = text.replace(/\[[^\]]*\]?/, " ").trim();
  const kernels = trace.kernels.map(({ name }) => name.toLowerCase().includes(words));
  const isKernel = kernels.includes(true);
  const rows = trace.rows.map(([, name]) => !isKernel && name.toLowerCase().includes(words));
  const found: Found = { places: [], count: 0 };
  for (let t = 0; t < trace.count; t++) {
    if (!(isKernel ? kernels[trace.kernel[t]!] : rows[trace.row[t]!])) continue;
    if (indices.length > 0) {
      const own = indicesOf(trace, t);
      if (!indices.every((index, i) => own[i] === index)) continue;
    }
    if (found.places.length < most) found.places.push(t);
    found.count++;
  }
  return found;
}
