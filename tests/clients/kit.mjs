// @solana/kit and its program clients.

import assert from "node:assert/strict";
import {
  airdropFactory,
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  isSolanaError,
  lamports,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { getTransferSolInstruction, getCreateAccountInstruction } from "@solana-program/system";
import { getSetComputeUnitLimitInstruction } from "@solana-program/compute-budget";
import { getAddMemoInstruction } from "@solana-program/memo";
import * as token from "@solana-program/token";
import { run, startNode } from "./lib.mjs";

async function funded({ airdrop }, sol = 10n) {
  const signer = await generateKeyPairSigner();
  const amount = lamports(sol * 1_000_000_000n);
  await airdrop({ recipientAddress: signer.address, lamports: amount, commitment: "confirmed" });
  return signer;
}

async function sign({ rpc }, payer, instructions, version = 0) {
  const { value: latest } = await rpc.getLatestBlockhash().send();
  const message = pipe(
    createTransactionMessage({ version }),
    (it) => setTransactionMessageFeePayerSigner(payer, it),
    (it) => setTransactionMessageLifetimeUsingBlockhash(latest, it),
    (it) => appendTransactionMessageInstructions(instructions, it),
    // Version 1 has no defaults: what is not requested is 0.
    (it) => (version === 1 ? setTransactionMessageComputeUnitLimit(10_000, it) : it),
    (it) => (version === 1 ? setTransactionMessageLoadedAccountsDataSizeLimit(1 << 20, it) : it),
  );
  const transaction = await signTransactionMessageWithSigners(message);
  assertIsTransactionWithBlockhashLifetime(transaction);
  return transaction;
}

async function send(context, payer, instructions, version) {
  const transaction = await sign(context, payer, instructions, version);
  await context.sendAndConfirm(transaction, { commitment: "confirmed" });
  return getSignatureFromTransaction(transaction);
}

function transfer(source, destination, amount) {
  return getTransferSolInstruction({ source, destination, amount });
}

const cases = {
  async "airdrop"(context) {
    const signer = await funded(context, 2n);
    const { value } = await context.rpc.getBalance(signer.address).send();
    assert.equal(value, 2_000_000_000n);
  },

  async "transfers of every version"(context) {
    const from = await funded(context);
    for (const version of ["legacy", 0, 1]) {
      const to = (await generateKeyPairSigner()).address;
      const signature = await send(context, from, [transfer(from, to, 1_000_000n)], version);
      const { value } = await context.rpc.getBalance(to).send();
      assert.equal(value, 1_000_000n);
      const landed = await context.rpc
        .getTransaction(signature, { encoding: "json", maxSupportedTransactionVersion: 1 })
        .send();
      assert.equal(String(landed.version), String(version));
    }
  },

  async "accounts keep 64-bit numbers"(context) {
    const from = await funded(context);
    const { value } = await context.rpc.getAccountInfo(from.address, { encoding: "base64" }).send();
    assert.equal(value.lamports, 10_000_000_000n);
    assert.equal(value.space, 0n);
  },

  async "compute unit estimate"(context) {
    const from = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const transaction = await sign(context, from, [
      getSetComputeUnitLimitInstruction({ units: 1_400_000 }),
      transfer(from, to, 1_000_000n),
    ]);
    const wire = getBase64EncodedWireTransaction(transaction);
    const { value } = await context.rpc
      .simulateTransaction(wire, {
        encoding: "base64", replaceRecentBlockhash: true, sigVerify: false, innerInstructions: true,
      })
      .send();
    assert.equal(value.err, null);
    assert.equal(value.unitsConsumed, 300n);
    assert.ok(value.loadedAccountsDataSize >= 0);
  },

  async "a failure is a typed error"(context) {
    const from = await funded(context, 1n);
    const to = (await generateKeyPairSigner()).address;
    await assert.rejects(
      send(context, from, [transfer(from, to, 5_000_000_000n)]),
      (error) => isSolanaError(error) && error.context.unitsConsumed === 150n,
    );
  },

  async "token life cycle"(context) {
    const payer = await funded(context);
    const mint = await generateKeyPairSigner();
    const owner = await generateKeyPairSigner();
    const size = token.getMintSize();
    const rent = await context.rpc.getMinimumBalanceForRentExemption(BigInt(size)).send();
    const [account] = await token.findAssociatedTokenPda({
      owner: owner.address, mint: mint.address, tokenProgram: token.TOKEN_PROGRAM_ADDRESS,
    });
    await send(context, payer, [
      getCreateAccountInstruction({
        payer, newAccount: mint, lamports: rent, space: size, programAddress: token.TOKEN_PROGRAM_ADDRESS,
      }),
      token.getInitializeMint2Instruction({ mint: mint.address, decimals: 2, mintAuthority: payer.address }),
    ]);
    await send(context, payer, [
      token.getCreateAssociatedTokenIdempotentInstruction({
        payer, ata: account, owner: owner.address, mint: mint.address,
      }),
      token.getMintToInstruction({ mint: mint.address, token: account, mintAuthority: payer, amount: 12345n }),
    ]);
    const found = await token.fetchToken(context.rpc, account);
    assert.equal(found.data.amount, 12345n);
    const { value } = await context.rpc.getTokenAccountBalance(account).send();
    assert.equal(value.uiAmountString, "123.45");
    const owned = await context.rpc
      .getTokenAccountsByOwner(owner.address, { mint: mint.address }, { encoding: "jsonParsed" })
      .send();
    assert.equal(owned.value[0].account.data.parsed.info.tokenAmount.amount, "12345");
  },

  async "subscriptions"(context) {
    const from = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const abort = new AbortController();
    const options = { abortSignal: abort.signal };
    const subscriptions = context.rpcSubscriptions;
    const config = { commitment: "confirmed" };
    const first = async (pending) => {
      const iterable = await pending.subscribe(options);
      const iterator = iterable[Symbol.asyncIterator]();
      return { next: iterator.next().then((it) => it.value) };
    };
    const account = await first(subscriptions.accountNotifications(to, { ...config, encoding: "base64" }));
    const logs = await first(subscriptions.logsNotifications({ mentions: [to] }, config));
    const slot = await first(subscriptions.slotNotifications());
    const signature = await send(context, from, [
      transfer(from, to, 1_000_000n),
      getAddMemoInstruction({ memo: "hello" }),
    ]);
    assert.equal((await account.next).value.lamports, 1_000_000n);
    assert.equal((await logs.next).value.signature, signature);
    assert.ok((await slot.next).slot > 0n);
    abort.abort();
  },

  async "block"(context) {
    const from = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const signature = await send(context, from, [transfer(from, to, 1_000_000n)]);
    const { value } = await context.rpc.getSignatureStatuses([signature]).send();
    const block = await context.rpc
      .getBlock(value[0].slot, { maxSupportedTransactionVersion: 0, transactionDetails: "signatures" })
      .send();
    assert.ok(block.signatures.includes(signature));
    assert.equal(typeof block.blockTime, "bigint");
  },

  async "many in parallel"(context) {
    const from = await funded(context, 100n);
    const instructions = await Promise.all(
      Array.from({ length: 50 }, async (_, index) =>
        transfer(from, (await generateKeyPairSigner()).address, 1_000_000n + BigInt(index))),
    );
    await Promise.all(instructions.map((it) => send(context, from, [it])));
  },
};

const node = await startNode();
const rpc = createSolanaRpc(node.url);
const rpcSubscriptions = createSolanaRpcSubscriptions(node.ws);
const airdrop = airdropFactory({ rpc, rpcSubscriptions });
const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions });
await run(cases, { rpc, rpcSubscriptions, airdrop, sendAndConfirm, ...node }, node.stop);
