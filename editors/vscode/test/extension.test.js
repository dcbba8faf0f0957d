// The extension in an editor that is made for tests, with the command that SELKIE names: `cargo xtask vscode
// --test` runs them.
"use strict";

const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const { pathToFileURL } = require("node:url");

const { Adapter, load, makeEditor } = require("./support/editor.js");

const SELKIE = process.env.SELKIE ?? path.resolve(__dirname, "../../../target/debug/selkie");
const EXAMPLES = path.resolve(__dirname, "../../../examples");
const MANIFEST = require("../package.json");

/** Activates the extension. */
async function activate(editor) {
  const extension = load(editor);
  extension.activate({ subscriptions: [] });
  // What it starts by itself has begun before this resolves.
  await editor.find("command", "selkie.restartServer")();
  return extension;
}

test("what package.json contributes is registered", async () => {
  const editor = makeEditor();
  await activate(editor);
  const registered = (kind) => editor.registered.filter((it) => it[0] === kind).map((it) => it[1]);
  const { commands, debuggers, taskDefinitions } = MANIFEST.contributes;
  assert.deepStrictEqual(registered("command").sort(), commands.map((it) => it.command).sort());
  const types = debuggers.map((it) => it.type);
  assert.deepStrictEqual(registered("adapter"), types);
  assert.deepStrictEqual(registered("configurations"), types);
  assert.deepStrictEqual(registered("tasks"), taskDefinitions.map((it) => it.type));
  const used = new Set(commands.map((it) => it.command));
  for (const menu of Object.values(MANIFEST.contributes.menus)) {
    for (const { command } of menu) assert.ok(used.has(command), command);
  }
});

