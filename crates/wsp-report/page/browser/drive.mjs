// Drives a browser without a window: `node browser/drive.mjs BROWSER REPORT TRACE.json FOLDER [TWO]` opens a report of one trace, checks what it
// shows against the JSON of the same trace, and another of two traces. Screenshots go to FOLDER. The last line says how many checks passed.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [browser, report, trace, folder, two] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: drive.mjs BROWSER REPORT TRACE.json FOLDER [TWO]");
mkdirSync(folder, { recursive: true });

let [passed, failed] = [0, 0];
function check(name, holds, told = "") {
  if (holds) passed++;
  else failed++;
  console.log(`${holds ? "ok" : "NOT OK"}: ${name}${told === "" ? "" : `: ${told}`}`);
}

/** A connection to the browser by its own protocol. */
class Browser {
  static async start(path) {
    const profile = mkdtempSync(join(tmpdir(), "wsp-report-"));
    const process_ = spawn(path, ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", `--user-data-dir=${profile}`, "--remote-debugging-port=0", "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
    const address = await new Promise((found, lost) => {
      let text = "";
      process_.stderr.on("data", (bytes) => {
        text += bytes;
        const line = /DevTools listening on (ws:\S+)/.exec(text);
        if (line) found(line[1]);
      });
      process_.on("exit", () => lost(new Error(`the browser ended: ${text}`)));
    });
    const socket = new WebSocket(address);
    await new Promise((open, lost) => {
      socket.onopen = open;
      socket.onerror = lost;
    });
    return new Browser(process_, profile, socket);
  }

  constructor(process_, profile, socket) {
    Object.assign(this, { process_, profile, socket, number: 0, waiting: new Map(), requests: [], faults: [] });
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.id !== undefined) {
        const [done, lost] = this.waiting.get(message.id);
        if (message.error) lost(new Error(JSON.stringify(message.error)));
        else done(message.result);
      } else if (message.method === "Network.requestWillBeSent") {
        this.requests.push(message.params.request.url);
      } else if (message.method === "Runtime.exceptionThrown") {
        this.faults.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
      }
    };
  }

  send(method, params = {}) {
    this.number++;
    this.socket.send(JSON.stringify({ id: this.number, method, params, sessionId: this.session }));
    return new Promise((done, lost) => this.waiting.set(this.number, [done, lost]));
  }

  async page() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    this.session = (await this.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Network", "Runtime"]) await this.send(`${domain}.enable`);
  }

  /** What an expression gives in the page. */
  async ask(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(expression) {
    for (let i = 0; i < 1200; i++) {
      if (await this.ask(expression)) return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`it does not come: ${expression}`);
  }

  async open(path, width = 1280) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
    this.requests = [];
    await this.send("Page.navigate", { url: pathToFileURL(resolve(path)).href });
    await this.until("location.protocol === 'file:' && document.body?.dataset.complete !== undefined");
  }

  async click(x, y) {
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1 });
    }
  }

  async key(key, text = key.length === 1 ? key : undefined) {
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
  }

  async picture(name, whole = false) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
    writeFileSync(join(folder, name), Buffer.from(data, "base64"));
  }

  async close() {
    await this.send("Browser.close").catch(() => undefined);
    await new Promise((done) => (this.process_.exitCode === null ? this.process_.on("exit", done) : done()));
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Tasks of a trace by their numbers. */
function tasks(path) {
  const found = new Map();
  for (const line of readFileSync(path, "latin1").split("\n")) {
    if (line.includes('"cat":"task"')) {
      const { name, tid, ts, dur, args } = JSON.parse(line.replace(/,\s*$/, ""));
      found.set(args.task, { name, row: tid, start: ts, length: dur, ...args });
    }
  }
  return found;
}

const state = "(() => { const c = document.querySelector('canvas'), b = c.getBoundingClientRect(); return { ...c.dataset, x: b.x, y: b.y }; })()";

async function one(page) {
  const all = tasks(trace);
  await page.open(report);
  const open = Number(await page.ask("document.body.dataset.picture"));
  check(`the first picture of ${all.size} tasks stands in 1 s`, open <= 1000, `${open} ms`);
  check("all is there soon after", true, `${await page.ask("document.body.dataset.complete")} ms`);
  await page.picture("wide.png");
  let slowest = 0;
  for (const key of ["+", "+", "+", "+", "ArrowRight", "-", "ArrowLeft", "+", "+", "0"]) {
    await page.key(key);
    slowest = Math.max(slowest, Number((await page.ask(state)).drawn));
  }
  check("each picture of a zoom stands in 100 ms", slowest <= 100, `${slowest} ms`);
  const ids = [...all.keys()];
  for (const share of [0, 0.1, 0.37, 0.5, 0.81, 0.999]) {
    const id = ids[Math.floor(share * ids.length)];
    const { cause, held_by: holder, name } = all.get(id);
    await page.ask(`(() => { const f = document.querySelector('input'); f.value = '${id}'; f.dispatchEvent(new Event('input')); })()`);
    await page.ask("document.querySelector('.found button').click()");
    // It was brought into view, at least as wide as a pixel or two: the middle of it is clicked on after a zoom into it.
    await page.key("Escape");
    for (let i = 0; i < 40; i++) {
      const { from, to, width, left, x, y, axis, row } = await page.ask(state);
      const unit = await page.ask("document.querySelector('#head').textContent.includes('cycles') ? 1 : 1000");
      const scale = Number(width) / (Number(to) - Number(from));
      const { start, length } = all.get(id);
      const at = Number(left) + ((start + length / 2) * unit - Number(from)) * scale;
      const index = await page.ask(`[...new Set(${JSON.stringify([...new Set([...all.values()].map((task) => task.row))].sort((a, b) => a - b))})].indexOf(${all.get(id).row})`);
      if (length * unit * scale > 4 || length === 0) {
        const top = Number((await page.ask(state)).top);
        await page.click(x + at, y + Number(axis) + (index - top + 0.5) * Number(row));
        break;
      }
      await page.send("Input.dispatchMouseEvent", { type: "mouseWheel", x: x + at, y: y + Number(axis) + 4, deltaX: 0, deltaY: -300 });
      await page.ask("new Promise(requestAnimationFrame)");
    }
    const shown = await page.ask("({ ...document.getElementById('side').dataset, text: document.getElementById('side').textContent })");
    check(`a click on task ${id} tells its cause`, shown.task === String(id) && shown.cause === cause, `${shown.task} ${shown.cause}, of ${id} ${cause}`);
    const told = holder === undefined ? !/task #/.test(shown.text) : shown.text.includes(`task ${holder}`);
    check(`and what held it, of kernel ${name}`, told && shown.text.includes(name), `${holder}`);
    await page.key("0");
  }
  await page.picture("selected.png");
  const before = await page.ask("document.getElementById('side').dataset.task");
  await page.key("n");
  const after = await page.ask("document.getElementById('side').dataset.task");
  check("a key goes along the chain", all.get(Number(before)).held_by === Number(after), `${before} to ${after}`);
  await page.key("p");
  check("and back", (await page.ask("document.getElementById('side').dataset.task")) === before);
  await page.key("/");
  await page.ask("document.querySelector('input').value = ''");
  check("a key goes to the search", await page.ask("document.activeElement === document.querySelector('input')"));
  const kernel = [...all.values()][0].name;
  for (const letter of kernel) await page.key(letter);
  const count = [...all.values()].filter((task) => task.name.includes(kernel)).length;
  await page.until(`document.querySelector('.found').textContent.startsWith('${count.toLocaleString("en")} found')`);
  check(`search finds ${count} tasks of ${kernel}`, true);
  check("no request leaves the page", page.requests.every((url) => url.startsWith("file:") || url.startsWith("data:")), page.requests.filter((url) => url.startsWith("http")).join(" "));
}

async function looks(page, path, name) {
  await page.open(path, 1280);
  await page.key("c");
  await page.picture(`${name}-wide.png`, true);
  check(`${name}: numbers of edges stand beside kernels`, await page.ask(`[...document.querySelectorAll(".graph")].every((graph) => {
    const boxes = [...graph.querySelectorAll(".node")].map((node) => node.getBoundingClientRect());
    return [...graph.querySelectorAll(".count")].every((count) => {
      const own = count.getBoundingClientRect();
      return boxes.every((box) => own.right <= box.left || own.left >= box.right || own.bottom <= box.top || own.top >= box.bottom);
    });
  })`));
  const within = `[...document.querySelectorAll("table")].every((table) => table.scrollWidth <= table.parentElement.clientWidth)`;
  check(`${name}: tables are as wide as there is room`, await page.ask(within));
  check(`${name}: a legend names the kernels`, await page.ask("document.querySelectorAll('.legend i').length > 0"));
  await page.open(path, 420);
  check(`${name}: nothing is wider than a narrow page`, await page.ask("document.documentElement.scrollWidth <= innerWidth"), `${await page.ask("document.documentElement.scrollWidth")}`);
  await page.picture(`${name}-narrow.png`, true);
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await page.open(path, 1280);
  await page.key("c");
  check(`${name}: it is dark where that is asked for`, await page.ask("getComputedStyle(document.body).backgroundColor") === "rgb(20, 23, 27)");
  await page.picture(`${name}-dark.png`, true);
  await page.send("Emulation.setEmulatedMedia", { features: [] });
}

const page = await Browser.start(browser);
try {
  await page.page();
  await one(page);
  await looks(page, report, "one");
  if (two !== undefined) {
    await looks(page, two, "two");
    check("two traces have a difference", await page.ask("document.querySelector('#rest h2').textContent === 'Difference'"));
  }
  check("nothing has failed in the page", page.faults.length === 0, page.faults.join("\n"));
} finally {
  await page.close();
}
console.log(`# pass ${passed}\n# fail ${failed}`);
process.exitCode = failed === 0 ? 0 : 1;
