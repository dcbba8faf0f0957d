// umi with the programs of mpl-toolbox. The toolbox has helper programs of its own, which are on public
// clusters and not on the node: what calls them fails as on a cluster without them.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import {
  amountToNumber,
  generateSigner,
  keypairIdentity,
  lamports,
  sol,
  subtractAmounts,
  transactionBuilder,
} from "@metaplex-foundation/umi";
import { createUmi } from "@metaplex-foundation/umi-bundle-defaults";
import { base58 } from "@metaplex-foundation/umi/serializers";
import * as toolbox from "@metaplex-foundation/mpl-toolbox";
import { run, startNode } from "../lib.mjs";

const [SYSTEM_EXTRAS, TOKEN_EXTRAS] = [
  "SysExL2WDyJi9aRZrXorrjHJut3JwHQ7R9bTyctbNNG",
  "TokExjvjJmhKaRBShsBAsbSvEWMA1AgUNK7ps4SAc2p",
];
const CONFIRMED = { confirm: { commitment: "confirmed" } };
const UNCHECKED = { send: { skipPreflight: true }, ...CONFIRMED };

/** A client whose identity has 10 SOL. */
async function funded({ url, ws }) {
  const umi = createUmi(url, { commitment: "confirmed", wsEndpoint: ws }).use(toolbox.mplToolbox());
  umi.use(keypairIdentity(umi.eddsa.generateKeypair()));
  await umi.rpc.airdrop(umi.identity.publicKey, sol(10));
  return umi;
}

/** Creates a mint with two decimals and a token account of the identity with an amount. */
async function minted(umi, amount) {
  const mint = generateSigner(umi);
  const token = toolbox.findAssociatedTokenPda(umi, { mint: mint.publicKey, owner: umi.identity.publicKey });
  const space = toolbox.getMintSize();
  // `createMint` of the toolbox calls one of its helper programs.
  const create = {
    newAccount: mint, lamports: await umi.rpc.getRent(space), space, programId: toolbox.SPL_TOKEN_PROGRAM_ID,
  };
  const authorities = { mintAuthority: umi.identity.publicKey, freezeAuthority: null };
  await toolbox
    .createAccount(umi, create)
    .add(toolbox.initializeMint2(umi, { mint: mint.publicKey, decimals: 2, ...authorities }))
    .add(toolbox.createAssociatedToken(umi, { mint: mint.publicKey }))
    .add(toolbox.mintTokensTo(umi, { mint: mint.publicKey, token, amount }))
    .sendAndConfirm(umi, CONFIRMED);
  return { mint: mint.publicKey, token };
}

/** Sends what calls a program that is missing: the client gets agave's error, the node's log has a note. */
async function lacks(umi, { logged }, builder, program) {
  await assert.rejects(
    builder.sendAndConfirm(umi),
    (error) => /Attempt to load a program that does not exist/.test(error.message),
  );
  const { result } = await builder.sendAndConfirm(umi, UNCHECKED);
  assert.equal(result.value.err, "ProgramAccountNotFound");
  const text = `there is no program at ${program}, Metaplex's`;
  const noted = () => logged.filter((it) => (it.note ?? it.notes)?.includes(text)).map((it) => it.message);
  // The log is written after the block.
  for (let waits = 0; noted().length < 2 && waits < 100; waits += 1) await sleep(20);
  assert.deepEqual(noted(), ["a transaction was refused", "failed transaction"]);
}

