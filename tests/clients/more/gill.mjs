// gill: its client, transaction builders, and the program clients that it comes with.

import assert from "node:assert/strict";
import {
  airdropFactory,
  createSolanaClient,
  createTransaction,
  generateKeyPairSigner,
  getOldestSignatureForAddress,
  getSignatureFromTransaction,
  insertReferenceKeyToTransactionMessage,
  isSolanaError,
  lamports,
  prepareTransaction,
  signTransactionMessageWithSigners,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE as PREFLIGHT,
} from "gill";
import {
  TOKEN_2022_PROGRAM_ADDRESS,
  buildCreateTokenTransaction,
  buildMintTokensTransaction,
  buildTransferTokensTransaction,
  fetchMint,
  fetchToken,
  fetchTokenAccounts,
  getAddMemoInstruction,
  getAssociatedTokenAccountAddress,
  getBurnCheckedInstruction,
  getCreateLookupTableInstructionAsync,
  getExtendLookupTableInstruction,
  fetchAddressLookupTable,
  getTransferSolInstruction,
} from "gill/programs";
import { run, startNode } from "../lib.mjs";

const CONFIRMED = { commitment: "confirmed" };
const METADATA = { name: "Gill", symbol: "GILL", uri: "https://example.com/gill.json", isMutable: true };
const TOKEN_METADATA = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s";

async function funded({ airdrop }) {
  const signer = await generateKeyPairSigner();
  await airdrop({ recipientAddress: signer.address, lamports: lamports(10_000_000_000n), ...CONFIRMED });
  return signer;
}

async function latest({ rpc }) {
  return (await rpc.getLatestBlockhash(CONFIRMED).send()).value;
}

async function send(context, feePayer, instructions) {
  const latestBlockhash = await latest(context);
  const transaction = createTransaction({ version: 0, feePayer, instructions, latestBlockhash });
  return context.sendAndConfirmTransaction(transaction, CONFIRMED);
}

/** Creates a mint of Token-2022 with metadata and two decimals, and mints to a wallet. */
async function minted(context, feePayer, destination, amount) {
  const mint = await generateKeyPairSigner();
  const common = { feePayer, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS };
  const create = await buildCreateTokenTransaction({
    ...common, latestBlockhash: await latest(context), mint, metadata: METADATA, decimals: 2,
  });
  await context.sendAndConfirmTransaction(create, CONFIRMED);
  const mints = await buildMintTokensTransaction({
    ...common, latestBlockhash: await latest(context), mint, mintAuthority: feePayer, amount, destination,
  });
  await context.sendAndConfirmTransaction(mints, CONFIRMED);
  return mint.address;
}

