// Bundles the page: `node build.mjs FOLDER` writes into FOLDER what `dist` holds. `cargo xtask report` runs it.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { build } from "esbuild";

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: node build.mjs FOLDER");
mkdirSync(folder, { recursive: true });
execFileSync(process.execPath, [join("node_modules", "typescript", "bin", "tsc")], { stdio: "inherit" });

const options = { bundle: true, target: "es2022", legalComments: "none", write: false, metafile: true, charset: "ascii" };
const page = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", minify: true });
const pure = await build({ ...options, entryPoints: ["src/pure.ts"], format: "esm" });

// The licence of each package of which something is in the page.
const packages = new Set(Object.keys(page.metafile.inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
const licences = [...packages].sort().map((name) => {
  const { version } = JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join("node_modules", name, "LICENSE"), "utf8").trim()}\n`;
}).join("\n");

const script = page.outputFiles[0].text.trim();
if (script.includes("</script")) throw new Error("the script ends itself");
const html = readFileSync("src/page.html", "utf8");
const whole = `${html}<!--traces-->\n<script>/*\n${licences}*/\n${script}\n</script>\n</body>\n</html>\n`;
writeFileSync(join(folder, "page.html"), whole);
writeFileSync(join(folder, "page.html.z"), deflateSync(whole, { level: 9 }));
writeFileSync(join(folder, "pure.mjs"), `// Made by \`cargo xtask report\`: what needs no page, for tests.\n${pure.outputFiles[0].text}`);
writeFileSync(join(folder, "LICENCES.txt"), licences);
