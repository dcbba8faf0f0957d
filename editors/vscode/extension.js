// Starts `selkie dap` for each debug session.
"use strict";

const vscode = require("vscode");

function activate(context) {
  const factory = {
    createDebugAdapterDescriptor() {
      const command = vscode.workspace.getConfiguration("selkie").get("path", "selkie");
      return new vscode.DebugAdapterExecutable(command, ["dap"]);
    },
  };
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("selkie", factory),
  );
}

module.exports = { activate };