test("settings are declared, with the defaults that the code has", () => {
  const sources = fs.readdirSync(path.join(__dirname, "../src"));
  const text = sources.map((it) => fs.readFileSync(path.join(__dirname, "../src", it), "utf8")).join("\n");
  const read = [...text.matchAll(/\.get\("(\w+)"/g)].map((it) => `selkie.${it[1]}`);
  const declared = Object.keys(MANIFEST.contributes.configuration.properties);
  const others = declared.filter((it) => !read.includes(it));
  // The library of the language client reads this one.
  assert.deepStrictEqual(others, ["selkie.trace.server"]);
  assert.deepStrictEqual(read.filter((it) => !declared.includes(it)), []);
});

test("tests of packages that name Selkie have two lenses each", async () => {
  const editor = makeEditor();
  await activate(editor);
  const provider = editor.registered.find((it) => it[0] === "lenses")[2];
  const file = path.join(EXAMPLES, "rust/payout/tests/payout.rs");
  const document = { uri: { fsPath: file }, getText: () => fs.readFileSync(file, "utf8") };
  const lenses = provider.provideCodeLenses(document).map(({ command }) => command);
  assert.deepStrictEqual(
    lenses.map((it) => it.command),
    ["selkie.runTest", "selkie.debugTest", "selkie.runTest", "selkie.debugTest"],
  );
  assert.deepStrictEqual(lenses[0].arguments, [file, "a_small_pool_is_split"]);
  editor.settings.lenses = false;
  assert.deepStrictEqual(provider.provideCodeLenses(document), []);
});

test("a command that is missing is told once, with a button that opens the setting", async () => {
  const documents = [{ languageId: "sbpf", uri: "file:///a.s", text: "exit\n" }];
  const editor = makeEditor({ settings: { path: "selkie-not-here" }, documents, answer: "Open Setting" });
  await activate(editor);
  await editor.find("command", "selkie.restartServer")();
  assert.strictEqual(editor.shown.length, 1);
  assert.match(editor.shown[0].text, /`selkie-not-here` was not found.*not on the PATH/);
  assert.deepStrictEqual(editor.executed, [["workbench.action.openSettings", "selkie.path"]]);
  // To start the debugger shows the message once more.
  const provider = editor.find("configurations", "selkie");
  assert.strictEqual(await provider.resolveDebugConfiguration(undefined, {}), undefined);
  assert.strictEqual(editor.shown.length, 2);
});

test("the language server checks and formats a file, and follows the settings", async () => {
  const uri = "file:///a.s";
  const text = "entrypoint:\n  jeq32 r1, 0, entrypoint\nexit\n";
  const documents = [{ languageId: "sbpf", uri, text }];
  const settings = { path: SELKIE, arch: "v0", include: [], defines: {} };
  const editor = makeEditor({ settings, documents });
  const extension = await activate(editor);
  const client = editor.clients.at(-1);
  assert.deepStrictEqual(client.args, ["lsp"]);
  const [problem] = client.diagnostics.get(uri) ?? (await client.published(uri));
  assert.match(problem.message, /^v0 has no `jeq32`/);
  const options = { tabSize: 4, insertSpaces: true };
  const format = { textDocument: { uri }, options };
  const edits = await client.connection.sendRequest("textDocument/formatting", format);
  assert.match(edits[0].newText, /^entrypoint:\n {4}jeq32 r1, 0, entrypoint\n {4}exit\n$/);
  const published = client.published(uri);
  editor.settings.arch = "v3";
  const event = { affectsConfiguration: (name) => name === "selkie.arch" };
  for (const it of editor.listeners.settings) await it(event);
  assert.deepStrictEqual(await published, []);
  await extension.deactivate();
  assert.strictEqual(client.code, 0);
});

test("a replay is debugged, from its failure backward", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "selkie-extension-"));
  try {
    const replay = path.join(folder, "failed.replay");
    const run = ["run", "payout.s", "--input", "rust/payout/input.json", "--save-replay", replay];
    const { stdout, status } = spawnSync(SELKIE, run, { cwd: EXAMPLES, encoding: "utf8" });
    assert.strictEqual(status, 1);
    const failed = Number(/--> payout\.s:(\d+)/.exec(stdout)[1]);
    const editor = makeEditor({ settings: { path: SELKIE }, folder: EXAMPLES });
    await activate(editor);
    await editor.find("command", "selkie.debugReplay")({ fsPath: replay });
    const [session] = editor.sessions;
    const provider = editor.find("configurations", "selkie");
    const given = { ...session, cwd: undefined };
    const configuration = await provider.resolveDebugConfiguration(undefined, given);
    assert.strictEqual(configuration.cwd, EXAMPLES);
    const adapter = new Adapter(editor.find("adapter", "selkie").createDebugAdapterDescriptor());
    const { body } = await adapter.ask("initialize", { adapterID: "selkie" });
    assert.ok(body.supportsStepBack);
    const launched = adapter.ask("launch", configuration);
    await adapter.hear((it) => it.event === "initialized");
    await adapter.ask("configurationDone");
    const answer = await launched;
    assert.ok(answer.success, answer.message);
    await adapter.hear((it) => it.event === "stopped");
    const top = async () => (await adapter.ask("stackTrace", { threadId: 1 })).body.stackFrames[0];
    const { line, source } = await top();
    assert.strictEqual(source.path, path.join(EXAMPLES, "payout.s"));
    assert.strictEqual(line, failed);
    adapter.heard = [];
    await adapter.ask("stepBack", { threadId: 1 });
    await adapter.hear((it) => it.event === "stopped");
    assert.notStrictEqual((await top()).line, failed);
    await adapter.end();
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test("a test that cannot be run is not debugged with what was recorded before", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "selkie-extension-"));
  try {
    fs.writeFileSync(path.join(folder, "Cargo.toml"), "this is no manifest");
    const editor = makeEditor({ settings: { path: SELKIE }, folder });
    await activate(editor);
    await editor.find("command", "selkie.debugTest")(path.join(folder, "lib.rs"), "tests::pays");
    assert.deepStrictEqual(editor.sessions, []);
    assert.deepStrictEqual(editor.tasks[0].execution.args, ["test", "tests::pays"]);
    assert.match(editor.shown[0].text, /`tests::pays` cannot be debugged: no transaction/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test("without a test at the cursor, the user is told where to place it", async () => {
  const editor = makeEditor({ settings: { path: SELKIE } });
  await activate(editor);
  await editor.find("command", "selkie.runTest")();
  assert.match(editor.shown[0].text, /^There is no test at the cursor/);
});
