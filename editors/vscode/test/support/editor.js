// Stands for the editor in tests: the parts of the modules `vscode` and `vscode-languageclient` that the
// extension uses, and what an editor says to servers and adapters.
"use strict";

const { spawn } = require("node:child_process");
const Module = require("node:module");

const jsonrpc = require("vscode-jsonrpc/node");

const disposable = { dispose() {} };

/** Makes an editor with settings and open documents. It keeps what is registered, shown and started. */
function makeEditor({ settings = {}, documents = [], folder, answer } = {}) {
  const editor = { registered: [], shown: [], executed: [], sessions: [], tasks: [], clients: [], listeners: {} };
  const register = (kind) => (...args) => {
    editor.registered.push([kind, ...args]);
    return disposable;
  };
  const listen = (name) => (listener) => {
    (editor.listeners[name] ??= []).push(listener);
    return disposable;
  };
  const show = async (text, ...buttons) => {
    editor.shown.push({ text, buttons });
    return answer;
  };
  editor.find = (kind, name) => editor.registered.find((it) => it[0] === kind && it.includes(name))?.at(-1);
  editor.settings = settings;
  editor.vscode = {
    Range: class { constructor(...given) { this.given = given; } },
    CodeLens: class { constructor(range, command) { Object.assign(this, { range, command }); } },
    DebugAdapterExecutable: class { constructor(command, args) { Object.assign(this, { command, args }); } },
    ProcessExecution: class { constructor(process, args, options) { Object.assign(this, { process, args, options }); } },
    Task: class {
      constructor(definition, scope, name, source, execution) {
        Object.assign(this, { definition, scope, name, source, execution });
      }
    },
    TaskScope: { Workspace: 2 },
    Uri: { file: (fsPath) => ({ fsPath }) },
    debug: {
      registerDebugAdapterDescriptorFactory: register("adapter"),
      registerDebugConfigurationProvider: register("configurations"),
      startDebugging: async (_, configuration) => editor.sessions.push(configuration),
    },
    tasks: {
      registerTaskProvider: register("tasks"),
      async executeTask(task) {
        editor.tasks.push(task);
        const execution = { task };
        const { process, args, options } = task.execution;
        spawn(process, args, { ...options, stdio: "ignore" }).on("close", () =>
          editor.listeners.endTask.forEach((it) => it({ execution })),
        );
        return execution;
      },
      onDidEndTask: listen("endTask"),
    },
    languages: { registerCodeLensProvider: register("lenses") },
    commands: {
      registerCommand: register("command"),
      executeCommand: async (...given) => editor.executed.push(given),
    },
    workspace: {
      workspaceFolders: folder && [{ uri: { fsPath: folder } }],
      textDocuments: documents,
      getWorkspaceFolder: () => undefined,
      getConfiguration: () => ({ get: (name, value) => editor.settings[name] ?? value }),
      saveAll: async () => true,
      onDidOpenTextDocument: listen("open"),
      onDidChangeConfiguration: listen("settings"),
    },
    window: { showErrorMessage: show, showWarningMessage: show, activeTextEditor: undefined },
  };
  editor.LanguageClient = class {
    constructor(_id, _name, { command, args }, options) {
      Object.assign(this, { command, args, options, diagnostics: new Map() });
      editor.clients.push(this);
    }

    async start() {
      this.process = spawn(this.command, this.args);
      this.connection = jsonrpc.createMessageConnection(this.process.stdout, this.process.stdin);
      this.connection.onNotification("textDocument/publishDiagnostics", ({ uri, diagnostics }) => {
        this.diagnostics.set(uri, diagnostics);
        this.heard?.();
      });
      this.connection.listen();
      const { initializationOptions } = this.options;
      const given = { processId: null, rootUri: null, capabilities: {}, initializationOptions };
      this.capabilities = (await this.connection.sendRequest("initialize", given)).capabilities;
      await this.connection.sendNotification("initialized", {});
      for (const { languageId, uri, text } of documents) {
        const textDocument = { languageId, uri, text, version: 1 };
        await this.connection.sendNotification("textDocument/didOpen", { textDocument });
      }
    }

    sendNotification(method, params) {
      return this.connection.sendNotification(method, params);
    }

    /** Resolves to the diagnostics that are published next. */
    published(uri) {
      return new Promise((resolve) => {
        this.heard = () => resolve(this.diagnostics.get(uri));
      });
    }

    async dispose() {
      await this.connection.sendRequest("shutdown");
      await this.connection.sendNotification("exit");
      this.code = await new Promise((resolve) => this.process.on("close", resolve));
      this.connection.dispose();
    }
  };
  return editor;
}

/** Loads the extension anew, in an editor. */
function load(editor) {
  const others = { vscode: editor.vscode, "vscode-languageclient/node": editor };
  const original = Module._load;
  for (const it of Object.keys(require.cache)) {
    if (/[/\\]vscode[/\\]src[/\\]/.test(it)) delete require.cache[it];
  }
  Module._load = (name, ...rest) => others[name] ?? original(name, ...rest);
  try {
    return require("../../src/extension.js");
  } finally {
    Module._load = original;
  }
}

/** A debug adapter that is started, and what it says. */
class Adapter {
  constructor({ command, args }) {
    this.process = spawn(command, args);
    this.writer = new jsonrpc.StreamMessageWriter(this.process.stdin);
    this.heard = [];
    this.waiting = [];
    new jsonrpc.StreamMessageReader(this.process.stdout).listen((message) => {
      this.heard.push(message);
      this.waiting = this.waiting.filter((it) => !it());
    });
  }

  /** Resolves to the first message that fits. */
  hear(fits) {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.heard.find(fits);
        if (found) resolve(found);
        return found !== undefined;
      };
      if (!look()) this.waiting.push(look);
    });
  }

  async ask(command, args = {}) {
    this.seq = (this.seq ?? 0) + 1;
    const seq = this.seq;
    await this.writer.write({ seq, type: "request", command, arguments: args });
    return this.hear((it) => it.type === "response" && it.request_seq === seq);
  }

  async end() {
    const ended = new Promise((resolve) => this.process.on("close", resolve));
    await this.ask("disconnect");
    this.process.stdin.end();
    return ended;
  }
}

module.exports = { Adapter, load, makeEditor };
