// The explorer in a browser, against a node with real programs. `cargo xtask web --test` runs it.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { PAYLOAD, play, rpc, start } from "./scene.mjs";

const { SELKIE, FOLDER, CHROMIUM = "/usr/bin/chromium" } = process.env;
/** Pages of another server with the same interface, as Vite's; by default the node's own. */
const PAGES = process.env.PAGES;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PICTURES = join(FOLDER, "pictures");

let node, scene, browser, base, raw;

before(async () => {
  node = await start(SELKIE, FOLDER);
  base = PAGES ?? node.url;
  scene = await play(SELKIE, FOLDER, node.url);
  const landed = await rpc(node.url, "getTransaction", scene.tokens, { encoding: "base64" });
  raw = landed.transaction[0];
  // Chromium refuses its sandbox to root, as which containers run.
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  mkdirSync(PICTURES, { recursive: true });
});

after(async () => {
  await browser?.close();
  node?.stop();
});

/** Opens a page, and fails the test at its end if the page had an error. */
async function open(context, path, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && !/Failed to load resource/.test(message.text()) && problems.push(message.text()));
  context.after(async () => {
    await page.close();
    assert.deepEqual(problems, []);
  });
  await page.goto(base + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return page;
}

const digits = (text) => Number(text.replace(/\D/g, ""));
const row = (page, signature) => page.locator("[data-row]", { hasText: signature.slice(0, 6) });

test("the newest transactions are listed and filtered", async (context) => {
  const page = await open(context, "/");
  await row(page, scene.tokens).getByText("Transfer Checked").waitFor();
  await row(page, scene.failed).getByText("Custom error 1").waitFor();
  const landed = await rpc(node.url, "getTransaction", scene.tokens, { encoding: "json" });
  const units = await row(page, scene.tokens).locator(".units .number").textContent();
  assert.equal(digits(units), landed.meta.computeUnitsConsumed);
  const filter = page.getByRole("searchbox", { name: /Filter/ });
  await filter.fill("Custom error");
  await row(page, scene.tokens).waitFor({ state: "detached" });
  assert.equal(await page.locator("[data-row]").count(), 1);
  await filter.fill(scene.program);
  await row(page, scene.unread).waitFor();
  await row(page, scene.memo).waitFor({ state: "detached" });
  await filter.fill("");
  await page.getByRole("button", { name: "Failed" }).click();
  await row(page, scene.memo).waitFor({ state: "detached" });
  assert.equal(await page.locator("[data-row]").count(), 2);
  assert.match(page.url(), /failed=1/);
});

test("a transaction appears when it lands, unless the list is paused", async (context) => {
  const page = await open(context, "/");
  await row(page, scene.transfer).waitFor();
  const first = await rpc(node.url, "requestAirdrop", scene.bob, 7_000_000);
  await row(page, first).getByText("Transfer").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const second = await rpc(node.url, "requestAirdrop", scene.bob, 8_000_000);
  await page.getByRole("button", { name: "Follow (1 new)" }).waitFor();
  assert.equal(await row(page, second).count(), 0);
  await page.getByRole("button", { name: /Follow/ }).click();
  await row(page, second).waitFor();
});

test("two clicks lead from the start to the line that failed", async (context) => {
  const page = await open(context, "/");
  await row(page, scene.failed).locator("a.mono").first().click();
  const here = page.locator(".source .here");
  await here.waitFor();
  assert.match(await here.textContent(), /return Err\(ProgramError::Custom\(NOT_ALL_PAID\)\);/);
  await page.getByText("src/lib.rs:48:16").waitFor();
  await page.getByText("called from src/lib.rs:32:5 in payout::process").waitFor();
});

