// @anchor-lang/core with the Anchor program examples/anchor/tally and the IDL that `selkie build --idl` writes.
// TALLY is the folder with deploy/tally.so and idl/tally.json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import anchor from "@anchor-lang/core";
import { run, startNode, subscribed } from "../lib.mjs";

const { AnchorError, AnchorProvider, BN, Program, Wallet, web3 } = anchor;
const U64_MAX = new BN("18446744073709551615");

/** Opens a tally of the wallet, and returns its address. */
async function opened(program) {
  const tally = web3.Keypair.generate();
  await program.methods.open().accounts({ tally: tally.publicKey }).signers([tally]).rpc();
  return tally.publicKey;
}

const add = (program, tally, amount) => program.methods.add(new BN(amount)).accounts({ tally });

const cases = {
  async "open, add, read"({ program, provider }) {
    const tally = await opened(program);
    await add(program, tally, 41).rpc();
    await add(program, tally, 1).rpc();
    const account = await program.account.tally.fetch(tally);
    assert.equal(account.count.toNumber(), 42);
    assert.ok(account.owner.equals(provider.publicKey));
    assert.equal(await program.account.tally.fetchNullable(provider.publicKey), null);
  },

  async "several instructions in one transaction"({ program, provider }) {
    const tally = web3.Keypair.generate();
    const signature = await program.methods
      .open()
      .accounts({ tally: tally.publicKey })
      .signers([tally])
      .postInstructions([
        await add(program, tally.publicKey, 2).instruction(),
        await add(program, tally.publicKey, 3).instruction(),
      ])
      .rpc();
    assert.equal((await program.account.tally.fetch(tally.publicKey)).count.toNumber(), 5);
    const landed = await provider.connection.getTransaction(signature, {
      commitment: "confirmed", maxSupportedTransactionVersion: 0,
    });
    assert.equal(landed.meta.logMessages.filter((line) => line.includes("Instruction: Add")).length, 2);
  },

  async "all accounts of a kind, by a filter"({ program, provider }) {
    const tally = await opened(program);
    await add(program, tally, 7).rpc();
    const all = await program.account.tally.all([
      { memcmp: { offset: 8, bytes: provider.publicKey.toBase58() } },
    ]);
    const found = all.find((it) => it.publicKey.equals(tally));
    assert.equal(found.account.count.toNumber(), 7);
    const many = await program.account.tally.fetchMultiple([tally, web3.Keypair.generate().publicKey]);
    assert.equal(many[0].count.toNumber(), 7);
    assert.equal(many[1], null);
  },

  async "simulation"({ program }) {
    const tally = await opened(program);
    const { raw } = await add(program, tally, 7).simulate();
    assert.ok(raw.some((line) => line.includes("Instruction: Add")));
    assert.equal((await program.account.tally.fetch(tally)).count.toNumber(), 0);
  },

  async "changes of an account"({ program }) {
    const tally = await opened(program);
    const changes = program.account.tally.subscribe(tally, "confirmed");
    const change = new Promise((resolve) => changes.once("change", resolve));
    await subscribed(program.provider.connection);
    await add(program, tally, 9).rpc();
    assert.equal((await change).count.toNumber(), 9);
    await program.account.tally.unsubscribe(tally);
  },

  async "errors of the program have the names of the IDL"({ program, provider, payer }) {
    const tally = await opened(program);
    await add(program, tally, 1).rpc();
    const isOverflow = (error) => {
      assert.ok(error instanceof AnchorError, String(error));
      assert.equal(error.error.errorCode.code, "Overflow");
      assert.equal(error.error.errorCode.number, 6000);
      assert.equal(error.error.errorMessage, "the count does not fit into 64 bits");
      assert.equal(error.program.toBase58(), program.programId.toBase58());
      return true;
    };
    await assert.rejects(add(program, tally, U64_MAX).rpc(), isOverflow);
    // Without preflight, the package fails at an error of its own with web3.js 1.99.
    const { connection } = provider;
    const transaction = await add(program, tally, U64_MAX).transaction();
    const signature = await connection.sendTransaction(transaction, [payer], { skipPreflight: true });
    const { value } = await connection.confirmTransaction({
      signature, ...(await connection.getLatestBlockhash()),
    });
    assert.deepEqual(value.err, { InstructionError: [0, { Custom: 6000 }] });
    const { meta } = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    isOverflow(AnchorError.parse(meta.logMessages));
  },

  async "errors of Anchor name the account"({ program, provider }) {
    const tally = await opened(program);
    const other = web3.Keypair.generate();
    const call = program.methods.add(new BN(1)).accountsPartial({ tally, owner: other.publicKey });
    await assert.rejects(call.signers([other]).rpc(), (error) => {
      assert.equal(error.error.errorCode.code, "ConstraintHasOne");
      assert.equal(error.error.origin, "tally");
      const [owner, given] = error.error.comparedValues;
      assert.ok(owner.equals(provider.publicKey) && given.equals(other.publicKey));
      return true;
    });
  },

  async "an account of another kind"({ program, provider }) {
    await assert.rejects(
      add(program, provider.publicKey, 1).rpc(),
      (error) => error.error.errorCode.code === "AccountOwnedByWrongProgram",
    );
  },
};

const { TALLY } = process.env;
const idl = JSON.parse(readFileSync(join(TALLY, "idl/tally.json"), "utf8"));
const node = await startNode(["--bpf-program", idl.address, join(TALLY, "deploy/tally.so")]);
const connection = new web3.Connection(node.url, { commitment: "confirmed", wsEndpoint: node.ws });
const payer = web3.Keypair.generate();
const signature = await connection.requestAirdrop(payer.publicKey, 100 * web3.LAMPORTS_PER_SOL);
await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) });
const provider = new AnchorProvider(connection, new Wallet(payer), { commitment: "confirmed" });
await run(cases, { program: new Program(idl, provider), provider, payer }, node.stop);
