// A node for the tests, and a list of cases that are run one after the other.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * Starts a node on free ports, and returns its URLs, what stops it, and what it has logged so far, which is
 * nothing without the setting `logs`.
 */
export async function startNode(options = [], { logs = false } = {}) {
  const program = process.env.SELKIE;
  if (!program) throw new Error("set SELKIE to the path of the program to test");
  const quiet = logs ? ["--log-format", "json"] : ["--quiet"];
  const args = ["node", "--json", ...quiet, "--rpc-port", "0", ...options];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const logged = [];
  const ready = await new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const event = JSON.parse(line);
      if (event.ready) resolve(event);
      else logged.push(event);
    });
    child.once("exit", (code) => reject(new Error(`the node ended with code ${code}`)));
  });
  const stop = () =>
    new Promise((resolve) => {
      child.once("exit", resolve);
      child.kill("SIGTERM");
    });
  return { url: ready.rpcUrl, ws: ready.websocketUrl, stop, logged };
}

/** Runs the cases whose names contain the first argument, and ends the process. */
export async function run(cases, context, stop) {
  const wanted = process.argv[2] ?? "";
  let failed = 0;
  for (const [name, test] of Object.entries(cases)) {
    if (!name.includes(wanted)) continue;
    const started = performance.now();
    try {
      await withTimeout(test(context), 30_000);
      console.log(`ok     ${name} (${Math.round(performance.now() - started)} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}\n${error.stack ?? error}`);
      if (error.logs) console.log(error.logs);
      if (error.cause) console.log("cause:", error.cause);
      if (error.context) console.log("context:", error.context);
    }
  }
  await stop();
  process.exit(failed === 0 ? 0 : 1);
}

/** Waits until the node has answered all subscriptions of a connection of `@solana/web3.js` 1.x. */
export async function subscribed(connection) {
  // The package has no public word for it.
  const waits = () => Object.values(connection._subscriptionsByHash).some((it) => it.state !== "subscribed");
  while (waits()) await new Promise((resolve) => setTimeout(resolve, 10));
}

function withTimeout(promise, milliseconds) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Sends a request as it is and returns the response. */
export async function rpc(url, method, params, extra = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params, ...extra }),
  });
  return response.json();
}