const cases = {
  async "airdrop, transfer and a memo"(context) {
    const umi = await funded(context);
    const to = generateSigner(umi).publicKey;
    const { signature, result } = await toolbox
      .transferSol(umi, { destination: to, amount: sol(1.5) })
      .add(toolbox.addMemo(umi, { memo: "from umi" }))
      .sendAndConfirm(umi, CONFIRMED);
    assert.equal(result.value.err, null);
    assert.deepEqual(await umi.rpc.getBalance(to), sol(1.5));
    const landed = await umi.rpc.getTransaction(signature, { commitment: "confirmed" });
    assert.deepEqual(landed.meta.fee, lamports(5000));
    assert.ok(landed.meta.logs.some((line) => line.includes("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")));
    const [newest] = await umi.rpc.call("getSignaturesForAddress", [to, { commitment: "confirmed" }]);
    assert.match(newest.memo, /from umi$/);
    const [status] = await umi.rpc.getSignatureStatuses([signature]);
    assert.equal(status.error, null);
    const spent = subtractAmounts(sol(10), await umi.rpc.getBalance(umi.identity.publicKey));
    assert.equal(amountToNumber(spent), 1.500005);
  },

  async "compute budget"(context) {
    const umi = await funded(context);
    const { signature } = await transactionBuilder()
      .add(toolbox.setComputeUnitLimit(umi, { units: 1_000 }))
      .add(toolbox.setComputeUnitPrice(umi, { microLamports: 5_000_000 }))
      .add(toolbox.transferSol(umi, { destination: generateSigner(umi).publicKey, amount: sol(1) }))
      .sendAndConfirm(umi, CONFIRMED);
    const landed = await umi.rpc.getTransaction(signature, { commitment: "confirmed" });
    assert.deepEqual(landed.meta.fee, lamports(10_000));
    assert.equal(landed.meta.computeUnitsConsumed, 450n);
  },

  async "mint, token accounts, transfer, burn"(context) {
    const umi = await funded(context);
    const { mint, token } = await minted(umi, 12_345);
    const owner = generateSigner(umi).publicKey;
    const destination = toolbox.findAssociatedTokenPda(umi, { mint, owner });
    await toolbox
      .createAssociatedToken(umi, { mint, owner })
      .add(toolbox.transferTokens(umi, { source: token, destination, amount: 45 }))
      .add(toolbox.burnToken(umi, { account: token, mint, amount: 300 }))
      .sendAndConfirm(umi, CONFIRMED);
    assert.equal((await toolbox.fetchToken(umi, token)).amount, 12_000n);
    assert.equal((await toolbox.fetchToken(umi, destination)).amount, 45n);
    assert.equal((await toolbox.fetchMint(umi, mint)).supply, 12_045n);
    assert.equal((await toolbox.fetchMint(umi, mint)).decimals, 2);
    const owned = await toolbox.fetchAllTokenByOwner(umi, owner);
    assert.deepEqual(owned.map((it) => it.publicKey), [destination[0]]);
    const holders = await toolbox.getTokenGpaBuilder(umi).whereField("mint", mint).getDeserialized();
    assert.equal(holders.length, 2);
    const largest = await toolbox.findLargestTokensByMint(umi, mint);
    assert.deepEqual(largest.map((it) => it.amount.basisPoints), [12_000n, 45n]);
  },

  async "an error of the token program has its name"(context) {
    const umi = await funded(context);
    const { mint, token } = await minted(umi, 1);
    const burn = toolbox.burnToken(umi, { account: token, mint, amount: 2 });
    await assert.rejects(burn.sendAndConfirm(umi), (error) => {
      assert.equal(error.name, "InsufficientFunds");
      assert.match(error.message, /Insufficient funds/);
      return true;
    });
    const { signature, result } = await burn.sendAndConfirm(umi, UNCHECKED);
    assert.deepEqual(result.value.err, { InstructionError: [0, { Custom: 1 }] });
    const landed = await umi.rpc.getTransaction(signature, { commitment: "confirmed" });
    assert.deepEqual(landed.meta.err, { InstructionError: [0, { Custom: 1 }] });
  },

  async "lookup table"(context) {
    const umi = await funded(context);
    const addresses = Array.from({ length: 20 }, () => generateSigner(umi).publicKey);
    const recentSlot = await umi.rpc.getSlot({ commitment: "finalized" });
    const [create, input] = toolbox.createLut(umi, { recentSlot, addresses });
    await create.sendAndConfirm(umi, CONFIRMED);
    const table = await toolbox.fetchAddressLookupTable(umi, input.publicKey);
    assert.deepEqual(table.addresses, addresses);
    await context.nextSlot(umi);
    const transfers = addresses.map((destination) =>
      toolbox.transferSol(umi, { destination, amount: sol(0.01) }));
    const all = transfers.reduce((builder, it) => builder.add(it), transactionBuilder());
    const { signature } = await all.setAddressLookupTables([input]).sendAndConfirm(umi, CONFIRMED);
    const landed = await umi.rpc.getTransaction(signature, { commitment: "confirmed" });
    assert.equal(landed.meta.loadedAddresses.writable.length, 20);
    for (const account of await umi.rpc.getAccounts(addresses)) {
      assert.deepEqual(account.lamports, sol(0.01));
    }
  },

  async "simulation"(context) {
    const umi = await funded(context);
    const to = generateSigner(umi).publicKey;
    const built = await toolbox
      .transferSol(umi, { destination: to, amount: sol(1) })
      .buildWithLatestBlockhash(umi);
    const simulated = await umi.rpc.simulateTransaction(built, { accounts: [to] });
    assert.equal(simulated.err, null);
    assert.equal(simulated.unitsConsumed, 150);
    assert.equal(simulated.accounts[0].lamports, 1_000_000_000);
    assert.equal(await umi.rpc.accountExists(to), false);
  },

  async "a transaction that is signed apart"(context) {
    const umi = await funded(context);
    const to = generateSigner(umi).publicKey;
    const builder = await toolbox
      .transferSol(umi, { destination: to, amount: sol(1) })
      .setLatestBlockhash(umi);
    const signed = await umi.identity.signTransaction(builder.build(umi));
    const signature = await umi.rpc.sendTransaction(signed);
    assert.equal(base58.deserialize(signature)[0].length > 80, true);
    const strategy = { type: "blockhash", ...(await umi.rpc.getLatestBlockhash()) };
    const { value } = await umi.rpc.confirmTransaction(signature, { strategy, commitment: "confirmed" });
    assert.equal(value.err, null);
  },

  async "helper programs that the node lacks"(context) {
    const umi = await funded(context);
    const { mint } = await minted(umi, 1);
    await lacks(umi, context, toolbox.createMint(umi, { mint: generateSigner(umi) }), SYSTEM_EXTRAS);
    const missing = toolbox.createTokenIfMissing(umi, { mint, owner: generateSigner(umi).publicKey });
    await lacks(umi, context, missing, TOKEN_EXTRAS);
  },
};

/** Waits until a table can be used. */
async function nextSlot(umi) {
  const slot = await umi.rpc.getSlot({ commitment: "confirmed" });
  while ((await umi.rpc.getSlot({ commitment: "confirmed" })) <= slot) {
    await sleep(50);
  }
}

const node = await startNode([], { logs: true });
await run(cases, { ...node, nextSlot }, node.stop);
