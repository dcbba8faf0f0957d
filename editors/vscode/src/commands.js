// What is run: command lines and configurations of the debugger. It needs no editor.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

/** Returns the command that a setting names, in a workspace's folder. */
function commandOf(setting, folder) {
  const command = setting.trim() || "selkie";
  if (command.startsWith("~/")) return path.join(os.homedir(), command.slice(2));
  if (folder === undefined) return command;
  const whole = command.replace("${workspaceFolder}", folder);
  // A name alone is looked for on the PATH.
  return /[/\\]/.test(whole) ? path.resolve(folder, whole) : whole;
}

/** Returns the folder of the Cargo package that a file is in, or `undefined`. */
function packageOf(file) {
  let folder = path.dirname(file);
  while (!fs.existsSync(path.join(folder, "Cargo.toml"))) {
    if (path.dirname(folder) === folder) return undefined;
    folder = path.dirname(folder);
  }
  return folder;
}

/** Whether the tests of a file can use Selkie: the manifest of their package names it. */
function usesSelkie(file) {
  const folder = packageOf(file);
  return folder !== undefined && /\bselkie/.test(fs.readFileSync(path.join(folder, "Cargo.toml"), "utf8"));
}

/** Returns the arguments of `selkie` that run a test and record what it sends. */
const testArguments = (test) => ["test", test];

/** Returns the arguments of `selkie` that list the recorded transactions of a test. */
const listArguments = (test) => ["debug", "--list", "--json", "--test", test];

/**
 * Returns the newest time at which a transaction of a list was written, in milliseconds, or throws what
 * `selkie debug --list --json` says.
 */
function recordedAt(list, folder) {
  const { transactions = [], error } = JSON.parse(list);
  if (error !== undefined) throw new Error(error);
  const times = transactions.map((it) => fs.statSync(path.resolve(folder, it.file)).mtimeMs);
  return Math.max(...times);
}

const configuration = (name, rest) => ({ type: "selkie", request: "launch", name, ...rest });

/** Debugs what the newest test that failed in a folder failed with. */
const failureConfiguration = (cwd) => configuration("Debug the newest failure", { cwd });

/** Debugs a test that has run; a test that passed begins at its start. */
const testConfiguration = (test, cwd) => configuration(`Debug ${test}`, { test, cwd, stopOnEntry: true });

/** Debugs a transaction of a file. */
const replayConfiguration = (replay, cwd) =>
  configuration(`Debug ${path.basename(replay)}`, { replay, cwd, stopOnEntry: true });

/** Returns what `selkie lsp` is told: folders are whole paths. */
function serverSettings({ arch, include, defines }, folder) {
  const whole = (it) => path.resolve(folder ?? "", it.replace("${workspaceFolder}", folder ?? "."));
  return { arch, include: include.map(whole), defines };
}

module.exports = {
  commandOf,
  failureConfiguration,
  listArguments,
  packageOf,
  recordedAt,
  replayConfiguration,
  serverSettings,
  testArguments,
  testConfiguration,
  usesSelkie,
};
