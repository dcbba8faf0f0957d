// Registers what package.json contributes: the language server, the debugger, tasks, and commands for tests.
"use strict";

const path = require("node:path");
const vscode = require("vscode");

const { command, firstFolder, isThere, run } = require("./command.js");
const commands = require("./commands.js");
const { findTests, testAt } = require("./lenses.js");
const { Server } = require("./server.js");

const folderOf = (uri) => vscode.workspace.getWorkspaceFolder(uri) ?? vscode.workspace.workspaceFolders?.[0];

const adapters = {
  createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(command(), ["dap"]),
};

const configurations = {
  async resolveDebugConfiguration(folder, given) {
    const here = folder?.uri.fsPath ?? firstFolder();
    // Without a launch.json, nothing is given.
    const config = given.type ? given : commands.failureConfiguration(here);
    if (!(await isThere())) return undefined;
    return { ...config, cwd: config.cwd ?? here };
  },
};

/** Makes a task that runs Selkie. */
function task(name, definition, scope, cwd) {
  const args = [definition.command, ...(definition.args ?? [])];
  const options = cwd === undefined ? {} : { cwd };
  const execution = new vscode.ProcessExecution(command(), args, options);
  return new vscode.Task(definition, scope, name, "selkie", execution, ["$selkie"]);
}

const tasks = {
  provideTasks() {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return folders.flatMap((folder) =>
      ["build", "test"].map((it) => task(it, { type: "selkie", command: it }, folder, folder.uri.fsPath)),
    );
  },
  resolveTask: (given) =>
    task(given.name, given.definition, given.scope ?? vscode.TaskScope.Workspace, folderOfScope(given.scope)),
};

const folderOfScope = (scope) => scope?.uri?.fsPath ?? firstFolder();

const lenses = {
  provideCodeLenses(document) {
    const isShown = vscode.workspace.getConfiguration("selkie", document.uri).get("lenses", true);
    if (!isShown || !commands.usesSelkie(document.uri.fsPath)) return [];
    return findTests(document.getText()).flatMap(({ name, line }) => {
      const range = new vscode.Range(line, 0, line, 0);
      const lens = (title, id) =>
        new vscode.CodeLens(range, { title, command: id, arguments: [document.uri.fsPath, name] });
      return [lens("Run with Selkie", "selkie.runTest"), lens("Debug with Selkie", "selkie.debugTest")];
    });
  },
};

/** Returns the test that a lens names, or the one at the cursor; tells the user if there is none. */
function chosenTest(file, test) {
  const editor = vscode.window.activeTextEditor;
  if (file === undefined && editor) {
    file = editor.document.uri.fsPath;
    test = testAt(editor.document.getText(), editor.selection.active.line)?.name;
  }
  const folder = file && commands.packageOf(file);
  if (test === undefined || folder === undefined) {
    vscode.window.showWarningMessage(
      test === undefined
        ? "There is no test at the cursor: place it in a function with #[test]."
        : `${path.basename(file)} is in no Cargo package: no folder above it has a Cargo.toml.`,
    );
    return undefined;
  }
  return { folder, test, scope: folderOf(vscode.Uri.file(file)) ?? vscode.TaskScope.Workspace };
}

/** Runs a test in the terminal, and resolves when it has ended. */
async function runTest(file, test) {
  const chosen = chosenTest(file, test);
  if (!chosen || !(await isThere())) return undefined;
  await vscode.workspace.saveAll(false);
  const [name, ...args] = commands.testArguments(chosen.test);
  const definition = { type: "selkie", command: name, args };
  const it = task(`test ${chosen.test}`, definition, chosen.scope, chosen.folder);
  it.presentationOptions = { clear: true };
  const execution = await vscode.tasks.executeTask(it);
  await new Promise((resolve) => {
    const listener = vscode.tasks.onDidEndTask((event) => {
      if (event.execution !== execution) return;
      listener.dispose();
      resolve();
    });
  });
  return chosen;
}

/** Runs a test, and debugs the transaction that it failed with, or else its first one. */
async function debugTest(file, test) {
  // File systems keep times of whole seconds at worst.
  const start = Math.floor(Date.now() / 1000) * 1000;
  const chosen = await runTest(file, test);
  if (!chosen) return;
  const { stdout, error } = await run(commands.listArguments(chosen.test), chosen.folder);
  try {
    if (stdout === "") throw error ?? new Error("`selkie debug --list` printed nothing");
    if (commands.recordedAt(stdout, chosen.folder) < start) {
      throw new Error("the test did not run: the terminal says why");
    }
  } catch (error) {
    vscode.window.showErrorMessage(`\`${chosen.test}\` cannot be debugged: ${error.message}`);
    return;
  }
  await debug(commands.testConfiguration(chosen.test, chosen.folder));
}

/** Debugs what the newest test that failed has failed with, of the package of the file that is open. */
function debugLastFailure() {
  const file = vscode.window.activeTextEditor?.document.uri.fsPath;
  return debug(commands.failureConfiguration((file && commands.packageOf(file)) ?? firstFolder()));
}

/** Debugs a replay file, by default the one that is open. */
function debugReplay(uri = vscode.window.activeTextEditor?.document.uri) {
  const cwd = uri && (commands.packageOf(uri.fsPath) ?? path.dirname(uri.fsPath));
  return uri && debug(commands.replayConfiguration(uri.fsPath, cwd));
}

function debug(configuration) {
  const folder = configuration.cwd && folderOf(vscode.Uri.file(configuration.cwd));
  return vscode.debug.startDebugging(folder, configuration);
}

let server;

function activate(context) {
  server = new Server();
  const start = () => server.start();
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("selkie", adapters),
    vscode.debug.registerDebugConfigurationProvider("selkie", configurations),
    vscode.tasks.registerTaskProvider("selkie", tasks),
    vscode.languages.registerCodeLensProvider({ language: "rust", scheme: "file" }, lenses),
    vscode.commands.registerCommand("selkie.debugLastFailure", debugLastFailure),
    vscode.commands.registerCommand("selkie.debugTest", debugTest),
    vscode.commands.registerCommand("selkie.runTest", runTest),
    vscode.commands.registerCommand("selkie.debugReplay", debugReplay),
    vscode.commands.registerCommand("selkie.restartServer", () => server.restart()),
    vscode.workspace.onDidOpenTextDocument(start),
    vscode.workspace.onDidChangeConfiguration((event) => server.changed(event)),
  );
  void start();
}

const deactivate = () => server?.stop();

module.exports = { activate, deactivate };
