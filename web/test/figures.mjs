// How long the explorer takes, in a browser on this machine. `cargo xtask web --figures` runs it and prints a table.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { counting, rpc, start } from "./scene.mjs";

const { SELKIE, FOLDER, BUILT, CHROMIUM = "/usr/bin/chromium" } = process.env;
const TURNS = 15;
const STEPS = 60;

/** Nearly all the compute units that a transaction may use. */
const LOOP = counting(349_900);

const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const shown = (name, value) => console.log(`| ${name} | ${value} |`);

const home = join(FOLDER, "figures");
mkdirSync(home, { recursive: true });
const node = await start(SELKIE, home);
const run = (...args) => JSON.parse(execFileSync(SELKIE, [...args, "--url", node.url, "--json"], { cwd: home, encoding: "utf8" }).trim().split("\n").at(-1));
writeFileSync(join(home, "loop.s"), LOOP);
execFileSync(SELKIE, ["build", "loop.s"], { cwd: home, stdio: "pipe" });
run("airdrop", "10");
const program = run("deploy", "loop.so").program;
const signature = run("send", "--program", program, "-d", "0x", "--limit", "1400000").signature;
const { steps } = await rpc(node.url, "selkie_debugTransaction", signature, { ask: "run" });

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
/** Opens a path in a new tab with an empty cache, until something is there. Returns the milliseconds that this takes. */
async function open(path, there) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto("about:blank");
  const from = performance.now();
  await page.goto(node.url + path, { waitUntil: "commit" });
  await page.locator(there).first().waitFor();
  return { time: performance.now() - from, page, context };
}

async function opened(path, there) {
  const times = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const { time, context } = await open(path, there);
    times.push(time);
    await context.close();
  }
  return median(times);
}

const bytes = readdirSync(BUILT).reduce((sum, file) => sum + statSync(join(BUILT, file)).size, 0);
shown("all files, compressed", `${Math.round(bytes / 1000)} kB`);
shown("first view, with an empty cache", `${Math.round(await opened("/", "[data-row]"))} ms`);
const first = await open(`/debug/${signature}`, ".registers dd");
shown(`debugger of ${steps.toLocaleString("en")} steps, for the first time`, `${Math.round(first.time)} ms`);
await first.context.close();
shown(`debugger of ${steps.toLocaleString("en")} steps, again`, `${Math.round(await opened(`/debug/${signature}`, ".registers dd"))} ms`);
const { page } = await open(`/debug/${signature}?step=${Math.floor(steps / 2)}`, ".registers dd");
await page.locator(".code-row.here code").first().waitFor();
/** Steps by a key, and returns the milliseconds until the page shows the step, measured within the page. */
const step = (key) =>
  page.evaluate(
    (key) =>
      new Promise((done) => {
        const input = document.querySelector(".where .step");
        const before = input.value;
        const from = performance.now();
        const look = () => (document.querySelector(".where .step").value !== before ? done(performance.now() - from) : setTimeout(look, 0));
        document.querySelector("main").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        look();
      }),
    key,
  );
await page.getByRole("combobox", { name: "Step by" }).selectOption("instruction");
for (const [key, name] of [["s", "forward"], ["S", "back"]]) {
  const times = [];
  for (let turn = 0; turn < STEPS; turn++) times.push(await step(key));
  const median_ = median(times);
  shown(`a step ${name}, of an instruction`, `${median_.toFixed(1)} ms, the slowest of ${STEPS} ${Math.max(...times).toFixed(1)} ms`);
}
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable");
await session.send("HeapProfiler.collectGarbage");
const { metrics } = await session.send("Performance.getMetrics");
const heap = metrics.find((it) => it.name === "JSHeapUsedSize").value;
shown("JavaScript's heap in the debugger", `${(heap / 1e6).toFixed(1)} MB`);
await browser.close();
node.stop();
