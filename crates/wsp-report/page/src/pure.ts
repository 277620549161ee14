// All that needs no page, for tests.

export * from "./data.ts";
export * from "./difference.ts";
export { hue } from "./dom.ts";
export * from "./facts.ts";
export * from "./search.ts";
export * from "./view.ts";
