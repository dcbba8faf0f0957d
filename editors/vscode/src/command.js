// The command `selkie`: where it is, and what is said if it is not there.
"use strict";

const { execFile } = require("node:child_process");
const vscode = require("vscode");

const { commandOf } = require("./commands.js");

const firstFolder = () => vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;

/** Returns the command that the setting names. */
const command = () => commandOf(vscode.workspace.getConfiguration("selkie").get("path", "selkie"), firstFolder());

/** Runs the command in a folder, and resolves to what it prints and its error, if it ended with one. */
const run = (args, cwd) =>
  new Promise((resolve) => {
    execFile(command(), args, { cwd }, (error, stdout, stderr) => resolve({ error, stdout, stderr }));
  });

/** The command that was missing when this was said last. */
let missing;

/** Resolves to whether the command can be run. If it cannot, the user is told, of each command once. */
async function isThere({ again = true } = {}) {
  const { error } = await run(["--version"], firstFolder());
  if (!error) {
    missing = undefined;
    return true;
  }
  if (again || missing !== command()) {
    missing = command();
    void tell(error);
  }
  return false;
}

async function tell(error) {
  const isMissing = error.code === "ENOENT";
  const why = isMissing
    ? `\`${missing}\` was not found: Selkie is not installed, or not on the PATH.`
    : `\`${missing} --version\` failed: ${error.message}`;
  const open = "Open Setting";
  const chosen = await vscode.window.showErrorMessage(`${why} Name the file in the setting selkie.path.`, open);
  if (chosen === open) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "selkie.path");
  }
}

module.exports = { command, firstFolder, isThere, run };
