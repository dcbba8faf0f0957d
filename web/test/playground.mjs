// The playground in a browser: programs of the tutorials are typed in, and give what those print.
// `cargo xtask playground` builds the site and runs this.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const { SITE, CHROMIUM = "/usr/bin/chromium", PICTURES } = process.env;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".gz": "application/gzip" };

let server, browser, base;

before(async () => {
  server = createServer((request, response) => {
    const path = join(SITE, normalize(new URL(request.url, "http://site").pathname).replace(/^\/site\//, "/"));
    const file = path.endsWith("/") ? `${path}index.html` : path;
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // In a folder, as a site beside others is.
  base = `http://127.0.0.1:${server.address().port}/site/`;
  // Chromium refuses its sandbox to root, as which containers run.
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  if (PICTURES) mkdirSync(PICTURES, { recursive: true });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Opens the page, and fails the test at its end if the page had an error. */
async function open(context, address = "", options = {}) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 }, ...options });
  // A busy machine may take long to load the engine.
  page.setDefaultTimeout(120_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  context.after(async () => {
    await page.close();
    assert.deepEqual(problems, []);
  });
  await page.goto(base + address);
  return page;
}

const source = (page) => page.getByRole("textbox", { name: "Assembly" });
const result = (page) => page.getByRole("region", { name: "Result" });
const units = (page, count) => result(page).getByText(new RegExp(`^${count} compute units?$`)).waitFor();
const part = (page, number) => page.getByRole("textbox", { name: `Part ${number} of the instruction data` });
const example = (page, name) => page.getByLabel("Examples").selectOption(name);
const picture = (page, name) => (PICTURES ? page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true }) : undefined);
/** The values of registers at the present step of the debugger. */
const registers = async (page) =>
  Object.fromEntries((await page.locator(".registers div").allTextContents()).map((it) => /^(r\d+)(0x[\da-f]+)/.exec(it).slice(1)));

async function go(page, step) {
  await page.getByLabel("Step", { exact: true }).first().fill(String(step));
  await page.keyboard.press("Enter");
  await page.waitForFunction((wanted) => new URLSearchParams(location.search).get("step") === wanted, String(step));
}

test("the first page runs a program", async (context) => {
  const page = await open(context);
  await units(page, 105);
  await result(page).getByText("Hello from sBPF!").waitFor();
  // The syscall's cost is at its line.
  assert.equal(await page.locator(".gutter li").nth(8).locator(".units-of").textContent(), "101");
  await picture(page, "hello");
});

test("what r0 holds is the result", async (context) => {
  const page = await open(context);
  await source(page).fill("exit\n");
  await result(page).getByText("Succeeded").waitFor();
  await units(page, 1);
  await source(page).fill("mov r0, 600\nexit\n");
  await result(page).getByRole("heading", { name: "custom program error: 0x258" }).waitFor();
  await units(page, 2);
});

test("a store to memory that is only read ends the program", async (context) => {
  const page = await open(context);
  await source(page).fill("lddw r1, 0x100000000\nstdw [r1 + 0], 42\nexit\n");
  await result(page).getByRole("heading", { name: /^Access violation/i }).waitFor();
  await result(page).getByText(/program\.s:2:1 in .*stdw/).waitFor();
  await picture(page, "violation");
});

test("arguments are added, and each step is seen", async (context) => {
  const page = await open(context);
  await source(page).fill("mov r1, 10\nmov r2, 25\nadd64 r1, r2\nmov r3, r1\nexit\n");
  await units(page, 5);
  await page.getByRole("button", { name: "Step through" }).click();
  await page.locator(".registers").waitFor();
  await go(page, 4);
  const { r1, r3 } = await registers(page);
  assert.deepEqual([r1, r3], ["0x23", "0x23"]);
  await page.locator(".source-pane .here", { hasText: "exit" }).waitFor();
  await picture(page, "steps");
});

test("callees have frames of their own, and keep r6", async (context) => {
  const page = await open(context);
  await page.getByLabel("sBPF version").selectOption("v0");
  const lines = ["mov r6, 999", "call function_b", "mov r2, r6", "exit", "function_b:", "stxdw [r10 - 8], r6", "mov r6, 42", "add64 r6, 10", "ldxdw r6, [r10 - 8]", "exit"];
  await source(page).fill(`${lines.join("\n")}\n`);
  await units(page, 9);
  await page.getByRole("button", { name: "Step through" }).click();
  await page.locator(".registers").waitFor();
  const seen = [];
  for (const step of [1, 2, 4, 5, 6, 7, 8]) {
    await go(page, step);
    const { r2, r6, r10 } = await registers(page);
    seen.push([step, r2, r6, r10]);
  }
  assert.deepEqual(
    seen.map(([step, , r6, r10]) => [step, r6, r10]),
    [
      [1, "0x3e7", "0x200001000"],
      [2, "0x3e7", "0x200003000"],
      [4, "0x2a", "0x200003000"],
      [5, "0x34", "0x200003000"],
      [6, "0x3e7", "0x200003000"],
      [7, "0x3e7", "0x200001000"],
      [8, "0x3e7", "0x200001000"],
    ],
  );
  assert.equal(seen.at(-1)[1], "0x3e7");
});

test("a register that cannot be written is an error in the editor", async (context) => {
  const page = await open(context);
  await source(page).fill("mov r10, 999\nexit\n");
  const errors = page.getByRole("list", { name: "Diagnostics" });
  await errors.getByText(/r10/).first().waitFor();
  await page.getByText("there is no program yet").waitFor();
  await picture(page, "diagnostics");
  await source(page).fill("mov r0, 0\nexti\n");
  await errors.getByRole("button", { name: "Replace" }).click();
  await result(page).getByText("Succeeded").waitFor();
  assert.equal(await source(page).inputValue(), "mov r0, 0\nexit\n");
});

test("data and accounts are built in the form", async (context) => {
  const page = await open(context);
  await example(page, "Dispatch");
  await result(page).getByText("Succeeded").waitFor();
  // Neither of the two operations, and then too few bytes.
  await part(page, 1).fill("2");
  await result(page).getByRole("heading", { name: "custom program error: 0x2" }).waitFor();
  await part(page, 1).fill("0");
  await result(page).getByText("Succeeded").waitFor();
  await page.getByRole("button", { name: "Remove part 2 of the instruction data" }).click();
  await result(page).getByRole("heading", { name: "custom program error: 0x2" }).waitFor();
  await example(page, "Counter");
  await result(page).getByText("Succeeded").waitFor();
  await result(page).locator(".bytes").getByText("42").waitFor();
  await picture(page, "counter");
  await page.getByLabel("writable").uncheck();
  await result(page).getByRole("heading", { name: "custom program error: 0x3" }).waitFor();
  await part(page, 1).fill("many");
  await page.getByText("many is not a whole number").first().waitFor();
});

test("the tutorial's program with handlers gives what it says", async (context) => {
  const page = await open(context);
  await source(page).fill("; nothing\n.globl entrypoint\nentrypoint:\n  mov64 r0, 0\n  exit\n");
  await units(page, 2);
  await source(page).fill(`.equ INSTRUCTION_DATA_LEN, 0x2868
.equ INSTRUCTION_DATA, 0x2870
.globl entrypoint
entrypoint:
  ldxdw r2, [r1 + INSTRUCTION_DATA_LEN]
  jne r2, 9, bad_ix_data
  ldxb r4, [r1 + INSTRUCTION_DATA + 0]
  jeq r4, 0x0, handler_a
  jeq r4, 0x1, handler_b
  ja bad_ix_data
handler_a:
  mov64 r0, 0
  exit
handler_b:
  mov64 r0, 0
  exit
bad_ix_data:
  mov64 r0, 2
  exit
`);
  await page.getByRole("button", { name: "Add an account" }).click();
  const data = page.getByRole("group", { name: "instruction data", exact: true });
  await data.getByRole("button", { name: /Add a value/ }).click();
  await page.getByRole("combobox", { name: "Type of part 1 of the instruction data" }).selectOption("u8");
  await part(page, 1).fill("1");
  await result(page).getByRole("heading", { name: "custom program error: 0x2" }).waitFor();
  await data.getByRole("button", { name: /Add a value/ }).click();
  await units(page, 7);
  await result(page).getByText("Succeeded").waitFor();
  await part(page, 1).fill("0");
  await units(page, 6);
  await part(page, 1).fill("2");
  await result(page).getByRole("heading", { name: "custom program error: 0x2" }).waitFor();
});

test("values of each kind are data", async (context) => {
  const page = await open(context);
  await source(page).fill("mov64 r0, 0\nexit\n");
  const data = page.getByRole("group", { name: "instruction data", exact: true });
  const kinds = [["u8", "255"], ["u16", "1"], ["u32", "1"], ["u64", "18446744073709551615"], ["i64", "-1"], ["bool", "true"], ["key", ""], ["str", "é"], ["hex", "0x00ff"], ["zeros", "3"]];
  for (const [index, [kind, value]] of kinds.entries()) {
    await data.getByRole("button", { name: /Add a value/ }).click();
    await page.getByRole("combobox", { name: `Type of part ${index + 1} of the instruction data` }).selectOption(kind);
    await part(page, index + 1).fill(value);
  }
  await data.getByText("63 bytes").waitFor();
  await part(page, 1).fill("256");
  await data.getByText("u8 is from 0 to 255").waitFor();
});

test("programs call others", async (context) => {
  const page = await open(context);
  await example(page, "Transfer");
  await result(page).getByRole("heading", { name: "Balances" }).waitFor();
  await result(page).getByText("+0.00025").waitFor();
  await example(page, "Memo");
  await result(page).getByText(/Memo \(len 14\): "from a program"/).waitFor();
});

test("an address holds the program and its instruction", async (context) => {
  const page = await open(context);
  await example(page, "Counter");
  await part(page, 1).fill("7");
  await result(page).locator(".bytes").getByText("48").waitFor();
  await page.waitForFunction(() => location.hash.length > 100);
  const other = await open(context, new URL(page.url()).hash);
  await result(other).locator(".bytes").getByText("48").waitFor();
  assert.equal(await source(other).inputValue(), await source(page).inputValue());
  const wrong = await open(context, "#nothing");
  await wrong.getByText("holds no program").waitFor();
  await units(wrong, 105);
});

test("a program file is disassembled and run", async (context) => {
  const page = await open(context);
  await units(page, 105);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save .so" }).click()]);
  await page.getByLabel("Open a file").setInputFiles(await download.path().then((path) => ({ name: "hello.so", mimeType: "application/octet-stream", buffer: readFileSync(path) })));
  await page.getByRole("region", { name: "Instructions" }).getByText("call sol_log_").waitFor();
  await result(page).getByText("Hello from sBPF!").waitFor();
  await picture(page, "file");
});

test("programs and what they say are text", async (context) => {
  const page = await open(context);
  const payload = "<img src=x onerror=\\\"document.title=1\\\">";
  await source(page).fill(`lddw r1, it\nmov64 r2, it_end - it\ncall sol_log_\nexit\n.rodata\nit: .ascii "${payload}"\nit_end:\n`);
  await result(page).getByText("<img src=x").waitFor();
  assert.equal(await page.locator("main img").count(), 0);
});

test("the page is accessible, also when it is narrow or dark", async (context) => {
  for (const options of [{}, { colorScheme: "dark" }, { viewport: { width: 360, height: 800 } }]) {
    const page = await open(context, "", { ...options, bypassCSP: true });
    await example(page, "Counter");
    await result(page).locator(".bytes").getByText("42").waitFor();
    await page.getByRole("button", { name: "Step through" }).click();
    await page.locator(".registers").waitFor();
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => axe.run());
    const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
    assert.deepEqual(serious.map((it) => `${it.id}: ${it.nodes[0].html}`), []);
    const width = options.viewport?.width ?? 1440;
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, "the page is wider than the screen");
    await picture(page, options.colorScheme ?? (options.viewport ? "narrow" : "light"));
  }
});
