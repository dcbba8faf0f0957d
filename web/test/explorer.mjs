// The explorer in a browser, against a node with real programs. `cargo xtask web --test` runs it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { harmful, mintWithMetadata, PAYLOAD, play, rpc, SEEN, start, UNSEEN } from "./scene.mjs";

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
  const args = ["--no-sandbox", "--host-resolver-rules=MAP foreign.example 127.0.0.1"];
  browser = await chromium.launch({ executablePath: CHROMIUM, args });
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
/** Asks about the steps of a transaction, as the debugger does. */
const ask = (signature, question) => rpc(node.url, "selkie_debugTransaction", signature, question);
const row = (page, signature) => page.locator("[data-row]", { hasText: signature.slice(0, 6) });

test("the newest transactions are listed and filtered", async (context) => {
  const page = await open(context, "/");
  await row(page, scene.tokens).getByText("Transfer Checked").waitFor();
  await row(page, scene.failed).getByText("Custom error 1").waitFor();
  const landed = await rpc(node.url, "getTransaction", scene.tokens, { encoding: "json" });
  const units = await row(page, scene.tokens).locator(".units .number").textContent();
  assert.equal(digits(units), landed.meta.computeUnitsConsumed);
  const filter = page.getByRole("searchbox", { name: /Filter/ });
  await filter.fill("Custom error 1 ");
  await row(page, scene.tokens).waitFor({ state: "detached" });
  await row(page, scene.overflow).waitFor({ state: "detached" });
  assert.equal(await page.locator("[data-row]").count(), 1);
  await filter.fill(scene.program);
  await row(page, scene.unread).waitFor();
  await row(page, scene.memo).waitFor({ state: "detached" });
  await filter.fill("");
  await page.getByRole("button", { name: "Failed" }).click();
  await row(page, scene.memo).waitFor({ state: "detached" });
  assert.equal(await page.locator("[data-row]").count(), 3);
  await page.waitForURL(/failed=1/);
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
  const lines = (frame) => frame.logs.length + frame.inner.reduce((sum, it) => sum + lines(it), 0);
  const logs = trace.frames.reduce((sum, it) => sum + lines(it), 0);
  // Calls open one after the other.
  await calls.locator(".log li").nth(logs - 1).waitFor();
  assert.equal(await calls.locator(".log li").count(), logs);
  await page.getByRole("region", { name: "Tokens" }).getByText("+1.25", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Balances" }).getByText(/^−/).waitFor();
  const data = page.getByRole("region", { name: "Account data" });
  await data.getByText("98.75").waitFor();
  await data.getByText("Bytes").first().click();
  assert.ok((await data.locator("mark").count()) > 0);
});

test("what arrives later moves nothing", async (context) => {
  for (const path of ["/", `/tx/${scene.failed}`, `/tx/${scene.tokens}`]) {
    const page = await open(context, path);
    await page.waitForLoadState("networkidle");
    const moved = await page.evaluate(
      () =>
        new Promise((done) => {
          let sum = 0;
          const observer = new PerformanceObserver((list) => list.getEntries().forEach((it) => (sum += it.value)));
          observer.observe({ type: "layout-shift", buffered: true });
          requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
        }),
    );
    assert.ok(moved < 0.05, `${path}: ${moved}`);
  }
});

test("fields that a transaction changed have their names", async (context) => {
  const page = await open(context, `/tx/${scene.added}`);
  const data = page.getByRole("region", { name: "Account data" });
  const change = data.locator("dl.changes div", { hasText: "count" });
  await change.locator("del").getByText("0", { exact: true }).waitFor();
  await change.locator("ins").getByText("5", { exact: true }).waitFor();
  const { accountDiffs } = await rpc(node.url, "selkie_traceTransaction", scene.added);
  assert.deepEqual(accountDiffs[0].fields, [{ path: "count", before: "0", after: "5" }]);
  await page.goto(`${base}/tx/${scene.tokens}`);
  await data.locator("dl.changes div", { hasText: "owner" }).getByText(scene.bob).waitFor();
});

test("a transaction of Token-2022 is decoded", async (context) => {
  const page = await open(context, `/tx/${scene.silver}`);
  const calls = page.getByRole("region", { name: "Calls" });
  await calls.getByText("Token-2022").first().waitFor();
  await calls.getByText("Mint To", { exact: true }).first().waitFor();
  await page.getByRole("region", { name: "Tokens" }).getByText("+5", { exact: true }).waitFor();
});

test("the debugger begins at the line that failed, and goes back and forth", async (context) => {
  const page = await open(context, `/tx/${scene.failed}`);
  await page.getByRole("link", { name: "Step through it" }).click();
  const source = page.getByRole("region", { name: "Source", exact: true });
  await source.locator(".here").getByText("return Err(ProgramError::Custom(NOT_ALL_PAID));").waitFor();
  const run = await ask(scene.failed, { ask: "run" });
  const step = page.getByRole("textbox", { name: "Step", exact: true });
  assert.equal(Number(await step.inputValue()), run.cause);
  await page.getByRole("button", { name: "Step, back" }).click();
  await source.locator(".here").getByText("if paid != pool {").waitFor();
  await page.waitForURL(/step=\d+/);
  await page.getByRole("combobox", { name: "Step by" }).selectOption("instruction");
  await page.keyboard.press("Escape");
  for (const [press, question] of [["s", { to: "in" }], ["S", { to: "in", back: true }], ["n", { to: "over" }], ["o", { to: "out" }]]) {
    const before = Number(await step.inputValue());
    const wanted = await ask(scene.failed, { ask: "go", step: before, by: "instruction", ...question });
    await page.locator("main").focus();
    await page.keyboard.press(press);
    await page.waitForFunction((it) => document.querySelector(".where .step").value === String(it), wanted.step);
    const registers = await page.locator(".registers dd").allTextContents();
    assert.deepEqual(registers.map((it) => it.split(" ")[0]), wanted.registers);
    assert.equal(digits(await page.locator(".where").getByText(/compute units left/).textContent()), wanted.unitsLeft);
  }
  await page.getByRole("button", { name: "To the failure" }).click();
  await source.locator(".here").getByText("return Err").waitFor();
  await page.getByRole("textbox", { name: /Place/ }).fill("payout::share");
  await page.getByRole("button", { name: "Find the place before" }).click();
  await page.locator(".stack").getByText("payout::share", { exact: true }).waitFor();
  await page.locator(".variables").getByText("points", { exact: true }).waitFor();
});

test("a step has an address, and shows memory by bytes and by names", async (context) => {
  const page = await open(context, `/debug/${scene.failed}?step=53`);
  const memory = page.getByRole("region", { name: "Memory" });
  await memory.getByRole("tab", { name: /input fields/ }).click();
  const fields = await ask(scene.failed, { ask: "input", step: 53 });
  const lamports = fields.fields.find((it) => it.path === "accounts[0].lamports");
  await memory.getByText("accounts[0].lamports", { exact: true }).waitFor();
  await memory.getByText(lamports.value, { exact: true }).waitFor();
  await memory.getByRole("button", { name: fields.fields.find((it) => it.path === "accounts[0].data").vaddr }).click();
  const row = memory.locator(".bytes-row.here");
  const bytes = await ask(scene.failed, { ask: "memory", step: 53, vaddr: "0x400000060", len: 16 });
  await row.getByText(bytes.slice(0, 2), { exact: true }).first().waitFor();
  assert.equal((await row.locator("span button").allTextContents()).join(""), bytes);
  const write = await ask(scene.failed, { ask: "lastWrite", step: 53, invocation: 0, vaddr: "0x400000068", len: 1 });
  await row.locator("span button").nth(8).click();
  await memory.getByRole("button", { name: "Who wrote this byte last?" }).click();
  await memory.getByRole("button", { name: `Go to step ${write.step}` }).click();
  await page.waitForURL(new RegExp(`step=${write.step}`));
  await page.goto(`${base}/debug/${scene.failed}?step=20`);
  await page.getByRole("textbox", { name: "Step", exact: true }).waitFor();
  assert.equal(await page.getByRole("textbox", { name: "Step", exact: true }).inputValue(), "20");
});

test("a long run is never in the page as a whole", async (context) => {
  const page = await open(context, `/debug/${scene.long}`);
  const run = await ask(scene.long, { ask: "run" });
  assert.equal(run.steps, 60_003);
  const step = page.getByRole("textbox", { name: "Step", exact: true });
  await step.fill("40000");
  await step.press("Enter");
  const here = await ask(scene.long, { ask: "step", step: 40_000 });
  await page.locator(".registers dd").nth(6).getByText(here.registers[6]).waitFor();
  assert.ok((await page.locator("main *").count()) < 4000);
  await page.getByRole("button", { name: "Over, back" }).click();
  await page.waitForURL(/step=39999/);
});

test("a transaction that is simulated can be stepped through", async (context) => {
  const page = await open(context, `/inspector?transaction=${encodeURIComponent(raw)}`);
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("link", { name: "Steps" }).click();
  await page.getByText("of a simulated transaction").waitFor();
  await page.locator(".code-row.here").first().waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("link", { name: "Compute units" }).click();
  await page.locator(".flame button").first().waitFor();
});

test("a flame graph shows where compute units go", async (context) => {
  const page = await open(context, `/tx/${scene.tokens}`);
  await page.getByRole("link", { name: "Compute units" }).click();
  const landed = await rpc(node.url, "getTransaction", scene.tokens, { encoding: "json" });
  assert.equal(digits(await page.locator(".flame-sum b").textContent()), landed.meta.computeUnitsConsumed);
  const flames = await rpc(node.url, "selkie_flameTransaction", scene.tokens);
  for (const frames of [flames.own, flames.all]) {
    assert.equal(frames.filter((it) => it.parent === null).reduce((sum, it) => sum + it.total, 0), flames.units);
  }
  const graph = page.getByRole("group", { name: "Flame graph" });
  const invoked = graph.getByRole("button", { name: /^sol_invoke/ }).first();
  const { width } = await invoked.boundingBox();
  await invoked.click();
  await page.waitForFunction((old) => document.querySelector(".flame button.syscall").getBoundingClientRect().width > 2 * old, width);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("searchbox", { name: /Search functions/ }).fill("sol_");
  const syscalls = flames.own.filter((it) => it.name.startsWith("sol_") && !flames.own[it.parent].name.startsWith("sol_"));
  await page.getByText(new RegExp(`units, [\\d.]+ %`)).waitFor();
  assert.equal(digits((await page.getByText(/units, [\d.]+ %/).textContent()).split(" units")[0]), syscalls.reduce((sum, it) => sum + it.total, 0));
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save for speedscope" }).click();
  const { profiles } = JSON.parse(readFileSync(await (await saved).path(), "utf8"));
  assert.equal(profiles[0].weights.reduce((sum, it) => sum + it), flames.units);
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

test("a program shows functions with compute units, covered lines, upgrades and control flow", async (context) => {
  const page = await open(context, `/address/${scene.program}`);
  const usage = await rpc(node.url, "selkie_programUsage", scene.program);
  assert.equal(usage.transactions, 3);
  const functions = page.getByRole("region", { name: "Functions" });
  const share = usage.functions.find((it) => it.name.includes("payout::share"));
  const line = functions.getByRole("row", { name: share.name });
  await line.waitFor();
  assert.equal(digits(await line.getByRole("cell").nth(1).textContent()), share.own);
  const coverage = page.getByRole("region", { name: "Coverage" });
  const file = usage.files.find((it) => it.path.endsWith("src/lib.rs"));
  await coverage.getByText(file.lines.join(" of ")).waitFor();
  await coverage.locator(".partial", { hasText: String(file.partial[0]) }).first().waitFor();
  await coverage.locator(".hit").first().waitFor();
  const upgrades = page.getByRole("region", { name: "Upgrades" });
  await upgrades.locator("[data-row]").getByText("Upgradeable Loader").first().waitFor();
  const flow = page.getByRole("combobox", { name: /control flow/ });
  await flow.selectOption({ label: "payout::check" });
  const about = await rpc(node.url, "selkie_disassembleProgram", scene.program, { count: 1 });
  const { pc } = about.functions.find((it) => it.name === "payout::check");
  const { blocks } = await rpc(node.url, "selkie_disassembleProgram", scene.program, { graph: pc });
  assert.ok(blocks.length > 1);
  await page.locator(".graph .block").nth(blocks.length - 1).waitFor();
  assert.equal(await page.locator(".graph .edge").count(), blocks.flatMap((it) => it.to.filter((to) => blocks.some((block) => block.pc === to))).length);
  await page.waitForURL(/graph=\d+/);
});

test("an Anchor program's instructions, accounts and errors have the names of its description", async (context) => {
  const page = await open(context, "/");
  await row(page, scene.added).getByText("Add", { exact: true }).waitFor();
  await row(page, scene.overflow).getByText("Overflow (6000)").waitFor();
  await page.getByRole("searchbox", { name: /Filter/ }).fill("overflow");
  await row(page, scene.added).waitFor({ state: "detached" });
  await row(page, scene.overflow).locator("a.mono").first().click();
  await page.locator(".failure").getByText(/Overflow: the count does not fit into 64 bits/).first().waitFor();
  const call = page.getByRole("region", { name: "Calls" });
  await call.getByText("amount", { exact: true }).waitFor();
  await call.getByText("18 446 744 073 709 551 615".replace(/ /g, "\u202f")).waitFor();
  await call.locator(".accounts").getByText("tally", { exact: true }).waitFor();
  await page.goto(`${base}/address/${scene.counter}`);
  const data = page.getByRole("region", { name: "Data" });
  await data.getByText("count", { exact: true }).waitFor();
  await data.getByText("5", { exact: true }).waitFor();
  await page.getByText(/Tally, target\/idl\/tally.json/).waitFor();
});

test("an account is edited by fields, by bytes and by balance", async (context) => {
  const page = await open(context, `/address/${scene.counter}`);
  const account = async () => (await rpc(node.url, "getAccountInfo", scene.counter, { encoding: "base64", commitment: "processed" })).value;
  const before = await account();
  await page.getByRole("button", { name: "Edit" }).click();
  const form = page.getByRole("form", { name: "Edit the account" });
  await form.getByLabel("count").fill("256");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByRole("region", { name: "Data" }).getByText("256", { exact: true }).waitFor();
  const bytes = Buffer.from((await account()).data[0], "base64");
  assert.equal(bytes.readBigUInt64LE(40), 256n);
  await page.getByRole("button", { name: "Edit" }).click();
  await form.getByLabel("count").fill("-1");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText(/"-1" is no value of count/).waitFor();
  await form.getByLabel("count").fill("256");
  bytes.writeBigUInt64LE(7n, 40);
  await form.getByLabel("Data in hexadecimal").fill(bytes.toString("hex"));
  await form.getByLabel("Lamports").fill("9007199254740993");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByRole("region", { name: "Data" }).getByText("7", { exact: true }).waitFor();
  await page.locator(".facts").getByText("9 007 199.254740993 SOL".replace(/ (?=\d)/g, "\u202f")).waitFor();
  await rpc(node.url, "selkie_setAccount", scene.counter, { lamports: before.lamports, data: before.data });
});

test("a description is uploaded, and its text is never HTML", async (context) => {
  const page = await open(context, `/address/${scene.program}`);
  const part = page.getByRole("region", { name: "Interface" });
  await part.getByText(/Nothing describes this program/).waitFor();
  const tag = [0x88, 0x13];
  const idl = {
    instructions: [{ name: PAYLOAD, discriminator: tag, accounts: [{ name: PAYLOAD, writable: true }], args: [] }],
    accounts: [],
    errors: [{ code: 1, name: "NotAllPaid", msg: PAYLOAD }],
  };
  const file = (text) => ({ name: "payout.json", mimeType: "application/json", buffer: Buffer.from(text) });
  const upload = (text) => part.locator("input[type=file]").setInputFiles(file(text));
  await upload("{");
  await part.getByText("The file is no JSON.").waitFor();
  await upload("[]");
  await part.getByText(/not an interface description/).waitFor();
  await upload(JSON.stringify(idl));
  await part.getByText(PAYLOAD).first().waitFor();
  await page.goto(`${base}/tx/${scene.failed}`);
  await page.locator(".failure").getByText(/NotAllPaid/).first().waitFor();
  await page.getByRole("region", { name: "Calls" }).getByText(PAYLOAD).first().waitFor();
  await page.goto(base);
  await row(page, scene.failed).getByText(PAYLOAD).waitFor();
  await page.goto(`${base}/address/${scene.program}`);
  await part.getByRole("button", { name: "Remove" }).click();
  await part.getByText(/Nothing describes this program/).waitFor();
  assert.equal(await page.evaluate(() => window.harmed), undefined);
});

test("blocks lead to their transactions", async (context) => {
  const { slot } = await rpc(node.url, "getTransaction", scene.memo, { encoding: "json" });
  const page = await open(context, "/blocks");
  await page.getByText(/more empty block/).first().waitFor();
  await page.locator(`a[href="/block/${slot}"]`).click();
  await page.getByRole("heading", { name: `Block ${slot}` }).waitFor();
  await row(page, scene.memo).getByText("Memo", { exact: true }).waitFor();
});

test("a node that makes blocks on demand makes none for an open page", async (context) => {
  const own = await start(SELKIE, FOLDER);
  context.after(() => own.stop());
  const page = await open(context, "/controls");
  await page.goto(own.url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForTimeout(1000);
  const before = await rpc(own.url, "getBlocks", 0);
  await page.waitForTimeout(3000);
  const after = await rpc(own.url, "getBlocks", 0);
  // The second question itself lets the slot catch up.
  assert.ok(after.length <= before.length + 2, `${after.length - before.length} blocks were made`);
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

test("the inspector names instructions, changes an account and compares simulations", async (context) => {
  const landed = await rpc(node.url, "getTransaction", scene.added, { encoding: "base64" });
  const page = await open(context, `/inspector?transaction=${encodeURIComponent(landed.transaction[0])}`);
  const instructions = page.getByRole("region", { name: "Instructions" });
  await instructions.getByText("Add", { exact: true }).waitFor();
  await instructions.getByText("amount", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("button", { name: "Simulate again" }).waitFor();
  await page.getByText("Change accounts or time").click();
  await page.getByRole("combobox", { name: "Account to change" }).selectOption(scene.counter);
  const form = page.getByRole("form", { name: "Edit the account" });
  await form.getByLabel("count").fill(String(2n ** 64n - 1n));
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText(/simulate again$/).waitFor();
  await page.getByRole("button", { name: "Simulate again" }).click();
  const compared = page.getByRole("region", { name: "Compared with the simulation before" });
  await compared.getByText(/^Succeeded → Custom error 6000/).waitFor();
  await rpc(node.url, "selkie_setAccount", scene.counter, { fields: { count: "5" } });
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
  const feature = "HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3";
  await card("Features").getByLabel("Feature").fill(feature);
  await card("Features").getByLabel("From slot").fill("9000000");
  await card("Features").getByRole("button", { name: "Activate" }).click();
  await page.getByText(/is active from the first block at or after slot 9.000.000/).waitFor();
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
  await page.waitForFunction(() => !document.activeElement?.closest("dialog"));
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
  // By tabs alone to the steps of the failed transaction, through them, and to its compute units.
  const tabTo = async (role, name) => {
    const wanted = page.getByRole(role, { name }).first();
    await wanted.waitFor();
    for (let tabs = 0; tabs < 60; tabs++) {
      if (await wanted.evaluate((it) => it === document.activeElement)) return;
      await press("Tab");
    }
    assert.fail(`${name} is not reached by the keyboard`);
  };
  await page.goto(`${base}/tx/${scene.failed}`);
  await tabTo("link", "Steps");
  await press("Enter");
  const step = page.getByRole("textbox", { name: "Step", exact: true });
  await step.waitFor();
  const at = await step.inputValue();
  await press("S");
  await page.waitForFunction((it) => document.querySelector(".where .step").value !== it, at);
  await page.goto(`${base}/tx/${scene.failed}`);
  await tabTo("link", "Compute units");
  await press("Enter");
  await page.locator(".flame button").first().waitFor();
  await press("a");
  await page.getByRole("button", { name: "All code", pressed: true }).waitFor();
  await page.goto(`${base}/controls?to=${scene.bob}`);
  await tabTo("button", "Airdrop");
  await press("Enter");
  await page.getByText("Sent 5 SOL").waitFor();
});

test("what was recorded is opened at its coverage and its compute units", async (context) => {
  if (PAGES) return;
  // The command that opens browsers is one that writes what it is asked to open.
  const bin = join(FOLDER, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > "${join(FOLDER, "opened")}"\n`, { mode: 0o755 });
  for (const [command, path] of [["coverage", "/coverage"], ["profile", "/flame/replay-all"]]) {
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const served = spawn(SELKIE, [command, "call.replay", "--open", "--json"], { cwd: FOLDER, env });
    context.after(() => served.kill());
    const told = JSON.parse(await new Promise((found) => served.stdout.once("data", (it) => found(String(it)))));
    assert.equal(new URL(told.url).pathname, path);
    const page = await open(context, "/");
    await page.goto(told.url);
    if (command === "coverage") {
      await page.getByText(/of \d+/).first().waitFor();
      await page.locator(".coverage .partial").first().waitFor();
    } else await page.locator(".flame button").first().waitFor();
    await page.screenshot({ path: join(PICTURES, `${command}-light-1280.png`), fullPage: true });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    assert.deepEqual(violations.filter((it) => ["serious", "critical"].includes(it.impact)).map((it) => it.id), []);
    for (let tries = 0; ; tries++) {
      const opened = existsSync(join(FOLDER, "opened")) ? readFileSync(join(FOLDER, "opened"), "utf8").trim() : "";
      if (opened === told.url) break;
      assert.ok(tries < 600, `opened ${opened}, and not ${told.url}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  }
});

test("account data and the fields that a description names are never HTML", async (context) => {
  const page = await open(context, "/");
  const [victim, owner] = ["cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN", "LbUiWL3xVV8hTFYBVdbTNrpDo41NKS6o3LHHuDzjfcY"];
  const text = Buffer.from(PAYLOAD);
  await rpc(node.url, "selkie_setAccount", victim, { lamports: 1_000_000_000, data: text.toString("hex") });
  await page.goto(`${base}/address/${victim}`);
  await page.getByRole("region", { name: /bytes in hexadecimal/ }).getByText("<img src=x onerr").waitFor();
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator("main img").count(), 0);
  const field = { name: PAYLOAD, type: "string" };
  const idl = { accounts: [{ name: PAYLOAD, discriminator: [1] }], types: [{ name: PAYLOAD, type: { kind: "struct", fields: [field] } }], instructions: [] };
  await rpc(node.url, "selkie_setIdl", owner, idl);
  const data = Buffer.concat([Buffer.from([1, text.length, 0, 0, 0]), text]).toString("hex");
  await rpc(node.url, "selkie_setAccount", victim, { owner: owner, data });
  const shown = page.getByRole("region", { name: "Data" });
  await shown.locator("dt").getByText(PAYLOAD).waitFor();
  await shown.locator("dd").getByText(PAYLOAD).waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("form").waitFor();
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator("main img").count(), 0);
  await rpc(node.url, "selkie_setIdl", owner);
});

test("the debugger draws the five regions of memory", async (context) => {
  const page = await open(context, `/debug/${scene.long}?step=2`);
  const map = page.getByRole("tablist", { name: "Memory map" });
  await map.getByRole("tab").first().waitFor();
  for (const at of [0, 1, 2, 3, 4]) await map.getByText(`0x${at ? `${at}00000000` : 0}`, { exact: true }).first().waitFor();
});

test("names of tokens, logs and symbols of programs are never HTML", async (context) => {
  const page = await open(context, "/");
  const mint = execFileSync(SELKIE, ["keygen", "pubkey", "test:bait"], { encoding: "utf8" }).trim();
  const long = "W".repeat(5000);
  const data = mintWithMetadata(PAYLOAD + UNSEEN, UNSEEN, long).toString("hex");
  const owner = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
  await rpc(node.url, "selkie_setAccount", mint, { lamports: 10_000_000_000, owner, data });
  await page.goto(`${base}/address/${mint}`);
  await page.getByRole("region", { name: "Data" }).getByText(PAYLOAD + SEEN, { exact: true }).waitFor();
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok((await wide()) <= 0);
  const bad = await harmful(SELKIE, FOLDER, node.url);
  await page.goto(`${base}/tx/${bad.signature}`);
  await page.getByRole("region", { name: "Calls" }).getByText(bad.text).waitFor();
  await page.goto(`${base}/address/${bad.program}`);
  await page.getByRole("region", { name: "Instructions" }).getByText(bad.symbol).first().waitFor();
  await page.goto(`${base}/debug/${bad.signature}`);
  await page.locator(".code-row").getByText(bad.symbol).first().waitFor();
  await page.goto(`${base}/flame/${bad.signature}`);
  await page.locator(".flame button").first().waitFor();
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator("main img").count(), 0);
});

test("a page lets no script in and asks no other server", async (context) => {
  if (PAGES) return;
  const page = await browser.newPage();
  context.after(() => page.close());
  await page.goto(node.url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  const tried = await page.evaluate(async () => {
    const attempt = async (work) => {
      try {
        await work();
        return "done";
      } catch (error) {
        return error.name;
      }
    };
    const markup = await attempt(() => document.body.insertAdjacentHTML("beforeend", "<b>harm</b>"));
    const asked = await attempt(() => fetch("http://foreign.example:9/"));
    const script = await attempt(
      () =>
        new Promise((done, failed) => {
          const it = Object.assign(document.createElement("iframe"), { src: "http://foreign.example:9/" });
          document.addEventListener("securitypolicyviolation", () => failed(new TypeError("refused")));
          document.body.append(it);
        }),
    );
    return [markup, asked, script];
  });
  assert.deepEqual(tried, ["TypeError", "TypeError", "TypeError"]);
});

test("pages of other origins can do nothing", async (context) => {
  if (PAGES) return;
  const foreign = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<title>foreign</title>"));
  await new Promise((done) => foreign.listen(0, "127.0.0.1", done));
  context.after(() => foreign.close());
  const page = await browser.newPage();
  context.after(() => page.close());
  const port = new URL(node.url).port;
  const snapshot = () => rpc(node.url, "selkie_snapshot");
  const first = await snapshot();
  // From a page elsewhere, and from a name of someone else's that leads to the node itself.
  for (const address of [`http://foreign.example:${foreign.address().port}/`, `http://foreign.example:${port}/`]) {
    await page.goto(address);
    const answers = await page.evaluate(async (url) => {
      const ask = async (method, type, params = []) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
        try {
          return await (await fetch(url, { method: "POST", headers: { "Content-Type": type }, body })).text();
        } catch (error) {
          return error.name;
        }
      };
      const key = "cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN";
      return [
        await ask("selkie_snapshot", "application/json"),
        await ask("selkie_snapshot", "text/plain"),
        await ask("selkie_setBalance", "application/json", [key, 1]),
        await ask("selkie_reset", "application/json"),
        await ask("selkie_debugTransaction", "application/json", [key, { ask: "run" }]),
      ];
    }, address.includes(`:${port}/`) ? "/" : node.url);
    for (const it of answers) assert.ok(!it.includes('"result"'), it);
  }
  assert.equal(await snapshot(), first + 1);
  await page.goto(`http://foreign.example:${foreign.address().port}/`);
  // Nor can it show the explorer in a frame of its own.
  const refused = page.waitForEvent("console", (it) => it.text().includes("frame-ancestors"));
  await page.evaluate((url) => document.body.append(Object.assign(document.createElement("iframe"), { src: url })), node.url);
  await refused;
});

test("text of clients is never HTML", async (context) => {
  const page = await open(context, `/tx/${scene.memo}`);
  await page.getByRole("button", { name: "Open all" }).click();
  await page.getByText(PAYLOAD).first().waitFor();
  assert.ok(!(await page.locator("body").innerText()).match(/[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]/));
  for (const path of ["/", `/debug/${scene.memo}`, `/flame/${scene.memo}`, `/debug/${encodeURIComponent(PAYLOAD)}`, `/?filter=${encodeURIComponent(PAYLOAD)}`, `/inspector?transaction=${encodeURIComponent(PAYLOAD)}`, `/address/${encodeURIComponent(PAYLOAD)}`]) {
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

test("what was recorded is opened without a node", async (context) => {
  if (PAGES) return;
  const folder = join(FOLDER, "recorded");
  mkdirSync(folder, { recursive: true });
  const line = JSON.parse(readFileSync(join(FOLDER, "call.replay"), "utf8").trim().split("\n").at(-1));
  const lines = [{ ...line, id: "pays" }, { ...line, id: PAYLOAD }].map((it) => JSON.stringify(it));
  writeFileSync(join(folder, "all.replay"), `${lines.join("\n")}\n`);
  const served = spawn(SELKIE, ["inspect", folder, "--port", "0", "--json"], { cwd: FOLDER });
  context.after(() => served.kill());
  const told = JSON.parse(await new Promise((found) => served.stdout.once("data", (it) => found(String(it)))));
  assert.equal(told.transactions, 2);
  const page = await open(context, "/");
  await page.goto(told.url);
  await page.getByRole("heading", { level: 1, name: "Recorded transactions" }).waitFor();
  assert.equal(await page.locator("[data-row]").count(), 2);
  await page.screenshot({ path: join(PICTURES, "recorded-light-1280.png"), fullPage: true });
  await page.getByText(PAYLOAD).first().waitFor();
  await page.getByRole("link", { name: "pays" }).click();
  await page.locator(".source .here").getByText("return Err(ProgramError::Custom(NOT_ALL_PAID));").waitFor();
  await page.screenshot({ path: join(PICTURES, "replay-light-1280.png"), fullPage: true });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  assert.deepEqual(violations.filter((it) => ["serious", "critical"].includes(it.impact)).map((it) => it.id), []);
  await page.getByRole("link", { name: "Step through it" }).click();
  await page.locator(".source-pane .here").getByText("return Err").waitFor();
  await page.getByRole("link", { name: /of recorded transaction/ }).click();
  await page.getByRole("link", { name: "Compute units" }).click();
  await page.locator(".flame button").first().waitFor();
  assert.equal(await page.evaluate(() => window.harmed), undefined);
});

/** Both colours of the page, at the widths of a desk and of a telephone. */
const LOOKS = ["light", "dark"].flatMap((colorScheme) => [1280, 360].map((width) => ({ colorScheme, width })));

/** Opens a view, down to what it shows last. */
async function openView(page, name, path) {
  await page.goto(base + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  if (name === "failed") await page.locator(".source .here").waitFor();
  if (name === "debugger") await page.locator(".code-row.here code").first().waitFor();
  if (name === "counter") await page.getByRole("button", { name: "Edit" }).click();
  if (name === "program") await page.getByRole("combobox", { name: /control flow/ }).selectOption({ label: "payout::check" });
  if (name === "program") await page.locator(".graph .block").first().waitFor();
  if (name === "flame") await page.locator(".flame button").first().waitFor();
}

test("views are accessible and fit into wide and narrow windows, light and dark", async (context) => {
  const { slot } = await rpc(node.url, "getTransaction", scene.tokens, { encoding: "json" });
  const paths = {
    live: "/",
    failed: `/tx/${scene.failed}`,
    tokens: `/tx/${scene.tokens}`,
    account: `/address/${scene.mint}`,
    program: `/address/${scene.program}`,
    debugger: `/debug/${scene.failed}`,
    flame: `/flame/${scene.tokens}`,
    anchor: `/tx/${scene.overflow}`,
    tally: `/address/${scene.tally}`,
    counter: `/address/${scene.counter}`,
    blocks: "/blocks",
    block: `/block/${slot}`,
    inspector: `/inspector?transaction=${encodeURIComponent(raw)}`,
    controls: "/controls",
  };
  const page = await open(context, "/");
  for (const [name, path] of Object.entries(paths)) {
    await openView(page, name, path);
    // By the debugger's way, as the page's policy lets no other script in.
    await page.evaluate(AXE);
    for (const { colorScheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      const look = `${name}-${colorScheme}-${width}`;
      await page.screenshot({ path: join(PICTURES, `${look}.png`), fullPage: true });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(overflow <= 0, `${look} is ${overflow} pixels too wide`);
      const { violations } = await page.evaluate(() => window.axe.run(document));
      const serious = violations.filter((it) => it.impact === "serious" || it.impact === "critical");
      const found = serious.map((it) => `${look}: ${it.id}: ${it.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 4).join(" | ")}`);
      assert.deepEqual(found, []);
    }
  }
});
