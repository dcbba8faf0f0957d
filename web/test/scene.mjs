// A node with transactions of every kind that the views show: transfers, tokens, calls of calls, a program
// with debug information that fails, and text that would be harmful as HTML.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Text that does harm wherever it is taken as HTML. */
export const PAYLOAD = `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>`;

/** Characters that turn text around, steer terminals or are not drawn, and what pages show of them. */
export const UNSEEN = "\u202etxt.exe\u001b[31m\u0007\u2066";
export const SEEN = "\\u202etxt.exe\\u001b[31m\\u0007\\u2066";

/** A program whose log and whose function's name would be harmful as HTML. */
export async function harmful(selkie, folder, url) {
  // Where the payer's key is.
  const home = join(folder, "client");
  const symbol = "<img/src=x/onerror=window.harmed=1//>";
  const word = "a".repeat(symbol.length);
  const text = `${PAYLOAD.replaceAll('"', "'")}`;
  const source = `.globl entrypoint
entrypoint:
  lddw r1, text
  mov64 r2, ${text.length}
  call sol_log_
  call ${word}
  exit
${word}:
  mov64 r0, 0
  exit
.rodata
text: .ascii "${text}"
`;
  writeFileSync(join(home, "harmful.s"), source);
  execFileSync(selkie, ["build", "harmful.s"], { cwd: home, stdio: "pipe" });
  const elf = Buffer.from(readFileSync(join(home, "harmful.so")).toString("latin1").replaceAll(word, symbol), "latin1");
  // The node reads symbols of files that it finds, as well.
  writeFileSync(join(home, "harmful.so"), elf);
  const program = execFileSync(selkie, ["keygen", "pubkey", "test:harmful"], { encoding: "utf8" }).trim();
  await rpc(url, "selkie_setProgram", program, elf.toString("base64"));
  const sent = execFileSync(selkie, ["send", "--program", program, "-d", "0x", "--url", url, "--json"], { cwd: home, encoding: "utf8" });
  return { program, symbol, text, signature: JSON.parse(sent.trim().split("\n").at(-1)).signature };
}

/** The data of a mint of Token-2022 with metadata. */
export function mintWithMetadata(name, symbol, uri) {
  const text = (it) => {
    const bytes = Buffer.from(it);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const base = Buffer.alloc(166);
  base[45] = 1; // initialized
  base[165] = 1; // a mint
  const value = Buffer.concat([Buffer.alloc(64), text(name), text(symbol), text(uri), Buffer.alloc(4)]);
  const head = Buffer.alloc(4);
  head.writeUInt16LE(19, 0);
  head.writeUInt16LE(value.length, 2);
  return Buffer.concat([base, head, value]);
}

/** A program that counts, in four instructions each time. */
export const counting = (times) => `.globl entrypoint
entrypoint:
  mov64 r6, ${times}
count:
  mov64 r1, r6
  stxdw [r10-8], r1
  sub64 r6, 1
  jne r6, 0, count
  mov64 r0, 0
  exit
`;

/** Starts a node in a folder that has the debug information of `payout.so`. */
export async function start(selkie, folder, options = []) {
  const node = spawn(selkie, ["node", "--rpc-port", "0", ...options], { cwd: folder });
  let printed = "";
  const url = await new Promise((found, failed) => {
    const read = (chunk) => {
      printed += chunk;
      const line = /RPC\s+(http:\S+)/.exec(printed);
      if (line && printed.includes("fork of")) found(line[1]);
    };
    node.stdout.on("data", read);
    node.stderr.on("data", read);
    node.on("exit", (code) => failed(new Error(`the node ended with ${code}: ${printed}`)));
  });
  return { url, stop: () => node.kill() };
}

export async function rpc(url, method, ...params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const answer = await response.json();
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
}

/** Sends the transactions. Returns what tests look for. */
export async function play(selkie, folder, url) {
  const home = join(folder, "client");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  const run = (...args) => {
    try {
      const printed = execFileSync(selkie, [...args, "--url", url, "--json"], { cwd: home, encoding: "utf8", stdio: "pipe" });
      return JSON.parse(printed.trim().split("\n").at(-1));
    } catch (error) {
      // A transaction that fails is one of those wanted; it is told from other failures by its signature.
      const last = error.stdout?.trim().split("\n").at(-1);
      const answer = last ? JSON.parse(last) : {};
      if (!answer.signature) throw new Error(`selkie ${args.join(" ")}: ${error.stdout} ${error.stderr}`);
      return answer;
    }
  };
  const key = (name) => execFileSync(selkie, ["keygen", "pubkey", name], { encoding: "utf8" }).trim();
  const [alice, bob, pool] = ["test:alice", "test:bob", "test:pool"].map(key);
  run("airdrop", "100");
  const transfer = run("send", "-P", "system", "-a", "payer:ws", "test:alice:w", "-d", "u32:2,u64:1500000000").signature;
  const mint = run("token", "create-mint", "gold", "--decimals", "6").mint;
  run("token", "mint", "gold", "100");
  const tokens = run("token", "transfer", "gold", "1.25", "test:bob").signature;
  run("token", "create-mint", "silver", "--program", "token-2022");
  const silver = run("token", "mint", "silver", "5", "test:alice").signature;
  const memo = run("send", "-P", "memo", "-d", `0x${Buffer.from(PAYLOAD + UNSEEN).toString("hex")}`).signature;
  const program = run("deploy", join(folder, "payout.so")).program;
  const amount = Buffer.alloc(24);
  amount.writeBigUInt64LE(1_000_000n);
  await rpc(url, "selkie_setAccount", pool, { lamports: 1_000_000_000, owner: program, data: amount.toString("hex") });
  const payout = ["send", "--program", program, "-a", `${pool}:w`, "--skip-preflight"];
  const failed = run(...payout, "-d", "u16:5000").signature;
  const unread = run(...payout, "-d", "u8:1").signature;
  // A loop of 60,000 steps, whose trace is longer than any list could show.
  const loop = join(home, "loop.s");
  writeFileSync(loop, counting(15_000));
  execFileSync(selkie, ["build", "loop.s"], { cwd: home, stdio: "pipe" });
  const looping = run("deploy", "loop.so").program;
  const long = run("send", "--program", looping, "-d", "0x").signature;
  // A program made with Anchor, at the address that it was built for, whose description is in target/idl.
  const tally = "8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff";
  await rpc(url, "selkie_setProgram", tally, readFileSync(join(folder, "tally.so")).toString("base64"));
  const counter = key("test:counter");
  const anchor = (...args) => run("send", "--program", tally, "--skip-preflight", ...args).signature;
  const opened = anchor("-a", "test:counter:ws", "payer:ws", "system", "-d", "anchor:open");
  const added = anchor("-a", "test:counter:w", "payer:s", "-d", "anchor:add,u64:5");
  const overflow = anchor("-a", "test:counter:w", "payer:s", "-d", `anchor:add,u64:${2n ** 64n - 1n}`);
  return { silver, tally, counter, opened, added, overflow, long, alice, bob, pool, mint, transfer, tokens, memo, program, failed, unread };
}
