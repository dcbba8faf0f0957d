// The language server `selkie lsp`, which is started with the first assembly that is open.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const { command, firstFolder, isThere } = require("./command.js");
const { serverSettings } = require("./commands.js");

const LANGUAGE = "sbpf";

function settings() {
  const all = vscode.workspace.getConfiguration("selkie");
  const given = { arch: all.get("arch"), include: all.get("include"), defines: all.get("defines") };
  return serverSettings(given, firstFolder());
}

class Server {
  client;
  /** What was asked for last: starts and stops follow each other. */
  turn = Promise.resolve();

  /** Starts the server if it does not run and is needed. */
  start() {
    this.turn = this.turn.then(async () => {
      const isNeeded = vscode.workspace.textDocuments.some((it) => it.languageId === LANGUAGE);
      if (this.client || !isNeeded || !(await isThere({ again: false }))) return;
      const executable = { command: command(), args: ["lsp"] };
      const client = new LanguageClient("selkie", "Selkie", executable, {
        documentSelector: [
          { language: LANGUAGE, scheme: "file" },
          { language: LANGUAGE, scheme: "untitled" },
        ],
        initializationOptions: settings(),
      });
      this.client = client;
      try {
        await client.start();
      } catch (error) {
        this.client = undefined;
        void vscode.window.showErrorMessage(`\`${command()} lsp\` did not start: ${error.message}`);
      }
    });
    return this.turn;
  }

  stop() {
    this.turn = this.turn.then(async () => {
      const client = this.client;
      this.client = undefined;
      await client?.dispose();
    });
    return this.turn;
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  /** Follows the settings. */
  async changed(event) {
    if (event.affectsConfiguration("selkie.path")) return this.restart();
    const names = ["arch", "include", "defines"].map((it) => `selkie.${it}`);
    if (names.some((it) => event.affectsConfiguration(it))) {
      await this.client?.sendNotification("workspace/didChangeConfiguration", {
        settings: { selkie: settings() },
      });
    }
  }
}

module.exports = { LANGUAGE, Server };
