// Elements, and the colours of the page.

/** An element with attributes and what is in it. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** An element of a drawing. */
export function drawn(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/** A part of the page under a heading. */
export function section(title: string, ...children: (Node | string)[]): HTMLElement {
  return element("section", {}, element("h2", {}, title), ...children);
}

/** A table: the first column is text, the others are numbers. */
export function table(heading: string[], rows: (Node | string)[][]): HTMLElement {
  const cell = (name: "td" | "th") => (of: Node | string) => element(name, {}, of);
  const body = rows.map((row) => element("tr", {}, ...row.map(cell("td"))));
  const top = element("thead", {}, element("tr", {}, ...heading.map(cell("th"))));
  return element("div", { class: "scroll" }, element("table", {}, top, element("tbody", {}, ...body)));
}

/** The colour of a variable of the style. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Whether the page is light on dark. */
export function isDark(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour with a number: hues that are far from each other, light on dark and dark on light. */
export function hue(number: number, dark = isDark()): string {
  const lightness = (dark ? 62 : 42) + ((number >> 3) % 3) * (dark ? 8 : 6);
  return `hsl(${(205 + number * 137.508) % 360} ${dark ? 55 : 58}% ${lightness}%)`;
}
