"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");

const commands = require("../src/commands.js");

/** Calls a function with an empty folder, which is removed afterwards. */
function inFolder(work) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "selkie-commands-"));
  try {
    work(folder);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

test("the command is a name on the PATH, or a path", () => {
  const here = path.resolve("/here");
  const named = (setting) => commands.commandOf(setting, here);
  assert.strictEqual(named("selkie"), "selkie");
  assert.strictEqual(named(" "), "selkie");
  assert.strictEqual(named("~/bin/selkie"), path.join(os.homedir(), "bin", "selkie"));
  assert.strictEqual(named("bin/selkie"), path.join(here, "bin", "selkie"));
  assert.strictEqual(named("${workspaceFolder}/selkie"), path.join(here, "selkie"));
  assert.strictEqual(commands.commandOf("selkie", undefined), "selkie");
});

test("tests belong to the nearest package, and lenses to packages that name Selkie", () => {
  inFolder((root) => {
    const file = path.join(root, "program", "tests", "pays.rs");
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(path.join(root, "Cargo.toml"), "[workspace]\n");
    assert.strictEqual(commands.packageOf(file), root);
    assert.strictEqual(commands.usesSelkie(file), false);
    const manifest = path.join(root, "program", "Cargo.toml");
    fs.writeFileSync(manifest, '[dev-dependencies]\nlitesvm = { package = "selkie-litesvm" }\n');
    assert.strictEqual(commands.packageOf(file), path.join(root, "program"));
    assert.strictEqual(commands.usesSelkie(file), true);
  });
});

test("a test is run, listed and debugged by its name", () => {
  assert.deepStrictEqual(commands.testArguments("tests::pays"), ["test", "tests::pays"]);
  const list = ["debug", "--list", "--json", "--test", "tests::pays"];
  assert.deepStrictEqual(commands.listArguments("tests::pays"), list);
  const debugged = commands.testConfiguration("tests::pays", "/here");
  assert.strictEqual(debugged.test, "tests::pays");
  assert.strictEqual(debugged.cwd, "/here");
  assert.strictEqual(commands.failureConfiguration("/here").replay, undefined);
});

test("a list tells when the newest transaction was recorded, or what is wrong", () => {
  inFolder((root) => {
    for (const [name, time] of [["a", 20], ["b", 10]]) {
      fs.writeFileSync(path.join(root, name), "");
      fs.utimesSync(path.join(root, name), time, time);
    }
    const list = { success: true, transactions: [{ file: "b" }, { file: path.join(root, "a") }] };
    assert.strictEqual(commands.recordedAt(JSON.stringify(list), root), 20_000);
    const wrong = () => commands.recordedAt('{"error":"no test is called so"}', root);
    assert.throws(wrong, /no test is called so/);
  });
});

test("the server is told whole paths", () => {
  const here = path.resolve("/here");
  const given = { arch: "v0", include: ["inc", "${workspaceFolder}/more"], defines: { A: 1 } };
  assert.deepStrictEqual(commands.serverSettings(given, here), {
    arch: "v0",
    include: [path.join(here, "inc"), path.join(here, "more")],
    defines: { A: 1 },
  });
});
