// Starts `selkie dap` for debug sessions, formats assembly, and shows lenses above tests.
"use strict";

const { execFile } = require("node:child_process");
const vscode = require("vscode");

const { debugArguments, findTests, lastRecording, recordingsAbove } = require("./lenses.js");

const command = () => vscode.workspace.getConfiguration("selkie").get("path", "selkie");

const adapters = {
  createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(command(), ["dap"]),
};

const lenses = {
  provideCodeLenses(document) {
    return findTests(document.getText()).flatMap(({ name, line }) => {
      const range = new vscode.Range(line, 0, line, 0);
      const lens = (title, test) =>
        new vscode.CodeLens(range, {
          title,
          command: "selkie.debug",
          arguments: [document.uri.fsPath, test],
        });
      return [lens("Debug this test", name), lens("Debug last failure")];
    });
  },
};

/** Opens the debugger in a terminal, for a test above which a lens is, or for the last failure. */
function debug(file = vscode.window.activeTextEditor?.document.uri.fsPath, test = undefined) {
  const folder = file && recordingsAbove(file);
  const replay = folder && (test === undefined ? lastRecording(folder) : folder);
  if (!replay) {
    vscode.window.showWarningMessage(
      "No failed transaction is recorded in target/selkie-replays. Run the test first: a transaction that fails in " +
        "`receipt.assert(…)` is recorded.",
    );
    return;
  }
  const options = { name: "selkie debug", shellPath: command(), shellArgs: debugArguments(replay, test) };
  vscode.window.createTerminal(options).show();
}

const formatter = {
  provideDocumentFormattingEdits(document) {
    return new Promise((resolve, reject) => {
      const child = execFile(command(), ["fmt", "-"], (error, text) => {
        const end = document.lineAt(document.lineCount - 1).range.end;
        const all = new vscode.Range(new vscode.Position(0, 0), end);
        // A source that is formatted already prints nothing.
        if (error) reject(error);
        else resolve(text === "" ? [] : [vscode.TextEdit.replace(all, text)]);
      });
      child.stdin.end(document.getText());
    });
  },
};

function activate(context) {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("selkie", adapters),
    vscode.languages.registerCodeLensProvider({ language: "rust", scheme: "file" }, lenses),
    vscode.languages.registerDocumentFormattingEditProvider({ language: "sbpf" }, formatter),
    vscode.commands.registerCommand("selkie.debug", debug),
  );
}

module.exports = { activate };
