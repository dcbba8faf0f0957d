// The client with which Visual Studio Code's debug adapters are tested, on `selkie dap`: to a breakpoint
// in `share` of examples/rust/payout, and back.
//
//   SELKIE=PROGRAM node dap.mjs FOLDER SOURCE
//
// The folder has the recorded transaction, `call.replay`, and the program with debug information.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { DebugClient } from "@vscode/debugadapter-testsupport";

const [, , cwd, source] = process.argv;
const text = readFileSync(source, "utf8").split("\n");
const lineOf = (part) => {
  const index = text.findIndex((line) => line.includes(part));
  assert.ok(index >= 0, `the source has a line with ${part}`);
  return index + 1;
};
const product = lineOf("let product = ");
const calls = [lineOf("*first = share("), lineOf("*second = share(")];

const client = new DebugClient(process.env.SELKIE, "dap", "selkie", undefined, true);
client.defaultTimeout = 20_000;
await client.start();

const { body: can } = await client.initializeRequest();
for (const name of ["supportsStepBack", "supportsConfigurationDoneRequest", "supportsDataBreakpoints"]) {
  assert.equal(can[name], true, name);
}

/** Sends a request that moves, and returns where it stops: the reason and the frames. */
async function after(reason, move) {
  const [{ body }] = await Promise.all([client.waitForEvent("stopped"), move]);
  assert.equal(body.reason, reason);
  const { body: stack } = await client.stackTraceRequest({ threadId: body.threadId });
  return { threadId: body.threadId, frames: stack.stackFrames };
}

/** Returns the variables of a frame by name. */
async function variables(frame) {
  const { body } = await client.scopesRequest({ frameId: frame.id });
  const found = {};
  for (const scope of body.scopes.filter((it) => !it.expensive)) {
    const { variablesReference } = scope;
    const { body } = await client.variablesRequest({ variablesReference });
    body.variables.forEach((it) => (found[it.name] = it.value));
  }
  return found;
}

const place = ({ frames }) => frames.slice(0, 2).map((it) => `${it.name}:${it.line}`);

const launched = client.launchRequest({ replay: "call.replay", symbols: ["."], startAt: "start", cwd });
await Promise.all([client.waitForEvent("initialized"), launched]);
const { body: set } = await client.setBreakpointsRequest({
  source: { path: source },
  breakpoints: [{ line: product }],
});
assert.deepEqual(set.breakpoints.map((it) => [it.verified, it.line]), [[true, product]]);

const first = await after("breakpoint", client.configurationDoneRequest());
const { threadId } = first;
assert.deepEqual(place(first), [`payout::share:${product}`, `payout::process:${calls[0]}`]);
assert.ok(first.frames[0].source.path.endsWith("payout/src/lib.rs"), first.frames[0].source.path);
const { pool, points } = await variables(first.frames[0]);
assert.deepEqual({ pool, points }, { pool: "1000000", points: "5000" });

const second = await after("breakpoint", client.continueRequest({ threadId }));
assert.deepEqual(place(second), [`payout::share:${product}`, `payout::process:${calls[1]}`]);

const back = await after("step", client.stepBackRequest({ threadId }));
assert.notDeepEqual(place(back), place(second), "it has gone back");

const again = await after("breakpoint", client.reverseContinueRequest({ threadId }));
assert.deepEqual(place(again), place(first), "back at the first call");
assert.equal((await variables(again.frames[0])).pool, pool);

const ended = once(client._adapterProcess, "exit");
await client.disconnectRequest();
assert.deepEqual(await ended, [0, null], "the adapter ends by itself");
console.log(`debugadapter-testsupport: ${place(first)[0]}, ${place(second)[1]}, back to ${place(again)[1]}`);