test("a transaction shows calls, balances, tokens and changed data", async (context) => {
  const page = await open(context, `/tx/${scene.tokens}`);
  const calls = page.getByRole("region", { name: "Calls" });
  await calls.getByText("Initialize Account 3", { exact: true }).waitFor();
  const trace = await rpc(node.url, "selkie_traceTransaction", scene.tokens);
  const shown = await calls.locator(".call-units").allTextContents();
  const units = (frame) => [frame.computeUnits, ...frame.inner.flatMap(units)];
  assert.deepEqual(shown.map(digits), trace.frames.flatMap(units));
  await page.getByRole("button", { name: "Open all" }).click();
  const logs = await calls.locator(".log li").count();
  const lines = (frame) => frame.logs.length + frame.inner.reduce((sum, it) => sum + lines(it), 0);
  assert.equal(logs, trace.frames.reduce((sum, it) => sum + lines(it), 0));
  await page.getByRole("region", { name: "Tokens" }).getByText("+1.25", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Balances" }).getByText(/^−/).waitFor();
  const data = page.getByRole("region", { name: "Account data" });
  await data.getByText("98.75").waitFor();
  await data.getByText("Bytes").first().click();
  assert.ok((await data.locator("mark").count()) > 0);
});

test("an account is decoded, and follows changes", async (context) => {
  const page = await open(context, `/address/${scene.mint}`);
  await page.getByRole("region", { name: "Data" }).getByText("mintAuthority").waitFor();
  const history = page.getByRole("region", { name: "History" });
  await row(history, scene.tokens).getByText("Transfer Checked").waitFor();
  const carol = scene.alice;
  await page.goto(`${base}/address/${carol}`);
  const balance = page.locator(".facts dd").first();
  await balance.getByText("1.5 SOL").waitFor();
  await rpc(node.url, "selkie_setBalance", carol, 2_500_000_000);
  await balance.getByText("2.5 SOL").waitFor();
  await rpc(node.url, "selkie_setBalance", carol, 1_500_000_000);
});

test("a program shows its version, authority and instructions with lines", async (context) => {
  const page = await open(context, `/address/${scene.program}`);
  await page.getByText("payout.so.debug").waitFor();
  await page.getByText("Upgrade authority").waitFor();
  const code = page.getByRole("region", { name: "Instructions" });
  await code.getByText("payout::check").waitFor();
  await code.getByText("src/lib.rs:48").waitFor();
  assert.match(await code.textContent(), /entrypoint/);
});

test("blocks lead to their transactions", async (context) => {
  const { slot } = await rpc(node.url, "getTransaction", scene.memo, { encoding: "json" });
  const page = await open(context, "/blocks");
  await page.getByRole("link", { name: String(slot), exact: true }).first().click();
  await page.getByRole("heading", { name: `Block ${slot}` }).waitFor();
  await row(page, scene.memo).getByText("Memo", { exact: true }).waitFor();
});

test("the inspector decodes and simulates", async (context) => {
  const page = await open(context, "/inspector");
  const paste = page.getByRole("textbox", { name: /A transaction or a message/ });
  await paste.fill("neither");
  await page.getByText(/This is/).waitFor();
  await paste.fill(raw);
  await page.getByRole("region", { name: "Instructions" }).getByText("Associated Token").first().waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  // The account exists by now.
  await page.getByRole("region", { name: "Calls" }).getByText("failed", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Simulate again" }).waitFor();
});

test("controls give lamports and tokens, move time and go back", async (context) => {
  const page = await open(context, `/controls?to=${scene.bob}`);
  const card = (name) => page.getByRole("form", { name });
  const balance = async () => (await rpc(node.url, "getBalance", scene.bob)).value;
  const before = await balance();
  await card("Faucet").getByRole("button", { name: "Airdrop" }).click();
  await page.getByText("Sent 5 SOL").waitFor();
  assert.equal(await balance(), before + 5_000_000_000);
  await card("Tokens").getByLabel("Mint").fill(scene.mint);
  await card("Tokens").getByRole("button", { name: "Set" }).click();
  await page.getByText("now holds 100 tokens").waitFor();
  await card("Snapshots").getByRole("button", { name: "Take a snapshot" }).click();
  await page.getByText(/Took snapshot/).waitFor();
  await card("Time").getByLabel("Number").fill("500000");
  await card("Time").getByRole("button", { name: "Go", exact: true }).click();
  await page.getByText(/Now in slot 500.?00\d/).waitFor();
  await card("Snapshots").getByRole("button", { name: "Revert" }).click();
  await page.getByText(/Back at snapshot/).waitFor();
  assert.ok((await rpc(node.url, "getSlot")) < 500_000);
  await card("Blocks").getByRole("button", { name: "Mine" }).click();
  await page.getByText(/Mined up to slot/).waitFor();
  await card("Faucet").getByLabel("Receiver").fill("nonsense");
  await card("Faucet").getByRole("button", { name: "Airdrop" }).click();
  await page.getByText("The receiver is no address.").waitFor();
});

test("the keyboard alone leads to every view", async (context) => {
  const page = await open(context, "/");
  await row(page, scene.memo).waitFor();
  const press = (key) => page.keyboard.press(key);
  await press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await press("Escape");
  await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" });
  for (const [key, heading] of [["2", "Blocks"], ["3", "Inspector"], ["4", "Controls"], ["1", "Transactions"]]) {
    await press(key);
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  }
  await row(page, scene.failed).waitFor();
  await press("e");
  await row(page, scene.memo).waitFor({ state: "detached" });
  await press("j");
  await press("j");
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Transaction" }).waitFor();
  await press("/");
  await page.keyboard.type(scene.mint);
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
  await press("t");
  await page.locator("html[data-theme]").waitFor({ state: "attached" });
});

test("text of clients is never HTML", async (context) => {
  const page = await open(context, `/tx/${scene.memo}`);
  await page.getByRole("button", { name: "Open all" }).click();
  await page.getByText(PAYLOAD).first().waitFor();
  for (const path of ["/", `/?filter=${encodeURIComponent(PAYLOAD)}`, `/inspector?transaction=${encodeURIComponent(PAYLOAD)}`, `/address/${encodeURIComponent(PAYLOAD)}`]) {
    await page.goto(base + path);
    await page.getByRole("heading", { level: 1 }).or(page.getByRole("alert")).first().waitFor();
    await page.waitForTimeout(200);
  }
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator("img:not(.brand img)").count(), 0);
});

test("the node sends pages with a policy, and only once", async () => {
  if (PAGES) return;
  const ask = (headers) => fetch(node.url, { headers });
  const first = await ask({ Accept: "text/html" });
  assert.equal(first.status, 200);
  assert.match(first.headers.get("content-security-policy"), /^default-src 'self';.*frame-ancestors 'none'/);
  const again = await ask({ Accept: "text/html", "If-None-Match": first.headers.get("etag") });
  assert.equal(again.status, 304);
  assert.equal((await ask({ Accept: "application/json" })).status, 405);
  assert.equal(await (await fetch(`${node.url}/health`)).text(), "ok");
});

test("a node that has gone is told, and one that is back is used", async (context) => {
  const page = await open(context, "/blocks");
  await page.route("**/*", (route) => (route.request().method() === "POST" ? route.fulfill({ status: 503, body: "busy" }) : route.continue()));
  await page.keyboard.press("1");
  await page.getByRole("link", { name: "Controls" }).click();
  await page.getByText(/busy/).first().waitFor();
  await page.unroute("**/*");
  await page.getByRole("link", { name: "Transactions" }).last().click();
  await row(page, scene.memo).waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 360]) {
    test(`views are accessible and fit into ${width} pixels, ${colorScheme}`, async (context) => {
      const paths = {
        live: "/",
        failed: `/tx/${scene.failed}`,
        tokens: `/tx/${scene.tokens}`,
        account: `/address/${scene.mint}`,
        program: `/address/${scene.program}`,
        blocks: "/blocks",
        inspector: `/inspector?transaction=${encodeURIComponent(raw)}`,
        controls: "/controls",
      };
      const page = await open(context, "/", { colorScheme, viewport: { width, height: 860 } });
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(base + path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle");
        if (name === "failed") await page.locator(".source .here").waitFor();
        await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${width}.png`), fullPage: true });
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide`);
        // By the debugger's way, as the page's policy lets no other script in.
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => window.axe.run(document));
        const serious = violations.filter((it) => it.impact === "serious" || it.impact === "critical");
        const found = serious.map((it) => `${name}: ${it.id}: ${it.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 4).join(" | ")}`);
        assert.deepEqual(found, []);
      }
    });
  }
}