const cases = {
  async "airdrop, transfer and a memo"(context) {
    const from = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const signature = await send(context, from, [
      getTransferSolInstruction({ source: from, destination: to, amount: 1_500_000_000n }),
      getAddMemoInstruction({ memo: "from gill" }),
    ]);
    assert.equal((await context.rpc.getBalance(to, CONFIRMED).send()).value, 1_500_000_000n);
    const landed = await context.rpc
      .getTransaction(signature, { ...CONFIRMED, encoding: "jsonParsed", maxSupportedTransactionVersion: 0 })
      .send();
    assert.equal(landed.meta.fee, 5000n);
    const [transfer, memo] = landed.transaction.message.instructions;
    assert.equal(transfer.parsed.info.lamports, 1_500_000_000n);
    assert.equal(memo.parsed, "from gill");
  },

  async "simulation, and a prepared transaction"(context) {
    const from = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const instructions = [getTransferSolInstruction({ source: from, destination: to, amount: 1_000_000n })];
    const plain = createTransaction({ version: "legacy", feePayer: from, instructions });
    const { value } = await context.simulateTransaction(plain);
    assert.equal(value.err, null);
    assert.equal(value.unitsConsumed, 150n);
    const prepared = await prepareTransaction({ transaction: plain, rpc: context.rpc });
    assert.equal(prepared.instructions.length, 2);
    await context.sendAndConfirmTransaction(await signTransactionMessageWithSigners(prepared), CONFIRMED);
    assert.equal((await context.rpc.getBalance(to, CONFIRMED).send()).value, 1_000_000n);
  },

  async "a reference finds its transaction"(context) {
    const from = await funded(context);
    const reference = (await generateKeyPairSigner()).address;
    const to = (await generateKeyPairSigner()).address;
    const transaction = insertReferenceKeyToTransactionMessage(reference, createTransaction({
      version: "legacy",
      feePayer: from,
      instructions: [getTransferSolInstruction({ source: from, destination: to, amount: 1_000_000n })],
      latestBlockhash: await latest(context),
    }));
    const signed = await signTransactionMessageWithSigners(transaction);
    await context.sendAndConfirmTransaction(signed, CONFIRMED);
    const oldest = await getOldestSignatureForAddress(context.rpc, reference, CONFIRMED);
    assert.equal(oldest.signature, getSignatureFromTransaction(signed));
    assert.equal(oldest.err, null);
  },

  async "a token with metadata: create, mint, transfer, burn"(context) {
    const owner = await funded(context);
    const mint = await minted(context, owner, owner.address, 12_345n);
    const to = (await generateKeyPairSigner()).address;
    const transfer = await buildTransferTokensTransaction({
      feePayer: owner, latestBlockhash: await latest(context), mint, authority: owner, amount: 45n,
      destination: to, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS,
    });
    await context.sendAndConfirmTransaction(transfer, CONFIRMED);
    const account = await getAssociatedTokenAccountAddress(mint, owner, TOKEN_2022_PROGRAM_ADDRESS);
    const burn = { account, mint, authority: owner, amount: 300n, decimals: 2 };
    await send(context, owner, [getBurnCheckedInstruction(burn, { programAddress: TOKEN_2022_PROGRAM_ADDRESS })]);
    assert.equal((await fetchToken(context.rpc, account, CONFIRMED)).data.amount, 12_000n);
    const { data } = await fetchMint(context.rpc, mint, CONFIRMED);
    assert.equal(data.supply, 12_045n);
    const metadata = data.extensions.value.find((it) => it.__kind === "TokenMetadata");
    assert.equal(metadata.name, "Gill");
    assert.equal(metadata.uri, METADATA.uri);
    const { totalBalance } = await fetchTokenAccounts(context.rpc, mint, to);
    assert.equal(totalBalance, 45n);
  },

  async "an error of the token program"(context) {
    const owner = await funded(context);
    const mint = await minted(context, owner, owner.address, 1n);
    const account = await getAssociatedTokenAccountAddress(mint, owner, TOKEN_2022_PROGRAM_ADDRESS);
    const burn = { account, mint, authority: owner, amount: 2n, decimals: 2 };
    await assert.rejects(
      send(context, owner, [getBurnCheckedInstruction(burn, { programAddress: TOKEN_2022_PROGRAM_ADDRESS })]),
      (error) => {
        assert.ok(isSolanaError(error, PREFLIGHT), String(error));
        assert.ok(error.context.logs.some((line) => line.includes("insufficient funds")));
        assert.equal(error.cause.context.code, 1);
        return true;
      },
    );
  },

  async "lookup table"(context) {
    const authority = await funded(context);
    const addresses = await Promise.all(Array.from({ length: 5 }, async () => (await generateKeyPairSigner()).address));
    const recentSlot = await context.rpc.getSlot({ commitment: "finalized" }).send();
    const create = await getCreateLookupTableInstructionAsync({ authority, payer: authority, recentSlot });
    const table = create.accounts[0].address;
    const extend = getExtendLookupTableInstruction({ address: table, authority, payer: authority, addresses });
    await send(context, authority, [create, extend]);
    assert.deepEqual((await fetchAddressLookupTable(context.rpc, table, CONFIRMED)).data.addresses, addresses);
  },

  async "Token Metadata, which the node lacks"(context) {
    const feePayer = await funded(context);
    // Metadata of the first token program is with a program of Metaplex.
    const transaction = await buildCreateTokenTransaction({
      feePayer, latestBlockhash: await latest(context), mint: await generateKeyPairSigner(), metadata: METADATA,
    });
    await assert.rejects(
      context.sendAndConfirmTransaction(transaction, CONFIRMED),
      (error) => isSolanaError(error, PREFLIGHT) && /program that does not exist/.test(String(error.cause ?? error)),
    );
    assert.ok(context.logged.some((it) => it.note?.includes(TOKEN_METADATA)));
  },
};

const node = await startNode([], { logs: true });
const client = createSolanaClient({
  urlOrMoniker: node.url,
  rpcSubscriptionsConfig: { port: Number(new URL(node.ws).port) },
});
const { rpc, rpcSubscriptions } = client;
await run(cases, { ...client, ...node, airdrop: airdropFactory({ rpc, rpcSubscriptions }) }, node.stop);
