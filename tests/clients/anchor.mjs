// @coral-xyz/anchor with a hand-written IDL and a program that `selkie build` has made.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtempSync } from "node:fs";
import anchor from "@coral-xyz/anchor";
import { Connection, Keypair, LAMPORTS_PER_SOL, SystemProgram } from "@solana/web3.js";
import { run, startNode, subscribed } from "./lib.mjs";

const { AnchorProvider, BN, Program, Wallet } = anchor;

const IDL = {
  address: "",
  metadata: { name: "counter", version: "0.1.0", spec: "0.1.0" },
  instructions: [
    {
      name: "increase",
      discriminator: [254, 95, 127, 165, 140, 103, 125, 124],
      accounts: [{ name: "counter", writable: true }],
      args: [{ name: "amount", type: "u64" }],
      returns: "u64",
    },
  ],
  accounts: [{ name: "Counter", discriminator: [255, 176, 4, 245, 188, 253, 124, 25] }],
  events: [{ name: "Increased", discriminator: [146, 207, 0, 208, 2, 172, 172, 156] }],
  errors: [{ code: 6000, name: "Zero", msg: "the amount is zero" }],
  types: [
    { name: "Counter", type: { kind: "struct", fields: [{ name: "count", type: "u64" }] } },
    { name: "Increased", type: { kind: "struct", fields: [{ name: "amount", type: "u64" }] } },
  ],
};

async function newCounter({ program, provider }) {
  const counter = Keypair.generate();
  const lamports = await provider.connection.getMinimumBalanceForRentExemption(16);
  const create = SystemProgram.createAccount({
    fromPubkey: provider.publicKey,
    newAccountPubkey: counter.publicKey,
    space: 16,
    lamports,
    programId: program.programId,
  });
  await provider.sendAndConfirm(new anchor.web3.Transaction().add(create), [counter]);
  return counter.publicKey;
}

const cases = {
  async "rpc"(context) {
    const counter = await newCounter(context);
    await context.program.methods.increase(new BN(41)).accounts({ counter }).rpc();
    await context.program.methods.increase(new BN(1)).accounts({ counter }).rpc();
    const account = await context.provider.connection.getAccountInfo(counter);
    assert.equal(account.data.readBigUInt64LE(8), 42n);
  },

  async "view"(context) {
    const counter = await newCounter(context);
    const methods = context.program.methods.increase(new BN(7)).accounts({ counter });
    const simulated = await methods.simulate();
    assert.equal(simulated.events[0].name, "increased");
    assert.equal(simulated.events[0].data.amount.toNumber(), 7);
    const account = await context.provider.connection.getAccountInfo(counter);
    assert.equal(account.data.readBigUInt64LE(8), 0n);
  },

  async "errors have the names of the IDL"(context) {
    const counter = await newCounter(context);
    await assert.rejects(
      context.program.methods.increase(new BN(0)).accounts({ counter }).rpc(),
      (error) => error.error?.errorCode?.code === "Zero" || /0x1770/.test(String(error)),
    );
  },

  async "events"(context) {
    const counter = await newCounter(context);
    let listener;
    const event = new Promise((resolve) => {
      listener = context.program.addEventListener("increased", resolve);
    });
    await subscribed(context.provider.connection);
    await context.program.methods.increase(new BN(9)).accounts({ counter }).rpc();
    assert.equal((await event).amount.toNumber(), 9);
    await context.program.removeEventListener(listener);
  },
};

const program = Keypair.generate().publicKey;
const elf = join(mkdtempSync(join(tmpdir(), "selkie-clients-")), "counter.so");
const source = new URL("counter.s", import.meta.url).pathname;
execFileSync(process.env.SELKIE, ["build", source, "-o", elf]);
const node = await startNode(["--bpf-program", program.toBase58(), elf]);
const connection = new Connection(node.url, "confirmed");
const payer = Keypair.generate();
const signature = await connection.requestAirdrop(payer.publicKey, 100 * LAMPORTS_PER_SOL);
await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) });
const provider = new AnchorProvider(connection, new Wallet(payer), { commitment: "confirmed" });
const client = new Program({ ...IDL, address: program.toBase58() }, provider);
await run(cases, { program: client, provider }, node.stop);
